// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/patience.hpp"
#include "harness/model/telemetry_summary.hpp"

namespace roofmark {

/// Reads a device's telemetry in a separate thread: at the source's period, and on request. A source that does not answer
/// within two seconds, or ten seconds for its first answer and for counters, is abandoned: there is no telemetry from then on,
/// and nothing waits for it.
class Sampler {
 public:
  static constexpr double kPatienceSeconds = roofmark::kPatienceSeconds;

  /// `seconds`: the clock of the readings; called from the sampler's thread. Without a source every answer is empty.
  /// `long_patience_seconds`: for the first question and for counters.
  Sampler(std::shared_ptr<TelemetrySource> source, std::function<double()> seconds, double patience_seconds = kPatienceSeconds,
          double long_patience_seconds = kLongPatienceSeconds);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Takes a reading now and waits for it; its state is also part of the series.
  Telemetry read() { return wait(ask()); }
  /// The same in steps, for a caller that keeps the device busy meanwhile: `ask` returns at once, with the number of the
  /// reading.
  std::uint64_t ask();
  bool answered(std::uint64_t asked) const;
  Telemetry wait(std::uint64_t asked);
  /// While it lives no reading is taken unless somebody asks: in the driver a reading delays the calls of other threads.
  class Quiet {
   public:
    explicit Quiet(Sampler& sampler);
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
    ~Quiet();

   private:
    Sampler& sampler_;
  };
  /// The source's counters, read now.
  CounterReadings counters();
  /// The readings so far that cover a span.
  std::vector<Reading> around(const Span& span) const;
  TelemetrySeries series() const { return series_from(0); }
  /// The same without the first readings.
  TelemetrySeries series_from(std::size_t first) const;
  /// By the last reading, something other than a setting lowers the clock; or nothing is read. False where the source tells no
  /// reasons.
  bool may_be_throttled() const;
  /// The source was abandoned.
  bool gave_up() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< shared with the thread, which may be stuck in the driver for ever
};

}  // namespace roofmark
