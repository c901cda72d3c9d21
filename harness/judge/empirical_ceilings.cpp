// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/empirical_ceilings.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

double rate_of(const Record& record) {
  return record.work.total(record.sets_ceiling->resource) / record.measurement->summary.median;
}

/// What one pass found of a ceiling.
struct Found {
  std::optional<double>& rate;
  std::string& by;
  std::optional<double>& half_width;
  int& blocks;
  std::optional<CeilingLine>& line;
  std::optional<double>& clock_hz;
  bool& by_library;

  void set(double value, const Record& probe, bool counts_cycles) const {
    rate = value;
    by = probe.name();
    half_width = relative_half_width(probe.measurement->summary);
    blocks = count_blocks(probe.measurement->samples);
    if (counts_cycles) clock_hz = probe.measurement->slowest_clock_hz();
    by_library = probe.sets_ceiling->by == SetsCeiling::By::library;
  }
};

Found of_pass(Ceiling& ceiling, int pass) {
  if (pass == 1) {
    return {ceiling.first,      ceiling.first_by,       ceiling.first_half_width, ceiling.first_blocks,
            ceiling.first_line, ceiling.first_clock_hz, ceiling.first_by_library};
  }
  return {ceiling.last,      ceiling.last_by,       ceiling.last_half_width, ceiling.last_blocks,
          ceiling.last_line, ceiling.last_clock_hz, ceiling.last_by_library};
}

/// A GPU counts its cycles. The clock of a CPU is that of a chain of additions, which another program delays as it delays the
/// probe: it would explain what that program took. Only GPUs have theoretical ceilings, with a clock.
bool counts_cycles(const Roofline& roofline) {
  return std::any_of(roofline.ceilings().begin(), roofline.ceilings().end(),
                     [](const Ceiling& ceiling) { return ceiling.theoretical_clock_hz.has_value(); });
}

void set_by_slope(Found found, const std::vector<const Record*>& probes, bool counts_cycles) {
  std::vector<double> launches, seconds;
  const Record* longest = probes.front();
  for (const Record* probe : probes) {
    const Measurement& measurement = *probe->measurement;
    launches.push_back(measurement.launches_per_sample);
    seconds.push_back(measurement.summary.median * measurement.launches_per_sample);
    if (measurement.launches_per_sample > longest->measurement->launches_per_sample) longest = probe;
  }
  const std::optional<Line> line = fit_line_relative(launches, seconds, 0);
  if (!line || !(line->slope > 0)) return;
  found.set(longest->work.total(longest->sets_ceiling->resource) / line->slope, *longest, counts_cycles);
  found.line = CeilingLine{line->intercept, {}, static_cast<int>(probes.size())};
  if (probes.size() > 2) found.line->r2 = line->r2;
}

}  // namespace

void set_ceilings(Roofline& roofline, const std::vector<Record>& records) {
  const bool cycles = counts_cycles(roofline);
  std::map<std::pair<std::string_view, int>, std::vector<const Record*>> together;  // by resource and pass
  for (const Record& record : records) {
    if (record.status != Status::ok || !record.sets_ceiling) continue;
    const auto& [resource, by] = *record.sets_ceiling;
    const Found found = of_pass(roofline.at(resource), record.pass);
    if (!found.rate || rate_of(record) > *found.rate) found.set(rate_of(record), record, cycles);
    if (by == SetsCeiling::By::slope) together[{resource.id, record.pass}].push_back(&record);
  }
  for (const auto& [key, probes] : together) {
    set_by_slope(of_pass(roofline.at(find_resource(key.first)), key.second), probes, cycles);
  }
  std::vector<Ceiling*> twice;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (ceiling.drift()) twice.push_back(&roofline.at(ceiling.resource));
  }
  for (Ceiling* ceiling : twice) ceiling->measured_twice = twice.size();
}

}  // namespace roofmark
