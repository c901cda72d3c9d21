// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "harness/machine/host.hpp"
#include "harness/measure/case_run.hpp"

namespace roofmark {

namespace {

constexpr double kRunSeconds = 1;  // what Google Benchmark gets at a time
constexpr double kMostLaunches = 1 << 16;
constexpr int kFirstOf = 16;  // parts of a run: what timing and checking take beside the launches shows in the first one

}  // namespace

// The first second has to show what the device gives before it is hot, so nothing is warmed up. A batch lasts about
// Effort::sample_seconds where launches may follow one another, or short ones would leave the device idle between them.
void CaseRun::plan_duration() {
  const double started = run_.settings.clock(), duration = case_.protocol.seconds;
  const double seconds = std::max(run_.team.max({settle_launches()}).front(), 1e-9) * plan_.launches;
  const bool is_checked = reproducible() && repeats();
  // The last launch must have the verified bits, since all later ones are compared with its own.
  if (is_checked && hash_outputs(last_slot_) != verified_bits_) return refuse_bits("before the timed launches", last_slot_);
  blocks_ = run_.settings.effort.most_blocks();
  const double batches = std::clamp(run_seconds() / seconds, 1.0, kMostLaunches);
  const double per_sample = std::ceil(duration / seconds / run_.settings.effort.max_samples);
  batches_per_sample_ = static_cast<int>(run_.team.decide(std::llround(std::clamp(per_sample, 1.0, batches))));
  most_samples_ = static_cast<int>(run_.team.decide(std::llround(std::max(1.0, batches / batches_per_sample_))));
  samples_per_block_ = pulses() ? most_samples_ : std::max(1, most_samples_ / kFirstOf);
  if (is_checked) {
    check_ = std::make_unique<LaunchCheck>(run_.device, *prepared_, seconds,
                                           static_cast<std::size_t>(most_samples_) * batches_per_sample_);
  }
  Measurement& measurement = *record_.measurement;
  measurement.stopped_by = StopReason::budget;
  measurement.batches_per_sample = batches_per_sample_;
  measurement.launches_per_sample = batches_per_sample_ * plan_.launches * case_.protocol.executions;
  measurement.path = batch_->path();
  measurement.warm_up_seconds = run_.settings.clock() - started;
}

std::string CaseRun::device_in_words() const {
  const DeviceInfo& info = run_.device.info();
  const std::string& uuid = info.gpu.uuid;
  return fmt::format("{} ({}{}{})", info.id, info.name, uuid.empty() ? "" : ", ", uuid);
}

// Each batch is timed, then its output is hashed: the hash runs between two timed batches. Ranks hash the same ones and begin
// each together, or one that has less to do would time its wait for the others.
Timing CaseRun::checked_launches() {
  Timing all;
  for (int i = 0; i < batches_per_sample_; ++i) {
    if (i > 0) run_.team.barrier();
    const Timing one = batch_->run();
    if (!first_start_) first_start_ = one.start_seconds;
    if (i == 0) all.start_seconds = one.start_seconds;
    all.seconds += one.seconds;
    all.host_seconds += one.host_seconds;
    all.valid = all.valid && one.valid;
    launches_ += static_cast<std::size_t>(plan_.launches);
    const bool due = check_ && check_->due(one.seconds);
    // Some ranks have no output, as where another one is the root.
    const bool due_on_any = run_.team.max({due ? 1.0 : 0.0}).front() > 0;
    if (due_on_any && check_) check_bits(one, launches_);
  }
  return all;
}

// Periods are counted from the clock's epoch, which all processes of a host share: their devices pulse together.
void CaseRun::await_pulse() const {
  const double period = case_.protocol.period_seconds;
  if (pulses()) run_.settings.sleep(period - std::fmod(run_.settings.clock(), period));
}

double CaseRun::seconds_with_rests() const {
  const Measurement& measurement = *record_.measurement;
  const double seconds = measurement.blocks.back().span.second - measurement.blocks.front().span.first;
  return seconds / static_cast<double>(measurement.samples.size()) / measurement.launches_per_sample;
}

void CaseRun::note_power_swing(const std::vector<Reading>& readings) {
  std::vector<double> watts;
  for (const Reading& reading : readings) {
    if (reading.state.power_watts) watts.push_back(*reading.state.power_watts);
  }
  if (watts.empty()) return;
  const auto [low, high] = std::minmax_element(watts.begin(), watts.end());
  record_.notes.emplace_back("power swing", fmt::format("{:.0f} to {:.0f} W in {} readings ({})", *low, *high, watts.size(),
                                                        run_.sampler.series().power));
}

double CaseRun::run_seconds() const {
  return std::min(pulses() ? case_.protocol.period_seconds / 2 : kRunSeconds, case_.protocol.seconds / blocks_);
}

// Checks, and waits for other ranks, may take longer than the launches.
void CaseRun::plan_next_run(double seconds) {
  const double samples = samples_per_block_ * run_seconds() / std::max(seconds, 1e-9);
  samples_per_block_ = static_cast<int>(run_.team.decide(std::llround(std::clamp(samples, 1.0, double(most_samples_)))));
}

std::vector<Timing> CaseRun::samples_of_block(int block) {
  const auto& clock = run_.settings.clock;
  if (block == 0) begin_ = clock();
  const double end = begin_ + case_.protocol.seconds * (block + 1) / blocks_;
  std::vector<Timing> timings;
  do {
    await_pulse();
    enter("timing");
    const double started = clock();
    const std::vector<Timing> more = timed_samples();
    timings.insert(timings.end(), more.begin(), more.end());
    compare_bits([&](const CheckedLaunch& launch) {
      return fmt::format("launch {} {}, {:.3f} s after the first", launch.number, where_and_when(launch.start_seconds),
                         launch.start_seconds - *first_start_);
    });
    if (check_) check_->rescale();
    tell_course(more);
    plan_next_run(clock() - started);
  } while (run_.team.decide(clock() < end));
  return timings;
}

void CaseRun::tell_course(const std::vector<Timing>& run) {
  if (!run_.course_listener || run.empty()) return;
  double seconds = 0;
  for (const Timing& timing : run) seconds += timing.seconds;
  const double launches = static_cast<double>(run.size()) * record_.measurement->launches_per_sample;
  const double at = run.back().start_seconds + run.back().seconds;
  const std::vector<Reading> readings = run_.sampler.around({at, at});
  const Demand main = case_.work.main();
  run_.course_listener(
      record_.name(), {run_.settings.clock() - begin_, case_.protocol.seconds, launches * main.amount / std::max(seconds, 1e-9),
                       main.resource.unit, readings.empty() ? Telemetry{} : readings.back().state, differing_});
}

// Cases follow one another without a pause: the first second of a later one is that of a device that is hot already.
void CaseRun::note_hot_burst(const std::vector<Reading>& readings) {
  constexpr double kWarmerCelsius = 5;
  const auto first_of = [](const std::vector<Reading>& of) {
    const auto has_it = [](const Reading& reading) { return reading.state.temperature_celsius.has_value(); };
    const auto found = std::find_if(of.begin(), of.end(), has_it);
    return found == of.end() ? std::nullopt : found->state.temperature_celsius;
  };
  const auto of_run = first_of(run_.sampler.series().readings), of_case = first_of(readings);
  if (!of_run || !of_case || *of_case <= *of_run + kWarmerCelsius) return;
  record_.notes.emplace_back("burst", fmt::format("began at {:.0f} C, {:.0f} above the start of the run: on a cold device it "
                                                  "may be faster",
                                                  *of_case, *of_case - *of_run));
}

void CaseRun::conclude_duration() {
  Measurement& measurement = *record_.measurement;
  if (!conclude_bits() || measurement.samples.empty()) return;
  const double begin = measurement.blocks.front().span.first, end = measurement.blocks.back().span.second;
  // A case's first demand is its main resource.
  const ClockDomain clock = case_.work.main().resource.clock;
  const std::vector<Reading> readings = run_.sampler.around({begin, end});
  const auto summarized = [&](const std::vector<Sample>& samples) {
    Sustained rates = summarize_sustained(samples, readings, clock);
    if (!case_.protocol.follows_one_clock) rates.rate_per_clock_ratio.reset();
    return rates;
  };
  record_.sustained = summarized(measurement.samples);
  measurement.settled = record_.sustained->settled_after_seconds.has_value();
  note_hot_burst(readings);
  const std::vector<double> own =
      check_ ? std::vector{static_cast<double>(check_->checks()), check_->share_checked(), check_->seconds() / (end - begin)}
             : std::vector<double>(3);
  const auto note_checks = [](Sustained& rates, const std::vector<double>& checked) {
    rates.launches_checked = std::llround(checked[0]);
    rates.share_checked = checked[1];
    rates.checking_share_of_time = checked[2];
  };
  note_checks(*record_.sustained, run_.team.max(own));
  if (own_samples_.empty()) return;
  own_sustained_ = summarized(own_samples_);
  note_checks(*own_sustained_, own);
}

}  // namespace roofmark
