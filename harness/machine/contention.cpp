// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/contention.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "harness/machine/steady_seconds.hpp"

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

/// Of the processes on one host; the first of them read the host's counters.
std::optional<Contention> contention_on(const std::string& host, const std::vector<CpuShare>& processes) {
  const CpuShare* first = nullptr;
  double own = 0, stolen_seconds = 0, cores = 0, usable = 0;
  std::set<int> cpus;
  bool limited = false;
  for (const CpuShare& process : processes) {
    if (process.host != host) continue;
    if (!first) first = &process;
    own += process.end.own - process.begin.own;
    stolen_seconds += process.end.stolen - process.begin.stolen;
    cores += process.cores;
    usable += static_cast<double>(process.cpus.size());
    cpus.insert(process.cpus.begin(), process.cpus.end());
    limited |= process.limited;
  }
  limited |= !cpus.empty() && cpus.size() < static_cast<std::size_t>(first->end.cpus);
  // What several processes share counts once.
  if (usable > 0) {
    const double once = static_cast<double>(cpus.size()) / usable;
    cores *= once;
    stolen_seconds *= once;
  }
  const CpuTime &begin = first->begin, &end = first->end;
  const double seconds = end.at - begin.at;
  if (!(seconds > 0) || cores < 1) return std::nullopt;
  // The kernel counts busy time in ticks and own time exactly, so the difference may be slightly negative.
  const double others = std::max(0.0, (end.busy - begin.busy) - own) / seconds;
  const double stolen = stolen_seconds / seconds / cores;
  Contention made{host, {}, 0};
  if (others > std::max(kMinCores, kShare * cores)) {
    made.cores += others;
    made.text = fmt::format("other programs used {:.2f} cores on average, beside the {:.0f} of this run", others, cores);
    if (limited) {
      made.text += fmt::format(
          " (on all {} CPUs of the machine: programs outside this container or control group, or on other CPUs, also share "
          "caches, memory and clocks)",
          end.cpus);
    }
  }
  if (stolen > kShare) {
    made.cores += stolen * cores;
    made.text += fmt::format(
        "{}the hypervisor took {:.2f} cores for other virtual machines, {:.1f} % of the time of the {:.0f} cores of this run",
        made.text.empty() ? "" : "; ", stolen * cores, 100 * stolen, cores);
  }
  return made.text.empty() ? std::nullopt : std::optional(std::move(made));
}

}  // namespace

std::optional<CpuTime> cpu_time(const std::filesystem::path& root, const std::vector<int>& cpus) {
  CpuTime time;
  std::ifstream file(root / "proc/stat");
  const double ticks = double(::sysconf(_SC_CLK_TCK));
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream fields(line.substr(3));
    int cpu = -1;
    const bool of_one = std::isdigit(static_cast<unsigned char>(line[3])) != 0;
    if (of_one) {
      fields >> cpu;
      ++time.cpus;
    }
    // proc(5); user and nice include the time of guests.
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(fields >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) return std::nullopt;
    if (!of_one) {
      time.busy = (user + nice + system + irq + softirq) / ticks;
    } else if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) {
      time.stolen += steal / ticks;
    }
  }
  if (time.cpus == 0) return std::nullopt;
  time.own = own_seconds();
  time.at = steady_seconds();
  return time;
}

std::vector<Contention> find_contention(const std::vector<CpuShare>& processes) {
  std::vector<Contention> found;
  std::set<std::string> judged;
  for (const CpuShare& process : processes) {
    if (!judged.insert(process.host).second) continue;
    if (auto made = contention_on(process.host, processes)) found.push_back(std::move(*made));
  }
  return found;
}

}  // namespace roofmark
