// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/transfer_links.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace roofmark::transfer {
namespace {

bool is_gpu(const Endpoint& end) { return end.kind == Endpoint::Kind::gpu; }
bool is_between_gpus(const Flow& flow) { return is_gpu(flow.from) && is_gpu(flow.to); }

/// The amount that would take the GPU's own link as long as a narrower or shared one takes.
void need(Phase& demands, const Resource& link, double amount) {
  for (Demand& demand : demands) {
    if (demand.resource == link && amount > demand.amount) demand.part = demand.amount / amount;
  }
}

/// The most that goes one way over the link of one port of the host, in bytes of the GPUs' own links, which carry less.
double most_of_a_port(const Transfer& transfer, const Fabric& fabric, bool to_gpus) {
  std::map<std::string, double> amounts;
  for (const Flow& flow : transfer.flows) {
    const Endpoint& end = to_gpus ? flow.to : flow.from;
    if (!is_gpu(end)) continue;
    const RankInfo& member = fabric.members.at(static_cast<std::size_t>(end.number));
    if (!member.host_bytes_per_second || !member.root_port_bytes_per_second) continue;
    amounts[member.root_port] +=
        static_cast<double>(transfer.bytes) * *member.host_bytes_per_second / *member.root_port_bytes_per_second;
  }
  double most = 0;
  for (const auto& [port, amount] : amounts) most = std::max(most, amount);
  return most;
}

}  // namespace

std::optional<int> fewest_nvlinks(const Transfer& transfer, const Fabric& fabric) {
  std::optional<int> fewest;
  for (const Flow& flow : transfer.flows) {
    if (transfer.staged || !is_between_gpus(flow)) continue;
    const int links = fabric.local->path(flow.from.number, flow.to.number).nvlinks;
    if (links > 0) fewest = std::min(fewest.value_or(links), links);
  }
  return fewest;
}

bool has_peer_links_of_first(const RankInfo& member, const Fabric& fabric) {
  const RankInfo& first = fabric.members.front();
  if (!first_has_nvlink(fabric)) return member.pcie_bytes_per_second == first.pcie_bytes_per_second;
  return member.nvlinks == first.nvlinks && member.nvlink_bytes_per_second == first.nvlink_bytes_per_second;
}

void take_part_of_links(Phase& demands, const Transfer& transfer, const Fabric& fabric, const DeviceInfo& device) {
  const std::optional<int> all = nvlinks_to_others(fabric, device), here = fewest_nvlinks(transfer, fabric);
  if (all && here && *here < *all) {
    const double amount = static_cast<double>(transfer.bytes) * *all / *here;
    for (const Resource& link : {resource::peer_in, resource::peer_out}) need(demands, link, amount);
  }
  if (reaches_host_by_c2c(device.gpu)) return;
  need(demands, resource::host_to_device, most_of_a_port(transfer, fabric, true));
  need(demands, resource::device_to_host, most_of_a_port(transfer, fabric, false));
}

}  // namespace roofmark::transfer
