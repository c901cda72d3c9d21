// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace roofmark::channel {

// The monotonic clock: it stands still while the machine sleeps.
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

Time after(double seconds);
double seconds_between(Time from, Time to);

[[noreturn]] void throw_errno(const char* what);

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  void close();

 private:
  int number_;
};

/// Waits until one of them is ready or the time has come.
void wait_for(std::vector<pollfd>& descriptors, Time until);

/// A TCP socket that listens on a free port of every address of this host.
struct Listener {
  Descriptor socket;
  /// "10.0.0.1:4711" or "[fd00::1]:4711": IPv4 first, loopback last, no link-local address of IPv6.
  std::vector<std::string> addresses;
};
Listener listen();

/// A socket whose connection to "10.0.0.1:4711" or "[fd00::1]:4711" has begun. Throws std::system_error.
Descriptor begin_to_connect(const std::string& address);

/// Makes room for `count` more file descriptors: raises the limit of this process as far as it may. Throws when that is not
/// enough; `what` needs them.
void reserve_descriptors(std::size_t count, const std::string& what);

}  // namespace roofmark::channel
