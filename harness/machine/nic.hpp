// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace roofmark {

/// A network port that is up; rates in one direction.
struct Nic {
  std::string name;                        ///< mlx5_0:1, eth0
  std::string kind;                        ///< InfiniBand, RoCE, RDMA (of another kind), Ethernet
  std::optional<double> bytes_per_second;  ///< of data: what the encoding of the line takes is not in it
  std::optional<int> numa_node;
};

/// The ports that are up under a root folder ("/"), from the kernel's tables: those of /sys/class/infiniband where there are
/// any, else the hardware's interfaces of /sys/class/net, a bond in place of its members; where there are none, as in a
/// container, its end of a pair, of unknown rate. In the order of their names.
std::vector<Nic> read_nics(const std::filesystem::path& root);

}  // namespace roofmark
