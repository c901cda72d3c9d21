// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/issue.hpp"
#include "harness/model/case_name.hpp"
#include "harness/model/message.hpp"
#include "harness/model/overlap_role.hpp"
#include "harness/model/protocol.hpp"
#include "harness/model/roofline.hpp"
#include "harness/model/status.hpp"
#include "harness/model/sustained.hpp"
#include "harness/model/telemetry_summary.hpp"
#include "harness/model/transfer.hpp"
#include "harness/model/verification.hpp"
#include "harness/model/work.hpp"

namespace roofmark {

/// One timed batch of launches; times are seconds per launch.
struct Sample {
  double start_seconds = 0;  ///< since the device was opened
  double seconds = 0;        ///< as Measurement::timed says; in a team the slowest rank's
  double host_seconds = 0;   ///< the host's time to enqueue
  int block = 0;
  bool throttled = false;  ///< a reason lowered the clock during the sample, by throttled_share()
};

/// A clock has fallen that is lower than the rated one by more than this share.
inline constexpr double kFallenClock = 0.05;

/// Consecutive samples without a pause, with the device's state before and after.
struct Block {
  Span span;                ///< in seconds since the device was opened
  Telemetry before, after;  ///< read at its ends
  /// Duration of the uncounted launches directly before it, until their rate was stable.
  double lead_in_seconds = 0;
  /// SM (core) clock: by a probe directly before the first sample and directly after the last one, and the mean between, by
  /// stamps.
  std::optional<double> first_clock_hz, mean_clock_hz, last_clock_hz;
  std::map<std::string, double> throttled_share = {};  ///< as in TelemetrySummary

  /// The clock of its samples: the mean or, without stamps, the average of the probes.
  std::optional<double> clock_hz() const;
};

/// Statistics of the samples, in seconds per launch. Undefined ones are absent.
struct Summary {
  double median = 0, minimum = 0, maximum = 0;
  std::optional<double> p5, p95;                      ///< from 20 samples
  std::optional<double> p99;                          ///< from 100 samples
  std::optional<double> cv;                           ///< coefficient of variation, from 2 samples
  std::optional<double> interval_low, interval_high;  ///< 95 % interval of the median, from the blocks' medians
};

/// One rank's own times, in seconds per launch.
struct RankTimes {
  double median = 0, maximum = 0;
  std::optional<double> p95, p99;                                     ///< as in Summary
  std::optional<double> clock_hz = {};                                ///< as in Measurement, of this rank's device
  std::optional<double> power_watts = {};                             ///< as in TelemetrySummary
  std::optional<std::map<std::string, double>> throttled_share = {};  ///< as in TelemetrySummary
  std::optional<double> sm_clock_hz = {};                             ///< the driver's, as in TelemetrySummary
  std::optional<Sustained> sustained = {};                            ///< as in Record
  std::optional<double> interval_low = {}, interval_high = {};        ///< as in Summary
  /// As in TelemetrySummary.
  std::optional<double> temperature_celsius = {}, memory_temperature_celsius = {}, slowdown_margin_celsius = {},
                        joules_per_launch = {};
};

enum class StopReason { interval, budget };

struct Measurement {
  std::vector<Sample> samples;
  std::vector<Block> blocks;
  Summary summary;
  std::vector<std::optional<RankTimes>> ranks;  ///< by rank, in a team of more than one; absent without a result
  int launches_per_sample = 1;
  int batches_per_sample = 1;  ///< of these launches, timed one by one: with a duration a sample may be their mean
  Issue path = Issue::stream;
  Timed timed = Timed::device;
  Cache cache = Cache::cold;
  int slots = 1;
  /// How cold was kept: "slots" (they rotate and exceed 4 x the last-level cache), "flush", "size" (one launch alone exceeds
  /// it), "partly" (memory allowed too few slots); "warm".
  std::string cache_by;
  bool settled = false;  ///< two warm-up windows agreed within 1 %; with a duration: the rate settled
  double warm_up_seconds = 0;
  StopReason stopped_by = StopReason::budget;
  int void_samples = 0;            ///< left out because the gate timed out
  std::optional<double> clock_hz;  ///< the median of the blocks' clocks
  std::optional<TelemetrySummary> telemetry;
  std::optional<Background> background;
  int samples_checked = 0;   ///< the bits that their last launch left were compared with the verified launch's, by hashes
  double share_checked = 0;  ///< bytes compared / bytes that these launches wrote
  /// That comparing took, of the blocks' time; absent without comparisons.
  std::optional<double> checking_share_of_time;
  /// In a file of several devices, whose samples, blocks and telemetry these are; other devices have other clocks. Absent of
  /// one device.
  std::optional<int> of_rank;

  /// The clock of the device whose time counts: of a team the slowest rank's.
  std::optional<double> slowest_clock_hz() const;
};

struct Fingerprint {
  std::string hash;  ///< of the output's bits; empty when the launches differed
  std::string key;   ///< build, library, architecture, SM count, algorithm, data and seed: only equal keys are compared
  bool deterministic = true;
  /// Ranks whose bits differ from those of most ranks with the same key; where no bits are those of most, all of them.
  std::vector<int> differing_ranks;
};

/// One row of a result file.
struct Record : CaseName {
  // From the case.
  Work work;
  std::optional<Message> message;
  std::optional<OverlapRole> overlap;
  std::optional<Transfer> transfer;
  std::optional<SetsCeiling> sets_ceiling;
  int pass = 1;  ///< the ceilings family is measured twice: 1 before the suite, 2 after it

  Status status = Status::not_run;
  std::string reason;  ///< why it is not ok, or empty
  /// Of ranks that measured it each for itself, where not all have `status`; else empty.
  std::vector<Status> rank_status;
  std::optional<Measurement> measurement;
  std::optional<Sustained> sustained;  ///< only of ok, of a case with a duration
  std::optional<Placement> placement;  ///< only of ok
  std::optional<Verification> verification_before, verification_after;
  std::optional<Fingerprint> fingerprint;
  std::size_t memory_bytes = 0;  ///< allocated for all slots and what they share
  std::vector<std::pair<std::string, std::string>> notes;
  /// What ranks communicated by, in their library's words, and the ranks that did.
  std::map<std::string, std::vector<int>> transports;
};

}  // namespace roofmark
