// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/launch_check.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/measure/settings.hpp"
#include "harness/model/case.hpp"
#include "harness/model/measurement.hpp"
#include "harness/team/team.hpp"

namespace roofmark {

/// State shared by all cases of a run.
struct RunState {
  Device& device;
  Team& team;
  Settings settings;
  Sampler sampler;
  WallTime wall;
  StageListener listener;
  CourseListener course_listener = {};
  /// Of a tuned case, by its name: what it was told, call by call.
  std::map<std::string, std::vector<std::vector<double>>> candidate_seconds = {};
  std::string lost_to = {};  ///< the case that met a sticky error; empty while the device works
};

/// A record with the case's properties only; status not run.
Record blank_record(const Case& c, int pass);
/// The record of a case that is not measured: unsupported with the case's reason if it has one, else not run for the given
/// reason.
Record left_out(const Case& c, int pass, const std::string& reason);

/// One case from preparation to record. Each step ends with the team's agreement: a case that fails on one rank has failed on
/// all, and its later steps do nothing. Steps throw Interrupted and TeamBroken; all other errors become the record's status.
class CaseRun {
 public:
  CaseRun(RunState& run, const Case& c, int pass);

  const Case& measured_case() const { return case_; }
  bool alive() const { return alive_; }

  /// Allocates and fills the slots for cold caches, within `limit_bytes`.
  void prepare(std::size_t limit_bytes);
  /// One launch against the reference; then the fingerprint of three.
  void verify();
  /// Chooses launches per sample and path, warms up until two windows agree, and derives the number of samples from the last
  /// window's spread. With a duration nothing is warmed up.
  void warm_up();
  /// A lead-in and the block's samples; with a duration, the block's share of it. A sample with different bits makes the record
  /// wrong.
  void time_block(int block);
  void verify_again();
  /// The case's record. Frees what only timing needs.
  Record finish();
  /// The record of a case that an interruption cut off, if it already had a status: it had ended, or had given wrong bits on a
  /// rank. All ranks call it.
  std::optional<Record> cut_off();

 private:
  /// Whether every rank says so. Unlike Team::agree(false), a "no" says nothing of a failure: where another rank has failed,
  /// this throws PeerFailed.
  bool all_say(bool yes) { return run_.team.max({yes ? -1.0 : 1.0}).front() < 0; }
  void guarded(const std::function<void()>& step);
  void enter(std::string_view stage);
  /// Repeats the stage, so that the watch sees progress in a long one.
  void tell_stage();
  /// Of the last run of samples of a load that lasts.
  void tell_course(const std::vector<Timing>& run);
  /// The same between the parts of a filling or a check. On a device alone it ends a run that was interrupted.
  void tell_part();
  /// The seconds of a tuned case's candidates, which it may ask for several times. A second pass is told what the first was
  /// told, call by call, so that both choose and time the same.
  std::vector<double> choose_among(const std::vector<Launch>& candidates, int slots);
  void launch_once(int slot);
  Verification judge(int slot, const std::string& found_before = {});
  std::optional<std::string> hash_outputs(int slot);
  void take_fingerprint();
  /// Launches per sample, the path, and whether caches are flushed before each sample. Returns the seconds per launch.
  double settle_launches();
  /// Runs uncounted samples in windows until two consecutive ones agree, or until `end` on the host's clock.
  struct Windows {
    std::vector<double> last;          ///< seconds per launch of the last window's valid samples, the slowest rank's
    std::vector<double> host_seconds;  ///< that each sample took
    bool agree = false;
  };
  /// `after_first` is called after the first window.
  Windows run_windows(
      double window_seconds, double end, const std::function<void()>& after_first = [] {});
  /// Goes on with the load while the clock since `since` has fallen and the driver gives no reason: what it says can be a tenth
  /// of a second old.
  void await_reason(const std::vector<ClockStamp>& since);
  void describe_conditions();
  void summarize_samples();
  std::string device_in_words() const;
  std::string where_and_when(double start_seconds) const;

  // Timing (case_run_timing.cpp).
  /// Before each block and each candidate of a tuned case: a pause.
  void rest() const;
  /// Launches, without recording samples, until the rate is stable and the telemetry has been read.
  Telemetry lead_in();
  /// Where the thread that makes single calls runs.
  void note_calling_thread();
  std::vector<Timing> timed_samples();
  Timing timed_sample(std::size_t sample);
  /// Per launch; 0 of a rank that takes no part, whose time is none of the team's.
  double own_seconds(const Timing& timing, int launches) const;
  void keep_samples(int block, const std::vector<Timing>& timings);

  // The bits of timed launches (case_run_timing.cpp).
  struct CheckedLaunch {
    std::size_t number = 0;  ///< of the sample in its block; with a duration, of the launch, the last of its batch, from 1
    int slot = 0;
    double start_seconds = 0;
  };
  /// The launches of the fingerprint gave the bits of the verified launch, and all later ones should.
  bool reproducible() const { return record_.fingerprint && record_.fingerprint->deterministic && verified_bits_; }
  /// What a batch leaves is what a verified launch leaves, unless launches without a reset between them build on one another.
  bool repeats() const { return !prepared_->accumulates() && (!prepared_->needs_reset() || plan_.launches <= plan_.slots); }
  /// The record is wrong: the launch whose output is in this slot gave other bits than the verified one.
  void refuse_bits(std::string_view when, int slot);
  void plan_check(double sample_seconds);
  void check_bits(const Timing& timing, std::size_t number);
  /// Reads the hashes made since the last call; `describe` names the first launch with different bits.
  void compare_bits(const std::function<std::string(const CheckedLaunch&)>& describe);
  /// How many launches gave different bits, and the first one.
  std::string differing_bits() const;
  /// False if a launch gave different bits: the record is wrong.
  bool conclude_bits();

  bool by_host() const { return case_.protocol.timed != Timed::device; }

  // With a duration (case_run_duration.cpp).
  bool lasts() const { return case_.protocol.seconds > 0; }
  void plan_duration();
  Timing checked_launches();
  bool pulses() const { return case_.protocol.period_seconds > 0; }
  /// Rests until the next pulse is due.
  void await_pulse() const;
  /// Per launch.
  double seconds_with_rests() const;
  void note_power_swing(const std::vector<Reading>& readings);
  /// Of launches that follow one another, before bits are compared.
  double run_seconds() const;
  /// After a run of samples that took so long.
  void plan_next_run(double seconds);
  /// Until the block's share of the duration is over.
  std::vector<Timing> samples_of_block(int block);
  void conclude_duration();
  void note_hot_burst(const std::vector<Reading>& readings);

  RunState& run_;
  const Case& case_;
  Record record_;
  std::unique_ptr<Prepared> prepared_;
  std::unique_ptr<Batch> batch_;
  BatchPlan plan_;
  int samples_per_block_ = 1;   ///< with a duration, per run of samples
  int most_samples_ = 1;        ///< with a duration, of such a run
  int batches_per_sample_ = 1;  ///< with a duration
  int blocks_ = 1;
  bool alive_ = true;
  std::size_t choices_ = 0;                 ///< that the preparation has asked for
  std::string_view stage_;                  ///< a literal
  std::vector<Sample> own_samples_;         ///< with this rank's own times; empty: it takes no part
  std::optional<Sustained> own_sustained_;  ///< of this rank's part of them

  std::optional<std::string> verified_bits_;  ///< hash of the verified launch's outputs
  int last_slot_ = 0;                         ///< of the last launches
  std::unique_ptr<LaunchCheck> check_;
  std::vector<CheckedLaunch> unread_;  ///< checks whose hashes have not been read back
  std::int64_t differing_ = 0;
  std::string first_differing_;

  std::size_t launches_ = 0;  ///< with a duration
  std::optional<double> first_start_;
  double begin_ = 0;  ///< by the host's clock
};

}  // namespace roofmark
