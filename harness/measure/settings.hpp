// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "harness/device/random.hpp"
#include "harness/device/telemetry.hpp"
#include "harness/machine/steady_seconds.hpp"
#include "harness/measure/counter_changes.hpp"
#include "harness/model/resource.hpp"

namespace roofmark {

/// How much is measured. Every number applies to all cases; docs/method.md gives the reasons.
struct Effort {
  double max_seconds = 1.0;              ///< timing budget per case, without warm-up and verification
  double longer = 1;                     ///< every case takes this many times as many blocks, to narrow its interval
  int blocks = 5;                        ///< spread over time; the median's interval comes from them
  double gap_seconds = 0.01;             ///< pause before each block
  double rest_seconds = 0.05;            ///< instead, where something lowers the clock, or may: nothing is read
  double sample_seconds = 1e-3;          ///< minimum device time per sample: timing adds some 10 us, 1 % of it
  int max_launches = 128;                ///< per sample behind the gate; more would fill the launch queue
  int max_graph_launches = 4096;         ///< per sample of a case that is issued as a graph
  double window_seconds = 0.1;           ///< length of a warm-up window
  double warm_up_seconds = 2.0;          ///< maximum
  double candidate_seconds = 20e-3;      ///< of timing, for each algorithm among which a tuned case chooses
  double reason_seconds = 0.2;           ///< of load, maximum, until the driver says why the clock has fallen
  double lead_in_window_seconds = 4e-3;  ///< length of a window of the uncounted launches before a block
  double lead_in_seconds = 50e-3;        ///< of these launches, maximum; a longer batch runs once
  double window_agreement = 0.01;        ///< the case has settled when the medians of two windows agree this well
  double interval_half_width = 0.005;    ///< of the median, at 95 %
  int min_samples = 20;                  ///< for p5 and p95, within the budget; beyond it one per block, for the interval
  int max_samples = 20000;

  int most_blocks() const { return static_cast<int>(blocks * longer); }
};

struct Settings {
  Effort effort;
  Distribution data = Distribution::normal;
  std::uint64_t seed = 1;
  bool telemetry = true;         ///< read the device's state during the run
  double memory_fraction = 0.9;  ///< largest share of free memory that one group of cases may use
  /// Reads the host's counters before and after the run; null: not read.
  std::function<CounterReadings()> host_counters;
  /// The build, as part of every fingerprint's key.
  std::string build_key;
  /// The host's clock for windows and budgets, and how a pause passes on it; tests replace both.
  std::function<double()> clock = steady_seconds;
  std::function<void(double)> sleep = sleep_seconds;
};

/// Seconds per stage, summed over the run.
struct WallTime {
  double preparation = 0, verification = 0, warm_up = 0, timing = 0, writing = 0;
  std::map<std::string, double> families = {};  ///< of all stages but writing, by family
};

/// Adds the time until it is destroyed to a total.
class Stopwatch {
 public:
  Stopwatch(double& total, const std::function<double()>& clock) : total_(total), clock_(clock), start_(clock()) {}
  ~Stopwatch() { total_ += clock_() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  const std::function<double()>& clock_;
  double start_;
};

/// How a load that lasts goes, now and then.
struct Course {
  double seconds = 0, of_seconds = 0;  ///< since it began, and in all
  double rate = 0;                     ///< of the last second, per second, on the case's main resource
  Unit unit = Unit::flop;
  Telemetry state;             ///< the last reading
  std::int64_t differing = 0;  ///< launches so far whose bits are not those of the verified one, on this rank
};
using CourseListener = std::function<void(const std::string& case_name, const Course& course)>;

/// Called as each stage of a case begins: "preparing", "verifying", "warming up", "timing".
using StageListener = std::function<void(const std::string& case_name, std::string_view stage)>;

}  // namespace roofmark
