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
#include <utility>

#include "harness/device/pcie.hpp"
#include "harness/device/telemetry.hpp"
#include "harness/machine/pid_namespace.hpp"

namespace roofmark::cuda {

namespace {

constexpr unsigned long long kNotAvailable = ~0ull;
constexpr unsigned kTextLength = 128;

bool is_mps_server(const ForeignProcess& process) { return process.name.find("nvidia-cuda-mps-server") != std::string::npos; }

}  // namespace

Nvml::Nvml(Resolve resolve) : resolve_(std::move(resolve)) {
  const auto function = reinterpret_cast<int (*)()>(resolve_("nvmlInit_v2"));
  usable_ = false;
  if (!function) {
    why_not_ = "libnvidia-ml.so.1 cannot be loaded";
    return;
  }
  const auto init = within_patience<int>(function, kLongPatienceSeconds);
  usable_ = init == kSuccess;
  hung_ = !init;
  if (!usable_) why_not_ = init ? "it does not start: " + error_text(*init) : "it did not answer in time";
}

std::string Nvml::error_text(int status) const {
  const auto text = reinterpret_cast<const char* (*)(int)>(resolve_("nvmlErrorString"));
  return text ? text(status) : fmt::format("status {}", status);
}

DriverVersion Nvml::driver_version() const {
  DriverVersion version(0, 0);
  std::array<char, kTextLength> text{};
  if (call("nvmlSystemGetDriverVersion", text.data(), kTextLength)) {
    std::sscanf(text.data(), "%d.%d", &version.first, &version.second);
  }
  return version;
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
  if (nvml_->call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &gpu_)) return;
  // CUDA gives the UUID of a MIG instance without its prefix.
  const std::string mig = uuid.starts_with("GPU-") ? "MIG-" + uuid.substr(4) : uuid;
  if (nvml_->call("nvmlDeviceGetHandleByUUID", mig.c_str(), &instance_)) {
    mig_uuid_ = mig;
    if (nvml_->call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", instance_, &gpu_)) return;
  } else {
    instance_ = nullptr;
  }
  if (!nvml_->call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &gpu_)) gpu_ = nullptr;
}

void NvmlDevice::read_fields(std::span<FieldValue> fields) const {
  if (gpu_ && nvml_->call("nvmlDeviceGetFieldValues", gpu_, static_cast<int>(fields.size()), fields.data())) return;
  for (FieldValue& field : fields) field.status = -1;
}

std::optional<std::string> NvmlDevice::text(const char* symbol) const {
  std::array<char, kTextLength> buffer{};
  if (!call(symbol, buffer.data(), kTextLength)) return std::nullopt;
  return buffer.data();
}

std::optional<unsigned> NvmlDevice::number(const char* symbol) const {
  unsigned value = 0;
  if (!call(symbol, &value)) return std::nullopt;
  return value;
}

std::optional<unsigned> NvmlDevice::clock(const char* symbol, int domain) const {
  unsigned megahertz = 0;
  if (!call(symbol, domain, &megahertz)) return std::nullopt;
  return megahertz;
}

std::optional<double> NvmlDevice::max_sm_clock_hz() const {
  const auto megahertz = clock("nvmlDeviceGetMaxClockInfo", kSmClock);
  return megahertz ? std::optional(*megahertz * 1e6) : std::nullopt;
}

std::optional<int> NvmlDevice::recovery_action() const {
  FieldValue action;
  action.field = field::kRecoveryAction;
  read_fields({&action, 1});
  if (action.status != 0) return std::nullopt;
  // nvidia-ml-py 13.580 calls 5 a reset of the bus; in nvml.h it is the IMEX domain's since 610, and in 590 and 595 nothing.
  constexpr DriverVersion kRenumbered{610, 0};
  const auto number = static_cast<int>(action.value.uint32);
  return number == kRecoverImexDomain && nvml_->driver_version() < kRenumbered ? kResetBus : number;
}

std::optional<bool> NvmlDevice::inforom_is_corrupted() const {
  const auto status = gpu_ ? nvml_->status("nvmlDeviceValidateInforom", gpu_) : std::nullopt;
  if (status != kSuccess && status != kCorruptedInforom) return std::nullopt;
  return status == kCorruptedInforom;
}

std::optional<int> NvmlDevice::whole(const char* symbol) const {
  const auto value = number(symbol);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<std::string> NvmlDevice::confidential_computing() const {
  ConfidentialSettings settings;
  // Before release 550 there is only the state.
  if (!nvml_->call("nvmlSystemGetConfComputeSettings", &settings) &&
      !nvml_->call("nvmlSystemGetConfComputeState", &settings.state)) {
    return std::nullopt;
  }
  return settings.multi_gpu_mode == kProtectedPcie ? "protected PCIe" : settings.state.feature != 0 ? "on" : "off";
}

void NvmlDevice::describe(GpuFacts& facts) const {
  if (!gpu_) {
    facts.no_nvml = nvml_->why_not().empty() ? "it does not know this GPU" : nvml_->why_not();
    return;
  }
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
  if (const auto links = nvlinks(); !links.empty()) {
    facts.nvlink_links = static_cast<int>(count_up(links));
    facts.nvlink = nvlink_rate(*facts.nvlink_links);
    facts.nvlink_peers = nvlink_peers(links);
  }
  facts.nvlink_domain = nvlink_domain();
  if (const auto info = fabric(); info && info->state != kFabricUnknown) facts.fabric = fabric_health(*info);
  facts.application_clock_hz = scaled(clock("nvmlDeviceGetApplicationsClock", kGraphicsClock), 1e6);
  facts.application_clock_default_hz = scaled(clock("nvmlDeviceGetDefaultApplicationsClock", kGraphicsClock), 1e6);
  facts.application_memory_clock_hz = scaled(clock("nvmlDeviceGetApplicationsClock", kMemoryClock), 1e6);
  facts.application_memory_clock_default_hz = scaled(clock("nvmlDeviceGetDefaultApplicationsClock", kMemoryClock), 1e6);
  facts.power_limit_watts = scaled(number("nvmlDeviceGetEnforcedPowerLimit"), 1e-3);
  facts.power_limit_default_watts = scaled(number("nvmlDeviceGetPowerManagementDefaultLimit"), 1e-3);
  if (const auto mode = number("nvmlDeviceGetPersistenceMode")) facts.persistence_mode = *mode != 0;
  unsigned ecc = 0, ecc_after_reset = 0;
  if (call("nvmlDeviceGetEccMode", &ecc, &ecc_after_reset)) facts.ecc = ecc != 0;
  unsigned mig = 0, mig_after_reset = 0;
  if (call("nvmlDeviceGetMigMode", &mig, &mig_after_reset)) facts.mig_mode = mig != 0;
  facts.mig_uuid = mig_uuid_;
  facts.confidential_computing = confidential_computing();
  facts.recovery_action = recovery_action();
  if (const auto others = other_processes()) facts.mps = std::any_of(others->begin(), others->end(), is_mps_server);
}

std::optional<double> NvmlDevice::pcie_bytes_per_second(const char* generation, const char* width) const {
  const auto trained = number(generation), lanes = number(width);
  return roofmark::pcie_bytes_per_second(static_cast<int>(trained.value_or(0)), static_cast<int>(lanes.value_or(0)));
}

std::optional<double> NvmlDevice::pcie_bytes_per_second_now() const {
  return pcie_bytes_per_second("nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkWidth");
}

std::optional<double> NvmlDevice::pcie_bytes_per_second_at_most(bool in_virtual_machine) const {
  return pcie_bytes_per_second("nvmlDeviceGetMaxPcieLinkGeneration",
                               in_virtual_machine ? "nvmlDeviceGetCurrPcieLinkWidth" : "nvmlDeviceGetMaxPcieLinkWidth");
}

std::optional<std::vector<ForeignProcess>> NvmlDevice::other_processes() const {
  void* const device = instance_ ? instance_ : gpu_;
  if (!device) return std::nullopt;
  std::optional<std::vector<ForeignProcess>> found;
  const auto list = [&](const char* symbol) {
    std::vector<ProcessInfo> processes(64);
    unsigned count = 0;
    const auto ask = [&] {
      count = static_cast<unsigned>(processes.size());
      return nvml_->status(symbol, device, &count, processes.data());
    };
    auto status = ask();
    if (status == kInsufficientSize) {
      processes.resize(2 * std::size_t{count});
      status = ask();
    }
    if (status != 0) return false;
    if (!found) found.emplace();
    for (unsigned i = 0; i < count; ++i) {
      const ProcessInfo& process = processes[i];
      const auto pid = static_cast<int>(process.pid);
      const bool listed =
          std::any_of(found->begin(), found->end(), [pid](const ForeignProcess& one) { return one.pid == pid; });
      if (listed || pid == getpid()) continue;
      ForeignProcess& entry = found->emplace_back();
      entry.pid = pid;
      std::array<char, kTextLength> name{};
      if (nvml_->call("nvmlSystemGetProcessName", process.pid, name.data(), kTextLength)) {
        // A file name may be any bytes; JSON is UTF-8.
        std::replace_if(
            name.begin(), name.end(), [](char c) { return static_cast<signed char>(c) < 0; }, '?');
        entry.name = name.data();
      }
      if (process.memory_bytes != kNotAvailable) entry.memory_bytes = process.memory_bytes;
    }
    return true;
  };
  // Drivers 535.43 to 535.86 write entries of 32 bytes in their _v3 (nvml.h of each), later ones and every _v2 those of 24.
  if (!list("nvmlDeviceGetComputeRunningProcesses_v2") && !list("nvmlDeviceGetComputeRunningProcesses_v3")) return std::nullopt;
  if (!list("nvmlDeviceGetMPSComputeRunningProcesses_v2")) list("nvmlDeviceGetMPSComputeRunningProcesses_v3");
  return found;
}

std::optional<std::vector<ForeignProcess>> NvmlDevice::foreign_processes(const std::filesystem::path& root) const {
  auto found = other_processes();
  if (!found) return found;
  std::erase_if(*found, is_mps_server);
  if (found->empty() && !sees_all_processes(root)) return std::nullopt;
  return found;
}

std::vector<std::string> throttle_reasons(std::uint64_t mask) {
  constexpr std::uint64_t kIdle = 0x1;  // nvmlClocksEventReasons
  constexpr std::pair<std::uint64_t, const ThrottleReason&> kReasons[] = {
      {0x2, throttle::application_clocks}, {0x4, throttle::power_cap},      {0x8, throttle::hardware_slowdown},
      {0x10, throttle::sync_boost},        {0x20, throttle::thermal},       {0x40, throttle::hardware_thermal},
      {0x80, throttle::power_brake},       {0x100, throttle::display_clock}};
  std::vector<std::string> names;
  std::uint64_t rest = mask & ~kIdle;
  for (const auto& [bit, reason] : kReasons) {
    if (rest & bit) names.emplace_back(reason.name);
    rest &= ~bit;
  }
  if (rest) names.push_back(fmt::format("unknown ({:#x})", rest));
  return names;
}

}  // namespace roofmark::cuda
