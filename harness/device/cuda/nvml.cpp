// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>

#include "harness/device/pcie.hpp"

namespace roofmark::cuda {

namespace {

constexpr unsigned long long kNotAvailable = ~0ull;
constexpr unsigned kTextLength = 128;

}  // namespace

Nvml::Nvml(Resolve resolve) : resolve_(std::move(resolve)) {
  const auto init = within_patience<bool>(
      [function = reinterpret_cast<int (*)()>(resolve_("nvmlInit_v2"))] { return function && function() == 0; },
      kFirstPatienceSeconds);
  usable_ = init.value_or(false);
  hung_ = !init;
}

const Nvml& Nvml::driver() {
  // Never closed: the process uses it to its end.
  static const Nvml nvml([library = dlopen("libnvidia-ml.so.1", RTLD_NOW)](const char* symbol) {
    return library ? dlsym(library, symbol) : nullptr;
  });
  return nvml;
}

NvmlDevice::NvmlDevice(const Nvml& nvml, const std::string& uuid, const std::string& pci_bus_id)
    : nvml_(&nvml), pci_bus_id_(pci_bus_id) {
  if (nvml_->call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &handle_)) return;
  if (!nvml_->call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &handle_)) handle_ = nullptr;
}

std::optional<std::string> NvmlDevice::text(const char* symbol) const {
  std::array<char, kTextLength> buffer{};
  if (!handle_ || !nvml_->call(symbol, handle_, buffer.data(), kTextLength)) return std::nullopt;
  return buffer.data();
}

std::optional<unsigned> NvmlDevice::number(const char* symbol) const {
  unsigned value = 0;
  if (!handle_ || !nvml_->call(symbol, handle_, &value)) return std::nullopt;
  return value;
}

std::optional<unsigned> NvmlDevice::clock(const char* symbol, int domain) const {
  unsigned megahertz = 0;
  if (!handle_ || !nvml_->call(symbol, handle_, domain, &megahertz)) return std::nullopt;
  return megahertz;
}

std::optional<double> NvmlDevice::max_sm_clock_hz() const {
  const auto megahertz = clock("nvmlDeviceGetMaxClockInfo", kSmClock);
  return megahertz ? std::optional(*megahertz * 1e6) : std::nullopt;
}

std::optional<int> NvmlDevice::whole(const char* symbol) const {
  const auto value = number(symbol);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

void NvmlDevice::describe(GpuFacts& facts) const {
  if (!handle_) return;
  const auto scaled = [](std::optional<unsigned> value, double unit) {
    return value ? std::optional<double>(*value * unit) : std::nullopt;
  };
  std::array<char, kTextLength> version{};
  if (nvml_->call("nvmlSystemGetDriverVersion", version.data(), kTextLength)) facts.driver_version = version.data();
  facts.serial = text("nvmlDeviceGetSerial").value_or("");
  facts.vbios = text("nvmlDeviceGetVbiosVersion").value_or("");
  facts.sm_clock_max_hz = max_sm_clock_hz();
  facts.memory_clock_max_hz = scaled(clock("nvmlDeviceGetMaxClockInfo", kMemoryClock), 1e6);
  facts.pcie_generation = whole("nvmlDeviceGetCurrPcieLinkGeneration");
  facts.pcie_width = whole("nvmlDeviceGetCurrPcieLinkWidth");
  facts.pcie_generation_max = whole("nvmlDeviceGetMaxPcieLinkGeneration");
  facts.pcie_width_max = whole("nvmlDeviceGetMaxPcieLinkWidth");
  // NVML has no such question for the width: the kernel tells it.
  if (const auto generation = whole("nvmlDeviceGetGpuMaxPcieLinkGeneration")) facts.pcie_generation_of_gpu = generation;
  // An idle link falls to a lower generation by itself and rises under load; lanes that are missing stay so.
  facts.pcie = pcie_rate(facts.pcie_generation_max, facts.pcie_width);
  describe_c2c(facts);
  if (const auto links = nvlinks_up()) {
    facts.nvlink_links = static_cast<int>(*links);
    facts.nvlink = nvlink_rate(*facts.nvlink_links);
    facts.nvlink_peers = nvlink_peers();
  }
  facts.nvlink_domain = nvlink_domain();
  facts.power_limit_watts = scaled(number("nvmlDeviceGetEnforcedPowerLimit"), 1e-3);
  facts.power_limit_default_watts = scaled(number("nvmlDeviceGetPowerManagementDefaultLimit"), 1e-3);
  if (const auto mode = number("nvmlDeviceGetPersistenceMode")) facts.persistence_mode = *mode != 0;
  unsigned mig = 0, mig_after_reset = 0;
  if (nvml_->call("nvmlDeviceGetMigMode", handle_, &mig, &mig_after_reset)) facts.mig_mode = mig != 0;
}

std::optional<double> NvmlDevice::pcie_bytes_per_second(const char* generation, const char* width) const {
  const auto trained = number(generation), lanes = number(width);
  return roofmark::pcie_bytes_per_second(static_cast<int>(trained.value_or(0)), static_cast<int>(lanes.value_or(0)));
}

std::optional<double> NvmlDevice::pcie_bytes_per_second_now() const {
  return pcie_bytes_per_second("nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkWidth");
}

std::optional<double> NvmlDevice::pcie_bytes_per_second_at_most() const {
  return pcie_bytes_per_second("nvmlDeviceGetMaxPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkWidth");
}

void NvmlDevice::describe_c2c(GpuFacts& facts) const {
  constexpr double kMegabytes = 1e6;
  const auto answer = [&](unsigned id, unsigned link) -> std::optional<unsigned> {
    FieldValue value;
    value.field = id;
    value.scope = link;
    return call("nvmlDeviceGetFieldValues", 1, &value) && value.status == 0 ? std::optional(value.value.uint32) : std::nullopt;
  };
  const unsigned links = answer(field::kC2cLinks, 0).value_or(0);
  if (links == 0) return;
  double sum = 0;
  int up = 0;
  for (unsigned link = 0; link < links; ++link) {
    const auto rate = answer(field::kC2cStatus, link) == 1u ? answer(field::kC2cRate, link) : std::nullopt;
    if (!rate) continue;
    ++up;
    sum += *rate * kMegabytes;
  }
  facts.c2c_links = static_cast<int>(links);
  facts.c2c_links_up = up;
  if (up == 0) return;
  facts.c2c = {sum, fmt::format("NVLink-C2C: {} links up, {:g} GB/s together in one direction (NVML)", up, sum / 1e9)};
}

std::optional<unsigned> NvmlDevice::nvlinks_up() const {
  std::optional<unsigned> up;
  for (unsigned link = 0; link < kNvlinkMaxLinks; ++link) {
    int enabled = 0;
    if (call("nvmlDeviceGetNvLinkState", link, &enabled)) up = up.value_or(0) + (enabled == 1);
  }
  return up;
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
  constexpr Published kPublished[] = {{7, 0, 25e9, "V100: 150 GB/s over 6"},
                                      {8, 0, 25e9, "A100: 300 GB/s over 12"},
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

std::string NvmlDevice::nvlink_domain() const {
  FabricInfo info;
  if (!call("nvmlDeviceGetGpuFabricInfoV", &info)) return {};
  if (info.state != kFabricCompleted || info.status != 0) return {};
  // The NVSwitches of one host alone give zeros.
  const auto& uuid = info.cluster_uuid;
  if (std::all_of(uuid.begin(), uuid.end(), [](unsigned char byte) { return byte == 0; })) return {};
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return fmt::format("{}/{}", text, info.clique);
}

std::optional<int> NvmlDevice::p2p_status(const NvmlDevice& peer, int capability) const {
  int status = 0;
  if (!peer.handle_ || !call("nvmlDeviceGetP2PStatus", peer.handle_, capability, &status)) return std::nullopt;
  return status;
}

bool NvmlDevice::fabric_is_ready() const {
  FabricInfo info;
  if (!call("nvmlDeviceGetGpuFabricInfoV", &info) || info.state == kFabricUnknown) return true;
  return info.state == kFabricCompleted && info.status == 0;
}

std::vector<std::string> NvmlDevice::nvlink_peers() const {
  std::set<std::string> peers;
  for (unsigned link = 0; link < kNvlinkMaxLinks; ++link) {
    int enabled = 0, type = -1;
    PciInfo remote;
    if (!call("nvmlDeviceGetNvLinkState", link, &enabled) || enabled != 1) continue;
    if (!call("nvmlDeviceGetNvLinkRemoteDeviceType", link, &type) || type != kNvlinkToGpu) return {};
    if (!call("nvmlDeviceGetNvLinkRemotePciInfo_v2", link, &remote)) return {};
    peers.insert(fmt::format("{:04X}:{:02X}:{:02X}.0", remote.domain, remote.bus, remote.device));  // as CUDA writes it
  }
  return {peers.begin(), peers.end()};
}

unsigned NvmlDevice::direct_nvlinks_to(const NvmlDevice& peer) const {
  unsigned domain = 0, bus = 0, device = 0, links = 0;
  if (std::sscanf(peer.pci_bus_id_.c_str(), "%x:%x:%x", &domain, &bus, &device) != 3) return 0;
  for (unsigned link = 0; link < kNvlinkMaxLinks; ++link) {
    int enabled = 0;
    PciInfo remote;
    if (!call("nvmlDeviceGetNvLinkState", link, &enabled) || enabled != 1) continue;
    if (!call("nvmlDeviceGetNvLinkRemotePciInfo_v2", link, &remote)) continue;
    links += remote.domain == domain && remote.bus == bus && remote.device == device;
  }
  return links;
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
  int level = -1;
  if (peer.handle_ && call("nvmlDeviceGetTopologyCommonAncestor", peer.handle_, &level)) {
    for (const auto& [number, kind] : kLevels) {
      if (number == level) path.kind = kind;
    }
  }
  if (p2p_status(peer, kP2pNvlink) == 0) {
    path.kind = PathKind::nvlink;
    const unsigned direct = direct_nvlinks_to(peer);
    // Through switches each link of either GPU leads to the other.
    const unsigned switched = std::min(nvlinks_up().value_or(0), peer.nvlinks_up().value_or(0));
    path.nvlinks = static_cast<int>(direct > 0 ? direct : switched);
  }
  const int status = p2p_status(peer, kP2pRead).value_or(0);
  const Refusal& refusal = kRefusals[std::clamp(status, 0, static_cast<int>(std::size(kRefusals)) - 1)];
  path.refusal = refusal.text;
  // GPUs whose NVLinks are up are made to reach one another.
  path.by_design = refusal.by_design && nvlinks_up().value_or(0) == 0;
  return path;
}

std::optional<std::vector<ForeignProcess>> NvmlDevice::foreign_processes() const {
  if (!handle_) return std::nullopt;
  std::vector<ProcessInfo> processes(64);
  unsigned count = 0;
  const auto ask = [&](const char* symbol) {
    count = static_cast<unsigned>(processes.size());
    return nvml_->status(symbol, handle_, &count, processes.data());
  };
  for (const char* symbol : {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}) {
    auto status = ask(symbol);
    if (status == kInsufficientSize) {
      processes.resize(2 * std::size_t{count});
      status = ask(symbol);
    }
    if (status != 0) continue;
    std::vector<ForeignProcess> found;
    for (unsigned i = 0; i < count; ++i) {
      const ProcessInfo& process = processes[i];
      if (process.pid == static_cast<unsigned>(getpid())) continue;
      ForeignProcess entry;
      entry.pid = static_cast<int>(process.pid);
      std::array<char, kTextLength> name{};
      if (nvml_->call("nvmlSystemGetProcessName", process.pid, name.data(), kTextLength)) {
        // A file name may be any bytes; JSON is UTF-8.
        std::replace_if(
            name.begin(), name.end(), [](char c) { return static_cast<signed char>(c) < 0; }, '?');
        entry.name = name.data();
      }
      if (process.memory_bytes != kNotAvailable) entry.memory_bytes = process.memory_bytes;
      found.push_back(std::move(entry));
    }
    return found;
  }
  return std::nullopt;
}

std::vector<std::string> throttle_reasons(std::uint64_t mask) {
  // nvmlClocksEventReasons: 0x1 is idle, 0x2 the clocks an application asked for.
  constexpr std::uint64_t kNotThrottling = 0x1 | 0x2;
  constexpr std::pair<std::uint64_t, const ThrottleReason&> kReasons[] = {
      {0x4, throttle::power_cap},      {0x8, throttle::hardware_slowdown}, {0x10, throttle::sync_boost},
      {0x20, throttle::thermal},       {0x40, throttle::hardware_thermal}, {0x80, throttle::power_brake},
      {0x100, throttle::display_clock}};
  std::vector<std::string> names;
  std::uint64_t rest = mask & ~kNotThrottling;
  for (const auto& [bit, reason] : kReasons) {
    if (rest & bit) names.emplace_back(reason.name);
    rest &= ~bit;
  }
  if (rest) names.push_back(fmt::format("unknown ({:#x})", rest));
  return names;
}

}  // namespace roofmark::cuda
