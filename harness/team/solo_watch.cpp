// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/solo_watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace roofmark {

using Clock = std::chrono::steady_clock;

SoloWatch::SoloWatch(double timeout_seconds, std::function<void(const Standstill&)> on_standstill)
    : timeout_(timeout_seconds), on_standstill_(std::move(on_standstill)), thread_([this] { run(); }) {}

SoloWatch::~SoloWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void SoloWatch::doing(std::string what) {
  {
    const std::lock_guard lock(mutex_);
    doing_ = std::move(what);
  }
  step();
}

void SoloWatch::named_part(std::string what) {
  step();
  const std::lock_guard lock(mutex_);
  part_ = std::move(what);
}

void SoloWatch::step() {
  bool rested = false;
  {
    const std::lock_guard lock(mutex_);
    part_.clear();
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout_);
    rested = !std::exchange(watching_, true);
  }
  // A thread that waits for the old deadline finds the new one when it wakes.
  if (rested) changed_.notify_one();
}

void SoloWatch::rest() {
  const std::lock_guard lock(mutex_);
  watching_ = false;
}

void SoloWatch::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!watching_) {
      changed_.wait(lock);
    } else if (Clock::now() < deadline_) {
      const Clock::time_point until = deadline_;
      changed_.wait_until(lock, until);
    } else {
      watching_ = false;
      const std::string what = doing_ + (doing_.empty() || part_.empty() ? "" : ": ") + part_;
      const Standstill found{
          fmt::format("no progress for {:g} s{}{}", timeout_.count(), what.empty() ? "" : " in ", what), {}, {}, {}};
      lock.unlock();
      on_standstill_(found);
      lock.lock();
    }
  }
}

}  // namespace roofmark
