// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "harness/team/watch.hpp"

namespace roofmark {

/// The watch of one process without peers. It rests until the first step.
class SoloWatch final : public Watch {
 public:
  /// `on_standstill` runs on the watch's thread, once per standstill, with "no progress for 120 s in CASE (STAGE)".
  /// `interrupted` says whether the process was interrupted: it then ends after kInterruptedSeconds without progress, if the
  /// timeout does not end it before.
  SoloWatch(
      double timeout_seconds, std::function<void(const Standstill&)> on_standstill,
      std::function<bool()> interrupted = [] { return false; });
  ~SoloWatch() override;
  SoloWatch(const SoloWatch&) = delete;
  SoloWatch& operator=(const SoloWatch&) = delete;

  /// A new stage is a step too: there are no peers to count steps with.
  void doing(std::string what) override;
  void set_timeout(double seconds) override;
  void step() override;
  void part() override { step(); }
  void named_part(std::string what) override;
  void rest() override;
  void fail() override { rest(); }

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  /// When it is given up.
  Clock::time_point due();

  std::chrono::duration<double> timeout_;
  std::function<void(const Standstill&)> on_standstill_;
  std::function<bool()> interrupted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string doing_, part_;
  Clock::time_point last_step_;
  std::optional<Clock::time_point> interrupted_since_ = {};  ///< when that was seen
  bool watching_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace roofmark
