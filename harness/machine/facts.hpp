// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/cache_level.hpp"
#include "harness/machine/json.hpp"

namespace roofmark {

/// What Linux says of the host in /proc and /sys under `root` ("/", or a test's copy). What cannot be read is absent.
struct CpuFacts {
  std::string model;       ///< "model name" of /proc/cpuinfo; "CPU" where there is none
  std::vector<int> cores;  ///< the first usable logical CPU of each core, ascending
  int threads_per_core = 1;
  std::optional<double> cpu_quota;  ///< cores' worth of time that the control groups grant
  std::optional<double> max_clock_hz;
  std::vector<CacheLevel> caches;  ///< of the cores above
  std::size_t memory_bytes = 0;    ///< of the machine, or the control groups' limit where it is lower
  Json details;
};

/// `usable`: the logical CPUs this process may run on.
CpuFacts read_cpu_facts(const std::filesystem::path& root, const std::vector<int>& usable);

/// Bytes that can be allocated without swapping, within the control groups' limit.
std::size_t available_memory(const std::filesystem::path& root);

/// The mean over `cpus` of what cpufreq says now.
std::optional<double> current_clock_hz(const std::filesystem::path& root, const std::vector<int>& cpus);

/// The hottest of the CPU's own sensors.
std::optional<double> temperature_celsius(const std::filesystem::path& root);

/// The logical CPUs that the kernel lets this process run on, ascending.
std::vector<int> allowed_cpus();
/// Lets the calling thread, and those that it starts, run on these alone. Throws std::system_error.
void keep_to(const std::vector<int>& cpus);

/// "0-2,5" as 0 1 2 5.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace roofmark
