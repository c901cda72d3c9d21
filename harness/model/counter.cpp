// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/counter.hpp"

#include <fmt/format.h>

namespace roofmark {

std::vector<Finding> find_worse_counters(const std::vector<CounterChange>& changes, const std::vector<std::string>& devices) {
  std::vector<Finding> findings;
  for (const CounterChange& change : changes) {
    const CounterType* const type = find_counter(change.id);
    const auto worse = change.worse();
    if (!type || !worse || *worse == 0) continue;
    const auto rank = static_cast<std::size_t>(change.rank);
    const std::string whose = rank < devices.size() ? devices[rank] + ": " : std::string();
    std::string text = fmt::format("{}{}: {} by {:g} during the run, from {:g} to {:g}", whose, type->title,
                                   type->is_worse_lower() ? "fell" : "rose", *worse, *change.before, *change.after);
    if (change.number) text += fmt::format("; the last is number {:g}", *change.number);
    findings.push_back({type->finding,
                        std::move(text),
                        {},
                        *worse,
                        fmt::format("{}{} {} by {:g}", whose, type->title, type->is_worse_lower() ? "fell" : "rose", *worse),
                        devices.empty() ? std::vector<int>() : std::vector{change.rank}});
  }
  return findings;
}

std::set<FindingKind> uncounted(const std::vector<CounterChange>& changes, int rank) {
  std::set<FindingKind> kinds, counted, lost;
  for (const FindingType& type : kFindingTypes) {
    if (type.is_found_by(FoundBy::counters)) kinds.insert(type.kind);
  }
  for (const CounterChange& change : changes) {
    const CounterType* const type = find_counter(change.id);
    if (type && change.rank == rank) (change.worse() ? counted : lost).insert(type->finding);
  }
  std::erase_if(kinds, [&](FindingKind kind) { return counted.contains(kind) && !lost.contains(kind); });
  return kinds;
}

}  // namespace roofmark
