// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/machine/cache_level.hpp"

namespace roofmark {

/// Facts about the host from /proc and /sys. Absent if unreadable.
struct CpuFacts {
  std::string model;     ///< cpu_name(), or "CPU"
  int cores = 0;         ///< that this process may use
  int logical_cpus = 0;  ///< of these cores, that this process may use
  int threads_per_core = 1;
  std::optional<int> packages;      ///< sockets of these cores
  std::optional<int> numa_nodes;    ///< of the host, with CPUs
  std::optional<double> cpu_quota;  ///< the control groups' limit, in cores
  std::optional<double> max_clock_hz;
  std::vector<CacheLevel> caches;                   ///< of the cores above
  std::size_t memory_bytes = 0;                     ///< the machine's, or the control groups' limit if lower
  std::optional<std::size_t> machine_memory_bytes;  ///< where the limit is lower
  bool virtual_machine = false;
  std::optional<std::string> governor;              ///< of the first core's clock
  std::optional<std::string> transparent_hugepage;  ///< "always", "madvise", "never"
  std::optional<int> numa_balancing;                ///< the kernel moves pages between nodes: 0 off, 1 on, 2 between tiers
  std::vector<std::string> isa;                     ///< vector and matrix extensions
  /// Lines of /proc/cpuinfo that identify the CPU, as (key, value).
  std::vector<std::pair<std::string, std::string>> cpuinfo;
};

}  // namespace roofmark
