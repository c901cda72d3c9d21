// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofmark {

/// What connects two GPUs: NVLink, or the common ancestor of their PCIe links, from the nearest to the farthest. `numa_node`:
/// host bridges of one NUMA node. `system`: across NUMA nodes.
enum class PathKind { nvlink, board, pcie_switch, pcie_switches, host_bridge, numa_node, system };

/// As nvidia-smi topo -m abbreviates them; "NV" is followed by the number of links.
constexpr std::string_view abbreviation(PathKind kind) {
  constexpr std::string_view names[] = {"NV", "PSB", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return names[static_cast<int>(kind)];
}

/// The way between two GPUs of a host.
struct PeerPath {
  std::optional<PathKind> kind = {};  ///< absent where the driver does not say
  int nvlinks = 0;                    ///< that carry it; 0 where it is not NVLink
  /// Why the two may not access each other's memory, so that copies are staged through the host; empty: they may.
  std::string refusal = {};
};

}  // namespace roofmark
