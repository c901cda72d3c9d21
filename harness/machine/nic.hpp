// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace roofmark {

/// What the two ends of a connection should have alike. What cannot be read is empty or absent.
struct PortSettings {
  std::string firmware;       ///< of an RDMA device
  std::string partition_key;  ///< of an InfiniBand port, the first: NCCL's and UCX's default. "0xffff"
  std::optional<int> mtu;     ///< of an interface, RoCE's too, in bytes

  friend bool operator==(const PortSettings&, const PortSettings&) = default;
};

/// A network port that is up; rates in one direction.
struct Nic {
  std::string name;                        ///< mlx5_0:1, eth0
  std::string kind;                        ///< InfiniBand, RoCE, RDMA (of another kind), Ethernet
  std::optional<double> bytes_per_second;  ///< of data, without the line encoding's overhead
  std::optional<int> numa_node;
  std::string part_of = {};  ///< of a virtual function: the port of its device, whose rate it shares; empty: none
  PortSettings settings = {};

  bool is_rdma() const { return kind != "Ethernet"; }
};

/// The ports that are up, sorted by name, from the kernel's tables under a root folder ("/"): RDMA ports
/// (/sys/class/infiniband), else hardware interfaces (/sys/class/net; a bond stands for its members), else, in a container, the
/// ends of virtual pairs, whose rate is unknown.
std::vector<Nic> read_nics(const std::filesystem::path& root);

/// The ports of a host that its collectives use, and the others: those of storage and management, say.
struct PortChoice {
  std::vector<Nic> counted, others;
};
/// By NCCL_IB_HCA in NCCL's words, where RDMA ports are up: "mlx5_0,mlx5_1:1" are prefixes of names, and ports; "=" before the
/// list: whole names; "^" first: all but these; from 2.30.7 on "mlx5_0::0:1" has a rail and a plane too. Without it, the ports
/// of one rate and kind that carry the most together (as much: the most ports); all ports if one is of unknown rate.
PortChoice ports_of_collectives(const std::vector<Nic>& ports, const std::string& nccl_ib_hca);

}  // namespace roofmark
