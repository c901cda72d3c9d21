// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/health.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/judge/gpu_links.hpp"
#include "harness/judge/lowered_clocks.hpp"
#include "harness/judge/memory_in_use.hpp"
#include "harness/model/counter.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

constexpr const char* kLoad = "load";

/// Judges the GPU and the host.
class Examination {
 public:
  explicit Examination(std::vector<Circumstance>& found) : found_(found) {}

  void gpu(const GpuFacts& facts) {
    if (!facts.no_nvml.empty()) {
      add("NVML", "tells nothing: " + facts.no_nvml,
          "throttling, power, temperatures, memory errors, links and other programs on the GPU stay unknown; nvidia-smi must "
          "work here (in a container: with the driver capability utility, NVIDIA_DRIVER_CAPABILITIES=compute,utility)");
    }
    if (const auto& lost = facts.lost_gpus) {
      add("GPUs lost by the driver", lost->empty() ? "none" : fmt::format("{}", fmt::join(*lost, ", ")),
          lost->empty() ? "" : "the host has fewer GPUs than it should; dmesg (\"NVRM\") says why: reset the GPU or reboot");
    }
    const std::string others = facts.foreign_processes ? name_processes(*facts.foreign_processes) : "";
    const bool hidden = !facts.foreign_processes && facts.own_pid_namespace;
    add("other processes",
        hidden                     ? "unknown: this container does not see those of other containers and of the host"
        : !facts.foreign_processes ? "unknown"
        : others.empty()           ? "none"
                                   : others,
        hidden           ? "start the container in the host's PID namespace (docker run --pid=host) to see them"
        : others.empty() ? ""
                         : "they slow down every case: stop them, or wait");
    multi_process(facts);
    add_switch(facts.ecc, "ECC", true, "memory errors go unnoticed; nvidia-smi -e 1 as root, then reset the GPU");
    if (facts.mig_uuid.empty()) {
      add_switch(facts.mig_mode, "MIG", false, "only one slice is measured; the theoretical ceilings may be the whole GPU's");
    } else {
      add("MIG", "this device is the instance " + facts.mig_uuid,
          "only one slice is measured; the theoretical ceilings may be the whole GPU's, and so are clocks, power, "
          "temperatures, links and the error counters that an instance does not have");
    }
    if (const auto& mode = facts.confidential_computing) {
      add("confidential computing", *mode,
          is_confidential(facts)
              ? "what passes between host and GPU is encrypted, so transfers, and launches that the host waits for, are "
                "slower by design: compare with GPUs in this mode"
              : "");
    }
    add_switch(facts.persistence_mode, "persistence mode", true,
               "the driver unloads between programs, which slows every start; nvidia-smi -pm 1 as root");
    add("compute mode", facts.compute_mode.value_or("unknown"));

    const auto limit = facts.power_limit_watts, usual = facts.power_limit_default_watts;
    if (limit && usual) {
      add("power limit", fmt::format("{:.0f} W, default {:.0f} W", *limit, *usual),
          *limit < *usual - 1 ? "below the default: clocks under load are lower" : "");
    } else {
      add("power limit", "unknown");
    }
    if (const std::string clocks = lowered_application_clocks(facts); !clocks.empty()) {
      add("application clocks", clocks, "the clock under load is lower; nvidia-smi -rac as root resets them");
    }
    if (const auto& fabric = facts.fabric; fabric && (fabric->degraded || fabric->unhealthy || !fabric->problems.empty())) {
      const bool well = fabric->problems.empty();
      add("NVLink fabric", well ? "healthy" : fmt::format("{}", fmt::join(fabric->problems, ", ")),
          well ? ""
               : "transfers between GPUs may be slower or fail; check the log of nvidia-fabricmanager, the NVSwitches and the "
                 "NVLink cables");
    }
    if (const auto action = facts.recovery_action) {
      add("recovery action", state_text(*find_counter("recovery_action"), *action),
          *action == 0                    ? ""
          : *action == kRecoverImexDomain ? "check nvidia-imex on the hosts of the NVLink domain"
          : is_fault_of_gpu(*action)
              ? "the driver asks for it after a fault of the GPU: drain the node and do it (nvidia-smi -r resets a GPU)"
              : "the driver asks for an action that this version does not know; nvidia-smi -q names it");
    }
    const auto generation = facts.pcie_generation, width = facts.pcie_width;
    const auto best_generation = facts.pcie_generation_max, widest = facts.pcie_width_max;
    if (generation && width && best_generation && widest) {
      // An idle link drops to a lower generation by design; lanes are lost to a bad contact or to wiring.
      add("PCIe link", fmt::format("generation {} of {}, {} lanes of {}", *generation, *best_generation, *width, *widest),
          *width < *widest
              ? "some lanes are not in use, which slows transfers; check the slot and the riser. A virtual machine "
                "does not see whether its host's slot has them"
              : "");
    } else {
      add("PCIe link", "unknown");
    }
    if (facts.gate) add("launch gate", *facts.gate, "times of short launches include the host's time to enqueue them");
  }

  void memory(const DeviceInfo& gpu) {
    const auto memory = memory_in_use(gpu);
    if (!memory) return;
    // Equal GPUs have equal rows.
    add("memory in use", memory->unusual.empty() ? "less than " + format_bytes(memory->most_usual_bytes) : memory->unusual,
        memory->remedy);
  }

  void links(const DeviceInfo& gpu) {
    for (GpuLink& link : links_of(gpu)) add(std::move(link.what), std::move(link.state), std::move(link.advice));
  }

  /// Variables by which cuBLAS computes products in other arithmetic than that of their type (cuBLAS documentation,
  /// floating point emulation, and NVIDIA_TF32_OVERRIDE).
  void arithmetic(const std::map<std::string, std::string>& environment) {
    std::vector<std::string> set;
    for (const char* name : {"CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION", "NVIDIA_TF32_OVERRIDE"}) {
      const auto found = environment.find(name);
      if (found == environment.end() || found->second.empty()) continue;
      // 0 is the default of the emulations, and forbids tf32.
      if ((found->second == "0") == std::string_view(name).starts_with("NVIDIA")) {
        set.push_back(fmt::format("{}={}", name, found->second));
      }
    }
    if (set.empty()) return;
    add("arithmetic of cuBLAS", fmt::format("{}", fmt::join(set, ", ")),
        fmt::format("products in fp32, fp64 or tf32 may be computed in other types than their names say; unset {}",
                    set.size() == 1 ? "it" : "them"));
  }

  /// What may be between the GPU and other devices' memory.
  void ways(const GpuFacts& facts) {
    if (facts.iommu) {
      const bool translates = facts.iommu->starts_with("DMA"), passes = *facts.iommu == "identity";
      const bool by_pcie = !reaches_host_by_c2c(facts);
      add("IOMMU",
          translates ? fmt::format("translates the GPU's accesses ({})", *facts.iommu)
          : passes   ? "passes the GPU's accesses through (identity)"
                     : *facts.iommu,
          translates && by_pcie ? "transfers with the host can be slower, and GPUs may reach each other only through the host; "
                                  "iommu=pt on the kernel's command line"
                                : "");
    }
    redirects(facts.ports_to_peers, "ACS redirect", "the GPUs", "copies over PCIe between GPUs below one switch");
    redirects(facts.ports_to_nics, "ACS redirect to NICs", "the GPU and NICs",
              "transfers between the GPU and NICs below the same switch (GPUDirect RDMA)");
  }

  /// Whether the process is on the GPU's socket. A control group may allow only one node's memory on a host with several nodes.
  void node_of(const DeviceInfo& gpu) {
    constexpr const char* kWhat = "NUMA node of the GPU";
    const bool sees_one = gpu.host_nodes.size() < 2;
    if (sees_one && (!gpu.near_node || gpu.host_nodes.empty() || gpu.host_nodes.front() == *gpu.near_node)) return;
    if (!gpu.near_node) return add(kWhat, "unknown");
    const auto lacks = [near = *gpu.near_node](const std::vector<int>& nodes) {
      return std::find(nodes.begin(), nodes.end(), near) == nodes.end();
    };
    std::vector<std::string_view> missing;
    if (!gpu.cpu_nodes.empty() && lacks(gpu.cpu_nodes)) missing.emplace_back("CPUs");
    if (lacks(gpu.host_nodes)) missing.emplace_back("memory");
    add(kWhat,
        fmt::format("{}; this process: CPUs of {}, memory of {}", *gpu.near_node, fmt::join(gpu.cpu_nodes, ", "),
                    fmt::join(gpu.host_nodes, ", ")),
        missing.empty()
            ? ""
            : fmt::format("launches and transfers cross to another NUMA node: this process may not use {} of node {}; "
                          "start it there (numactl --cpunodebind={} --membind={}) or change its control group",
                          fmt::join(missing, " and "), *gpu.near_node, *gpu.near_node, *gpu.near_node));
  }

  void host(const Host& host) {
    const CpuFacts& facts = host.facts;
    if (host.load_average) {
      const int cpus = std::max(host.load_average_cpus, 1);
      add(kLoad, fmt::format("{:.2f} on {} CPU{}, one-minute average", *host.load_average, cpus, cpus == 1 ? "" : "s"),
          *host.load_average > 0.5 + 0.1 * cpus ? "other programs use cores, caches and memory bandwidth" : "");
    }
    add("CPU governor", facts.governor.value_or("unknown"),
        facts.governor && *facts.governor != "performance"
            ? "the clock follows the load; cpupower frequency-set -g performance as root"
            : "");
    if (facts.cores > 0) {
      add("cores and SMT", fmt::format("{} core{}, {} thread{} per core", facts.cores, facts.cores == 1 ? "" : "s",
                                       facts.threads_per_core, facts.threads_per_core == 1 ? "" : "s"));
    }
    if (facts.numa_nodes) add("NUMA nodes of the host", std::to_string(*facts.numa_nodes));
    if (facts.numa_balancing && facts.numa_nodes.value_or(1) > 1) {
      const bool on = *facts.numa_balancing != 0;
      add("NUMA balancing", on ? "on" : "off",
          on ? "the kernel moves pages between nodes while cases run, which makes transfers and streams of the host vary; "
               "sysctl kernel.numa_balancing=0 as root"
             : "");
    }
    add("CPU limit", facts.cpu_quota ? fmt::format("{:g} cores (control group)", *facts.cpu_quota) : "none",
        facts.cpu_quota && *facts.cpu_quota < facts.logical_cpus ? "threads beyond it are throttled" : "");
    add("memory limit",
        facts.machine_memory_bytes ? format_bytes(static_cast<double>(facts.memory_bytes)) + " (control group)" : "none");
    if (facts.virtual_machine) add("virtual machine", "yes", "other virtual machines may share caches, memory and links");
    if (const auto& pages = facts.transparent_hugepage) {
      add("huge pages", *pages, *pages == "never" ? "large host arrays have less bandwidth" : "");
    }
  }

 private:
  /// MPS, where it is in use.
  void multi_process(const GpuFacts& facts) {
    const std::string& share = facts.mps_active_thread_percentage;
    if (!facts.mps.value_or(false) && share.empty()) return;
    std::string state = facts.mps.value_or(false) ? "on: nvidia-cuda-mps-server has the GPU" : "no server is seen";
    if (!share.empty()) state += fmt::format("; CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={}", share);
    add("MPS", state,
        fmt::format("kernels of other clients may run at the same time{}; without MPS: echo quit | nvidia-cuda-mps-control",
                    share.empty() || share == "100" ? "" : ", and the percentage leaves this process only a part of the SMs"));
  }
  void redirects(const std::optional<SwitchPorts>& ports, const char* what, const char* ends, const char* transfers) {
    if (!ports) return;
    const bool redirects = !ports->redirecting.empty();
    add(what,
        redirects           ? fmt::format("on at {}", fmt::join(ports->redirecting, ", "))
        : ports->unread > 0 ? "unknown: only root may read the registers of the PCIe switches"
                            : fmt::format("off at the {} switch ports between {}", ports->direct, ends),
        redirects
            ? fmt::format("{} go up to the host and back, or are refused; turn ACS off at these ports in the BIOS, or with "
                          "setpci as root, unless virtual machines have the GPUs",
                          transfers)
            : "");
  }
  void add(std::string what, std::string state, std::string advice = {}) {
    found_.push_back({std::move(what), std::move(state), std::move(advice)});
  }
  /// `advice` is for the value that is not `good`.
  void add_switch(std::optional<bool> on, const std::string& what, bool good, const std::string& advice) {
    add(what, !on ? "unknown" : *on ? "on" : "off", on && *on != good ? advice : "");
  }

  std::vector<Circumstance>& found_;
};

}  // namespace

std::string name_processes(const std::vector<ForeignProcess>& processes) {
  std::string names;
  for (const ForeignProcess& process : processes) {
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", process.pid, process.name);
  }
  return names;
}

std::vector<Circumstance> health(const DeviceInfo& device, const Host& host) {
  std::vector<Circumstance> found;
  Examination examination(found);
  if (device.backend == Backend::cuda) {
    examination.gpu(device.gpu);
    examination.memory(device);
    examination.arithmetic(host.environment);
    examination.links(device);
    examination.ways(device.gpu);
    examination.node_of(device);
  }
  examination.host(host);
  return found;
}

std::vector<Circumstance> team_health(const std::vector<std::vector<Circumstance>>& by_rank) {
  if (by_rank.empty()) return {};
  std::vector<Circumstance> all = by_rank.front();
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    for (const Circumstance& one : by_rank[rank]) {
      // The load always differs: compare its advice instead.
      const auto same = [&](const Circumstance& other) {
        return other.what == one.what && other.advice == one.advice && (one.what == kLoad || other.state == one.state);
      };
      if (std::any_of(by_rank.front().begin(), by_rank.front().end(), same)) continue;
      all.push_back(one);
      all.back().rank = static_cast<int>(rank);
    }
  }
  return all;
}

}  // namespace roofmark
