// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/channel/socket.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace roofmark::channel {

namespace {

std::string numeric(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return host.data();
}

/// The addresses of the interfaces that are up, without loopback, as they stand before a port: those of IPv4 first.
std::vector<std::string> own_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw_errno("getifaddrs");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
  std::vector<std::string> four, six;
  for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) || (entry->ifa_flags & IFF_LOOPBACK)) continue;
    if (entry->ifa_addr->sa_family == AF_INET) {
      four.push_back(numeric(entry->ifa_addr, sizeof(sockaddr_in)));
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      const auto* address = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
      if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr)) continue;
      six.push_back("[" + numeric(entry->ifa_addr, sizeof(sockaddr_in6)) + "]");
    }
  }
  four.insert(four.end(), six.begin(), six.end());
  return four;
}

/// A socket that listens on a free port, which is written to `port`. One of AF_INET6 takes connections of IPv4 too. Not open,
/// with errno set, where the host has no such protocol.
Descriptor listen_by(sa_family_t family, int& port) {
  Descriptor listening(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening.open()) return listening;
  const bool ipv6 = family == AF_INET6;
  sockaddr_storage any{};
  any.ss_family = family;
  socklen_t length = ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  auto* address = reinterpret_cast<sockaddr*>(&any);
  const int off = 0;
  if ((ipv6 && ::setsockopt(listening.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) ||
      ::bind(listening.get(), address, length) != 0 || ::listen(listening.get(), SOMAXCONN) != 0 ||
      ::getsockname(listening.get(), address, &length) != 0) {
    const int why = errno;
    listening.close();
    errno = why;
    return listening;
  }
  port = ntohs(ipv6 ? reinterpret_cast<const sockaddr_in6*>(&any)->sin6_port
                    : reinterpret_cast<const sockaddr_in*>(&any)->sin_port);
  return listening;
}

}  // namespace

Time after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_between(Time from, Time to) { return std::chrono::duration<double>(to - from).count(); }

void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void Descriptor::close() {
  if (open()) ::close(std::exchange(number_, -1));
}

void wait_for(std::vector<pollfd>& descriptors, Time until) {
  const double seconds = std::max(0.0, seconds_between(Clock::now(), until));
  const int milliseconds = static_cast<int>(std::min(std::ceil(seconds * 1e3), 1e9));
  if (::poll(descriptors.data(), descriptors.size(), milliseconds) < 0) {
    for (pollfd& descriptor : descriptors) descriptor.revents = 0;
  }
}

Listener listen() {
  Listener listener;
  int port = 0;
  listener.socket = listen_by(AF_INET6, port);
  if (!listener.socket.open()) listener.socket = listen_by(AF_INET, port);
  if (!listener.socket.open()) throw_errno("listening by TCP");
  for (const std::string& host : own_addresses()) listener.addresses.push_back(fmt::format("{}:{}", host, port));
  listener.addresses.push_back(fmt::format("127.0.0.1:{}", port));
  return listener;
}

Descriptor begin_to_connect(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) throw std::runtime_error("no port in '" + address + "'");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0) {
    throw std::runtime_error("no address: '" + address + "'");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) throw_errno("socket");
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) throw_errno("connect");
  return socket;
}

void reserve_descriptors(std::size_t count, const std::string& what) {
  std::error_code ignored;
  const auto in_use = std::distance(std::filesystem::directory_iterator("/proc/self/fd", ignored), {});
  const rlim_t needed = static_cast<rlim_t>(count) + static_cast<rlim_t>(in_use);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  if (limit.rlim_max >= needed) {
    limit.rlim_cur = needed;
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  }
  throw std::system_error(
      EMFILE, std::generic_category(),
      fmt::format("{} needs {} file descriptors, the limit is {} (ulimit -n)", what, needed, limit.rlim_max));
}

}  // namespace roofmark::channel
