// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/info.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "harness/device/cuda_device.hpp"
#include "harness/device/pcie.hpp"
#include "harness/machine/facts.hpp"
#include "harness/machine/huge_pages.hpp"
#include "harness/machine/numa.hpp"
#include "harness/machine/pci.hpp"
#include "harness/machine/pid_namespace.hpp"
#include "kernels/base/cuda.hpp"

namespace roofmark {

namespace cuda {

namespace {

std::optional<int> attribute(int ordinal, cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, ordinal) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  return value;
}

std::vector<std::string> forbidden_nodes() {
  std::vector<std::string> nodes;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const std::string path = entry.path().string();
    if (path.starts_with("/dev/nvidia") && entry.is_character_file(ignored) && access(path.c_str(), R_OK | W_OK) != 0) {
      nodes.push_back(path);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string pci_bus_id(int ordinal) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), ordinal));
  return text.data();
}

std::string describe(const Absence& absence) {
  if (absence.status == cudaErrorInsufficientDriver && absence.driver_version == 0) {
    return "no NVIDIA driver is loaded: install it (nvidia-smi must list the GPU), or pass the GPU into the container "
           "(--gpus all, --nv)";
  }
  if (absence.status == cudaErrorInsufficientDriver) {
    return fmt::format(
        "the driver is older than the CUDA runtime of this build: it supports CUDA {}, the runtime is {}: update the driver, "
        "or "
        "build with a toolkit no newer than the driver",
        cuda_version_text(absence.driver_version), cuda_version_text(absence.runtime_version));
  }
  const std::string said = fmt::format("{} ({})", cudaGetErrorString(absence.status), cudaGetErrorName(absence.status));
  if (!absence.forbidden_nodes.empty()) {
    return fmt::format(
        "no permission to use the GPU: {} cannot be opened ({}): join the group that owns it, or run in a job that was given "
        "the GPU",
        fmt::join(absence.forbidden_nodes, ", "), said);
  }
  if (absence.status == cudaErrorNoDevice && absence.visible_devices) {
    return fmt::format(
        "no GPU is visible: CUDA_VISIBLE_DEVICES=\"{}\" selects none: unset it, or select a GPU that nvidia-smi -L lists",
        *absence.visible_devices);
  }
  switch (absence.status) {
    case cudaSuccess:
    case cudaErrorNoDevice:
      return "the driver finds no GPU: see nvidia-smi, and dmesg for errors of the NVIDIA driver";
    case cudaErrorSystemDriverMismatch:
      return said + ": the driver's library and kernel module have different versions: reload the module or reboot";
    case cudaErrorSystemNotReady:
      return said + ": start nvidia-fabricmanager (or nvidia-imex) and check its log";
    case cudaErrorCompatNotSupportedOnDevice:
      return said + ": the forward-compatibility libraries do not support this GPU: remove them from LD_LIBRARY_PATH";
    default:
      return said + ": see nvidia-smi, and dmesg for errors of the NVIDIA driver";
  }
}

std::string why_unusable(cudaError_t status, const DeviceInfo& device) {
  const GpuFacts& gpu = device.gpu;
  std::vector<std::string> names;
  for (const ForeignProcess& other : gpu.foreign_processes.value_or(std::vector<ForeignProcess>())) {
    names.push_back(fmt::format("{}{}{}", other.pid, other.name.empty() ? "" : " ", other.name));
  }
  const std::string others = names.empty() ? "" : fmt::format(" (on it: {})", fmt::join(names, ", "));
  const std::string mode = gpu.compute_mode.value_or("");
  std::string remedy = "see nvidia-smi, and dmesg for errors of the NVIDIA driver";
  switch (status) {
    case cudaErrorDevicesUnavailable:
      if (mode == "prohibited") remedy = "its compute mode admits no program; nvidia-smi -c 0 as root changes that";
      if (mode.starts_with("exclusive")) {
        remedy = "its compute mode admits one process alone" + others +
                 ": wait for that to end; nvidia-smi -c 0 as root admits several";
      }
      break;
    case cudaErrorMemoryAllocation:
      remedy = "other programs have its memory" + others + ": end them, or wait";
      break;
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
      remedy = "see the log of nvidia-cuda-mps-control; without MPS: echo quit | nvidia-cuda-mps-control";
      break;
    default:
      break;
  }
  if (const int action = gpu.recovery_action.value_or(0); is_fault_of_gpu(action)) {
    remedy = fmt::format("the driver asks for an action after a fault of the GPU ({}): drain the node and do it",
                         kRecoveryActions[action]);
  }
  return fmt::format("cannot use {} ({}): {} ({}): {}", device.id, device.name, cudaGetErrorString(status),
                     cudaGetErrorName(status), remedy);
}

std::string why_no_code(const Code& code, const DeviceInfo& device, const std::string& architectures) {
  constexpr std::array kLacks = {
      cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction, cudaErrorInvalidPtx,
      cudaErrorUnsupportedPtxVersion,  cudaErrorJitCompilerNotFound,   cudaErrorJitCompilationDisabled};
  constexpr std::array kSteps = {89, 90};  // of __CUDA_ARCH__ / 10 in the kernels
  const int capability = device.compute_capability;
  std::string lack;
  if (std::find(kLacks.begin(), kLacks.end(), code.status) != kLacks.end()) lack = cudaGetErrorString(code.status);
  if (code.status == cudaSuccess &&
      std::any_of(kSteps.begin(), kSteps.end(), [&](int step) { return code.compiled_for < step && step <= capability; })) {
    lack = fmt::format("of this build it runs the code for {}.{}, which lacks what its own has", code.compiled_for / 10,
                       code.compiled_for % 10);
  }
  if (lack.empty()) return {};
  const std::string remedy = capability < 80 ? "GPUs of 8.0 and newer are supported"
                                             : fmt::format("build it with -DCMAKE_CUDA_ARCHITECTURES={}{} (now: {})",
                                                           capability, capability == 90 ? "a" : "", architectures);
  return fmt::format("this roofmark cannot run on {} ({}, compute capability {}.{}): {}; {}", device.id, device.name,
                     capability / 10, capability % 10, lack, remedy);
}

/// The NUMA nodes that are memory of the GPUs that this process sees.
std::vector<int> nodes_of_gpus() {
  int count = 0;
  check(cudaGetDeviceCount(&count));
  std::vector<int> nodes;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    if (attribute(ordinal, cudaDevAttrNumaConfig) != cudaDeviceNumaConfigNumaNode) continue;
    if (const auto node = attribute(ordinal, cudaDevAttrNumaId)) nodes.push_back(*node);
  }
  return nodes;
}

/// The CPUs whose caches hold memory near the device.
std::vector<int> cpus_near(const DeviceInfo& info) {
  const std::optional<int> node = info.near_memory_node();
  const std::vector<int> cpus = node ? cpus_of_node(*node, "/") : std::vector<int>();
  return cpus.empty() ? online_cpus("/") : cpus;
}

DeviceInfo read_device_info(int ordinal, const NvmlDevice& nvml) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, ordinal));
  const auto read = [ordinal](cudaDeviceAttr which) { return attribute(ordinal, which); };

  DeviceInfo info;
  info.id = "cuda:" + std::to_string(ordinal);
  info.backend = Backend::cuda;
  info.name = properties.name;
  info.compute_capability = properties.major * 10 + properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.memory_bytes = properties.totalGlobalMem;
  // Attributes in kHz; 0 where the driver does not know.
  if (const auto kilohertz = read(cudaDevAttrClockRate).value_or(0)) info.rated_clock_hz = kilohertz * 1e3;
  // Cards boost beyond the attribute up to NVML's maximum; NVML may be missing.
  const auto told = ask_patiently<GpuFacts>(
      nvml.nvml(),
      [nvml] {
        GpuFacts facts;
        nvml.describe(facts);
        facts.foreign_processes = nvml.foreign_processes();
        return facts;
      },
      kLongPatienceSeconds);
  info.gpu = told.value_or(GpuFacts());
  info.gpu.nvml_hung = !told;
  if (!told) info.gpu.no_nvml = "it did not answer in time";
  info.highest_clock_hz = std::max(info.rated_clock_hz, info.gpu.sm_clock_max_hz);
  if (const auto kilohertz = read(cudaDevAttrMemoryClockRate).value_or(0)) info.memory_clock_hz = kilohertz * 1e3;
  if (const auto bits = read(cudaDevAttrGlobalMemoryBusWidth).value_or(0)) info.memory_bus_bits = bits;
  info.integrated = read(cudaDevAttrIntegrated).value_or(0) != 0;
  if (const auto bytes = read(cudaDevAttrL2CacheSize).value_or(0)) {
    info.caches.push_back({"l2", static_cast<std::size_t>(bytes), static_cast<std::size_t>(bytes)});
  }

  GpuFacts& gpu = info.gpu;
  const std::string bus_id = pci_bus_id(ordinal);
  gpu.uuid = gpu.mig_uuid.empty() ? uuid_text(properties.uuid) : gpu.mig_uuid;
  if (const auto all = lost_gpus(); !all.empty()) {
    gpu.lost_gpus.emplace();
    for (const auto& [address, is_lost] : all) {
      if (is_lost) gpu.lost_gpus->push_back(address);
    }
  }
  gpu.own_pid_namespace = !sees_all_processes("/");
  if (const char* share = std::getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")) gpu.mps_active_thread_percentage = share;
  gpu.pci_bus_id = bus_id;
  int version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess) gpu.cuda_driver_version = cuda_version_text(version);
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) gpu.cuda_runtime_version = cuda_version_text(version);
  gpu.l2_bytes = read(cudaDevAttrL2CacheSize);
  gpu.shared_memory_per_multiprocessor_bytes = read(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  gpu.registers_per_multiprocessor = read(cudaDevAttrMaxRegistersPerMultiprocessor);
  // CUDA says the same of ECC that is off and of a memory that has none, of which NVML says nothing.
  if (const auto ecc = read(cudaDevAttrEccEnabled); ecc && (*ecc != 0 || !gpu.no_nvml.empty())) gpu.ecc = *ecc != 0;
  if (const auto mode = read(cudaDevAttrComputeMode)) {
    gpu.compute_mode = *mode == cudaComputeModeDefault            ? "default"
                       : *mode == cudaComputeModeProhibited       ? "prohibited"
                       : *mode == cudaComputeModeExclusiveProcess ? "exclusive process"
                                                                  : "exclusive";
  }
  info.host_nodes = nodes_with_memory("/", nodes_of_gpus());
  info.cpu_nodes = nodes_of_cpus(allowed_cpus(), "/");
  const std::filesystem::path folder = pci_folder(bus_id, "/");
  info.near_node = numa_node(folder);
  info.node_distances = node_distances("/");
  const std::vector<CacheLevel> host_caches = read_caches("/", cpus_near(info));
  if (!host_caches.empty()) info.host_cache_bytes = host_caches.back().total_bytes;
  info.why_no_huge_pages = why_no_huge_pages("/");
  info.managed_on_demand = read(cudaDevAttrConcurrentManagedAccess).value_or(0) != 0;
  if (const auto tables = read(cudaDevAttrPageableMemoryAccessUsesHostPageTables)) gpu.host_page_tables = *tables != 0;
  // The driver knows of the card what the kernel knows of its port.
  const PciLinkMaximum link = pci_link_maximum(folder);
  if (!gpu.pcie_generation_of_gpu) gpu.pcie_generation_of_gpu = link.generation;
  if (!gpu.pcie_width_of_gpu) gpu.pcie_width_of_gpu = link.lanes;
  gpu.way_to_host = way_to_host(gpu, folder);
  gpu.root_port = shared_root_port(folder);
  gpu.root_port_bytes_per_second = root_port_bytes_per_second(gpu, folder);
  gpu.iommu = iommu_of(folder, "/");
  gpu.ports_to_peers = ports_to_peers(folder, "/");
  gpu.ports_to_nics = ports_to_nics(folder, "/");
  gpu.pcie_generation_of_slot = slot_link_maximum(folder).generation;
  return info;
}

}  // namespace cuda

CudaDevices cuda_devices() {
  cuda::Absence absence;
  int count = 0;
  absence.status = cudaGetDeviceCount(&count);
  CudaDevices devices;
  if (absence.status == cudaSuccess && count > 0) {
    devices.ordinals.resize(count);
    std::iota(devices.ordinals.begin(), devices.ordinals.end(), 0);
    return devices;
  }
  cudaGetLastError();
  if (cudaDriverGetVersion(&absence.driver_version) != cudaSuccess) absence.driver_version = 0;
  if (cudaRuntimeGetVersion(&absence.runtime_version) != cudaSuccess) absence.runtime_version = 0;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) absence.visible_devices = visible;
  absence.forbidden_nodes = cuda::forbidden_nodes();
  devices.reason = describe(absence);
  if (!absence.visible_devices) devices.unusable = gpus_to_compute_with("/");
  return devices;
}

}  // namespace roofmark
