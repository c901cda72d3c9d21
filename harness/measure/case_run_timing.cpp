// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "harness/machine/host.hpp"
#include "harness/machine/numa.hpp"
#include "harness/measure/candidates.hpp"
#include "harness/measure/case_run.hpp"
#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

// Evicting the caches costs little beside a launch of this length.
constexpr double kFlushFromSeconds = 100e-6;

/// Google Benchmark prints nothing: the loop keeps the samples, and records are presented elsewhere.
class SilentReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace

double CaseRun::settle_launches() {
  const Launch launch = [this](Stream stream, int slot) { prepared_->launch(stream, slot); };
  const int given = by_host() || (lasts() && prepared_->needs_reset()) ? 1 : case_.protocol.launches;
  plan_.path = case_.protocol.issue;
  if (prepared_->needs_reset()) {
    plan_.restore = [this](int slot) {
      tell_stage();
      prepared_->reset(slot);
    };
  }
  plan_.launches = std::max(given, 1);
  if (prepared_->begins_evicted()) {
    BatchPlan evicting = plan_;
    evicting.flush_before = true;
    run_.device.batch(evicting, launch)->run();
  }
  const auto run = [this] {
    tell_stage();
    return batch_->run();
  };
  batch_ = run_.device.batch(plan_, launch);
  run();
  Timing last = run();
  double seconds = own_seconds(last, plan_.launches);
  // The first launches pay for loading and for idle clocks, so the count settles in two rounds.
  for (int round = 0; round < 2 && !given; ++round) {
    const double slowest = run_.team.max({seconds}).front();
    const bool as_graphs = run_.team.max({batch_->path() == Issue::graph ? 0.0 : 1.0}).front() == 0;
    const int launches = launches_per_sample(slowest, run_.settings.effort, as_graphs ? plan_.slots : 0);
    if (launches != plan_.launches) {
      plan_.launches = launches;
      batch_ = run_.device.batch(plan_, launch);
      run();
    }
    last = run();
    seconds = own_seconds(last, plan_.launches);
  }
  last_slot_ = last.last_slot;
  Measurement& measurement = *record_.measurement;
  // Evicting the device's caches leaves those of its host as they are.
  if (run_.team.decide(measurement.cache_by == "partly" && case_.host_slot_bytes == 0 && seconds >= kFlushFromSeconds)) {
    plan_.flush_before = true;
    plan_.launches = 1;
    measurement.cache_by = "flush";
    batch_ = run_.device.batch(plan_, launch);
  }
  return seconds;
}

CaseRun::Windows CaseRun::run_windows(double window_seconds, double end, const std::function<void()>& after_first) {
  const auto& clock = run_.settings.clock;
  bool first = true;
  Windows windows;
  std::vector<double> previous;
  do {
    previous = std::exchange(windows.last, {});
    const double window_start = clock();
    do {
      run_.team.barrier();
      const double sample_start = clock();
      const Timing timing = batch_->run();
      windows.last.push_back(timing.valid ? own_seconds(timing, plan_.launches) : kVoidSample);
      windows.host_seconds.push_back(clock() - sample_start);
    } while (run_.team.decide(clock() - window_start < window_seconds));
    windows.last = run_.team.max(std::move(windows.last));
    std::erase(windows.last, kVoidSample);
    if (std::exchange(first, false)) after_first();
    windows.agree = windows_agree(previous, windows.last, run_.settings.effort.window_agreement);
  } while (run_.team.decide(!windows.agree && clock() < end));
  return windows;
}

void CaseRun::await_reason(const std::vector<ClockStamp>& since) {
  const DeviceInfo& info = run_.device.info();
  const auto& clock = run_.settings.clock;
  const auto clock_hz = mean_clock_hz(since, run_.device.clock_stamps(), info.highest_clock_hz);
  const bool fallen = clock_hz && info.rated_clock_hz && *clock_hz < (1 - kFallenClock) * *info.rated_clock_hz;
  const double end = clock() + run_.settings.effort.reason_seconds;
  while (!all_say(!fallen || run_.sampler.may_be_throttled() || clock() >= end)) {
    run_.team.barrier();
    batch_->run();
  }
}

std::vector<double> CaseRun::choose_among(const std::vector<Launch>& candidates, int slots) {
  auto& told = run_.candidate_seconds[record_.name()];
  const std::size_t call = choices_++;
  if (!all_say(call < told.size() && told[call].size() == candidates.size())) {
    told.resize(call);  // what followed belongs to other candidates
    told.push_back(
        time_candidates(run_.device, run_.team, run_.settings, candidates, case_.protocol, slots, [this] { rest(); }));
  }
  return told[call];
}

// A block after long load would be slower than the next, after a pause: a power cap acts within tens of milliseconds,
// overshoots, and lets go as fast. So each block begins rested, whatever ran before it.
void CaseRun::rest() const {
  const Effort& effort = run_.settings.effort;
  run_.settings.sleep(run_.sampler.may_be_throttled() ? effort.rest_seconds : effort.gap_seconds);
}

// After an idle gap the clock is higher than under load, until a power cap sets in, or lower, and operands may have left the
// caches.
Telemetry CaseRun::lead_in() {
  const Effort& effort = run_.settings.effort;
  const auto& clock = run_.settings.clock;
  // A driver takes milliseconds for a reading, more where it is asked by many.
  std::uint64_t reading = 0;
  const Windows windows = run_windows(effort.lead_in_window_seconds, clock() + (by_host() ? 0 : effort.lead_in_seconds),
                                      [&] { reading = run_.sampler.ask(); });
  // The device must not idle meanwhile: batches go on until the answer, or until the sampler gives up. A batch that takes long
  // comes once.
  const bool brief = !windows.last.empty() && median(windows.last) * plan_.launches < effort.lead_in_seconds;
  const double end = clock() + (all_say(brief) ? std::max(effort.lead_in_seconds, Sampler::kPatienceSeconds) : 0);
  while (!all_say(run_.sampler.answered(reading) || clock() >= end)) {
    run_.team.barrier();
    batch_->run();
  }
  return run_.sampler.wait(reading);
}

void CaseRun::time_block(int block) {
  guarded([&] {
    if (block >= blocks_) return;
    enter("timing");
    const Stopwatch watch(run_.wall.timing, run_.settings.clock);
    Device& device = run_.device;
    Block around;
    if (!lasts()) rest();
    const double started = run_.settings.clock();
    if (lasts()) {
      around.before = run_.sampler.read();
    } else {
      around.before = lead_in();
      around.lead_in_seconds = run_.settings.clock() - started;
    }
    run_.team.barrier();
    around.first_clock_hz = device.observed_clock_hz(case_.protocol.one_core);
    const auto now = device.clock();
    const std::vector<ClockStamp> first = device.clock_stamps();
    std::optional<Sampler::Quiet> quiet;
    if (by_host()) quiet.emplace(run_.sampler);
    around.span.first = now();
    const std::vector<Timing> timings = lasts() ? samples_of_block(block) : timed_samples();
    around.span.second = now();
    quiet.reset();
    around.mean_clock_hz = mean_clock_hz(first, device.clock_stamps(), device.info().highest_clock_hz);
    around.last_clock_hz = device.observed_clock_hz(case_.protocol.one_core);
    around.after = run_.sampler.read();
    around.throttled_share = throttled_share(run_.sampler.around(around.span), around.span);
    record_.measurement->blocks.push_back(std::move(around));
    keep_samples(block, timings);
    if (lasts()) return;
    compare_bits([&](const CheckedLaunch& launch) {
      return fmt::format("sample {} of block {}, in slot {}, {}", launch.number + 1, block + 1, launch.slot,
                         where_and_when(launch.start_seconds));
    });
    conclude_bits();
  });
}

// A run of samples through Google Benchmark: one event pair and one SetIterationTime per sample.
std::vector<Timing> CaseRun::timed_samples() {
  std::vector<Timing> timings;
  std::exception_ptr thrown;
  const int launches = record_.measurement->launches_per_sample;
  benchmark::RegisterBenchmark(record_.name().c_str(),
                               [&](benchmark::State& state) {
                                 while (state.KeepRunningBatch(launches)) {
                                   try {
                                     run_.team.barrier();
                                     timings.push_back(lasts() ? checked_launches() : timed_sample(timings.size()));
                                     state.SetIterationTime(timings.back().seconds);
                                   } catch (...) {
                                     thrown = std::current_exception();
                                     state.SkipWithError("stopped");
                                     break;
                                   }
                                 }
                               })
      ->UseManualTime()
      ->Iterations(static_cast<benchmark::IterationCount>(samples_per_block_) * launches)
      ->Repetitions(1);
  SilentReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (thrown) std::rethrow_exception(thrown);
  return timings;
}

Timing CaseRun::timed_sample(std::size_t sample) {
  const Timing timing = batch_->run();
  if (check_ && timing.valid && check_->due(timing.seconds)) check_bits(timing, sample);
  return timing;
}

double CaseRun::own_seconds(const Timing& timing, int launches) const {
  return prepared_->takes_part() ? timing.seconds / launches : 0;
}

void CaseRun::keep_samples(int block, const std::vector<Timing>& timings) {
  Measurement& measurement = *record_.measurement;
  const int launches = measurement.launches_per_sample;
  const std::vector<Reading> readings = run_.sampler.around(measurement.blocks.back().span);
  std::vector<double> seconds;
  for (const Timing& timing : timings) seconds.push_back(timing.valid ? own_seconds(timing, launches) : kVoidSample);
  seconds = run_.team.max(std::move(seconds));
  for (std::size_t i = 0; i < timings.size(); ++i) {
    if (seconds[i] == kVoidSample) {
      ++measurement.void_samples;
      continue;
    }
    const Timing& own = timings[i];
    const Span span{own.start_seconds, own.start_seconds + own.seconds};
    std::map<std::string, double> shares = throttled_share(readings, span);
    shares.erase(std::string(throttle::application_clocks.name));  // a setting, which holds for all samples
    const bool throttled = !shares.empty();
    const Sample sample{own.start_seconds, seconds[i], own.host_seconds / launches, block, throttled};
    measurement.samples.push_back(sample);
    if (!prepared_->takes_part()) continue;
    own_samples_.push_back(sample);
    own_samples_.back().seconds = own_seconds(own, launches);
  }
}

void CaseRun::plan_check(double sample_seconds) {
  if (!repeats()) return;
  launch_once(0);  // on every rank, also on one whose launches differ
  if (!reproducible()) return;
  if (hash_outputs(0) != verified_bits_) {
    if (prepared_->is_deterministic()) refuse_bits("before the timed launches", 0);
    return;  // launches that agreed by chance are not compared
  }
  // Half of a block, so that each block has a check.
  const double seconds = sample_seconds * samples_per_block_ / 2;
  check_ = std::make_unique<LaunchCheck>(run_.device, *prepared_, seconds, static_cast<std::size_t>(samples_per_block_));
}

void CaseRun::check_bits(const Timing& timing, std::size_t number) {
  unread_.push_back({number, timing.last_slot, timing.start_seconds});
  check_->check(timing.last_slot);
}

void CaseRun::compare_bits(const std::function<std::string(const CheckedLaunch&)>& describe) {
  if (!check_) return;
  for (const std::size_t check : check_->differing()) {
    if (differing_++ == 0) first_differing_ = describe(unread_.at(check));
  }
  unread_.clear();
}

std::string CaseRun::differing_bits() const {
  return fmt::format("wrong result: {} of {} {} gave other bits than the verified launch; the first is {}", differing_,
                     check_->checks(), lasts() ? "launches" : "checked samples", first_differing_);
}

bool CaseRun::conclude_bits() {
  if (differing_ == 0) return true;
  record_.status = Status::wrong;
  record_.reason = differing_bits();
  // What a check of all elements says now: a place, or that the fault has passed. (One of a collective needs all ranks.)
  if (case_.message) return false;
  const Verification found = judge(last_slot_, record_.reason);
  if (found.status == Verification::Status::passed) record_.reason += "; the last launch's is right again";
  return false;
}

std::string CaseRun::where_and_when(double start_seconds) const {
  return fmt::format("on {} at {}", device_in_words(), utc_now(run_.device.clock()() - start_seconds));
}

void CaseRun::note_calling_thread() {
  const auto node = node_of_this_thread(), near = run_.device.info().near_node;
  if (!node) return;
  record_.notes.emplace_back("calling thread", fmt::format("on node {} at the end{}", *node,
                                                           !near          ? "; the kernel names no node of the device"
                                                           : node == near ? ", as the device"
                                                                          : fmt::format("; the device is on node {}", *near)));
}

}  // namespace roofmark
