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
  std::optional<double> bytes_per_second;  ///< of data, without the line encoding's overhead
  std::optional<int> numa_node;
};

/// The ports that are up, sorted by name, from the kernel's tables under a root folder ("/"): RDMA ports
/// (/sys/class/infiniband), else hardware interfaces (/sys/class/net; a bond stands for its members), else, in a container, the
/// ends of virtual pairs, whose rate is unknown.
std::vector<Nic> read_nics(const std::filesystem::path& root);

}  // namespace roofmark
