// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "harness/device/telemetry.hpp"

namespace roofmark {

/// Opened once; until then whoever passes it waits.
class Latch {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// A source whose power is the number of the reading, from 1.
class FakeTelemetry final : public TelemetrySource {
 public:
  double period = 3600;
  std::atomic<int> readings = 0;
  std::map<std::string, double> counts;
  std::vector<std::string> reasons;
  std::atomic<bool> silent = false;    ///< it says nothing
  Latch* hangs_at_reading = nullptr;   ///< the second
  Latch* hangs_at_counters = nullptr;  ///< always

  Telemetry read() override {
    Telemetry state;
    if (silent) return state;
    state.power_watts = ++readings;
    state.throttle_reasons = reasons;
    if (hangs_at_reading && readings > 1) hangs_at_reading->pass();
    return state;
  }
  CounterReadings counters() override {
    if (hangs_at_counters) hangs_at_counters->pass();
    return counts.empty() ? CounterReadings() : CounterReadings{{"", counts}};
  }
  double period_seconds() const override { return period; }
  std::string power_kind() override { return "instantaneous"; }
};

}  // namespace roofmark
