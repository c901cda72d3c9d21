// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roofmark {

/// CPU time in seconds, read at one moment. In a container this is the whole machine's unless /proc/stat is virtualised.
struct CpuTime {
  double at = 0;      ///< when it was read, on the steady clock
  double own = 0;     ///< of this process and the children that it waited for
  double busy = 0;    ///< of all programs and the kernel, on all CPUs
  double stolen = 0;  ///< steal: the hypervisor ran other virtual machines instead
  int cpus = 0;       ///< listed in /proc/stat
};

/// The current values; absent if `root`/proc/stat cannot be read. `root` is "/", or a copy in tests.
std::optional<CpuTime> cpu_time(const std::filesystem::path& root);

/// A sentence on who else used the CPUs. Absent unless, on average between `begin` and `end`, other programs kept more than 0.1
/// core and more than 2 % of the run's `cores` busy, or the hypervisor stole more than 2 % of their time. `limited`: a control
/// group or an affinity restricts the run to part of the machine.
std::optional<std::string> find_contention(const CpuTime& begin, const CpuTime& end, int cores, bool limited);

}  // namespace roofmark
