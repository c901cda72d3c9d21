// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <optional>
#include <string>

#include "harness/team/channel/socket.hpp"

namespace roofmark::channel {

/// A peer sends no longer line, apart from the text of what it does.
inline constexpr std::size_t kLongestLine = 64 * 1024;

/// Lines over a socket; no call blocks.
class Connection {
 public:
  Connection() = default;
  explicit Connection(Descriptor socket);

  int descriptor() const { return socket_.get(); }
  bool open() const { return socket_.open(); }
  /// What poll waits for; it ignores the descriptor of a closed connection.
  pollfd interest() const { return {socket_.get(), static_cast<short>(POLLIN | (out_.empty() ? 0 : POLLOUT)), 0}; }
  void close() { socket_.close(); }
  void finish_writing();

  void write(const std::string& line);
  void flush();
  /// Takes what has arrived.
  void read();
  /// The next whole line of what was read.
  std::optional<std::string> line();
  /// The peer has closed; lines that it wrote before may be left.
  bool ended() const { return ended_; }

 private:
  Descriptor socket_;
  std::string in_, out_;
  bool ended_ = false;
};

}  // namespace roofmark::channel
