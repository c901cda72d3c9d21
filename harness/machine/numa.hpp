// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/machine/node_distances.hpp"

namespace roofmark {

// By system calls: libnuma need not be installed. A container may forbid them (Docker does, without --cap-add SYS_NICE).

/// The NUMA nodes of the host whose memory this process may use (cpuset), ascending; empty if the kernel reports none. A GPU's
/// memory can also be a node without CPUs (GH200) and is not counted: NVIDIA's driver lists such nodes under /proc, CUDA names
/// those of the GPUs that it sees (`of_gpus`), and the firmware those of devices. `root` is "/", or a copy in tests.
std::vector<int> nodes_with_memory(const std::filesystem::path& root, std::vector<int> of_gpus = {});
/// Why a node is none of these: "NUMA node 1 is offline".
std::string why_without_memory(int node, const std::filesystem::path& root);
/// All CPUs of the host, whether or not this process may run on them.
std::vector<int> online_cpus(const std::filesystem::path& root);
/// The CPUs of a node; empty for a memory-only node.
std::vector<int> cpus_of_node(int node, const std::filesystem::path& root);
/// The nodes of these CPUs, ascending.
std::vector<int> nodes_of_cpus(const std::vector<int>& cpus, const std::filesystem::path& root);
NodeDistances node_distances(const std::filesystem::path& root);
/// The same, or what Linux assumes where there is no table.
int distance_between(int one, int other, const NodeDistances& distances);
/// The node that the calling thread runs on; absent if the kernel does not report it.
std::optional<int> node_of_this_thread();

using NodeMask = std::array<unsigned long, 1024 / (8 * sizeof(unsigned long))>;  ///< 1024 nodes, the kernel's maximum

/// RAII: the calling thread runs on the node's CPUs, if allowed, and pages that it touches first are placed on the node, also
/// those that a driver allocates for it. Does nothing without a node.
class NodeScope {
 public:
  /// Throws Unsupported if neither the thread can move to the node nor its pages can be bound to it.
  explicit NodeScope(std::optional<int> node);
  NodeScope(const NodeScope&) = delete;
  NodeScope& operator=(const NodeScope&) = delete;
  ~NodeScope();

 private:
  std::optional<cpu_set_t> cpus_;  ///< to go back to
  bool bound_ = false;
  int policy_ = 0;
  NodeMask nodes_ = {};
};

/// Binds untouched pages to the node, for as long as they are mapped: automatic balancing
/// (kernel.numa_balancing) moves only pages that follow their thread's policy. `data` is the start of a page. False if the
/// kernel refuses.
bool bind_pages(void* data, std::size_t bytes, int node);

/// Placement of the pages of a range, as reported by the kernel.
struct PagePlacement {
  std::map<int, std::size_t> pages;  ///< by node
  std::size_t unknown = 0;           ///< never touched, or a driver's own
  std::size_t asked = 0, total = 0;  ///< a long range is sampled evenly
  std::string error;                 ///< why the kernel reports nothing; empty if it reports

  /// The node that has all pages of known placement.
  std::optional<int> only_node() const;
  bool has_others_than(int node) const;  ///< pages on another node
  bool operator==(const PagePlacement&) const = default;
};
PagePlacement placement_of(const void* data, std::size_t bytes);
/// "node 0"; "node 0 75.0 %, node 1 25.0 % of 4096 pages"; "unknown: ...".
std::string in_words(const PagePlacement& placement);

}  // namespace roofmark
