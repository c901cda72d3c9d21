// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string_view>

#include "harness/judge/ranks/places.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

// What a connection goes by, in the words of Record::transports. P2P is NVLink or PCIe, as GPUs are connected.
bool is_host_memory(std::string_view transport);
bool is_network(std::string_view transport);
/// NCCL's own; a network plugin has a name of its own: "NET/IBext_v8", "NET/AWS Libfabric", "NET/FasTrak".
bool is_sockets(std::string_view transport);
/// A NIC accesses the GPU's memory.
bool is_gpudirect(std::string_view transport);

/// The ranks of a record that share a communicator with a rank of another host.
std::set<int> ranks_between_hosts(const Record& record, const Places& places);

}  // namespace roofmark
