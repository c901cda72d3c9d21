// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/contention.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <sstream>

namespace roofmark {
namespace {

constexpr double kMinCores = 0.1;
constexpr double kShare = 0.02;

double seconds_of(const rusage& usage) {
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double own_seconds() {
  rusage self{}, children{};
  ::getrusage(RUSAGE_SELF, &self);
  ::getrusage(RUSAGE_CHILDREN, &children);
  return seconds_of(self) + seconds_of(children);
}

}  // namespace

std::optional<CpuTime> cpu_time(const std::filesystem::path& root) {
  CpuTime time;
  std::ifstream file(root / "proc/stat");
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    if (std::isdigit(static_cast<unsigned char>(line[3]))) {
      ++time.cpus;
      continue;
    }
    // proc(5); user and nice include the time of guests.
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    std::istringstream fields(line.substr(3));
    if (!(fields >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) return std::nullopt;
    const double ticks = double(::sysconf(_SC_CLK_TCK));
    time.busy = (user + nice + system + irq + softirq) / ticks;
    time.stolen = steal / ticks;
  }
  if (time.cpus == 0) return std::nullopt;
  time.own = own_seconds();
  time.at = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return time;
}

std::optional<std::string> find_contention(const CpuTime& begin, const CpuTime& end, int cores, bool limited) {
  const double seconds = end.at - begin.at;
  if (!(seconds > 0) || cores < 1) return std::nullopt;
  // The kernel counts busy time in ticks and own time exactly, so the difference may be slightly negative.
  const double others = std::max(0.0, (end.busy - begin.busy) - (end.own - begin.own)) / seconds;
  const double stolen = (end.stolen - begin.stolen) / seconds / cores;
  std::string text;
  if (others > std::max(kMinCores, kShare * cores)) {
    text = fmt::format("other programs kept {:.2f} cores busy on average, beside the {} that this run uses", others, cores);
    if (limited) {
      text += fmt::format(
          " (counted on all {} CPUs of the machine: programs outside of this container or control group, or on CPUs that this "
          "run may not use, share caches, memory and clocks with it)",
          end.cpus);
    }
  }
  if (stolen > kShare) {
    text += fmt::format(
        "{}the hypervisor took {:.2f} cores for other virtual machines, {:.1f} % of the time of the {} cores of this run",
        text.empty() ? "" : "; ", stolen * cores, 100 * stolen, cores);
  }
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace roofmark
