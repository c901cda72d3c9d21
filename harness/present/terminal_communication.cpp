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
#include <tuple>

#include "harness/model/units.hpp"

namespace roofmark {

namespace {

using Row = std::vector<std::string>;

constexpr int kLargestMatrix = 16;
constexpr std::size_t kWorstPairs = 10;
constexpr double kLine = 0.9;  // the least r2 of times that are called a line

std::string bold(const TerminalStyle& style, const std::string& text) {
  return style.colour ? fmt::format("\033[1m{}\033[0m", text) : text;
}

std::string red(const TerminalStyle& style, const std::string& text) {
  return style.colour ? fmt::format("\033[31m{}\033[0m", text) : text;
}

// As nccl-tests prints them: microseconds, and 10^9 bytes per second.
std::string micros(double seconds) {
  const double us = seconds * 1e6;
  return fmt::format("{:.{}f}", us, us < 100 ? 2 : us < 10000 ? 1 : 0);
}
std::string giga(double bytes_per_second) { return fmt::format("{:.2f}", bytes_per_second / 1e9); }

/// One call out of place and in place: one line of nccl-tests.
struct Line {
  const Record* out = nullptr;  ///< also what is neither
  const Record* in = nullptr;
};

/// What tells a record from others of its family and type beside nccl-tests' columns: group:node issue:graph.
std::string variant(const Record& record) {
  static const std::set<std::string> columns = {"bytes", "ranks", "op", "place", "impl"};
  std::string words;
  for (const auto& [key, value] : record.shape) {
    if (!columns.contains(key)) words += fmt::format("{}{}:{}", words.empty() ? "" : " ", key, value);
  }
  return words;
}

std::string wrong_elements(const Record& record) {
  const auto& found = record.verification_after ? record.verification_after : record.verification_before;
  const std::size_t count =
      std::max(record.verification_before ? record.verification_before->wrong : 0, found ? found->wrong : 0);
  if (record.status == Status::wrong) return count ? std::to_string(count) : "wrong";
  return found && found->status == Verification::Status::passed ? "0" : "N/A";
}

void add_place(Row& row, const Record* record) {
  if (!record) {
    row.insert(row.end(), 4, "");
    return;
  }
  const auto bandwidth = bus_bandwidth(*record);
  for (const double BusBandwidth::*rate : {&BusBandwidth::algbw, &BusBandwidth::busbw}) {
    if (rate == &BusBandwidth::algbw) row.push_back(bandwidth ? micros(bandwidth->seconds) : "-");
    row.push_back(bandwidth ? giga((*bandwidth).*rate) : "-");
  }
  row.push_back(wrong_elements(*record));
}

Row table_row(const Line& line, const std::map<std::string, double>& ring_ratios) {
  const Record& record = line.out ? *line.out : *line.in;
  const Message& message = *record.message;
  Row row = {std::to_string(message.bytes),
             std::to_string(message.count),
             std::string(name(record.type)),
             message.reduction.empty() ? "none" : message.reduction,
             std::to_string(message.root),
             std::to_string(message.ranks),
             variant(record)};
  add_place(row, line.out);
  add_place(row, line.in);
  const Placement placement = record.placement.value_or(Placement{});
  const auto ring = ring_ratios.find(record.name);
  row.push_back(placement.bound_by.empty() ? "-" : placement.bound_by);
  row.push_back(format_share(placement.of_empirical));
  row.push_back(format_share(placement.of_theoretical));
  row.push_back(switched_share(record) ? format_share(switched_share(record)) : "");
  row.push_back(ring == ring_ratios.end() ? "-" : fmt::format("{:.2f}", ring->second));
  const Summary summary = record.measurement ? record.measurement->summary : Summary{};
  for (const auto& percentile : {summary.p95, summary.p99}) {
    row.push_back(percentile ? micros(*percentile / message.trips) : "-");
  }
  return row;
}

/// Columns in which no line says anything are left out; two lines of headings stand before the others. A place that was tried
/// keeps its columns even where all of it was wrong.
void drop_empty_columns(std::vector<Row>& rows) {
  constexpr std::size_t first_of_places = 7, first_after_places = 15;
  for (std::size_t column = rows.front().size(); column-- > 0;) {
    const bool place = column >= first_of_places && column < first_after_places;
    const auto silent = [&](const Row& row) { return row[column].empty() || (!place && row[column] == "-"); };
    if (!std::all_of(rows.begin() + 2, rows.end(), silent)) continue;
    for (Row& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

std::string collective_table(const std::string& title, const std::vector<Line>& lines,
                             const std::map<std::string, double>& ring_ratios, const TerminalStyle& style) {
  std::vector<Row> rows = {
      {"size", "count", "type",  "redop",  "root", "ranks",   "",          "time",        "algbw",  "busbw", "#wrong",
       "time", "algbw", "busbw", "#wrong", "roof", "of roof", "of theor.", "on the wire", "x ring", "p95",   "p99"},
      {"(B)",  "(elements)", "",       "", "", "", "", "(us)", "(GB/s)", "(GB/s)", "",
       "(us)", "(GB/s)",     "(GB/s)", "", "", "", "", "",     "",       "(us)",   "(us)"}};
  const bool any_out = std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.out; });
  const bool any_in = std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.in; });
  std::vector<bool> wrong;
  for (const Line& line : lines) {
    rows.push_back(table_row(line, ring_ratios));
    wrong.push_back((line.out && line.out->status == Status::wrong) || (line.in && line.in->status == Status::wrong));
  }
  drop_empty_columns(rows);
  const std::string table = align(rows);
  std::string text;
  std::size_t number = 0;
  for (std::size_t start = 0, end = 0; start < table.size(); start = end + 1, ++number) {
    end = table.find('\n', start);
    const std::string line = table.substr(start, end - start);
    if (number == 0) {
      std::string places = title;
      std::size_t from = 0;
      for (const char* place : {any_out ? "out-of-place" : "", any_in ? "in-place" : ""}) {
        if (!*place) continue;
        const std::size_t at = line.find("time", from);
        from = line.find("#wrong", at) + 1;
        places.resize(std::max(places.size() + 2, at), ' ');
        places += place;
      }
      text += bold(style, places) + "\n";
    }
    text += (number < 2 ? bold(style, line) : wrong[number - 2] ? red(style, line) : line) + "\n";
  }
  return text;
}

/// The teams in the order in which they were measured, the reductions and sizes of each together.
void gather_teams(std::vector<Line>& lines) {
  using Team = std::tuple<int, std::string, std::string>;
  std::map<Team, std::size_t> order;
  const auto record = [](const Line& line) -> const Record& { return line.out ? *line.out : *line.in; };
  const auto team = [&](const Line& line) {
    const Message& message = *record(line).message;
    return Team(message.ranks, variant(record(line)), message.reduction);
  };
  for (const Line& line : lines) order.emplace(team(line), order.size());
  const auto place = [&](const Line& line) { return std::pair(order.at(team(line)), record(line).message->bytes); };
  std::stable_sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) { return place(a) < place(b); });
}

std::string collective_tables(const std::vector<Record>& records, const Communication& communication,
                              const TerminalStyle& style) {
  std::map<std::string, double> ring_ratios;
  for (const RingPrediction& ring : communication.rings) ring_ratios[ring.case_name] = ring.ratio;
  std::vector<std::string> order;
  std::map<std::string, std::vector<Line>> tables;
  std::map<std::string, std::size_t> places;  // of a call in its table, by the name without the place
  for (const Record& record : records) {
    if (!record.message || record.pass == 2) continue;
    // Rounds of pairs that went well are in the matrix.
    if (record.status != Status::wrong && (record.status != Status::ok || record.family == "ping_pong")) continue;
    const std::string title =
        case_name(record.family, record.operation, record.type, {{"impl", value_of(record.shape, "impl")}});
    std::vector<Line>& lines = tables[title];
    if (lines.empty()) order.push_back(title);
    Shape shape = record.shape;
    std::erase_if(shape, [](const auto& entry) { return entry.first == "place"; });
    const auto [place, fresh] = places.emplace(case_name(record.family, record.operation, record.type, shape), lines.size());
    if (fresh) lines.emplace_back();
    (record.message->place == "in" ? lines[place->second].in : lines[place->second].out) = &record;
  }
  std::string text;
  for (const std::string& title : order) {
    gather_teams(tables[title]);
    text += (text.empty() ? "" : "\n") + collective_table(title, tables[title], ring_ratios, style);
  }
  return text;
}

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
  std::vector<Row> rows = {{"overlap", "product", "all-reduce", "both at once", "hidden", "+- 95 %", "product slower by"}};
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
  for (const std::string& part : {collective_tables(records, communication, style), fits_table(communication.fits, style),
                                  scaling_table(communication.scaling, style), pairs_text(communication.pairs, members, style),
                                  overlap_table(communication.overlaps, style), slowest_table(communication.slowest, style),
                                  findings_text(communication.findings, style)}) {
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  }
  const bool judged = !communication.pairs.empty() || !communication.slowest.empty();
  if (!judged || !communication.findings.empty()) return text;
  // Of two, one is always the slower.
  return text + (members.size() > 2 ? "\nno rank, host or pair stands out\n" : "\nof two nobody can say whether one is slow\n");
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
