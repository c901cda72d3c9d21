// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The links of a GPU: NVLink and its fabric, NVLink-C2C, the way to another GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>

#include "harness/device/cuda/nvml.hpp"

namespace roofmark::cuda {

void NvmlDevice::describe_c2c(GpuFacts& facts) const {
  constexpr double kMegabytes = 1e6;
  FieldValue count;
  count.field = field::kC2cLinks;
  read_fields({&count, 1});
  const unsigned links = count.status == 0 ? count.value.uint32 : 0;
  if (links == 0) return;
  std::vector<FieldValue> told(2 * std::size_t{links});  // status and rate of each link
  for (unsigned link = 0; link < links; ++link) {
    told[2 * link].field = field::kC2cStatus;
    told[2 * link + 1].field = field::kC2cRate;
    told[2 * link].scope = told[2 * link + 1].scope = link;
  }
  read_fields(told);
  double sum = 0;
  int up = 0;
  for (unsigned link = 0; link < links; ++link) {
    const FieldValue &status = told[2 * link], &rate = told[2 * link + 1];
    if (status.status != 0 || status.value.uint32 != 1 || rate.status != 0) continue;
    ++up;
    sum += rate.value.uint32 * kMegabytes;
  }
  facts.c2c_links = static_cast<int>(links);
  facts.c2c_links_up = up;
  if (up == 0) return;
  facts.c2c = {sum, fmt::format("NVLink-C2C: {} links up, {:g} GB/s together in one direction (NVML)", up, sum / 1e9)};
}

unsigned count_up(const std::map<unsigned, bool>& links) {
  return static_cast<unsigned>(std::count_if(links.begin(), links.end(), [](const auto& link) { return link.second; }));
}

std::map<unsigned, bool> NvmlDevice::nvlinks() const {
  std::map<unsigned, bool> links;
  for (unsigned link = 0; link < kNvlinkMaxLinks; ++link) {
    int enabled = 0;
    if (call("nvmlDeviceGetNvLinkState", link, &enabled)) links[link] = enabled == 1;
  }
  return links;
}

LinkRate NvmlDevice::nvlink_rate(int links) const {
  int major = 0, minor = 0;
  if (links == 0 || !call("nvmlDeviceGetCudaComputeCapability", &major, &minor)) return {};
  // Of data, by what carries the links: NVML has given H100 the version of Blackwell's, and the speed it tells is the line's.
  struct Published {
    int major, minor;
    double bytes_per_second;
    const char* source;
  };
  constexpr Published kPublished[] = {{8, 0, 25e9, "A100: 300 GB/s over 12"},
                                      {8, 6, 14.0625e9, "A40, RTX A6000: 56.25 GB/s over 4"},
                                      {9, 0, 25e9, "H100, H200: 450 GB/s over 18"},
                                      {10, 0, 50e9, "B200: 900 GB/s over 18"},
                                      {10, 3, 50e9, "B300: 900 GB/s over 18"}};
  for (const Published& gpu : kPublished) {
    if (gpu.major != major || gpu.minor != minor) continue;
    return {links * gpu.bytes_per_second,
            fmt::format("{} NVLinks x {:g} GB/s (NVIDIA's datasheets, {})", links, gpu.bytes_per_second / 1e9, gpu.source)};
  }
  return {};
}

std::optional<FabricInfo> NvmlDevice::fabric() const {
  for (const unsigned version : {kFabricInfoV3, kFabricInfoV2}) {
    FabricInfo info;
    info.version = version;
    if (call("nvmlDeviceGetGpuFabricInfoV", &info)) return info;
  }
  return std::nullopt;
}

FabricHealth fabric_health(const FabricInfo& info) {
  FabricHealth health;
  if (info.state == kFabricCompleted && info.status != 0) {
    health.problems.push_back(fmt::format("the GPU's registration failed (NVML status {})", info.status));
  } else if (info.state != kFabricCompleted) {
    health.problems.emplace_back(info.state == kFabricInProgress ? "the GPU's registration is in progress"
                                                                 : "the GPU's registration has not begun");
  }
  const auto note = [&health](std::optional<bool>& of, std::optional<bool> is, const char* problem) {
    if (!is) return;
    of = *is || of.value_or(false);
    if (*is) health.problems.emplace_back(problem);
  };
  // NVML_GPU_FABRIC_HEALTH_MASK_*: two bits per condition, of which 0 says that the driver does not tell.
  const auto condition = [&info](unsigned shift) -> std::optional<bool> {
    const unsigned bits = info.health >> shift & 3;
    return bits == 1 ? std::optional(true) : bits == 2 ? std::optional(false) : std::nullopt;
  };
  note(health.degraded, condition(0), "degraded bandwidth");
  note(health.degraded, condition(2), "a route is being recovered");
  note(health.unhealthy, condition(4), "a route is unhealthy");
  note(health.degraded, condition(6), "recovery from access timeouts");
  const unsigned configuration = info.health >> 8 & 0xF;
  note(health.unhealthy, configuration ? std::optional(configuration > 1) : std::nullopt, "incorrect configuration");
  // NVML_GPU_FABRIC_HEALTH_SUMMARY_*; it repeats what the mask says, so it is named only where the mask names nothing.
  constexpr unsigned char kUnhealthy = 2, kLimitedCapacity = 3;
  if (info.summary == 0) return health;
  const bool unhealthy = info.summary == kUnhealthy, limited = info.summary == kLimitedCapacity;
  if (health.problems.empty() && unhealthy) health.problems.emplace_back("unhealthy");
  if (health.problems.empty() && limited) health.problems.emplace_back("limited capacity");
  health.unhealthy = unhealthy || health.unhealthy.value_or(false);
  health.degraded = limited || health.degraded.value_or(false);
  return health;
}

std::string NvmlDevice::nvlink_domain() const {
  const std::optional<FabricInfo> info = fabric();
  if (!info || info->state != kFabricCompleted || info->status != 0) return {};
  // The NVSwitches of one host alone give zeros.
  const auto& uuid = info->cluster_uuid;
  if (std::all_of(uuid.begin(), uuid.end(), [](unsigned char byte) { return byte == 0; })) return {};
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return fmt::format("{}/{}", text, info->clique);
}

std::optional<int> NvmlDevice::p2p_status(const NvmlDevice& peer, int capability) const {
  int status = 0;
  if (!peer.gpu_ || !call("nvmlDeviceGetP2PStatus", peer.gpu_, capability, &status)) return std::nullopt;
  return status;
}

bool NvmlDevice::fabric_is_ready() const {
  const std::optional<FabricInfo> info = fabric();
  return !info || info->state == kFabricUnknown || (info->state == kFabricCompleted && info->status == 0);
}

std::vector<std::string> NvmlDevice::nvlink_peers(const std::map<unsigned, bool>& links) const {
  std::set<std::string> peers;
  for (const auto& [link, is_up] : links) {
    int type = -1;
    PciInfo remote;
    if (!is_up) continue;
    if (!call("nvmlDeviceGetNvLinkRemoteDeviceType", link, &type) || type != kNvlinkToGpu) return {};
    if (!call("nvmlDeviceGetNvLinkRemotePciInfo_v2", link, &remote)) return {};
    peers.insert(fmt::format("{:04X}:{:02X}:{:02X}.0", remote.domain, remote.bus, remote.device));  // as CUDA writes it
  }
  return {peers.begin(), peers.end()};
}

unsigned NvmlDevice::direct_nvlinks_to(const NvmlDevice& peer, const std::map<unsigned, bool>& links) const {
  unsigned domain = 0, bus = 0, device = 0, direct = 0;
  if (std::sscanf(peer.pci_bus_id_.c_str(), "%x:%x:%x", &domain, &bus, &device) != 3) return 0;
  for (const auto& [link, is_up] : links) {
    PciInfo remote;
    if (!is_up || !call("nvmlDeviceGetNvLinkRemotePciInfo_v2", link, &remote)) continue;
    direct += remote.domain == domain && remote.bus == bus && remote.device == device;
  }
  return direct;
}

PeerPath NvmlDevice::path_to(const NvmlDevice& peer) const {
  // nvmlGpuTopologyLevel_t
  constexpr std::pair<int, PathKind> kLevels[] = {{0, PathKind::board},          {10, PathKind::pcie_switch},
                                                  {20, PathKind::pcie_switches}, {30, PathKind::host_bridge},
                                                  {40, PathKind::numa_node},     {50, PathKind::system}};
  // nvmlGpuP2PStatus_t
  struct Refusal {
    const char* text;
    bool by_design;
  };
  constexpr Refusal kRefusals[] = {{"", false},
                                   {"the chipset does not support it", true},
                                   {"the GPU does not support it", true},
                                   {"the PCIe topology does not support it", false},
                                   {"a setting of the driver disables it", false},
                                   {"not supported", true},
                                   {"the driver gives no reason", false}};
  PeerPath path;
  const std::map<unsigned, bool> links = nvlinks();
  int level = -1;
  if (peer.gpu_ && call("nvmlDeviceGetTopologyCommonAncestor", peer.gpu_, &level)) {
    for (const auto& [number, kind] : kLevels) {
      if (number == level) path.kind = kind;
    }
  }
  if (p2p_status(peer, kP2pNvlink) == 0) {
    path.kind = PathKind::nvlink;
    const unsigned direct = direct_nvlinks_to(peer, links);
    // Through switches each link of either GPU leads to the other.
    path.nvlinks = static_cast<int>(direct > 0 ? direct : std::min(count_up(links), count_up(peer.nvlinks())));
  }
  const int status = p2p_status(peer, kP2pRead).value_or(0);
  const Refusal& refusal = kRefusals[std::clamp(status, 0, static_cast<int>(std::size(kRefusals)) - 1)];
  path.refusal = refusal.text;
  // GPUs whose NVLinks are up are made to reach one another.
  path.by_design = refusal.by_design && count_up(links) == 0;
  return path;
}

PeerPath with_access(PeerPath by_nvml, bool fabric_is_ready, bool cuda_offers_it) {
  if (!fabric_is_ready) {
    by_nvml.refusal = "their NVLink fabric is not ready: start nvidia-fabricmanager and check its log";
    by_nvml.by_design = false;
  } else if (cuda_offers_it) {
    by_nvml.refusal.clear();
    by_nvml.by_design = false;
  } else if (by_nvml.refusal.empty()) {
    by_nvml.refusal = "the driver gives no reason";
  }
  return by_nvml;
}

}  // namespace roofmark::cuda
