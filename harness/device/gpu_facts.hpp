// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/pci.hpp"

namespace roofmark {

/// nvmlDeviceGpuRecoveryAction_t of drivers from 610 on; the last two by NVIDIA's CUDA Python, which is ahead of nvml.h.
inline constexpr std::string_view kRecoveryActions[] = {"none",      "GPU reset",       "node reboot",
                                                        "drain P2P", "drain and reset", "recover the IMEX domain",
                                                        "bus reset", "system reboot"};
/// Recovery of the IMEX domain concerns the hosts of an NVLink domain and no GPU: schedulers go on using it
/// (kubernetes-sigs/dra-driver-nvidia-gpu, pull request 1441).
inline constexpr int kRecoverImexDomain = 5, kResetBus = 6;
constexpr bool is_fault_of_gpu(int recovery_action) {
  return recovery_action > 0 && recovery_action != kRecoverImexDomain && recovery_action < std::ssize(kRecoveryActions);
}

/// What a link carries in one direction, and where the figure comes from.
struct LinkRate {
  std::optional<double> bytes_per_second;
  std::string source;
};

/// The health of the NVLink fabric that a GPU has joined. Absent: the driver does not tell.
struct FabricHealth {
  std::optional<bool> degraded;       ///< less bandwidth, or being recovered
  std::optional<bool> unhealthy;      ///< a route or the configuration is faulty
  std::vector<std::string> problems;  ///< in words, "degraded bandwidth"
};

/// Another program on the GPU.
struct ForeignProcess {
  int pid = 0;
  std::string name;  ///< empty if unknown
  std::optional<std::uint64_t> memory_bytes;
};

/// What CUDA and NVML say of a GPU beyond what every device has. What cannot be read is absent.
struct GpuFacts {
  std::string uuid, pci_bus_id;
  std::string cuda_driver_version, cuda_runtime_version;  ///< "13.0": CUDA's versions
  std::optional<int> l2_bytes, shared_memory_per_multiprocessor_bytes, registers_per_multiprocessor;
  std::optional<bool> ecc;
  std::optional<std::string> compute_mode;
  std::optional<bool> host_page_tables;  ///< the GPU uses the page tables of its CPU, to which NVLink-C2C connects it
  // By NVML.
  std::string driver_version, serial, vbios;
  std::optional<double> sm_clock_max_hz, memory_clock_max_hz;
  std::optional<int> pcie_generation, pcie_width, pcie_generation_max, pcie_width_max;  ///< the maximum of GPU and slot
  std::optional<int> pcie_generation_of_gpu, pcie_width_of_gpu;  ///< the GPU's own maximum, in whatever slot it is
  std::optional<int> pcie_generation_of_slot;                    ///< the maximum of the port above the GPU, by the kernel
  std::optional<std::string> iommu;  ///< how it treats the GPU's accesses, by the kernel: see iommu_of()
  std::optional<SwitchPorts> ports_to_peers, ports_to_nics;  ///< between the GPU and GPUs or NICs below the same PCIe switch
  LinkRate pcie, c2c;     ///< of the GPU itself; of PCIe at its highest generation, with the lanes that it has now
  LinkRate way_to_host;   ///< by PCIe: the same, or a link above a switch that carries less
  std::string root_port;  ///< of the host, where a switch is between: the bus id of the port whose link all below it share
  std::optional<double> root_port_bytes_per_second;  ///< of that link, by the kernel's maximum of both ends
  std::optional<int> c2c_links, c2c_links_up;
  std::optional<int> nvlink_links;  ///< that are up
  LinkRate nvlink;                  ///< of these links together
  /// Where all of them lead to GPUs (by bridges, or on the board): the PCI bus ids of these. Empty: they lead to switches, or
  /// it is unknown.
  std::vector<std::string> nvlink_peers;
  std::string nvlink_domain;           ///< "CLUSTER_UUID/CLIQUE" of the NVLink domain shared with other hosts; empty: none
  std::optional<FabricHealth> fabric;  ///< absent: the GPU has no fabric
  std::optional<int> recovery_action;  ///< that the driver asks for: kRecoveryActions
  std::optional<double> power_limit_watts, power_limit_default_watts;
  /// The clocks that the GPU may reach under load, as an administrator set them (nvidia-smi -ac), and without such a setting.
  std::optional<double> application_clock_hz, application_clock_default_hz;
  std::optional<double> application_memory_clock_hz, application_memory_clock_default_hz;
  std::optional<bool> persistence_mode, mig_mode;
  /// Confidential computing: "off", "on", or "protected PCIe" (a machine's GPUs and switches as one). In the latter two what
  /// passes between host and GPU is encrypted, and pinned memory is managed memory, which a running kernel does not share with
  /// the host (NVIDIA's answers in its developer forum, topics 261009 and 270476).
  std::optional<std::string> confidential_computing;
  std::string mig_uuid;                      ///< "MIG-..." if the device is a MIG instance; else empty
  std::optional<bool> mps;                   ///< the MPS server (nvidia-cuda-mps-server) has the GPU
  std::string mps_active_thread_percentage;  ///< CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of this process; empty if unset
  std::optional<std::vector<ForeignProcess>> foreign_processes;
  bool own_pid_namespace = false;  ///< this process does not see the processes of other containers
  /// The host's GPUs that the driver has lost, by their PCI addresses; absent if the driver tells of none.
  std::optional<std::vector<std::string>> lost_gpus;
  std::string no_nvml;              ///< why NVML tells nothing of this GPU; empty where it does
  bool nvml_hung = false;           ///< it did not answer: nothing that it knows is here
  std::optional<std::string> gate;  ///< why launches are not held back by the gate; absent where they are
};

/// Whether the GPU is split into MIG instances.
inline std::optional<bool> is_mig(const GpuFacts& gpu) { return gpu.mig_uuid.empty() ? gpu.mig_mode : std::optional(true); }

inline bool is_confidential(const GpuFacts& gpu) { return gpu.confidential_computing.value_or("off") != "off"; }
/// Why a case in which SMs access the host's memory is unsupported in confidential computing.
inline constexpr const char* kNoSharedMemory =
    "in confidential computing SMs reach no memory of the host: pinned memory is managed there and moves to the GPU";

/// NVLink-C2C connects the GPU with its CPU, and PCIe is not the way between them. A driver or a virtual machine can have page
/// tables of the GPU's own all the same.
inline bool reaches_host_by_c2c(const GpuFacts& gpu) {
  return gpu.host_page_tables.value_or(false) || gpu.c2c_links_up.value_or(0) > 0;
}

}  // namespace roofmark
