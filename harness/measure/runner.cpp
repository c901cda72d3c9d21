// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/measure/slots.hpp"
#include "harness/team/gather.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TelemetrySummary, seconds, sm_clock_hz, memory_clock_hz, power_watts, temperature_celsius,
                                   memory_temperature_celsius, slowdown_margin_celsius, energy_joules, integrated_joules,
                                   joules_per_launch, throttled_share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Telemetry, sm_clock_hz, memory_clock_hz, power_watts, energy_joules, temperature_celsius,
                                   memory_temperature_celsius, slowdown_margin_celsius, utilization, pcie_in_bytes,
                                   pcie_out_bytes, nvlink_in_bytes, nvlink_out_bytes, pcie_bytes_per_second,
                                   pcie_bytes_per_second_at_most, throttle_reasons)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Reading, seconds, state)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TelemetrySeries, period_seconds, power, readings, cpu_seconds, gave_up)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankTelemetry, summary, course)

namespace {

constexpr double kNoLimit = 1e18;  // bytes

RunState make_state(Device& device, Team& team, Settings settings) {
  std::shared_ptr<TelemetrySource> source = settings.telemetry ? device.telemetry_source() : nullptr;
  return {device, team, std::move(settings), {std::move(source), device.clock()}, {}, {}, {}, {}};
}

CounterReadings read_host(const Settings& settings) {
  return settings.host_counters ? settings.host_counters() : CounterReadings();
}

}  // namespace

Runner::Runner(Device& device, Team& team, Settings settings)
    : state_(make_state(device, team, std::move(settings))),
      counters_before_(state_.sampler.counters()),
      host_before_(read_host(state_.settings)) {}

std::vector<std::optional<RankTelemetry>> Runner::rank_telemetry() {
  return state_.team.gather(roofmark::rank_telemetry(state_.sampler.series(), static_cast<std::size_t>(state_.team.size())));
}

namespace {

/// When telemetry that ended before the run ended: the time of the last reading, in seconds; 0 where there was none.
std::optional<double> end_of_lost(const TelemetrySeries& series) {
  if (!series.gave_up) return std::nullopt;
  return series.readings.empty() ? 0 : series.readings.back().seconds;
}

Finding lost_telemetry(const Team& team, int rank, double end) {
  const std::string name = team.describe(rank), where = name.empty() ? name : name + ": ";
  const std::string lost =
      end > 0 ? fmt::format("ended {:.1f} s after the device was opened: its driver did not answer any more", end)
              : "never began: its driver did not answer in time";
  return {FindingKind::telemetry_lost,
          fmt::format("{}the device's telemetry {}", where, lost),
          {},
          0,
          where + "the device's telemetry ended",
          name.empty() ? std::vector<int>() : std::vector{rank}};
}

struct Readings {
  CounterReadings before, after;
  CounterReadings host_before, host_after;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Readings, before, after, host_before, host_after)

std::vector<CounterChange> changes_of(int rank, const Readings& read) {
  std::vector<CounterChange> changes = device_changes(rank, read.before, read.after);
  for (CounterChange& change : host_changes(rank, read.host_before, read.host_after)) changes.push_back(std::move(change));
  return changes;
}

}  // namespace

std::vector<Finding> Runner::find_lost_telemetry() {
  const std::vector<std::optional<double>> ends = state_.team.gather(end_of_lost(state_.sampler.series()));
  std::vector<Finding> findings;
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    if (ends[rank]) findings.push_back(lost_telemetry(state_.team, static_cast<int>(rank), *ends[rank]));
  }
  return findings;
}

std::vector<Finding> Runner::find_own_lost_telemetry() const {
  const auto end = end_of_lost(state_.sampler.series());
  return end ? std::vector{lost_telemetry(state_.team, state_.team.rank(), *end)} : std::vector<Finding>();
}

std::vector<CounterChange> Runner::counters() {
  const auto ranks =
      state_.team.gather(Readings{counters_before_, state_.sampler.counters(), host_before_, read_host(state_.settings)});
  std::vector<CounterChange> all;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (CounterChange& change : changes_of(static_cast<int>(rank), ranks[rank])) all.push_back(std::move(change));
  }
  return all;
}

std::vector<CounterChange> Runner::own_counters() {
  return changes_of(state_.team.rank(),
                    {counters_before_, state_.sampler.counters(), host_before_, read_host(state_.settings)});
}

std::vector<CounterChange> Runner::counters_before() const {
  return changes_of(state_.team.rank(), {counters_before_, {}, host_before_, {}});
}

double Runner::limit_bytes(const Case& next) {
  const auto opened = static_cast<double>(state_.device.info().free_bytes);
  const double share = state_.settings.memory_fraction;
  try {
    const auto now = static_cast<double>(state_.device.free_bytes());
    return std::min(share * opened, (1 + share) / 2 * now);
  } catch (const DeviceError& error) {
    if (!error.sticky()) throw;
    state_.lost_to = "what ran before " + next.name();
    return kNoLimit;
  }
}

void Runner::measure(std::vector<CaseRun>& runs) {
  // A lost device cannot be asked how much is free.
  std::vector<const Case*> alive;
  for (const CaseRun& run : runs) {
    if (run.alive()) alive.push_back(&run.measured_case());
  }
  const bool ask = !alive.empty() && !device_lost();
  // All ranks prepare the same number of slots.
  const auto limit = static_cast<std::size_t>(state_.team.min(ask ? limit_bytes(*alive.front()) : kNoLimit));
  const std::vector<std::size_t> shares = divide_memory(alive, last_level_caches(state_.device.info()), limit);
  auto share = shares.begin();
  for (CaseRun& run : runs) {
    if (run.alive()) run.prepare(*share++);
  }
  for (CaseRun& run : runs) run.verify();
  for (CaseRun& run : runs) run.warm_up();
  for (int block = 0; block < state_.settings.effort.most_blocks(); ++block) {
    for (CaseRun& run : runs) run.time_block(block);
  }
  for (CaseRun& run : runs) run.verify_again();
}

std::vector<Record> Runner::run(const Group& group, int pass) {
  std::optional<Stopwatch> watch;
  if (!group.cases.empty()) watch.emplace(state_.wall.families[group.cases.front().family], state_.settings.clock);
  std::vector<CaseRun> runs;
  runs.reserve(group.cases.size());
  for (const Case& c : group.cases) runs.emplace_back(state_, c, pass);
  try {
    measure(runs);
  } catch (const Interrupted&) {
    for (CaseRun& run : runs) {
      if (std::optional<Record> record = run.cut_off()) cut_off_.push_back(*std::move(record));
    }
    throw;
  }
  std::vector<Record> records;
  for (CaseRun& run : runs) records.push_back(run.finish());
  return records;
}

}  // namespace roofmark
