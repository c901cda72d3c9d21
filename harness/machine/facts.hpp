// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/cache_level.hpp"
#include "harness/machine/cpu_facts.hpp"

namespace roofmark {

// What /proc and /sys say. `root` is "/", or a copy in tests.

/// "model name" of /proc/cpuinfo. Linux gives an Arm CPU none: its numbers, as in Arm's "MIDR" register. Empty without either.
std::string cpu_name(const std::filesystem::path& root);
/// `usable`: the logical CPUs this process may run on.
CpuFacts read_cpu_facts(const std::filesystem::path& root, const std::vector<int>& usable);
/// The first usable logical CPU of each core, in the order of `usable`.
std::vector<int> first_cpus(const std::filesystem::path& root, const std::vector<int>& usable);

/// The data caches that these logical CPUs use, innermost level first.
std::vector<CacheLevel> read_caches(const std::filesystem::path& root, const std::vector<int>& cpus);

/// Bytes that can be allocated without swapping, within the control groups' limit.
std::size_t available_memory(const std::filesystem::path& root);
/// Lower bound for one NUMA node: the kernel kills a process that is bound to the node and takes more, even if other nodes have
/// memory. Absent if the kernel does not report it.
std::optional<std::size_t> available_memory_of_node(int node, const std::filesystem::path& root);

/// The machine's memory, or the control groups' limit if lower; and a NUMA node's, absent if the kernel does not report it.
std::size_t total_memory(const std::filesystem::path& root);
std::optional<std::size_t> total_memory_of_node(int node, const std::filesystem::path& root);

/// Mean of the current cpufreq clocks of `cpus`.
std::optional<double> current_clock_hz(const std::filesystem::path& root, const std::vector<int>& cpus);

/// Maximum of the CPU's own sensors.
std::optional<double> temperature_celsius(const std::filesystem::path& root);

/// The logical CPUs that this process may run on, ascending.
std::vector<int> allowed_cpus();
/// Pins the calling thread, and threads that it starts, to these CPUs. Throws std::system_error.
void keep_to(const std::vector<int>& cpus);

/// The NUMA node of a PCI device, from its folder; absent if unknown to the kernel.
std::optional<int> numa_node(const std::filesystem::path& device);
/// The NUMA node that has all of these cores, which ascend.
std::optional<int> numa_node_of(const std::vector<int>& cores, const std::filesystem::path& root);

/// By the CPU's flags (x86), or the names that the firmware gives the machine (Arm).
bool is_virtual_machine(const std::filesystem::path& root);

/// "0-2,5" as 0 1 2 5.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace roofmark
