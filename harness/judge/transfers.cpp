// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/transfers.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "harness/judge/node_affinity.hpp"
#include "harness/judge/transfer_matrices.hpp"

namespace roofmark {
namespace {

bool is_transfer(const Record& record) {
  if (record.status != Status::ok || record.sets_ceiling || !record.transfer || record.transfer->flows.empty()) return false;
  const std::vector<Phase>& phases = record.work.phases;
  return std::all_of(phases.begin(), phases.end(), [](const Phase& phase) {
    return std::all_of(phase.begin(), phase.end(), [](const Demand& demand) { return carries_transfers(demand.resource); });
  });
}

/// Over the busiest link.
double bytes_of(const Record& record) {
  double most = 0;
  for (const Demand& demand : link_demands(*record.transfer)) most = std::max(most, demand.amount);
  return most;
}

double seconds_of(const Record& record) { return record.measurement->summary.median; }

TransferSeries make_series(const std::string& name, const std::vector<const Record*>& records) {
  TransferSeries made;
  made.name = name;
  const Transfer& transfer = *records.front()->transfer;
  for (const Demand& demand : link_demands(transfer)) made.links.push_back(demand.resource);
  made.how = how_in_words(*records.front(), {});
  made.flows = transfer.flows.size();
  std::map<std::size_t, double> seconds;
  for (const Record* record : records) {
    const double bytes = bytes_of(*record);
    seconds[static_cast<std::size_t>(bytes)] = seconds_of(*record);
    if (bytes > made.bytes) {
      made.bytes = bytes;
      made.largest = record->name();
      made.bytes_per_second = bytes / seconds_of(*record);
      made.sum_bytes_per_second =
          static_cast<double>(record->transfer->bytes * record->transfer->flows.size()) / seconds_of(*record);
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

/// The record of this flow alone, of the same size and made in the same way, or null.
const Record* alone(const std::vector<const Record*>& transfers, const Record& together, const Flow& flow) {
  const auto found = std::find_if(transfers.begin(), transfers.end(), [&](const Record* record) {
    return record->transfer->flows.size() == 1 && record->transfer->flows.front() == flow &&
           record->transfer->bytes == together.transfer->bytes && record->family == together.family &&
           record->type == together.type && how_of(*record, kEndKeys) == how_of(together, kEndKeys);
  });
  return found == transfers.end() ? nullptr : *found;
}

std::optional<LinkContention> contention_of(const std::vector<const Record*>& transfers, const Record& together) {
  const std::vector<Flow>& flows = together.transfer->flows;
  if (flows.size() < 2) return std::nullopt;
  LinkContention made{together.name(), {}, 0};
  double slowest = 0;
  for (const Flow& flow : flows) {
    const Record* const one = alone(transfers, together, flow);
    if (!one) return std::nullopt;
    made.alone.push_back(one->name());
    slowest = std::max(slowest, seconds_of(*one));
  }
  made.factor = slowest / seconds_of(together);
  return made;
}

/// The first of them, without notes.
std::string in_one_line(const std::vector<Finding>& findings) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  std::size_t count = 0;
  std::optional<FindingKind> last;
  for (const Finding& finding : findings) {
    if (type_of(finding.kind).severity == Severity::note || ++count > kNamed) continue;
    if (last) text += finding.kind == last ? ", " : "; ";
    if (!last && finding.kind == FindingKind::slow_link) text += "slow links: ";
    text += finding.brief;
    last = finding.kind;
  }
  if (count > kNamed) text += " (" + std::to_string(count - kNamed) + " more)";
  return text;
}

}  // namespace

Transfers transfers_of(const std::vector<Record>& records) {
  Transfers made;
  std::vector<const Record*> transfers;
  std::vector<std::pair<std::string, std::vector<const Record*>>> all;
  std::map<std::string, std::size_t> places;
  for (const Record& record : records) {
    if (!is_transfer(record)) continue;
    transfers.push_back(&record);
    const std::string name = name_without(record, {"bytes"}).name();
    const auto [place, fresh] = places.emplace(name, all.size());
    if (fresh) all.push_back({name, {}});
    all[place->second].second.push_back(&record);
  }
  for (const auto& [name, series] : all) {
    made.series.push_back(make_series(name, series));
    // Of the largest size: small ones show what a launch of several costs, and not the links.
    std::optional<LinkContention> of_largest;
    double most = 0;
    for (const Record* record : series) {
      auto found = contention_of(transfers, *record);
      if (!found || bytes_of(*record) <= most) continue;
      most = bytes_of(*record);
      of_largest = std::move(found);
    }
    if (of_largest) made.contention.push_back(std::move(*of_largest));
  }
  made.matrices = matrices_of(transfers);
  made.compares_links = std::any_of(made.matrices.begin(), made.matrices.end(), compares_pairs);
  made.findings = slow_links(made.matrices);
  for (Finding& finding : refused_access(records)) made.findings.push_back(std::move(finding));
  for (Finding& finding : faster_far_nodes(transfers)) made.findings.push_back(std::move(finding));
  made.slow = in_one_line(made.findings);
  return made;
}

}  // namespace roofmark
