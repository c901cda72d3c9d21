// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/team/rank_info.hpp"

namespace roofmark {

/// Of `started_with`, the variables of UCX, libfabric and SHARP, and for a GPU those of CUDA, NCCL and its plugin for
/// libfabric; with what NCCL's configuration files add, in NCCL's order: the environment, the user's file, the machine's.
std::map<std::string, std::string> communication_variables(Backend backend,
                                                           const std::map<std::string, std::string>& started_with,
                                                           const std::filesystem::path& root = "/");

/// A variable that some ranks have another value of, or do not have.
struct DifferingVariable {
  std::string name;
  std::string values;   ///< "rank 0 (a) has Ring, rank 1 (b) has none"
  bool breaks = false;  ///< NCCL hangs, fails or is undefined
};

/// Without those that name something of a host or rank: its ports, its files, its GPUs.
std::vector<DifferingVariable> differing_variables(const std::vector<RankInfo>& members);

/// One of NCCL's that makes its collectives slower than the hardware.
struct LimitingVariable {
  std::string name;
  std::string state;  ///< "1", or "1 on rank 3 (node7)"
  std::string effect;
};

/// Those that concern these ranks: of the network only where there is one, of ways between GPUs only where a host has several.
std::vector<LimitingVariable> limiting_variables(const std::vector<RankInfo>& members);

}  // namespace roofmark
