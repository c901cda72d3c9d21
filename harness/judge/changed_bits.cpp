// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/changed_bits.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace roofmark {

RepeatedBits repeated_bits(const std::vector<Record>& records) {
  struct Bits {
    int records = 0;
    std::set<std::string> hashes;
  };
  std::map<std::pair<std::string, std::string>, Bits> by_key;
  for (const Record& record : records) {
    // Launches that differ have no hash. Where ranks differ, that is a finding already.
    if (record.status != Status::ok || !record.fingerprint || record.fingerprint->hash.empty()) continue;
    if (!record.fingerprint->differing_ranks.empty()) continue;
    Bits& bits = by_key[{record.name(), record.fingerprint->key}];
    ++bits.records;
    bits.hashes.insert(record.fingerprint->hash);
  }
  RepeatedBits made;
  for (const auto& [key, bits] : by_key) {
    if (bits.records < 2) continue;
    ++made.cases;
    if (bits.hashes.size() > 1) made.changed.push_back(key.first);
  }
  return made;
}

std::vector<Finding> find_changed_bits(const std::vector<Record>& records) {
  const auto [cases, changed] = repeated_bits(records);
  if (changed.empty()) return {};
  return {{FindingKind::changed_bits,
           fmt::format(
               "with the same kernel and the same inputs, the second measurement gave other bits than the first in {} of {} "
               "cases measured twice, which points to silent data corruption: {}{}",
               changed.size(), cases, changed.front(), changed.size() > 1 ? ", ..." : ""),
           {},
           static_cast<double>(changed.size()),
           fmt::format("bits changed during the run in {} of {} cases", changed.size(), cases),
           {}}};
}

}  // namespace roofmark
