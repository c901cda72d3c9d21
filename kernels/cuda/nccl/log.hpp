// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark {

/// How NCCL ran a call, from its log; empty where the log does not say.
struct NcclChoice {
  std::string algorithm;  ///< "RING", "TREE", "NVLS", "symmetric AllReduce_AGxLL_R": of the last call; only rank 0 logs it
  std::string protocol;   ///< "LL", "LL128", "SIMPLE"
  std::optional<int> channels;  ///< number of thread blocks
  /// Transports of this rank's new connections: "P2P/CUMEM", "SHM/direct/direct", "NET/IB/GDRDMA", "NET/AWS Libfabric",
  /// "NET/Socket (eth0)".
  std::set<std::string> transports;
};

/// The IP interfaces by NCCL's number, from the line in which it names those of its sockets; a process writes it once.
std::map<int, std::string> parse_nccl_interfaces(std::string_view log);

/// Reads lines that NCCL writes with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,TUNING. Older versions, 2.20 among them, give
/// algorithm and protocol by number, and no channels. `interfaces` are those of its sockets, where they are known.
NcclChoice parse_nccl_log(std::string_view log, const std::map<int, std::string>& interfaces = {});

/// The texts of its warnings, without host, process and place in NCCL's source.
std::vector<std::string> nccl_warnings(std::string_view log);
/// The whole lines.
std::string nccl_warning_lines(std::string_view log);

}  // namespace roofmark
