// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/numa.hpp"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sstream>

#include "harness/machine/facts.hpp"
#include "harness/machine/files.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaskBits = 8 * sizeof(NodeMask);

/// Absent for a number that no node has.
std::optional<NodeMask> mask_of(int node) {
  if (node < 0 || static_cast<std::size_t>(node) >= kMaskBits) return std::nullopt;
  constexpr int kWordBits = 8 * sizeof(unsigned long);
  NodeMask mask = {};
  mask[node / kWordBits] = 1UL << (node % kWordBits);
  return mask;
}

/// The CPUs of a node that this thread may run on; absent if none.
std::optional<cpu_set_t> allowed_cpus_of(int node, const cpu_set_t& allowed) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus_of_node(node, "/")) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &set);
  }
  return CPU_COUNT(&set) > 0 ? std::optional(set) : std::nullopt;
}

}  // namespace

std::vector<int> nodes_with_memory(const fs::path& root, std::vector<int> of_gpus) {
  const fs::path folder = root / "sys/devices/system/node";
  auto text = first_line(folder / "has_memory");
  if (!text) text = first_line(folder / "online");
  if (!text) return {};
  std::vector<int> nodes = parse_cpu_list(*text);
  for (const fs::path& gpu : entries(root / "proc/driver/nvidia/gpus")) {
    if (const auto node = number(value_in(gpu / "numa_status", "Node"))) of_gpus.push_back(static_cast<int>(*node));
  }
  // By the firmware (SRAT), the nodes of devices. In a container the driver lists only the GPUs that were passed into it.
  const std::vector<int> of_devices = parse_cpu_list(first_line(folder / "has_generic_initiator").value_or(""));
  of_gpus.insert(of_gpus.end(), of_devices.begin(), of_devices.end());
  const auto has = [](const std::vector<int>& list, int node) {
    return std::find(list.begin(), list.end(), node) != list.end();
  };
  std::erase_if(nodes, [&](int node) { return has(of_gpus, node) && cpus_of_node(node, root).empty(); });
  if (const auto allowed = value_in(root / "proc/self/status", "Mems_allowed_list")) {
    std::erase_if(nodes, [&, list = parse_cpu_list(*allowed)](int node) { return !has(list, node); });
  }
  return nodes;
}

std::string why_without_memory(int node, const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/node";
  const auto lacks = [&](const char* list) {
    const auto text = first_line(folder / list);
    if (!text) return false;
    const std::vector<int> nodes = parse_cpu_list(*text);
    return std::find(nodes.begin(), nodes.end(), node) == nodes.end();
  };
  if (lacks("online")) return fmt::format("NUMA node {} is offline", node);
  if (lacks("has_memory")) return fmt::format("NUMA node {} has no memory", node);
  return fmt::format("this process may not use memory of NUMA node {}", node);
}

std::vector<int> online_cpus(const fs::path& root) {
  const auto list = first_line(root / "sys/devices/system/cpu/online");
  return list ? parse_cpu_list(*list) : std::vector<int>();
}

std::vector<int> cpus_of_node(int node, const fs::path& root) {
  const auto list = first_line(root / fmt::format("sys/devices/system/node/node{}/cpulist", node));
  return list ? parse_cpu_list(*list) : std::vector<int>();
}

std::vector<int> nodes_of_cpus(const std::vector<int>& cpus, const fs::path& root) {
  std::vector<int> nodes;
  const auto online = first_line(root / "sys/devices/system/node/online");
  for (const int node : parse_cpu_list(online.value_or(""))) {
    const std::vector<int> of_node = cpus_of_node(node, root);
    if (std::find_first_of(of_node.begin(), of_node.end(), cpus.begin(), cpus.end()) != of_node.end()) nodes.push_back(node);
  }
  return nodes;
}

NodeDistances node_distances(const fs::path& root) {
  NodeDistances distances;
  const fs::path folder = root / "sys/devices/system/node";
  const std::vector<int> nodes = parse_cpu_list(first_line(folder / "online").value_or(""));
  for (const int node : nodes) {
    std::istringstream row(first_line(folder / fmt::format("node{}/distance", node)).value_or(""));
    for (const int other : nodes) {
      if (int distance = 0; row >> distance) distances[{node, other}] = distance;
    }
  }
  return distances;
}

int distance_between(int one, int other, const NodeDistances& distances) {
  constexpr int kLocal = 10, kRemote = 20;
  const auto found = distances.find({one, other});
  return found != distances.end() ? found->second : one == other ? kLocal : kRemote;
}

std::optional<int> node_of_this_thread() {
  unsigned cpu = 0, node = 0;
  return syscall(SYS_getcpu, &cpu, &node, nullptr) == 0 ? std::optional(static_cast<int>(node)) : std::nullopt;
}

NodeScope::NodeScope(std::optional<int> node) {
  if (!node) return;
  std::string refusal = "no such node";
  if (const auto wanted = mask_of(*node)) {
    bound_ = syscall(SYS_get_mempolicy, &policy_, nodes_.data(), kMaskBits, nullptr, 0) == 0 &&
             syscall(SYS_set_mempolicy, MPOL_BIND, wanted->data(), kMaskBits) == 0;
    if (!bound_) refusal = std::strerror(errno);
  }
  cpu_set_t before;
  if (sched_getaffinity(0, sizeof(before), &before) == 0) {
    const auto its = allowed_cpus_of(*node, before);
    if (its && sched_setaffinity(0, sizeof(*its), &*its) == 0) cpus_ = before;
  }
  if (!bound_ && !cpus_) {
    throw Unsupported(
        fmt::format("memory cannot be placed on NUMA node {}: {}, and this process may not use its CPUs", *node, refusal));
  }
}

NodeScope::~NodeScope() {
  if (bound_) syscall(SYS_set_mempolicy, policy_, nodes_.data(), kMaskBits);
  if (cpus_) sched_setaffinity(0, sizeof(*cpus_), &*cpus_);
}

bool bind_pages(void* data, std::size_t bytes, int node) {
  const auto mask = mask_of(node);
  return mask && syscall(SYS_mbind, data, bytes, MPOL_BIND, mask->data(), kMaskBits, 0) == 0;
}

std::optional<int> PagePlacement::only_node() const {
  return pages.size() == 1 ? std::optional(pages.begin()->first) : std::nullopt;
}

bool PagePlacement::has_others_than(int node) const { return pages.size() > (pages.contains(node) ? 1U : 0U); }

PagePlacement placement_of(const void* data, std::size_t bytes) {
  constexpr std::size_t kMostAsked = 4096;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(data) / page;
  PagePlacement placement;
  placement.total = bytes == 0 ? 0 : (reinterpret_cast<std::uintptr_t>(data) + bytes - 1) / page - first + 1;
  placement.asked = std::min(placement.total, kMostAsked);
  std::vector<void*> pages(placement.asked);
  auto* const start = static_cast<char*>(const_cast<void*>(data)) - reinterpret_cast<std::uintptr_t>(data) % page;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    pages[i] = start + i * placement.total / placement.asked * page;
  }
  std::vector<int> nodes(pages.size(), -ENOENT);
  // Without target nodes the call moves nothing.
  if (!pages.empty() && syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) {
    placement.error = std::strerror(errno);
    placement.unknown = placement.asked;
    return placement;
  }
  for (const int node : nodes) {
    if (node >= 0) {
      ++placement.pages[node];
    } else {
      ++placement.unknown;
    }
  }
  return placement;
}

std::string in_words(const PagePlacement& placement) {
  if (!placement.error.empty()) return "unknown: " + placement.error;
  if (placement.pages.empty()) return "unknown: the kernel reports no page";
  const std::string whole = fmt::format("{}{} pages", placement.asked < placement.total ? "a sample of " : "", placement.asked);
  if (placement.pages.size() == 1 && placement.unknown == 0) {
    return fmt::format("node {}, all of {}", placement.pages.begin()->first, whole);
  }
  std::string text;
  const auto add = [&](const std::string& where, std::size_t count) {
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", where,
                        100.0 * static_cast<double>(count) / static_cast<double>(placement.asked));
  };
  for (const auto& [node, count] : placement.pages) add(fmt::format("node {}", node), count);
  if (placement.unknown) add("unknown", placement.unknown);
  return text + " of " + whole;
}

}  // namespace roofmark
