// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/case_run.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "harness/measure/agreement.hpp"
#include "harness/measure/candidates.hpp"
#include "harness/measure/slots.hpp"
#include "harness/model/statistics.hpp"
#include "harness/model/units.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

namespace {

// Evicting the caches costs little beside a launch of this length.
constexpr double kFlushFromSeconds = 100e-6;

constexpr const char* kNoValidSample = "no valid sample: the gate had to open by itself each time";

/// Google Benchmark prints nothing: the loop keeps the samples, and records are presented elsewhere.
class SilentReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace

Record blank_record(const Case& c, int pass) {
  Record record;
  record.name = c.name();
  record.family = c.family;
  record.operation = c.operation;
  record.type = c.type;
  record.shape = c.shape;
  record.work = c.work;
  record.message = c.message;
  record.overlap = c.overlap;
  record.raises = c.raises;
  record.pass = pass;
  return record;
}

CaseRun::CaseRun(RunState& run, const Case& c, int pass) : run_(run), case_(c), record_(blank_record(c, pass)) {
  record_.status = Status::ok;
  if (c.unsupported.empty()) return;
  record_.status = Status::unsupported;
  record_.reason = c.unsupported;
  alive_ = false;
}

// Every stage begins with the ranks together, so that a signal to one of them ends all at the same place.
void CaseRun::enter(std::string_view stage) {
  run_.team.barrier();
  if (run_.listener) run_.listener(record_.name, stage);
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
      if (error.sticky()) run_.lost_to = record_.name;
    } catch (const std::exception& error) {
      status = Status::failed;
      reason = error.what();
    }
  }
  if (!agreed && run_.team.agree(status == Status::ok)) return;
  alive_ = false;
  agree_on_status(run_.team, record_, status, reason);
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
    const SlotPlan slots = plan_slots(case_, device.info().last_level_cache_bytes(), limit_bytes);
    const Setup setup{device, slots.slots, run_.settings.data, run_.settings.seed,
                      [this, slots](const std::vector<Launch>& candidates) {
                        return time_candidates(run_.device, run_.team, run_.settings, candidates, case_.protocol, slots.slots);
                      }};
    const std::size_t before = device.allocated_bytes();
    prepared_ = case_.prepare(setup);
    record_.memory_bytes = device.allocated_bytes() - before;
    plan_.slots = slots.slots;
    Measurement& measurement = record_.measurement.emplace();
    measurement.cache = case_.protocol.cache;
    measurement.cache_by = slots.cache_by;
    measurement.slots = slots.slots;
  });
}

void CaseRun::launch_once(int slot) {
  prepared_->reset(slot);
  prepared_->launch(run_.device.stream(), slot);
  run_.device.synchronize();
}

Verification CaseRun::judge(int slot) {
  Verification found = prepared_->verify(slot);
  if (found.status == Verification::Status::failed) {
    record_.status = Status::wrong;
    record_.reason = fmt::format("wrong result: error {:.4g}, allowed {:.4g} ({})", found.error, found.bound, found.detail);
  }
  return found;
}

void CaseRun::verify() {
  guarded([&] {
    enter("verifying");
    const Stopwatch watch(run_.wall.verification, run_.settings.clock);
    launch_once(0);
    record_.verification_before = judge(0);
    if (lasts()) verified_bits_ = hash_outputs(0);
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
  const DeviceInfo& info = run_.device.info();
  const Settings& settings = run_.settings;
  Fingerprint fingerprint;
  fingerprint.key = fmt::format("{}|{}|cc{}|sm{}|{}|data{}|seed{}|{}", settings.build_key, info.name, info.compute_capability,
                                info.multiprocessors, record_.name, static_cast<int>(settings.data), settings.seed,
                                prepared_->fingerprint_key());
  std::optional<std::string> hash;
  for (int launch = 0; launch < 3; ++launch) {
    launch_once(0);  // on every rank, even on one that has no output
    hash = hash_outputs(0);
    if (launch > 0 && hash.value_or("") != fingerprint.hash) fingerprint.deterministic = false;
    fingerprint.hash = hash.value_or("");
  }
  if (!fingerprint.deterministic) fingerprint.hash.clear();
  if (hash) record_.fingerprint = fingerprint;
  if (run_.team.size() > 1) compare_fingerprints(run_.team, record_.fingerprint);
}

double CaseRun::settle_launches() {
  const Launch launch = [this](Stream stream, int slot) {
    last_slot_ = slot;
    prepared_->launch(stream, slot);
  };
  const int given = lasts() ? 1 : case_.protocol.launches;
  plan_.path = case_.protocol.issue;
  if (prepared_->needs_reset()) plan_.restore = [this](int slot) { prepared_->reset(slot); };
  plan_.launches = std::max(given, 1);
  batch_ = run_.device.batch(plan_, launch);
  batch_->run();
  double seconds = batch_->run().device_seconds / plan_.launches;
  // The first launches pay for loading and for idle clocks, so the count settles in two rounds.
  for (int round = 0; round < 2 && !given; ++round) {
    const int launches = launches_per_sample(run_.team.max({seconds}).front(), run_.settings.effort);
    if (launches != plan_.launches) {
      plan_.launches = launches;
      batch_ = run_.device.batch(plan_, launch);
      batch_->run();
    }
    seconds = batch_->run().device_seconds / plan_.launches;
  }
  Measurement& measurement = *record_.measurement;
  if (run_.team.decide(measurement.cache_by == "partly" && seconds >= kFlushFromSeconds)) {
    plan_.flush_before = true;
    plan_.launches = 1;
    measurement.cache_by = "flush";
    batch_ = run_.device.batch(plan_, launch);
  }
  return seconds;
}

// Seconds per launch of the last window's samples; `host_seconds` is what each sample costs the budget.
std::vector<double> CaseRun::warm_up_windows(double started, std::vector<double>& host_seconds) {
  const Effort& effort = run_.settings.effort;
  const auto& clock = run_.settings.clock;
  Measurement& measurement = *record_.measurement;
  std::vector<double> window, previous;
  do {
    previous = std::exchange(window, {});
    const double window_start = clock();
    do {
      run_.team.barrier();
      const double sample_start = clock();
      const Timing timing = batch_->run();
      window.push_back(timing.valid ? timing.device_seconds / plan_.launches : kVoidSample);
      host_seconds.push_back(clock() - sample_start);
    } while (run_.team.decide(clock() - window_start < effort.window_seconds));
    window = run_.team.max(std::move(window));
    std::erase(window, kVoidSample);
    measurement.settled = windows_agree(previous, window, effort.window_agreement);
  } while (run_.team.decide(!measurement.settled && clock() - started < effort.warm_up_seconds));
  if (window.empty()) throw DeviceError(kNoValidSample, false);
  return window;
}

void CaseRun::warm_up() {
  guarded([&] {
    enter("warming up");
    const Stopwatch watch(run_.wall.warm_up, run_.settings.clock);
    if (lasts()) return plan_duration();
    const Effort& effort = run_.settings.effort;
    Team& team = run_.team;
    Measurement& measurement = *record_.measurement;
    const double started = run_.settings.clock();
    settle_launches();
    std::vector<double> host_seconds;
    const std::vector<double> window = warm_up_windows(started, host_seconds);

    // A rank that does not take part spends next to nothing, so the maximum counts.
    const double sample_cost = std::max(team.max({median(host_seconds)}).front(), 1e-9);
    const double affordable = std::max(1.0, effort.max_seconds / sample_cost);
    // A window of one sample has no spread: then the budget decides.
    const auto needed = samples_needed(window, effort.interval_half_width, effort.blocks);
    const double wanted = needed ? std::max<double>(static_cast<double>(*needed), effort.min_samples) : effort.max_samples;
    const double samples = std::min({wanted, affordable, static_cast<double>(effort.max_samples)});
    measurement.stopped_by = wanted <= affordable ? StopReason::interval : StopReason::budget;
    blocks_ = static_cast<int>(team.decide(std::clamp<std::int64_t>(std::llround(samples), 1, effort.blocks)));
    samples_per_block_ = static_cast<int>(team.decide(std::llround(std::ceil(samples / blocks_))));
    measurement.launches_per_sample = plan_.launches;
    measurement.path = batch_->path();
    measurement.warm_up_seconds = run_.settings.clock() - started;
  });
}

Timing CaseRun::timed_sample() { return lasts() ? checked_launches() : batch_->run(); }

// A run of samples through Google Benchmark: one event pair and one SetIterationTime per sample.
std::vector<Timing> CaseRun::timed_samples() {
  std::vector<Timing> timings;
  std::exception_ptr thrown;
  const int launches = record_.measurement->launches_per_sample;
  benchmark::RegisterBenchmark(record_.name.c_str(),
                               [&](benchmark::State& state) {
                                 while (state.KeepRunningBatch(launches)) {
                                   try {
                                     run_.team.barrier();
                                     timings.push_back(timed_sample());
                                     state.SetIterationTime(timings.back().device_seconds);
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

void CaseRun::time_block(int block) {
  guarded([&] {
    if (block >= blocks_) return;
    enter("timing");
    const Stopwatch watch(run_.wall.timing, run_.settings.clock);
    Measurement& measurement = *record_.measurement;
    Block around;
    around.before = run_.sampler.read();
    run_.team.barrier();
    // The clock falls between blocks and operands may have left the caches: one batch that does not count.
    if (!lasts()) batch_->run();
    const auto now = run_.device.clock();
    around.span.first = now();
    const std::vector<Timing> timings = lasts() ? samples_of_block(block) : timed_samples();
    around.span.second = now();
    around.clock_hz = run_.device.observed_clock_hz();
    around.after = run_.sampler.read();
    const std::vector<Reading> readings = run_.sampler.around(around.span);
    measurement.blocks.push_back(std::move(around));

    const int launches = measurement.launches_per_sample;
    std::vector<double> seconds;
    for (const Timing& timing : timings) seconds.push_back(timing.valid ? timing.device_seconds / launches : kVoidSample);
    seconds = run_.team.max(std::move(seconds));
    for (std::size_t i = 0; i < timings.size(); ++i) {
      if (seconds[i] == kVoidSample) {
        ++measurement.void_samples;
        continue;
      }
      const Timing& own = timings[i];
      if (prepared_->takes_part()) own_seconds_.push_back(own.device_seconds / launches);
      const Span span{own.start_seconds, own.start_seconds + own.device_seconds};
      measurement.samples.push_back(
          {own.start_seconds, seconds[i], own.host_seconds / launches, block, throttled(readings, span)});
    }
  });
}

void CaseRun::verify_again() {
  guarded([&] {
    enter("verifying");
    if (lasts() && !conclude_duration()) return;
    {
      const Stopwatch watch(run_.wall.verification, run_.settings.clock);
      const int slot = plan_.slots - 1;
      launch_once(slot);
      // Bits that were found right are right: a case whose launches agree bit for bit is not compared element by element again.
      const std::optional<Fingerprint>& fingerprint = record_.fingerprint;
      if (fingerprint && fingerprint->deterministic && prepared_->outputs_are_all() &&
          hash_outputs(slot) == fingerprint->hash) {
        record_.verification_after = record_.verification_before;
        record_.verification_after->detail = "the same bits as verified before";
      } else {
        record_.verification_after = judge(slot);
      }
    }
    describe_conditions();
    Measurement& measurement = *record_.measurement;
    if (run_.team.size() > 1) measurement.ranks = gather_rank_times(run_.team, own_seconds_, record_);
  });
}

// What the device did during the blocks.
void CaseRun::describe_conditions() {
  Measurement& measurement = *record_.measurement;
  std::vector<double> clocks, seconds;
  std::vector<Span> spans;
  for (const Block& block : measurement.blocks) {
    if (block.clock_hz) clocks.push_back(*block.clock_hz);
    spans.push_back(block.span);
  }
  if (!clocks.empty()) measurement.clock_hz = median(std::move(clocks));
  for (const Sample& sample : measurement.samples) seconds.push_back(sample.seconds);
  if (spans.empty() || seconds.empty()) return;
  const std::vector<Reading> readings = run_.sampler.around({spans.front().first, spans.back().second});
  measurement.telemetry = summarize(readings, spans, median(std::move(seconds)));
}

void CaseRun::summarize_samples() {
  Measurement& measurement = *record_.measurement;
  const auto fail = [&](const char* reason) {
    record_.status = Status::failed;
    record_.reason = reason;
  };
  if (measurement.samples.empty()) return fail(kNoValidSample);
  measurement.summary = summarize(measurement.samples);
  if (!(measurement.summary.minimum > 0)) return fail("the device's clock did not advance over a sample");
}

Record CaseRun::finish() {
  if (prepared_) record_.notes = prepared_->notes();
  if (alive_) summarize_samples();
  if (record_.status != Status::ok) {  // a wrong or failed case has no number
    record_.measurement.reset();
    record_.sustained.reset();
  }
  batch_.reset();
  return std::move(record_);
}

}  // namespace roofmark
