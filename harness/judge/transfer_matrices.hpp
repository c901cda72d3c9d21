// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/transfers.hpp"

namespace roofmark {

/// "GPU 3", "the host", "NUMA node 1".
std::string in_words(const Endpoint& end);
/// "18 NVLinks", "one PCIe switch"; empty if unknown.
std::string in_words(const PeerPath& path);

/// The keys of a name for the GPUs, or NUMA nodes of a copy within the host, at the ends of a transfer.
using Keys = std::set<std::string_view>;
inline const Keys kEndKeys = {"from", "to", "gpu", "round"};

/// The values of a record's keys, without bytes and the keys in `without`.
std::vector<std::string> how_of(const Record& record, const Keys& without);
/// Behind what the record does between GPUs: "one way", "both ways".
std::vector<std::string> how_in_words(const Record& record, const Keys& without);

/// For these records, all of them transfers.
std::vector<TransferMatrix> matrices_of(const std::vector<const Record*>& transfers);

/// Whether it has pairs of ends with the same path, which are compared.
bool compares_pairs(const TransferMatrix& matrix);
/// The ends and pairs that stand out, worst first: slow_link.
std::vector<Finding> slow_links(const std::vector<TransferMatrix>& matrices);

/// The pairs of GPUs without access to each other's memory, by reason: peer_access, or no_peer_access where nothing is wrong.
std::vector<Finding> refused_access(const std::vector<Record>& records);

}  // namespace roofmark
