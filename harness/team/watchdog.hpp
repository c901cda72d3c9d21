// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace roofmark {

/// Calls back, once and on a thread of its own, when nothing was reported for too long: a call into a driver that never
/// returns cannot be ended from within, so what it guards finishes the file and leaves the process.
class Watchdog {
 public:
  Watchdog(double timeout_seconds, std::function<void(const std::string& what)> on_timeout);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Something is under way from now on; starts the time anew.
  void watch(std::string what);
  /// Nothing is under way.
  void rest();

 private:
  void wait();

  std::chrono::duration<double> timeout_;
  std::function<void(const std::string&)> on_timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::chrono::steady_clock::time_point deadline_;
  bool watching_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace roofmark
