// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/fabric.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>

namespace roofmark {

int cuda_ordinal(const DeviceInfo& device) {
  const std::size_t colon = device.id.find(':');
  int ordinal = 0;
  if (colon != std::string::npos) std::from_chars(device.id.data() + colon + 1, device.id.data() + device.id.size(), ordinal);
  return ordinal;
}

std::string why_no_access(const LocalRanks& ranks, int one, int other) {
  const std::string refusal = ranks.path(one, other).refusal;
  return refusal.empty() ? refusal
                         : fmt::format("cuda:{} and cuda:{} have no access to each other's memory: {}", one, other, refusal);
}

bool first_has_nvlink(const Fabric& fabric) {
  if (!fabric.local || fabric.members.empty()) return false;
  for (int other = 1; other < static_cast<int>(fabric.members.size()); ++other) {
    const PeerPath path = fabric.local->path(0, other);
    if (path.kind ? *path.kind == PathKind::nvlink : has_nvlink(fabric.members.front())) return true;
  }
  return false;
}

std::optional<int> nvlinks_to_others(const Fabric& fabric, const DeviceInfo& first) {
  if (!first_has_nvlink(fabric)) return 0;
  if (first.gpu.nvlink_peers.empty()) return std::nullopt;
  int links = 0;
  for (int other = 1; other < static_cast<int>(fabric.members.size()); ++other) {
    const PeerPath path = fabric.local->path(0, other);
    const bool is_alike = fabric.members[static_cast<std::size_t>(other)].device_name == fabric.members.front().device_name;
    if (path.kind == PathKind::nvlink && path.refusal.empty() && is_alike) links += path.nvlinks;
  }
  if (links == 0) return std::nullopt;
  return std::min(links, first.gpu.nvlink_links.value_or(links));
}

std::string shared_links(const Fabric& fabric) {
  std::map<std::string, std::vector<std::string>> below;
  for (const RankInfo& member : fabric.members) {
    if (!member.root_port.empty()) below[member.root_port].push_back(member.device_id);
  }
  std::string text;
  for (const auto& [port, gpus] : below) {
    if (gpus.size() < 2) continue;
    text += fmt::format("{}{} by {}", text.empty() ? "" : "; ", fmt::join(gpus, ", "), port);
  }
  return text;
}

std::vector<int> everyone(const Fabric& fabric) { return std::vector<int>(fabric.members.size(), 0); }

std::vector<std::vector<int>> groups_of(const std::vector<int>& colours) {
  std::map<int, std::vector<int>> by_colour;
  for (std::size_t rank = 0; rank < colours.size(); ++rank) {
    if (colours[rank] >= 0) by_colour[colours[rank]].push_back(static_cast<int>(rank));
  }
  std::vector<std::vector<int>> groups;
  for (auto& [colour, ranks] : by_colour) groups.push_back(std::move(ranks));
  return groups;
}

std::vector<DataType> nccl_types(int compute_capability) {
  std::vector<DataType> types = {DataType::fp32, DataType::fp16, DataType::bf16};
  if (compute_capability >= 90) types.push_back(DataType::fp8);
  return types;
}

}  // namespace roofmark
