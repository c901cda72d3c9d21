// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// Whether NCCL's log says how ranks of several hosts communicated over the network in one of these records.
bool tells_network(const std::vector<Record>& records, const std::vector<RankInfo>& members);

/// Of ranks that communicated with other hosts: those that did so over IP sockets (rdma_unused where their host has an active
/// RDMA port, else sockets), and those whose NICs never accessed their GPU's memory (gpudirect_unused where a port of the
/// collectives is below a PCIe switch with the GPU, else no_gpudirect).
///
/// A rank with both kinds of connections is none of the latter: a GPU older than Ampere sends through the host's memory and
/// receives by GPUDirect RDMA (NCCL, ncclTopoCheckGdr), and a rank may use another GPU's NIC.
std::vector<Finding> network_transports(const std::vector<Record>& records, const std::vector<RankInfo>& members);

}  // namespace roofmark
