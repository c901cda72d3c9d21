// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roofmark {

/// Seconds of CPU time up to one moment. In a container the whole machine's are counted, unless /proc/stat is the container's.
struct CpuTime {
  double at = 0;      ///< the moment, on the steady clock
  double own = 0;     ///< of this process and of those children that it waited for
  double busy = 0;    ///< of all programs and the kernel, on all CPUs
  double stolen = 0;  ///< that CPUs of this virtual machine wanted and the hypervisor gave to others
  int cpus = 0;       ///< that /proc/stat counts
};

/// Now; absent where `root`/proc/stat cannot be read. `root` is "/", or a test's copy.
std::optional<CpuTime> cpu_time(const std::filesystem::path& root);

/// Who else used the CPUs, in words, where between two moments other programs kept more than 0.1 core, and 2 % of the `cores`
/// that the run uses, busy on average, or more than 2 % of the time of as many cores was stolen. `limited`: a control group or
/// an affinity restricts the run to a part of the machine.
std::optional<std::string> find_contention(const CpuTime& begin, const CpuTime& end, int cores, bool limited);

}  // namespace roofmark
