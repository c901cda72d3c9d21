// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/launch_check.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/measure/settings.hpp"
#include "harness/model/measurement.hpp"
#include "harness/team/team.hpp"

namespace roofmark {

/// What all cases of a run share.
struct RunState {
  Device& device;
  Team& team;
  Settings settings;
  Sampler sampler;
  WallTime wall;
  StageListener listener;
  std::string lost_to;  ///< the case that met a sticky error; empty while the device works
};

/// A record that knows its case and nothing else; not run.
Record blank_record(const Case& c, int pass);

/// One case from preparation to record. Each step ends with the team's agreement: a case that fails on one rank has failed on
/// all, and its later steps do nothing. Steps throw Interrupted and TeamBroken; all other errors become the record's status.
class CaseRun {
 public:
  CaseRun(RunState& run, const Case& c, int pass);

  const Case& measured_case() const { return case_; }
  bool alive() const { return alive_; }

  /// Allocates and fills as many slots as cold caches take and `limit_bytes` allows.
  void prepare(std::size_t limit_bytes);
  /// One launch against the reference; then the fingerprint of three.
  void verify();
  /// Chooses launches per sample and path, warms up until two windows agree, and derives the number of samples from the last
  /// window's spread. With a duration nothing is warmed up.
  void warm_up();
  /// With a duration, the block's share of it.
  void time_block(int block);
  void verify_again();
  /// The case's record. Frees what only timing needs.
  Record finish();

 private:
  void guarded(const std::function<void()>& step);
  void enter(std::string_view stage);
  void launch_once(int slot);
  Verification judge(int slot);
  std::optional<std::string> hash_outputs(int slot);
  void take_fingerprint();
  /// Launches per sample, the path, and whether caches are flushed before each sample. Gives the seconds per launch.
  double settle_launches();
  std::vector<double> warm_up_windows(double started, std::vector<double>& host_seconds);
  std::vector<Timing> timed_samples();
  Timing timed_sample();
  void describe_conditions();
  void summarize_samples();

  // With a duration (case_run_duration.cpp).
  bool lasts() const { return case_.protocol.seconds > 0; }
  void plan_duration();
  Timing checked_launches();
  /// Until the block's share of the duration is over.
  std::vector<Timing> samples_of_block(int block);
  void compare_launches();
  /// False where a launch gave other bits: the record is wrong.
  bool conclude_duration();
  std::string device_in_words() const;

  RunState& run_;
  const Case& case_;
  Record record_;
  std::unique_ptr<Prepared> prepared_;
  std::unique_ptr<Batch> batch_;
  BatchPlan plan_;
  int samples_per_block_ = 1;
  int blocks_ = 1;
  bool alive_ = true;
  std::vector<double> own_seconds_;  ///< this rank's part of the samples

  std::optional<std::string> verified_bits_;  ///< hash of the verified launch's outputs
  std::unique_ptr<LaunchCheck> check_;
  int last_slot_ = 0;
  std::vector<double> starts_;  ///< of the launches that are not compared yet
  std::optional<double> first_start_;
  double begin_ = 0;  ///< by the host's clock
  std::int64_t differing_launches_ = 0;
  std::string first_differing_;
};

}  // namespace roofmark
