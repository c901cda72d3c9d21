// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/transfers.hpp"

namespace roofmark {

/// "GPU 3", "the host", "NUMA node 1".
std::string in_words(const Endpoint& end);
/// "18 NVLinks", "one PCIe switch"; empty if unknown.
std::string in_words(const PeerPath& path);

/// The keys of a name for the ends of a transfer.
bool is_end_key(const std::string& key);

/// The values of a record's keys, without bytes and, if `with_ends` is false, without the ends.
std::vector<std::string> how_of(const Record& record, bool with_ends);

/// For these records, all of them transfers.
std::vector<TransferMatrix> matrices_of(const std::vector<const Record*>& transfers);

/// The ends and pairs that stand out, worst first: slow_link.
std::vector<Finding> slow_links(const std::vector<TransferMatrix>& matrices);

/// The pairs of GPUs without access to each other's memory, by reason: peer_access.
std::vector<Finding> refused_access(const std::vector<Record>& records);

}  // namespace roofmark
