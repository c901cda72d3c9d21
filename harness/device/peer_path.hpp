// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofmark {

/// The connection between two GPUs: NVLink, or the common ancestor of their PCIe links, nearest first. `numa_node`:
/// host bridges of one NUMA node. `system`: across NUMA nodes.
enum class PathKind { nvlink, board, pcie_switch, pcie_switches, host_bridge, numa_node, system };

/// As nvidia-smi topo -m abbreviates them; "NV" is followed by the number of links.
constexpr std::string_view abbreviation(PathKind kind) {
  constexpr std::string_view names[] = {"NV", "PSB", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return names[static_cast<int>(kind)];
}

/// The path between two GPUs of a host.
struct PeerPath {
  std::optional<PathKind> kind = {};  ///< absent if the driver does not report it
  int nvlinks = 0;                    ///< number of NVLinks; 0 for other paths
  /// Why the two may not access each other's memory, so that copies are staged through the host; empty: they may.
  std::string refusal = {};
  bool by_design = false;  ///< these GPUs, or this machine, have no such access: nothing is wrong
};

}  // namespace roofmark
