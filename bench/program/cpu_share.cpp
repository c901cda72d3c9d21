// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/cpu_share.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "harness/machine/host.hpp"

namespace roofmark {

std::optional<CpuShare> begin_share(const DeviceInfo& device) {
  const std::vector<int> cpus = allowed_cpus();
  const auto now = device.backend == Backend::cpu ? cpu_time("/", cpus) : std::nullopt;
  if (!now) return std::nullopt;
  const bool limited = device.cpu && (device.cpu->cpu_quota || device.cpu->machine_memory_bytes);
  return CpuShare{host_name(), *now, *now, cpus, device.multiprocessors, limited};
}

std::optional<CpuShare> end_share(std::optional<CpuShare> begun) {
  const auto now = begun ? cpu_time("/", begun->cpus) : std::nullopt;
  if (!now) return std::nullopt;
  begun->end = *now;
  return begun;
}

std::vector<Finding> foreign_load(const std::vector<std::optional<CpuShare>>& of_ranks, const std::vector<RankInfo>& ranks) {
  std::vector<std::optional<CpuShare>> loads = of_ranks;
  for (std::size_t rank = 0; rank < std::min(loads.size(), ranks.size()); ++rank) {
    if (loads[rank]) loads[rank]->host = ranks[rank].host;
  }
  std::vector<CpuShare> known;
  std::set<std::string> hosts;
  for (const auto& load : loads) {
    if (!load) continue;
    known.push_back(*load);
    hosts.insert(load->host);
  }
  std::vector<Finding> findings;
  for (const Contention& found : find_contention(known)) {
    const std::string where = hosts.size() > 1 ? found.host + ": " : "";
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < loads.size() && hosts.size() > 1; ++rank) {
      if (loads[rank] && loads[rank]->host == found.host) ranks.push_back(static_cast<int>(rank));
    }
    findings.push_back({FindingKind::foreign_process,
                        where + found.text,
                        {},
                        found.cores,
                        fmt::format("{}other programs used {:.2f} cores", where, found.cores),
                        std::move(ranks)});
  }
  return findings;
}

}  // namespace roofmark
