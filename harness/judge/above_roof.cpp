// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/above_roof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "harness/judge/ranks/communication.hpp"
#include "harness/model/statistics.hpp"

namespace roofmark {

namespace {

/// How far a rate may exceed the measured ceiling.
constexpr double kCeilingTolerance = 1.02;
/// Where the ceiling is that of one product of a library: others of its shapes are a few percent faster.
constexpr double kLibraryTolerance = 1.08;

/// A case and the measured roof that it may not exceed.
struct BesideRoof {
  const Record* record = nullptr;
  double share = 0;
  double tolerance = kCeilingTolerance;
  Scatter of_case, of_ceiling = {};

  double by_chance(double chances) const { return apart_by_chance(of_case, of_ceiling, chances); }
};

bool is_lighter(const Work& work, const Resource& resource) {
  return std::any_of(work.phases.begin(), work.phases.end(), [&](const Phase& phase) {
    return std::any_of(phase.begin(), phase.end(),
                       [&](const Demand& demand) { return demand.resource == resource && demand.lighter; });
  });
}

std::optional<BesideRoof> beside_roof(const Record& record, const Roofline& roofline) {
  // A probe sets its own ceiling.
  if (!record.placement || !record.placement->of_empirical || record.sets_ceiling) return {};
  const Resource& bound_by = find_resource(record.placement->bound_by);
  // One pair of ranks has to itself what all ranks share in the probe.
  if (is_lighter(record.work, bound_by)) return {};
  const Measurement& measurement = *record.measurement;
  BesideRoof beside;
  beside.record = &record;
  // Where the network itself reduces, what is left on the wire counts.
  beside.share = switched_share(record).value_or(*record.placement->of_empirical);
  beside.of_case = {relative_half_width(measurement.summary).value_or(0), count_blocks(measurement.samples)};
  if (const Ceiling* ceiling = roofline.find(bound_by)) {
    // Where the count or the ceiling is wrong anyway, the probe and the caches are not to blame.
    if (ceiling->doubtful) return {};
    beside.of_ceiling = {ceiling->empirical_half_width().value_or(0), ceiling->empirical_blocks()};
    if (ceiling->by_library()) beside.tolerance = kLibraryTolerance;
  }
  return beside;
}

}  // namespace

std::vector<Finding> find_above_roof(const std::vector<Record>& records, const Roofline& roofline) {
  // A case far below the roof is not above it by chance.
  std::vector<BesideRoof> reaching;
  for (const Record& record : records) {
    const auto beside = beside_roof(record, roofline);
    if (beside && std::log(beside->share) > -beside->by_chance(1)) reaching.push_back(*beside);
  }
  // In one direction alone.
  const double chances = static_cast<double>(reaching.size()) / 2;
  std::vector<Finding> found;
  for (const BesideRoof& beside : reaching) {
    const double share = beside.share;
    if (share <= beside.tolerance || std::log(share) <= beside.by_chance(chances)) continue;
    const std::string_view title = find_resource(beside.record->placement->bound_by).title;
    found.push_back(
        {FindingKind::above_empirical,
         fmt::format("reached {:.0f} % of the measured ceiling ({}): the probe missed the ceiling, or a cache helped",
                     100 * share, title),
         beside.record->name(), share, fmt::format("a case reached {:.0f} % of the ceiling of {}", 100 * share, title)});
  }
  return found;
}

}  // namespace roofmark
