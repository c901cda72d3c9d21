// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/solo_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace roofmark {

/// Between two looks at whether the process was interrupted: few enough to leave a measurement alone.
constexpr std::chrono::milliseconds kLook{500};

SoloWatch::SoloWatch(double timeout_seconds, std::function<void(const Standstill&)> on_standstill,
                     std::function<bool()> interrupted)
    : timeout_(timeout_seconds),
      on_standstill_(std::move(on_standstill)),
      interrupted_(std::move(interrupted)),
      thread_([this] { run(); }) {}

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

void SoloWatch::set_timeout(double seconds) {
  {
    const std::lock_guard lock(mutex_);
    timeout_ = std::chrono::duration<double>(seconds);
  }
  changed_.notify_one();
}

void SoloWatch::step() {
  bool rested = false;
  {
    const std::lock_guard lock(mutex_);
    part_.clear();
    last_step_ = Clock::now();
    rested = !std::exchange(watching_, true);
  }
  // A thread that waits for the old deadline finds the new one when it wakes.
  if (rested) changed_.notify_one();
}

void SoloWatch::rest() {
  const std::lock_guard lock(mutex_);
  watching_ = false;
}

SoloWatch::Clock::time_point SoloWatch::due() {
  const auto after = [](Clock::time_point when, std::chrono::duration<double> seconds) {
    return when + std::chrono::duration_cast<Clock::duration>(seconds);
  };
  const Clock::time_point timed_out = after(last_step_, timeout_);
  if (!interrupted_()) return timed_out;
  if (!interrupted_since_) interrupted_since_ = Clock::now();
  const std::chrono::duration<double> short_patience(kInterruptedSeconds);
  return std::min(timed_out, after(std::max(last_step_, *interrupted_since_), short_patience));
}

void SoloWatch::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!watching_) {
      changed_.wait(lock);
    } else if (const Clock::time_point until = due(), now = Clock::now(); now < until) {
      changed_.wait_until(lock, std::min(until, now + kLook));
    } else {
      watching_ = false;
      const std::chrono::duration<double> waited = now - last_step_;
      const std::string why = interrupted_() ? fmt::format("interrupted without progress for {:.0f} s", waited.count())
                                             : fmt::format("no progress for {:g} s", timeout_.count());
      const std::string what = doing_ + (doing_.empty() || part_.empty() ? "" : ": ") + part_;
      const Standstill found{why + (what.empty() ? "" : " in ") + what, {}, {}, {}};
      lock.unlock();
      on_standstill_(found);
      lock.lock();
    }
  }
}

}  // namespace roofmark
