// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/transfers.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "harness/judge/ranks/series.hpp"

namespace roofmark {
namespace {

/// The bytes over each link of a transfer; absent of any other work.
std::optional<double> bytes_of(const Record& record) {
  if (record.status != Status::ok || record.message || record.raises || record.work.phases.size() != 1) return std::nullopt;
  const Phase& phase = record.work.phases.front();
  for (const Demand& demand : phase) {
    if (!carries_transfers(demand.resource) || demand.amount != phase.front().amount) return std::nullopt;
  }
  return phase.empty() || phase.front().amount <= 0 ? std::nullopt : std::optional(phase.front().amount);
}

std::vector<Resource> links_of(const Record& record) {
  std::vector<Resource> links;
  for (const Demand& demand : record.work.phases.front()) links.push_back(demand.resource);
  return links;
}

double seconds_of(const Record& record) { return record.measurement->summary.median; }

TransferSeries make_series(const std::string& name, const std::vector<const Record*>& records) {
  TransferSeries made;
  made.name = name;
  made.links = links_of(*records.front());
  for (const auto& [key, value] : records.front()->shape) {
    if (key == "bytes") continue;
    const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
    made.how.push_back(is_number ? key + " " + value : value);
  }
  std::map<std::size_t, double> seconds;
  for (const Record* record : records) {
    const double bytes = *bytes_of(*record);
    seconds[static_cast<std::size_t>(bytes)] = seconds_of(*record);
    if (bytes > made.bytes) {
      made.bytes = bytes;
      made.largest = record->name;
      made.bytes_per_second = bytes / seconds_of(*record);
      const Placement placement = record->placement.value_or(Placement{});
      made.of_theoretical = placement.of_theoretical;
      made.of_empirical = placement.of_empirical;
    }
  }
  made.fit = fit(name, seconds, 0);
  if (made.fit && made.fit->latency_seconds && made.fit->bytes_per_second) {
    made.half_size_bytes = *made.fit->latency_seconds * *made.fit->bytes_per_second;
  }
  return made;
}

/// The record of the same shape that moves as many bytes over this link alone, or null.
const Record* alone(const std::vector<Record>& records, const Record& together, const Resource& link) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return bytes_of(record) == bytes_of(together) && links_of(record) == std::vector{link} &&
           record.family == together.family && record.type == together.type && record.shape == together.shape;
  });
  return found == records.end() ? nullptr : &*found;
}

std::optional<LinkContention> contention_of(const std::vector<Record>& records, const Record& together) {
  const std::vector<Resource> links = links_of(together);
  if (links.size() < 2) return std::nullopt;
  LinkContention made{together.name, {}, 0};
  double sum = 0;
  for (const Resource& link : links) {
    const Record* const one = alone(records, together, link);
    if (!one) return std::nullopt;
    made.alone.push_back(one->name);
    sum += 1 / seconds_of(*one);
  }
  made.factor = static_cast<double>(links.size()) / seconds_of(together) / sum;
  return made;
}

}  // namespace

Transfers transfers_of(const std::vector<Record>& records) {
  Transfers made;
  std::vector<std::pair<std::string, std::vector<const Record*>>> all;
  for (const Record& record : records) {
    if (!bytes_of(record)) continue;
    const std::string name = name_without(record, {"bytes"});
    auto place = std::find_if(all.begin(), all.end(), [&](const auto& series) { return series.first == name; });
    if (place == all.end()) place = all.insert(all.end(), {name, {}});
    place->second.push_back(&record);
  }
  for (const auto& [name, series] : all) {
    made.series.push_back(make_series(name, series));
    // Of the largest size: small ones show what a launch of both costs, and not the links.
    std::optional<LinkContention> of_largest;
    double most = 0;
    for (const Record* record : series) {
      auto found = contention_of(records, *record);
      if (!found || *bytes_of(*record) <= most) continue;
      most = *bytes_of(*record);
      of_largest = std::move(found);
    }
    if (of_largest) made.contention.push_back(std::move(*of_largest));
  }
  return made;
}

}  // namespace roofmark
