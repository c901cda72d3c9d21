// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/watchdog.hpp"

#include <utility>

namespace roofmark {

Watchdog::Watchdog(double timeout_seconds, std::function<void(const std::string&)> on_timeout)
    : timeout_(timeout_seconds), on_timeout_(std::move(on_timeout)), thread_([this] { wait(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::watch(std::string what) {
  {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
    deadline_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout_);
    watching_ = true;
  }
  changed_.notify_one();
}

void Watchdog::rest() {
  const std::lock_guard lock(mutex_);
  watching_ = false;
}

void Watchdog::wait() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!watching_) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && watching_ &&
               std::chrono::steady_clock::now() >= deadline_) {
      watching_ = false;
      const std::string what = what_;
      lock.unlock();
      on_timeout_(what);
      lock.lock();
    }
  }
}

}  // namespace roofmark
