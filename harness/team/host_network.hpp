// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/machine/host.hpp"
#include "harness/machine/nic.hpp"
#include "harness/machine/rdma_ports.hpp"

namespace roofmark {

/// A port that is not as its peers are.
struct PortFault {
  std::string port;
  std::string what;      ///< "is down (Polling), 7 of its kind are up"
  bool carries = false;  ///< it is up at its peers' rate: only its card's PCIe link is too narrow
  // Of a port that is missing among its peers, theirs.
  std::string kind = {};
  std::optional<double> bytes_per_second = {};
};

/// The network ports of a host. Empty where the kernel did not answer in time.
struct HostNetwork {
  std::vector<Nic> nics;        ///< that are up
  std::vector<RdmaPort> ports;  ///< of RDMA devices, up or not
  std::vector<PortFault> faults;
  std::string nccl_ib_hca;  ///< that collectives of GPUs on this host obey
  bool hung = false;        ///< no answer in time
};
HostNetwork describe_network(const std::map<std::string, std::string>& started_with = rate_environment(),
                             const std::filesystem::path& root = "/");

/// The host around its ports, as far as it tells what is right for them.
struct PortSurroundings {
  std::string nccl_ib_hca;
  int gpus = 0;  ///< on the PCI bus
  bool virtual_machine = false;
};

/// What is wrong with ports, by their peers on the host: ports of one kind on cards of one model (RdmaPort::model) at the same
/// position there. A port that is down or slower than most of its peers is one if at least three are up at the common rate and
/// no more than a quarter of the peers is not; unless those that are up divide evenly among the host's GPUs, or the GPUs among
/// them: then they are all that the GPUs have, and the others serve something else. A port whose card's PCIe link carries less
/// than the port is one if card and slot support more, or as few of its peers are so. Ports that are switched off, that
/// NCCL_IB_HCA leaves out, or that are a host's view of virtual functions have no faults and are no peers.
std::vector<PortFault> port_faults(const std::vector<RdmaPort>& ports, const PortSurroundings& around);

/// "8 ports of 400 Gb/s InfiniBand: mlx5_0:1, mlx5_1:1; not counted: mlx5_8:1 100 Gb/s RoCE". With at least one counted.
std::string in_words(const PortChoice& choice, const std::string& nccl_ib_hca);
/// "mlx5_3:1 is down (Polling), 7 of its kind are up; mlx5_4:1 ..."
std::string in_words(const std::vector<PortFault>& faults);

/// Reads the counters of a host's RDMA ports that its collectives use. Null where there are none.
std::function<std::map<std::string, PortReading>()> port_counters(const HostNetwork& network,
                                                                  const std::filesystem::path& root = "/");

}  // namespace roofmark
