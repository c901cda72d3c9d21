// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace roofmark {

/// CPU time in seconds, read at one moment. In a container this is the whole machine's unless /proc/stat is virtualised.
struct CpuTime {
  double at = 0;      ///< when it was read, on the steady clock
  double own = 0;     ///< of this process and the children that it waited for
  double busy = 0;    ///< of all programs and the kernel, on all CPUs
  double stolen = 0;  ///< steal, on the CPUs asked for: the hypervisor ran other virtual machines instead
  int cpus = 0;       ///< listed in /proc/stat
};

/// The current values; absent if `root`/proc/stat cannot be read. `root` is "/", or a copy in tests. `cpus`: whose stolen time
/// counts.
std::optional<CpuTime> cpu_time(const std::filesystem::path& root, const std::vector<int>& cpus);

/// One process's view of its host's CPU time, from the start of the run to its end.
struct CpuShare {
  std::string host;
  CpuTime begin, end;
  std::vector<int> cpus;  ///< that it may run on
  int cores = 0;          ///< that it uses
  bool limited = false;   ///< a control group restricts it to part of the machine
};

/// Foreign load on the CPUs of a host.
struct Contention {
  std::string host, text;
  double cores = 0;  ///< of other programs and other virtual machines, on average
};

/// One per host on which, on average, other programs used more than 0.1 core and more than 2 % of the run's cores, or the
/// hypervisor stole more than 2 % of their time. The processes of a run are not foreign to each other.
std::vector<Contention> find_contention(const std::vector<CpuShare>& processes);

}  // namespace roofmark
