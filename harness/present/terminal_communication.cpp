// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal_communication.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "harness/model/units.hpp"
#include "harness/present/grid.hpp"
#include "harness/present/matrix.hpp"
#include "harness/present/terminal_collectives.hpp"

namespace roofmark {

namespace {

constexpr double kLine = 0.9;  // the least r2 of times that are called a line

std::string rate_or_dash(std::optional<double> rate) { return rate ? format_rate(*rate, Unit::byte) : "-"; }

std::string fits_table(const std::vector<LatencyFit>& fits, const TerminalStyle& style) {
  Grid grid{"",
            {{.heading = "time = latency + bytes / rate"},
             {.heading = "latency"},
             {.heading = "rate"},
             {.heading = "as busbw"},
             {.heading = "r2"},
             {.heading = "sizes", .leaves = 1}}};
  for (const LatencyFit& fit : fits) {
    grid.rows.push_back({fit.series, fit.latency_seconds ? format_seconds(*fit.latency_seconds) : "-",
                         rate_or_dash(fit.bytes_per_second), rate_or_dash(fit.bus_bytes_per_second), r2_text(fit.r2, kLine),
                         std::to_string(fit.points)});
  }
  return to_text(grid, style);
}

/// Of each series the largest size that all its teams measured, and of each team the largest that has a smaller team's with as
/// much a rank.
std::string scaling_table(const std::vector<ScalingRow>& scaling, const TerminalStyle& style) {
  std::map<CaseName, std::map<std::size_t, std::set<int>>> sizes;
  std::map<CaseName, std::map<int, std::size_t>> weak;
  for (const ScalingRow& row : scaling) {
    sizes[row.series][row.bytes].insert(row.ranks);
    if (!row.weak_efficiency) continue;
    std::size_t& largest = weak[row.series][row.ranks];
    largest = std::max(largest, row.bytes);
  }
  Grid grid{"",
            {{.heading = "scaling"},
             {.heading = "size"},
             {.heading = "ranks"},
             {.heading = "strong"},
             {.heading = "weak"},
             {.heading = "time"},
             {.heading = "busbw"}}};
  for (const ScalingRow& row : scaling) {
    std::size_t largest = 0, most = 0;
    for (const auto& [bytes, measured] : sizes[row.series]) {
      if (measured.size() >= most) {
        most = measured.size();
        largest = bytes;
      }
    }
    const auto grown = weak[row.series].find(row.ranks);
    if (row.bytes != largest && (grown == weak[row.series].end() || row.bytes != grown->second)) continue;
    grid.rows.push_back({row.series.name(), format_bytes(static_cast<double>(row.bytes)), std::to_string(row.ranks),
                         format_share(row.strong_efficiency), format_share(row.weak_efficiency), format_seconds(row.seconds),
                         rate_or_dash(row.busbw)});
  }
  return to_text(grid, style);
}

using Pairs = std::map<std::pair<int, int>, double>;

/// The matrix, or the worst pairs where it is too large.
std::string pairs_of_size(const std::string& title, const char* unit, const Pairs& pairs,
                          const std::map<int, std::string>& hosts, const std::function<std::string(double)>& cell,
                          const TerminalStyle& style) {
  std::set<int> ranks;
  for (const auto& [pair, seconds] : pairs) ranks.insert({pair.first, pair.second});
  std::vector<MatrixEnd> ends;
  for (const int rank : ranks) {
    const auto found = hosts.find(rank);
    const std::string host = found == hosts.end() ? std::string() : found->second;
    ends.push_back({std::to_string(rank), fmt::format("{} {}", rank, host), host});
  }
  const std::vector<int> order(ranks.begin(), ranks.end());
  std::string all = matrix_text(
      fmt::format("{}, {}", title, unit), ends, ends,
      [&](std::size_t row, std::size_t column) -> std::string {
        const auto found = pairs.find(std::minmax({order[row], order[column]}));
        return found == pairs.end() ? (row == column ? "." : "-") : cell(found->second);
      },
      style);
  if (!all.empty()) return all;
  std::vector<std::pair<std::pair<int, int>, double>> worst(pairs.begin(), pairs.end());
  std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto who = [&](int rank) {
    const auto found = hosts.find(rank);
    return found == hosts.end() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, found->second);
  };
  std::vector<std::pair<std::string, std::string>> cells;
  for (const auto& [pair, seconds] : worst) cells.emplace_back(who(pair.first) + " and " + who(pair.second), cell(seconds));
  return worst_cells_text(title, unit, cells, style);
}

/// Latency by the smallest size and bandwidth by the largest.
std::string pairs_text(const std::vector<PairTime>& pairs, const std::vector<RankInfo>& members, const TerminalStyle& style) {
  std::map<std::size_t, Pairs> by_size;
  for (const PairTime& pair : pairs) by_size[pair.bytes][{pair.a, pair.b}] = pair.seconds;
  if (by_size.empty()) return {};
  std::map<int, std::string> hosts;
  for (const RankInfo& member : members) hosts[member.rank] = member.host;
  const auto& [smallest, latencies] = *by_size.begin();
  std::string text = pairs_of_size(fmt::format("one way, {}", format_bytes(static_cast<double>(smallest))), "us", latencies,
                                   hosts, micros, style);
  if (by_size.size() > 1) {
    const auto bytes = static_cast<double>(by_size.rbegin()->first);
    text += "\n" + pairs_of_size(
                       fmt::format("one way, {}", format_bytes(bytes)), "GB/s", by_size.rbegin()->second, hosts,
                       [bytes](double seconds) { return giga(bytes / seconds); }, style);
  }
  return text;
}

std::string overlap_table(const std::vector<Overlap>& overlaps, const TerminalStyle& style) {
  Grid grid{"",
            {{.heading = "overlap"},
             {.heading = "hidden"},
             {.heading = "+- 95 %"},
             {.heading = "work covers"},
             {.heading = "work slower by"},
             {.heading = "work alone", .leaves = 1},
             {.heading = "communication alone", .leaves = 2},
             {.heading = "together", .leaves = 3}}};
  for (const Overlap& overlap : overlaps) {
    grid.rows.push_back({overlap.series.name(), format_share(overlap.hidden), format_share(overlap.hidden_half_width),
                         format_share(overlap.covered), format_share(overlap.slow_down), format_seconds(overlap.work_seconds),
                         format_seconds(overlap.communication_seconds), format_seconds(overlap.together_seconds)});
  }
  return to_text(grid, style);
}

std::string slowest_table(const std::vector<Slowest>& slowest, const TerminalStyle& style) {
  Grid grid{"",
            {{.heading = "slowest of"},
             {.heading = "", .is_text = true},
             {.heading = "among"},
             {.heading = "/ median"},
             {.heading = "MADs above"},
             {.heading = "/ fastest"}}};
  for (const Slowest& one : slowest) {
    grid.rows.push_back({one.of, one.who, std::to_string(one.among), fmt::format("{:.3f}", one.times_median),
                         one.mads ? fmt::format("{:.1f}", *one.mads) : "-", fmt::format("{:.3f}", one.times_fastest)});
  }
  return to_text(grid, style);
}

}  // namespace

std::string communication_tables(const std::vector<Record>& records, const Communication& communication,
                                 const std::vector<RankInfo>& members, const TerminalStyle& style) {
  std::string text;
  for (const std::string& part : {collective_tables(records, communication.rings, style), fits_table(communication.fits, style),
                                  scaling_table(communication.scaling, style), pairs_text(communication.pairs, members, style),
                                  overlap_table(communication.overlaps, style), slowest_table(communication.slowest, style)}) {
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  }
  return text;
}

namespace {

/// "0-3,8"
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string rate(const Nic& nic) { return nic.bytes_per_second ? format_link_rate(*nic.bytes_per_second) : "unknown rate"; }

}  // namespace

std::string ranks_table(const std::vector<RankInfo>& members, const TerminalStyle& style) {
  constexpr std::size_t kNamed = 4;
  const bool gpus = std::any_of(members.begin(), members.end(), [](const RankInfo& member) { return !member.uuid.empty(); });
  Grid grid{"",
            {{.heading = "rank"},
             {.heading = "host"},
             {.heading = "local rank", .leaves = 1},
             {.heading = "device", .is_shared = true, .is_text = true},
             {.heading = gpus ? "UUID" : "cores"},
             {.heading = "NUMA", .leaves = 2, .is_shared = true},
             {.heading = "NIC", .is_shared = true, .is_text = true}}};
  for (const RankInfo& member : members) {
    std::string names;
    std::size_t near = 0;
    for (const Nic& nic : member.nics) {
      if (member.numa_node && nic.numa_node && *member.numa_node != *nic.numa_node) continue;
      if (++near <= kNamed) names += fmt::format("{}{} {} {}", names.empty() ? "" : ", ", nic.name, nic.kind, rate(nic));
    }
    if (near > kNamed) names += fmt::format(" and {} more", near - kNamed);
    grid.rows.push_back({std::to_string(member.rank), member.host, std::to_string(member.local_rank),
                         fmt::format("{} {}", member.device_id, member.device_name), gpus ? member.uuid : ranges(member.cores),
                         member.numa_node ? std::to_string(*member.numa_node) : "-", names});
  }
  return to_text(grid, style);
}

}  // namespace roofmark
