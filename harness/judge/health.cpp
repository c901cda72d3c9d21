// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/health.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "harness/machine/json.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

constexpr const char* kLoad = "load";

template <class T>
std::optional<T> read(const Json& details, const char* key) {
  if (!details.is_object() || !details.contains(key)) return std::nullopt;
  return details.at(key).get<T>();
}

/// Judges one side, the GPU or the host, by its details.
class Examination {
 public:
  Examination(Json details, std::vector<Circumstance>& found) : details_(std::move(details)), found_(found) {}

  void gpu() {
    const Json processes = read<Json>(details_, "foreign_processes").value_or(Json());
    const std::string others = name_processes(processes);
    add("other processes",
        processes.is_null() ? "unknown"
        : others.empty()    ? "none"
                            : others,
        others.empty() ? "" : "they slow down every case: end them, or wait");
    add_switch("ecc", "ECC", true, "memory errors go unnoticed; nvidia-smi -e 1 as root, then reset the GPU");
    add_switch("mig_mode", "MIG", false, "only a slice is measured; the theoretical ceilings may be those of the whole GPU");
    add_switch("persistence_mode", "persistence mode", true,
               "the driver unloads between programs, which slows every start; nvidia-smi -pm 1 as root");
    const auto mode = read<std::string>(details_, "compute_mode");
    add("compute mode", mode.value_or("unknown"));

    const auto limit = read<double>(details_, "power_limit_watts"), usual = read<double>(details_, "power_limit_default_watts");
    if (limit && usual) {
      add("power limit", fmt::format("{:.0f} W, default {:.0f} W", *limit, *usual),
          *limit < *usual - 1 ? "lowered: under load the clocks stay below those at the default limit" : "");
    } else {
      add("power limit", "unknown");
    }
    const auto generation = read<int>(details_, "pcie_generation"), width = read<int>(details_, "pcie_width");
    const auto best_generation = read<int>(details_, "pcie_generation_max"), widest = read<int>(details_, "pcie_width_max");
    if (generation && width && best_generation && widest) {
      // An idle link drops to a lower generation by itself; lanes are lost by a bad contact or by wiring.
      add("PCIe link", fmt::format("generation {} of {}, {} lanes of {}", *generation, *best_generation, *width, *widest),
          *width < *widest ? "lanes are missing, so transfers are slower; check the slot and the riser" : "");
    } else {
      add("PCIe link", "unknown");
    }
    if (const auto gate = read<std::string>(details_, "gate"))
      add("launch gate", *gate, "times of short launches include the host's time to enqueue them");
  }

  /// Whether the process is on the GPU's socket. A control group may leave it the memory of a single node, which is then not
  /// the host's only one.
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
            : fmt::format("launches and transfers cross to another socket, because this process may not use {} of "
                          "node {}: start it there (numactl --cpunodebind={} --membind={}) or change its control group",
                          fmt::join(missing, " and "), *gpu.near_node, *gpu.near_node, *gpu.near_node));
  }

  void host() {
    if (const auto load = read<double>(details_, "load_average")) {
      const auto cpus = read<int>(details_, "load_average_cpus").value_or(1);
      add(kLoad, fmt::format("{:.2f} on {} CPU{}, one-minute average", *load, cpus, cpus == 1 ? "" : "s"),
          *load > 0.5 + 0.1 * cpus ? "other work takes its share of cores, caches and memory bandwidth" : "");
    }
    const auto governor = read<std::string>(details_, "governor");
    add("CPU governor", governor.value_or("unknown"),
        governor && *governor != "performance" ? "the clock follows the load; cpupower frequency-set -g performance as root"
                                               : "");
    if (const auto cores = read<int>(details_, "cores"), threads = read<int>(details_, "threads_per_core"); cores && threads) {
      add("cores and SMT", fmt::format("{} cores, {} thread{} per core", *cores, *threads, *threads == 1 ? "" : "s"));
    }
    if (const auto nodes = read<int>(details_, "numa_nodes")) add("NUMA nodes of the host", std::to_string(*nodes));
    const auto quota = read<double>(details_, "cpu_quota_cores");
    add("CPU limit", quota ? fmt::format("{:g} cores (control group)", *quota) : "none",
        quota && *quota < read<int>(details_, "logical_cpus").value_or(1) ? "threads beyond it are throttled" : "");
    const auto limit = read<double>(details_, "memory_limit_bytes");
    add("memory limit", limit ? format_bytes(*limit) + " (control group)" : "none");
    if (read<bool>(details_, "virtual_machine").value_or(false)) {
      add("virtual machine", "yes", "other virtual machines may share caches, memory and links");
    }
    if (const auto pages = read<std::string>(details_, "transparent_hugepage")) {
      add("huge pages", *pages, *pages == "never" ? "large host arrays have less bandwidth" : "");
    }
  }

 private:
  void add(std::string what, std::string state, std::string advice = {}) {
    found_.push_back({std::move(what), std::move(state), std::move(advice)});
  }
  /// `advice` is for the value that is not `good`.
  void add_switch(const char* key, const std::string& what, bool good, const std::string& advice) {
    const auto on = read<bool>(details_, key);
    add(what, !on ? "unknown" : *on ? "on" : "off", on && *on != good ? advice : "");
  }

  Json details_;
  std::vector<Circumstance>& found_;
};

}  // namespace

std::string name_processes(const Json& processes) {
  std::string names;
  for (const Json& process : processes) {
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", process.value("pid", 0), process.value("name", ""));
  }
  return names;
}

std::vector<Circumstance> health(const DeviceInfo& device, const Json& host) {
  std::vector<Circumstance> found;
  if (device.backend == Backend::cuda) {
    Examination gpu(*device.details, found);
    gpu.gpu();
    gpu.node_of(device);
  }
  Examination(host.value("details", Json::object()), found).host();
  return found;
}

std::vector<Circumstance> team_health(const std::vector<std::vector<Circumstance>>& by_rank) {
  if (by_rank.empty()) return {};
  std::vector<Circumstance> all = by_rank.front();
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    for (const Circumstance& one : by_rank[rank]) {
      // The load is never the same twice: what it is judged to be counts.
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
