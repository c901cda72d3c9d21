// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/channel/connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace roofmark::channel {

Connection::Connection(Descriptor socket) : socket_(std::move(socket)) {
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void Connection::finish_writing() {
  if (open()) ::shutdown(socket_.get(), SHUT_WR);
}

void Connection::write(const std::string& line) {
  out_ += line + '\n';
  flush();
}

void Connection::flush() {
  while (open() && !out_.empty()) {
    const ssize_t sent = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    // read() finds a broken connection, after what the peer wrote before.
    if (sent < 0 && errno != EAGAIN) out_.clear();
    if (sent < 0) return;
    out_.erase(0, static_cast<std::size_t>(sent));
  }
}

void Connection::read() {
  std::array<char, 4096> buffer{};
  // What is left arrives with the next call, after the lines have been taken: a peer cannot fill the memory.
  while (open() && !ended_ && in_.size() <= kLongestLine) {
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      in_.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      ended_ = got == 0 || errno != EAGAIN;
      return;
    }
  }
  ended_ |= in_.size() > kLongestLine && in_.find('\n') == std::string::npos;
}

std::optional<std::string> Connection::line() {
  const auto end = in_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string text = in_.substr(0, end);
  in_.erase(0, end + 1);
  return text;
}

}  // namespace roofmark::channel
