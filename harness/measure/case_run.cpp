// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/case_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "harness/device/progress.hpp"
#include "harness/measure/agreement.hpp"
#include "harness/measure/candidates.hpp"
#include "harness/measure/slots.hpp"
#include "harness/model/statistics.hpp"
#include "harness/model/units.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

constexpr const char* kNoValidSample = "no valid sample: the launch gate timed out each time";

/// Whether a device can no longer be used. After a library's failure only the device knows.
bool is_lost(Device& device) {
  try {
    device.free_bytes();
    return false;
  } catch (const DeviceError& error) {
    return error.sticky();
  }
}

}  // namespace

Record blank_record(const Case& c, int pass) {
  Record record;
  static_cast<CaseName&>(record) = static_cast<const CaseName&>(c);
  record.work = c.work;
  record.message = c.message;
  record.overlap = c.overlap;
  record.transfer = c.transfer;
  record.sets_ceiling = c.sets_ceiling;
  record.pass = pass;
  return record;
}

Record left_out(const Case& c, int pass, const std::string& reason) {
  Record record = blank_record(c, pass);
  record.status = c.unsupported.empty() ? Status::not_run : Status::unsupported;
  record.reason = c.unsupported.empty() ? reason : c.unsupported;
  return record;
}

CaseRun::CaseRun(RunState& run, const Case& c, int pass) : run_(run), case_(c), record_(blank_record(c, pass)) {
  alive_ = c.unsupported.empty();
  record_.status = alive_ ? Status::ok : Status::unsupported;
  record_.reason = c.unsupported;
}

// Every stage begins with the ranks together, so that a signal to one of them ends all at the same place.
void CaseRun::enter(std::string_view stage) {
  run_.team.barrier();
  stage_ = stage;
  tell_stage();
}

void CaseRun::tell_stage() {
  if (run_.listener) run_.listener(record_.name(), stage_);
}

// Ranks work in parts of their own number: they meet when all are done.
void CaseRun::tell_part() {
  tell_stage();
  if (run_.team.size() == 1) run_.team.barrier();
}

void CaseRun::guarded(const std::function<void()>& step) {
  if (!alive_) return;
  Status status = Status::ok;
  std::string reason;
  bool agreed = false;
  if (!run_.lost_to.empty()) {
    status = Status::not_run;
    reason = "device lost to " + run_.lost_to;
  } else {
    try {
      step();
      status = record_.status == Status::wrong ? Status::wrong : Status::ok;
      reason = record_.reason;
    } catch (const Interrupted&) {
      throw;
    } catch (const TeamBroken&) {
      throw;
    } catch (const PeerFailed&) {
      agreed = true;
    } catch (const OutOfMemory& error) {
      status = Status::not_run;
      reason = error.what();
    } catch (const Unsupported& error) {
      status = Status::unsupported;
      reason = error.what();
    } catch (const DeviceError& error) {
      status = Status::failed;
      reason = error.what();
      if (error.sticky() || is_lost(run_.device)) run_.lost_to = record_.name();
    } catch (const std::exception& error) {
      status = Status::failed;
      reason = error.what();
    }
  }
  if (status == Status::failed && differing_ > 0) {
    status = Status::wrong;
    reason = differing_bits() + "; then " + reason;
  }
  if (!agreed && run_.team.agree(status == Status::ok)) return;
  agree_on_status(run_.team, record_, status, reason);
  alive_ = false;
}

void CaseRun::prepare(std::size_t limit_bytes) {
  guarded([&] {
    enter("preparing");
    const Stopwatch watch(run_.wall.preparation, run_.settings.clock);
    Device& device = run_.device;
    const std::size_t least = least_bytes(case_), memory = device.info().memory_bytes;
    if (least > memory) {
      throw Unsupported(fmt::format("needs {}, the device has {}", format_bytes(static_cast<double>(least)),
                                    format_bytes(static_cast<double>(memory))));
    }
    if (least > limit_bytes) throw OutOfMemory(least, limit_bytes);
    const SlotPlan slots = plan_slots(case_, last_level_caches(device.info()), limit_bytes);
    // Listed as cold in the host's caches too, which nothing else evicts: the device has less memory free than it had then.
    if (case_.host_slot_bytes > 0 && slots.cache_by == "partly") {
      const std::size_t wanted = plan_slots(case_, last_level_caches(device.info()), memory).slots * case_.slot_bytes;
      throw OutOfMemory(wanted + case_.shared_bytes, limit_bytes);
    }
    const Setup setup{device, slots.slots, run_.settings.data, run_.settings.seed,
                      [this, slots](const std::vector<Launch>& candidates) { return choose_among(candidates, slots.slots); }};
    const ProgressListener listener(run_.device, [this] { tell_part(); });
    const std::size_t before = device.allocated_bytes();
    prepared_ = case_.prepare(setup);
    record_.memory_bytes = device.allocated_bytes() - before;
    plan_.slots = slots.slots;
    plan_.timed = case_.protocol.timed;
    plan_.one_core = case_.protocol.one_core;
    Measurement& measurement = record_.measurement.emplace();
    measurement.timed = case_.protocol.timed;
    measurement.cache = case_.protocol.cache;
    measurement.cache_by = slots.cache_by;
    measurement.slots = slots.slots;
  });
}

void CaseRun::launch_once(int slot) {
  tell_stage();  // some launches take most of a minute
  prepared_->reset(slot);
  prepared_->launch(run_.device.stream(), slot);
  run_.device.synchronize();
}

Verification CaseRun::judge(int slot, const std::string& found_before) {
  const ProgressListener listener(run_.device, [this] { tell_part(); });
  Verification found = prepared_->verify(slot);
  if (found.status == Verification::Status::failed) {
    record_.status = Status::wrong;
    const std::string before = found_before.empty() ? "wrong result" : found_before + "; after the last launch";
    record_.reason = fmt::format("{}: error {}, allowed {} ({})", before, format_figure(found.error),
                                 format_figure(found.bound), found.detail);
  }
  return found;
}

void CaseRun::verify() {
  guarded([&] {
    enter("verifying");
    const Stopwatch watch(run_.wall.verification, run_.settings.clock);
    launch_once(0);
    record_.verification_before = judge(0);
    verified_bits_ = hash_outputs(0);
  });
  guarded([&] { take_fingerprint(); });
}

// Absent when a launch writes nothing.
std::optional<std::string> CaseRun::hash_outputs(int slot) {
  const std::vector<Output> outputs = prepared_->outputs(slot);
  if (outputs.empty()) return std::nullopt;
  std::uint64_t hash = 0;
  for (const Output& output : outputs) {
    hash = hash * kGoldenGamma + run_.device.hash(output.data, output.count * size_of(output.type));
  }
  return fmt::format("{:016x}", hash);
}

void CaseRun::take_fingerprint() {
  const Stopwatch watch(run_.wall.verification, run_.settings.clock);
  if (run_.team.max({prepared_->outputs(0).empty() ? 0.0 : 1.0}).front() == 0) return;
  const DeviceInfo& info = run_.device.info();
  const Settings& settings = run_.settings;
  Fingerprint fingerprint;
  fingerprint.key = fmt::format("{}|{}|cc{}|sm{}|{}|data{}|seed{}|{}", settings.build_key, info.name, info.compute_capability,
                                info.multiprocessors, record_.name(), static_cast<int>(settings.data), settings.seed,
                                prepared_->fingerprint_key());
  fingerprint.hash = verified_bits_.value_or("");
  // The first of three launches was verified. The others run on every rank, even on one that has no output.
  for (int launch = 1; launch < 3; ++launch) {
    launch_once(0);
    if (hash_outputs(0) != verified_bits_) fingerprint.deterministic = false;
  }
  if (!fingerprint.deterministic) fingerprint.hash.clear();
  if (verified_bits_) record_.fingerprint = fingerprint;
  if (run_.team.size() > 1) compare_fingerprints(run_.team, record_.fingerprint);
  if (verified_bits_ && !fingerprint.deterministic && prepared_->is_deterministic()) {
    record_.status = Status::wrong;
    record_.reason = fmt::format("three launches of a pinned algorithm gave different bits, on {}", device_in_words());
  }
}

void CaseRun::refuse_bits(std::string_view when, int slot) {
  record_.status = Status::wrong;
  record_.reason = fmt::format("wrong result: {}, on {}: other bits than the verified launch's", when, device_in_words());
  // A check of a collective needs all ranks, and this one alone may have seen it.
  if (!record_.verification_after && !case_.message) record_.verification_after = judge(slot, record_.reason);
  const bool passed = record_.verification_after && record_.verification_after->status == Verification::Status::passed;
  if (passed) record_.reason += ", within the bound";
}

void CaseRun::warm_up() {
  double sample_seconds = 0;
  guarded([&] {
    enter("warming up");
    const Stopwatch watch(run_.wall.warm_up, run_.settings.clock);
    if (lasts()) return plan_duration();
    const Effort& effort = run_.settings.effort;
    Team& team = run_.team;
    Measurement& measurement = *record_.measurement;
    const double started = run_.settings.clock();
    settle_launches();
    const std::vector<ClockStamp> before = run_.device.clock_stamps();
    // What single calls take scatters: that is the result, and no sign of a device that is not yet at its clock.
    const Windows windows = by_host() ? run_windows(effort.lead_in_window_seconds, started + effort.lead_in_seconds)
                                      : run_windows(effort.window_seconds, started + effort.warm_up_seconds);
    if (!by_host()) await_reason(before);
    measurement.settled = windows.agree;
    const std::vector<double>& window = windows.last;
    if (window.empty()) throw DeviceError(kNoValidSample, false);

    // A rank that does not take part spends next to nothing, so the maximum counts.
    const double sample_cost = std::max(team.max({median(windows.host_seconds)}).front(), 1e-9);
    const int budget_samples = case_.protocol.budget_samples;
    const double affordable =
        budget_samples > 0 ? budget_samples * effort.longer : std::max<double>(effort.blocks, effort.max_seconds / sample_cost);
    // A window of one sample has no spread: then the budget decides.
    const auto needed = samples_needed(window, effort.interval_half_width, effort.blocks);
    const double least = std::max(effort.min_samples, case_.protocol.samples);
    const double most = effort.max_samples * effort.longer;
    const double wanted = needed ? std::max(static_cast<double>(*needed), least) * effort.longer : most;
    const double samples = std::min({wanted, affordable, most});
    const bool enough = needed && wanted <= std::min(affordable, most);
    measurement.stopped_by = enough ? StopReason::interval : StopReason::budget;
    blocks_ = static_cast<int>(team.decide(std::clamp<std::int64_t>(std::llround(samples), 1, effort.most_blocks())));
    // What is needed is rounded up; the budget is kept as well as whole samples can.
    const double per_block = samples / blocks_;
    samples_per_block_ = static_cast<int>(team.decide(std::llround(enough ? std::ceil(per_block) : per_block)));
    measurement.launches_per_sample = plan_.launches * case_.protocol.executions;
    measurement.path = batch_->path();
    measurement.warm_up_seconds = run_.settings.clock() - started;
    sample_seconds = median(window) * plan_.launches;
  });
  guarded([&] {
    if (lasts() || by_host()) return;  // a hash between two calls would warm or delay the next one
    const Stopwatch watch(run_.wall.verification, run_.settings.clock);
    plan_check(sample_seconds);
  });
}

void CaseRun::verify_again() {
  guarded([&] {
    enter("verifying");
    if (lasts()) conclude_duration();
  });
  // A launch may need all ranks.
  guarded([&] {
    Measurement& measurement = *record_.measurement;
    if (check_) {
      const auto checks = static_cast<std::size_t>(check_->checks());
      measurement.samples_checked = static_cast<int>(lasts() ? std::min(checks, measurement.samples.size()) : checks);
      measurement.share_checked = check_->share_checked();
      double spanned = 0;
      for (const Block& block : measurement.blocks) spanned += block.span.second - block.span.first;
      if (spanned > 0) measurement.checking_share_of_time = check_->seconds() / spanned;
    }
    measurement.background = prepared_->background();
    {
      const Stopwatch watch(run_.wall.verification, run_.settings.clock);
      const int slot = plan_.slots - 1;
      launch_once(slot);
      // Bits that were found right are right: a case whose launches agree bit for bit is not compared element by element again.
      const bool same = reproducible() && hash_outputs(slot) == verified_bits_;
      if (same && prepared_->outputs_are_all()) {
        record_.verification_after = record_.verification_before;
        record_.verification_after->detail = "the same bits as verified before";
      } else {
        record_.verification_after = judge(slot);
        const bool must_be_same = reproducible() && prepared_->is_deterministic() && repeats();
        if (must_be_same && !same && record_.status == Status::ok) refuse_bits("after the timed launches", slot);
      }
    }
    describe_conditions();
    if (run_.team.size() > 1) {
      measurement.ranks = gather_rank_times(run_.team, own_samples_, own_sustained_, record_);
      measurement.of_rank = run_.team.rank();
    }
    record_.transports = gather_transports(run_.team, prepared_->transports());
  });
  guarded([&] {
    if (run_.team.size() > 1) share_verifications(run_.team, record_);
  });
}

// What the device did during the blocks.
void CaseRun::describe_conditions() {
  Measurement& measurement = *record_.measurement;
  std::vector<double> clocks, seconds;
  std::vector<Span> spans;
  for (const Block& block : measurement.blocks) {
    if (const auto clock_hz = block.clock_hz()) clocks.push_back(*clock_hz);
    spans.push_back(block.span);
  }
  // A block's clock is that of its rests too.
  if (!clocks.empty() && !pulses()) measurement.clock_hz = median(std::move(clocks));
  for (const Sample& sample : measurement.samples) seconds.push_back(sample.seconds);
  if (spans.empty() || seconds.empty()) return;
  const std::vector<Reading> readings = run_.sampler.around({spans.front().first, spans.back().second});
  measurement.telemetry = summarize(readings, spans, pulses() ? seconds_with_rests() : median(std::move(seconds)));
  if (pulses()) note_power_swing(readings);
}

void CaseRun::summarize_samples() {
  Measurement& measurement = *record_.measurement;
  const auto fail = [&](const char* reason) {
    record_.status = Status::failed;
    record_.reason = reason;
  };
  if (measurement.samples.empty()) return fail(kNoValidSample);
  measurement.summary = summarize(measurement.samples);
  if (!(measurement.summary.minimum > 0)) return fail("the device's clock did not advance during a sample");
}

Record CaseRun::finish() {
  if (prepared_) {
    const auto notes = prepared_->notes();
    record_.notes.insert(record_.notes.begin(), notes.begin(), notes.end());
  }
  if (prepared_ && by_host() && run_.device.info().backend == Backend::cuda) note_calling_thread();
  if (alive_) summarize_samples();
  if (record_.status != Status::ok) {  // a wrong or failed case has no number
    record_.measurement.reset();
    record_.sustained.reset();
  }
  batch_.reset();
  return std::move(record_);
}

std::optional<Record> CaseRun::cut_off() {
  if (std::exchange(alive_, false)) {
    if (record_.status == Status::ok && differing_ > 0) {
      record_.status = Status::wrong;
      record_.reason = differing_bits() + "; then interrupted";
    }
    agree_on_status(run_.team, record_, record_.status, record_.reason, true);
    if (record_.status == Status::ok) return std::nullopt;
  }
  return finish();
}

}  // namespace roofmark
