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
#include "harness/present/cells.hpp"
#include "harness/present/summary.hpp"
#include "harness/present/terminal_collectives.hpp"

namespace roofmark {

namespace {

constexpr int kLargestMatrix = 16;
constexpr std::size_t kWorstPairs = 10;
constexpr double kLine = 0.9;  // the least r2 of times that are called a line

/// A table whose first row is its heading; nothing where there is no other.
std::string titled(const std::vector<Row>& rows, const TerminalStyle& style) {
  if (rows.size() < 2) return {};
  const std::string table = align(rows);
  const auto line = table.find('\n');
  return bold(style, table.substr(0, line)) + table.substr(line);
}

std::string rate_or_dash(std::optional<double> rate) { return rate ? format_rate(*rate, Unit::byte) : "-"; }

std::string fits_table(const std::vector<LatencyFit>& fits, const TerminalStyle& style) {
  std::vector<Row> rows = {{"time = latency + bytes / rate", "latency", "rate", "as busbw", "r2", "sizes"}};
  for (const LatencyFit& fit : fits) {
    rows.push_back({fit.series, fit.latency_seconds ? format_seconds(*fit.latency_seconds) : "-",
                    rate_or_dash(fit.bytes_per_second), rate_or_dash(fit.bus_bytes_per_second),
                    fit.r2 ? fmt::format("{:.4f}{}", *fit.r2, *fit.r2 < kLine ? " (no line)" : "") : "-",
                    std::to_string(fit.points)});
  }
  return titled(rows, style);
}

/// Of each series the largest size that all its teams measured, and of each team the largest that has a smaller team's with as
/// much a rank.
std::string scaling_table(const std::vector<ScalingRow>& scaling, const TerminalStyle& style) {
  std::map<std::string, std::map<std::size_t, std::set<int>>> sizes;
  std::map<std::string, std::map<int, std::size_t>> weak;
  for (const ScalingRow& row : scaling) {
    sizes[row.series][row.bytes].insert(row.ranks);
    if (!row.weak_efficiency) continue;
    std::size_t& largest = weak[row.series][row.ranks];
    largest = std::max(largest, row.bytes);
  }
  std::vector<Row> rows = {{"scaling", "size", "ranks", "time", "busbw", "strong", "weak"}};
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
    rows.push_back({row.series, format_bytes(static_cast<double>(row.bytes)), std::to_string(row.ranks),
                    format_seconds(row.seconds), format_rate(row.busbw, Unit::byte), format_share(row.strong_efficiency),
                    format_share(row.weak_efficiency)});
  }
  return titled(rows, style);
}

using Pairs = std::map<std::pair<int, int>, double>;

std::string matrix(const std::string& title, const Pairs& pairs, const std::map<int, std::string>& hosts,
                   const std::function<std::string(double)>& cell, const TerminalStyle& style) {
  std::set<int> ranks;
  for (const auto& [pair, seconds] : pairs) ranks.insert({pair.first, pair.second});
  const auto host = [&](int rank) {
    const auto found = hosts.find(rank);
    return found == hosts.end() ? std::string() : found->second;
  };
  std::vector<Row> rows = {{title}};
  const auto across = [&](Row& row, const std::function<std::string(int)>& text) {
    std::optional<int> before;
    for (const int rank : ranks) {
      if (before && host(*before) != host(rank)) row.emplace_back("|");
      row.push_back(text(rank));
      before = rank;
    }
  };
  across(rows.back(), [](int rank) { return std::to_string(rank); });
  std::optional<int> above;
  for (const int rank : ranks) {
    if (above && host(*above) != host(rank)) rows.emplace_back();
    above = rank;
    rows.push_back({fmt::format("{} {}", rank, host(rank))});
    across(rows.back(), [&](int other) -> std::string {
      const auto found = pairs.find(std::minmax({rank, other}));
      return found == pairs.end() ? (rank == other ? "." : "-") : cell(found->second);
    });
  }
  return titled(rows, style);
}

std::string worst_pairs(const std::string& title, const char* unit, const Pairs& pairs, const std::map<int, std::string>& hosts,
                        const std::function<std::string(double)>& cell, const TerminalStyle& style) {
  std::vector<std::pair<std::pair<int, int>, double>> worst(pairs.begin(), pairs.end());
  std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<Row> rows = {
      {fmt::format("{}: the worst {} of {} pairs", title, std::min(worst.size(), kWorstPairs), worst.size()), unit}};
  const auto who = [&](int rank) {
    const auto found = hosts.find(rank);
    return found == hosts.end() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, found->second);
  };
  worst.resize(std::min(worst.size(), kWorstPairs));
  for (const auto& [pair, seconds] : worst) rows.push_back({who(pair.first) + " and " + who(pair.second), cell(seconds)});
  return titled(rows, style);
}

/// Latency by the smallest size and bandwidth by the largest.
std::string pairs_text(const std::vector<PairTime>& pairs, const std::vector<RankInfo>& members, const TerminalStyle& style) {
  std::map<std::size_t, Pairs> by_size;
  std::set<int> ranks;
  for (const PairTime& pair : pairs) {
    by_size[pair.bytes][{pair.a, pair.b}] = pair.seconds;
    ranks.insert({pair.a, pair.b});
  }
  if (by_size.empty()) return {};
  std::map<int, std::string> hosts;
  for (const RankInfo& member : members) hosts[member.rank] = member.host;
  const auto show = [&](const std::string& title, const char* unit, const Pairs& shown,
                        const std::function<std::string(double)>& cell) {
    return ranks.size() <= kLargestMatrix ? matrix(fmt::format("{}, {}", title, unit), shown, hosts, cell, style)
                                          : worst_pairs(title, unit, shown, hosts, cell, style);
  };
  const auto& [smallest, latencies] = *by_size.begin();
  std::string text = show(fmt::format("one way, {}", format_bytes(static_cast<double>(smallest))), "us", latencies, micros);
  if (by_size.size() > 1) {
    const auto bytes = static_cast<double>(by_size.rbegin()->first);
    text += "\n" + show(fmt::format("one way, {}", format_bytes(bytes)), "GB/s", by_size.rbegin()->second,
                        [bytes](double seconds) { return giga(bytes / seconds); });
  }
  return text;
}

std::string overlap_table(const std::vector<Overlap>& overlaps, const TerminalStyle& style) {
  std::vector<Row> rows = {{"overlap", "work alone", "communication alone", "together", "hidden", "+- 95 %", "work slower by"}};
  for (const Overlap& overlap : overlaps) {
    rows.push_back({overlap.series, format_seconds(overlap.work_seconds), format_seconds(overlap.communication_seconds),
                    format_seconds(overlap.together_seconds), format_share(overlap.hidden),
                    format_share(overlap.hidden_half_width), format_share(overlap.slow_down)});
  }
  return titled(rows, style);
}

std::string slowest_table(const std::vector<Slowest>& slowest, const TerminalStyle& style) {
  std::vector<Row> rows = {{"slowest of", "", "among", "x median", "MADs above", "x fastest"}};
  for (const Slowest& one : slowest) {
    rows.push_back({one.of, one.who, std::to_string(one.among), fmt::format("{:.3f}", one.times_median),
                    one.mads ? fmt::format("{:.1f}", *one.mads) : "-", fmt::format("{:.3f}", one.times_fastest)});
  }
  return titled(rows, style);
}

}  // namespace

std::string communication_tables(const std::vector<Record>& records, const Communication& communication,
                                 const std::vector<RankInfo>& members, const TerminalStyle& style) {
  std::string text;
  for (const std::string& part : {collective_tables(records, communication.rings, style), fits_table(communication.fits, style),
                                  scaling_table(communication.scaling, style), pairs_text(communication.pairs, members, style),
                                  overlap_table(communication.overlaps, style), slowest_table(communication.slowest, style),
                                  findings_text(communication.findings, style)}) {
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  }
  const bool judged = !communication.pairs.empty() || !communication.slowest.empty();
  if (!judged || !communication.findings.empty()) return text;
  // One of two is always slower.
  return text +
         (members.size() > 2 ? "\nno rank, host or pair stands out\n" : "\ntwo ranks cannot show which of them is slow\n");
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

std::string rate(const Nic& nic) {
  return nic.bytes_per_second ? fmt::format("{:.3g} Gb/s", *nic.bytes_per_second * 8 / 1e9) : "unknown rate";
}

}  // namespace

std::string ranks_table(const std::vector<RankInfo>& members) {
  constexpr std::size_t kNamed = 4;
  const bool gpus = std::any_of(members.begin(), members.end(), [](const RankInfo& member) { return !member.uuid.empty(); });
  std::vector<std::vector<std::string>> rows{{"rank", "host", "local rank", "device", gpus ? "UUID" : "cores", "NUMA", "NIC"}};
  for (const RankInfo& member : members) {
    std::string names;
    std::size_t near = 0;
    for (const Nic& nic : member.nics) {
      if (member.numa_node && nic.numa_node && *member.numa_node != *nic.numa_node) continue;
      if (++near <= kNamed) names += fmt::format("{}{} {} {}", names.empty() ? "" : ", ", nic.name, nic.kind, rate(nic));
    }
    if (near > kNamed) names += fmt::format(" and {} more", near - kNamed);
    rows.push_back({std::to_string(member.rank), member.host, std::to_string(member.local_rank),
                    fmt::format("{} {}", member.device_id, member.device_name), gpus ? member.uuid : ranges(member.cores),
                    member.numa_node ? std::to_string(*member.numa_node) : "-", names.empty() ? "-" : names});
  }
  return align(rows);
}

}  // namespace roofmark
