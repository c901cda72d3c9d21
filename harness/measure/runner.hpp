// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/measure/case_run.hpp"
#include "harness/model/case.hpp"
#include "harness/model/counter.hpp"

namespace roofmark {

/// Prepares, verifies, warms up and times groups of cases on one device: the project's only timing loop.
class Runner {
 public:
  Runner(Device& device, Team& team, Settings settings);

  /// One record per case of the group, in its order; the same on every rank except for what only one rank knows (notes,
  /// blocks). A case that fails is recorded with its reason and the others still run. Placements are left to the analysis,
  /// which knows all ceilings. Sets device_lost() after a sticky error. Throws Interrupted.
  std::vector<Record> run(const Group& group, int pass);

  /// After an Interrupted: the records of the cases that it cut off and that already had a status, such as wrong.
  std::vector<Record> take_cut_off() { return std::exchange(cut_off_, {}); }

  bool device_lost() const { return !state_.lost_to.empty(); }
  const WallTime& wall_time() const { return state_.wall; }
  // This rank's, from any thread: what it knows when the other ranks, or its own measuring thread, are out of reach.
  /// The readings since the Runner was made, without the first ones.
  TelemetrySeries telemetry(std::size_t first = 0) const { return state_.sampler.series_from(first); }
  /// The counters of its device and host, now or only before the run.
  std::vector<CounterChange> own_counters();
  std::vector<CounterChange> counters_before() const;
  /// Empty, or that its device's telemetry ended before the run.
  std::vector<Finding> find_own_lost_telemetry() const;

  /// Telemetry of every rank's device until now; absent without a reading. Every rank must call it.
  std::vector<std::optional<RankTelemetry>> rank_telemetry();
  /// One per rank whose telemetry ended before the run. Every rank must call it.
  std::vector<Finding> find_lost_telemetry();
  /// The counters of every rank's device and host, from when the Runner was made to now. Every rank must call it.
  std::vector<CounterChange> counters();

  void on_stage(StageListener listener) { state_.listener = std::move(listener); }
  void on_course(CourseListener listener) { state_.course_listener = std::move(listener); }

 private:
  /// What a group may use: the settings' share of the memory that was free when the device was opened, as cases are listed.
  /// What libraries have taken since (NCCL its buffers, others their kernels) comes from the rest; half of its share of what is
  /// free now stays free.
  /// Where asking shows that the device is lost, `next` and all that follow cannot run.
  double limit_bytes(const Case& next);

  void measure(std::vector<CaseRun>& runs);

  RunState state_;
  std::vector<Record> cut_off_;
  CounterReadings counters_before_;
  CounterReadings host_before_;
};

}  // namespace roofmark
