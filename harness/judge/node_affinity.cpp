// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/node_affinity.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "harness/judge/transfer_matrices.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

constexpr double kAboutAsFast = 1.05;

double copy_rate(const Record& record) {
  return static_cast<double>(record.transfer->bytes) / record.measurement->summary.median;
}

Endpoint gpu_of(const Transfer& transfer) {
  const Flow& flow = transfer.flows.front();
  return flow.from.kind == Endpoint::Kind::gpu ? flow.from : flow.to;
}

/// Both of one series and size.
struct Pair {
  const Record* own;
  const Record* far;

  double ratio() const { return copy_rate(*far) / copy_rate(*own); }
};

/// A far node of a GPU, over all series.
struct Compared {
  int series = 0, faster = 0;
  Pair most = {};

  void add(const Pair& pair) {
    ++series;
    if (pair.ratio() > kAboutAsFast) ++faster;
    if (!most.far || pair.ratio() > most.ratio()) most = pair;
  }
};

}  // namespace

std::vector<Finding> faster_far_nodes(const std::vector<const Record*>& transfers) {
  std::map<std::pair<CaseName, std::size_t>, const Record*> own;  // by series and size
  for (const Record* record : transfers) {
    const auto& node = record->transfer->host_node;
    if (!node || node->distance != HostNode::kOwn) continue;
    own[{name_without(*record, {"bytes", "node"}), record->transfer->bytes}] = record;
  }
  std::map<std::pair<CaseName, int>, Pair> largest;  // by series and far node
  for (const Record* record : transfers) {
    const auto& node = record->transfer->host_node;
    if (!node || node->distance == HostNode::kOwn) continue;
    const CaseName series = name_without(*record, {"bytes", "node"});
    const auto beside = own.find({series, record->transfer->bytes});
    if (beside == own.end()) continue;
    Pair& pair = largest[{series, node->number}];
    if (!pair.far || record->transfer->bytes > pair.far->transfer->bytes) pair = {beside->second, record};
  }
  std::map<std::pair<Endpoint, int>, Compared> nodes;  // by GPU
  for (const auto& [key, pair] : largest) nodes[{gpu_of(*pair.far->transfer), key.second}].add(pair);
  std::map<Endpoint, Compared> fastest;  // by GPU
  for (const auto& [key, compared] : nodes) {
    if (2 * compared.faster <= compared.series) continue;
    const auto [place, fresh] = fastest.emplace(key.first, compared);
    if (!fresh && compared.most.ratio() > place->second.most.ratio()) place->second = compared;
  }
  std::vector<Finding> findings;
  for (const auto& [end, found] : fastest) {
    const auto& [own_record, far] = found.most;
    const std::string gpu = in_words(end);
    findings.push_back(
        {FindingKind::node_affinity,
         fmt::format("{}: memory of NUMA node {} is {:.2f} times as fast as that of node {}, the GPU's own by the kernel: {} "
                     "against {} ({}, {}; faster in {} of {} series)",
                     gpu, far->transfer->host_node->number, found.most.ratio(), own_record->transfer->host_node->number,
                     format_rate(copy_rate(*far), Unit::byte), format_rate(copy_rate(*own_record), Unit::byte), far->operation,
                     format_bytes(static_cast<double>(far->transfer->bytes)), found.faster, found.series),
         {},
         found.most.ratio() - 1,
         fmt::format("a far NUMA node is faster for {} than its own", gpu)});
  }
  return findings;
}

}  // namespace roofmark
