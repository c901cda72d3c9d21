// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/link_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "harness/judge/ranks/transports.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

namespace {

bool any_way(const Record& record, bool (*is_it)(std::string_view)) {
  return std::any_of(record.transports.begin(), record.transports.end(),
                     [&](const auto& transport) { return is_it(transport.first); });
}

}  // namespace

std::vector<JudgedLink> judged_links(const Roofline& roofline, const std::vector<Record>& records) {
  constexpr double kEnoughSeconds = 1e-4, kThroughHost = 1.0 / 3;
  std::vector<JudgedLink> judged;
  for (const Ceiling& link : roofline.ceilings()) {
    if (!link.theoretical || !link.healthy_at_least || !link.empirical()) continue;
    double seconds = 0;
    bool sockets = false, network = false, direct = false;
    for (const Record& record : records) {
      if (!record.sets_ceiling || !(record.sets_ceiling->resource == link.resource)) continue;
      sockets |= any_way(record, is_sockets);
      network |= any_way(record, is_network);
      direct |= any_way(record, is_gpudirect);
      if (record.status == Status::ok) seconds = std::max(seconds, record.work.total(link.resource) / *link.theoretical);
    }
    if (seconds < kEnoughSeconds || sockets) continue;
    judged.push_back({&link, *link.healthy_at_least * (network && !direct ? kThroughHost : 1)});
  }
  return judged;
}

std::vector<Finding> find_slow_links(const Roofline& roofline, const std::vector<Record>& records) {
  std::vector<Finding> findings;
  for (const auto& [link, healthy_at_least] : judged_links(roofline, records)) {
    const double rate = *link->empirical(), share = rate / *link->theoretical;
    if (rate >= healthy_at_least) continue;
    const Unit unit = link->resource.unit;
    findings.push_back(
        {FindingKind::link_rate,
         fmt::format("{}: {} is {} of the theoretical {} ({}); healthy machines reach {} at least", link->resource.title,
                     format_rate(rate, unit), format_share(share), format_rate(*link->theoretical, unit),
                     link->theoretical_source, format_rate(healthy_at_least, unit)),
         {},
         1 - rate / healthy_at_least,
         fmt::format("{}: {} of the theoretical rate", link->resource.title, format_share(share))});
  }
  return findings;
}

}  // namespace roofmark
