// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/measurement.hpp"
#include "harness/team/team.hpp"

namespace roofmark {

/// How much is measured. Every number here is a decision about all cases; docs/method.md gives the reasons.
struct Effort {
  double max_seconds = 1.0;            ///< timing budget a case, warm-up and verification not counted
  int blocks = 5;                      ///< apart in time; the interval of the median comes from them
  double gap_seconds = 0.01;           ///< at least, between two blocks of a case
  double sample_seconds = 100e-6;      ///< the least device time of one sample
  int max_launches = 256;              ///< a sample behind the gate; more would fill the launch queue
  double window_seconds = 0.1;         ///< a warm-up window
  double warm_up_seconds = 2.0;        ///< at most
  double window_agreement = 0.01;      ///< two windows' medians agree: settled
  double interval_half_width = 0.005;  ///< of the median, at 95 %
  int least_samples = 20;              ///< for p5 and p95, inside the budget
  int most_samples = 20000;
};

/// Seconds of a clock that never goes back.
double steady_seconds();

struct Settings {
  Effort effort;
  Distribution data = Distribution::normal;
  std::uint64_t seed = 1;
  double memory_fraction = 0.9;
  /// What builds the output's bits besides the case: part of every fingerprint's key.
  std::string build_key;
  /// The host's clock, by which windows and budgets are kept; a test brings its own.
  std::function<double()> clock = steady_seconds;
};

/// Seconds the stages took, summed over the run.
struct WallTime {
  double preparation = 0, verification = 0, warm_up = 0, timing = 0, writing = 0;
};

/// What the runner tells while it works; `stage` is "preparing", "verifying", "warming up", "timing".
using StageListener = std::function<void(const std::string& case_name, std::string_view stage)>;

/// Prepares, verifies, warms up and times groups of cases on one device: the only loop of the project.
class Runner {
 public:
  Runner(Device& device, Team& team, Settings settings);

  /// One record a case of the group, in its order, the same on every rank but for what only one can know (notes, blocks). A
  /// case that fails is recorded with its reason and the others still run; placements are left to the analysis, which knows
  /// all ceilings. Sets device_lost() after a sticky error. Throws Interrupted.
  std::vector<Record> run(const Group& group, int pass);

  /// Launches that are no cases of their own, timed as cases are: as Setup::time.
  std::vector<double> time(const std::vector<Launch>& launches, const Protocol& protocol, int slots);

  bool device_lost() const { return !lost_to_.empty(); }
  const WallTime& wall_time() const { return wall_; }

  void on_stage(StageListener listener) { listener_ = std::move(listener); }

 private:
  struct Member;
  void prepare(Member& member, std::size_t limit_bytes);
  void launch_once(Prepared& prepared, int slot);
  Verification verify(Member& member, int slot);
  Verification judge(Member& member, int slot);
  Verification verify_again(Member& member, int slot);
  std::optional<std::string> hash_outputs(Prepared& prepared, int slot);
  void take_fingerprint(Member& member);
  void warm_up(Member& member);
  void time_block(Member& member, int block);
  void guarded(Member& member, const std::function<void()>& stage);
  void settle(Member& member, Status status, const std::string& reason);
  void stage(const Member& member, std::string_view name);
  double time_one(const Launch* launch, const Protocol& protocol, int slots, std::string& refused);
  void gather_ranks(Member& member);
  void compare_fingerprints(Member& member);

  Device& device_;
  Team& team_;
  Settings settings_;
  WallTime wall_;
  StageListener listener_;
  std::string lost_to_;  ///< the case that met a sticky error
};

/// A record that knows its case and nothing else; not run.
Record blank_record(const Case& c, int pass);

/// How many copies of the operands a case rotates through, and how that keeps the caches cold.
struct SlotPlan {
  int slots = 1;
  std::string cache_by;  ///< as Measurement::cache_by
};

/// Cold slots together exceed 4 times the last-level cache, as far as `limit_bytes` of memory allow.
SlotPlan plan_slots(const Case& c, std::size_t last_level_cache_bytes, std::size_t limit_bytes);

}  // namespace roofmark
