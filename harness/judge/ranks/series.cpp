// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/series.hpp"

#include <cstddef>
#include <map>

#include "harness/judge/ranks/bus_bandwidth.hpp"

namespace roofmark {

bool is_collective(const Record& record) { return bus_bandwidth(record) && record.message->pattern != Pattern::pairs; }

std::vector<std::pair<CaseName, std::vector<const Record*>>> series_of(const std::vector<Record>& records,
                                                                       const std::set<std::string_view>& keys) {
  std::vector<std::pair<CaseName, std::vector<const Record*>>> all;
  std::map<CaseName, std::size_t> places;
  for (const Record& record : records) {
    if (!is_collective(record)) continue;
    const CaseName name = name_without(record, keys);
    const auto [place, added] = places.emplace(name, all.size());
    if (added) all.push_back({name, {}});
    all[place->second].second.push_back(&record);
  }
  return all;
}

}  // namespace roofmark
