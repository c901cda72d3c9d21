// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/judge/ranks/bus_bandwidth.hpp"
#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"

namespace roofmark {

namespace {

/// One call out of place and in place: one line of nccl-tests.
struct CallLine {
  const Record* out = nullptr;  ///< also without a place
  const Record* in = nullptr;

  const Record& record() const { return out ? *out : *in; }
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
  row.push_back(bandwidth ? micros(bandwidth->seconds) : "-");
  row.push_back(bandwidth ? giga(bandwidth->algbw) : "-");
  row.push_back(bandwidth ? giga(bandwidth->busbw) : "-");
  row.push_back(wrong_elements(*record));
}

/// What distinguishes the lines of a table beside the size, by heading.
const Row kSettings = {"redop", "root", "ranks", ""};
Row settings_of(const CallLine& line) {
  const Message& message = *line.record().message;
  return {message.reduction.empty() ? "none" : message.reduction, std::to_string(message.root), std::to_string(message.ranks),
          variant(line.record())};
}

/// nccl-tests' columns.
Row bandwidth_row(const CallLine& line) {
  const Message& message = *line.record().message;
  Row row = {std::to_string(message.bytes), std::to_string(message.count)};
  for (std::string& setting : settings_of(line)) row.push_back(std::move(setting));
  add_place(row, line.out);
  add_place(row, line.in);
  return row;
}

Row placement_row(const CallLine& line, const std::map<std::string, double>& ring_ratios) {
  const Record& record = line.record();
  const Placement placement = record.placement.value_or(Placement{});
  const auto ring = ring_ratios.find(record.name);
  Row row = {std::to_string(record.message->bytes), ""};
  for (std::string& setting : settings_of(line)) row.push_back(std::move(setting));
  row.push_back(placement.bound_by.empty() ? "-" : placement.bound_by);
  row.push_back(format_share(placement.of_empirical));
  row.push_back(format_share(placement.of_theoretical));
  row.push_back(switched_share(record) ? format_share(switched_share(record)) : "");
  row.push_back(ring == ring_ratios.end() ? "-" : fmt::format("{:.2f}", ring->second));
  const Summary summary = record.measurement ? record.measurement->summary : Summary{};
  for (const auto& percentile : {summary.p95, summary.p99}) {
    row.push_back(percentile ? micros(*percentile / record.message->trips) : "-");
  }
  return row;
}

constexpr std::size_t kFirstSetting = 2, kHeadings = 2;

/// Drops the columns in which no line says anything, and the settings that all lines share. A place that was tried keeps its
/// columns even where all of it was wrong.
void drop_empty_columns(std::vector<Row>& rows, std::size_t places) {
  const std::size_t first_place = kFirstSetting + kSettings.size();
  for (std::size_t column = rows.front().size(); column-- > 1;) {
    const bool setting = column >= kFirstSetting && column < first_place;
    const bool place = column >= first_place && column < first_place + places;
    const auto silent = [&](const Row& row) {
      return setting ? row[column] == rows[kHeadings][column] : row[column].empty() || (!place && row[column] == "-");
    };
    if (!std::all_of(rows.begin() + kHeadings, rows.end(), silent)) continue;
    for (Row& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

/// ", redop sum, ranks 8": the settings that all lines share.
std::string shared_settings(const std::vector<CallLine>& lines) {
  const Row first = settings_of(lines.front());
  std::string text;
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const auto same = [&](const CallLine& line) { return settings_of(line)[i] == first[i]; };
    if (first[i].empty() || first[i] == "-1" || first[i] == "none") continue;
    if (!std::all_of(lines.begin(), lines.end(), same)) continue;
    text += fmt::format(", {}{}{}", kSettings[i], kSettings[i].empty() ? "" : " ", first[i]);
  }
  return text;
}

std::vector<Row> headings(const Row& names, const Row& units) {
  std::vector<Row> rows = {names, units};
  rows[0].insert(rows[0].begin() + kFirstSetting, kSettings.begin(), kSettings.end());
  rows[1].insert(rows[1].begin() + kFirstSetting, kSettings.size(), "");
  return rows;
}

/// The title stands over a table of nccl-tests' columns; a second table places the same lines on the roofline.
std::string collective_table(const std::string& title, const std::vector<CallLine>& lines,
                             const std::map<std::string, double>& ring_ratios, const TerminalStyle& style) {
  std::vector<Row> bandwidths =
      headings({"size", "count", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"},
               {"(B)", "(elements)", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", ""});
  std::vector<Row> placements = headings({"size", "", "roof", "of roof", "of theor.", "on the wire", "x ring", "p95", "p99"},
                                         {"(B)", "", "", "", "", "", "", "(us)", "(us)"});
  const bool any_out = std::any_of(lines.begin(), lines.end(), [](const CallLine& line) { return line.out; });
  const bool any_in = std::any_of(lines.begin(), lines.end(), [](const CallLine& line) { return line.in; });
  std::vector<bool> wrong;
  for (const CallLine& line : lines) {
    bandwidths.push_back(bandwidth_row(line));
    placements.push_back(placement_row(line, ring_ratios));
    wrong.push_back((line.out && line.out->status == Status::wrong) || (line.in && line.in->status == Status::wrong));
  }
  drop_empty_columns(bandwidths, 8);
  drop_empty_columns(placements, 0);
  std::string text = bold(style, title + shared_settings(lines)) + "\n";
  const auto append = [&](const std::string& table, const std::function<std::string(const std::string&)>& above) {
    std::size_t number = 0;
    for (std::size_t start = 0, end = 0; start < table.size(); start = end + 1, ++number) {
      end = table.find('\n', start);
      const std::string line = table.substr(start, end - start);
      if (number == 0) text += above(line);
      text += (number < kHeadings ? bold(style, line) : wrong[number - kHeadings] ? red(style, line) : line) + "\n";
    }
  };
  append(align(bandwidths), [&](const std::string& heading) {
    std::string places;
    std::size_t from = 0;
    for (const char* place : {any_out ? "out-of-place" : "", any_in ? "in-place" : ""}) {
      if (!*place) continue;
      const std::size_t at = heading.find("time", from);
      from = heading.find("#wrong", at) + 1;
      places.resize(std::max(places.size() + 2, at), ' ');
      places += place;
    }
    return bold(style, places) + "\n";
  });
  const Row& columns = placements.front();
  const bool placed = std::any_of(columns.begin() + 1, columns.end(), [](const std::string& column) {
    return !column.empty() && std::find(kSettings.begin(), kSettings.end(), column) == kSettings.end();
  });
  if (placed) append(align(placements), [](const std::string&) { return std::string("\n"); });
  return text;
}

/// The teams in the order in which they were measured, the reductions and sizes of each together.
void gather_teams(std::vector<CallLine>& lines) {
  using Team = std::tuple<int, std::string, std::string>;
  std::map<Team, std::size_t> order;
  const auto team = [&](const CallLine& line) {
    const Message& message = *line.record().message;
    return Team(message.ranks, variant(line.record()), message.reduction);
  };
  for (const CallLine& line : lines) order.emplace(team(line), order.size());
  const auto place = [&](const CallLine& line) { return std::pair(order.at(team(line)), line.record().message->bytes); };
  std::stable_sort(lines.begin(), lines.end(), [&](const CallLine& a, const CallLine& b) { return place(a) < place(b); });
}

}  // namespace

std::string collective_tables(const std::vector<Record>& records, const std::vector<RingPrediction>& rings,
                              const TerminalStyle& style) {
  std::map<std::string, double> ring_ratios;
  for (const RingPrediction& ring : rings) ring_ratios[ring.case_name] = ring.ratio;
  std::vector<std::string> order;
  std::map<std::string, std::vector<CallLine>> tables;
  std::map<std::string, std::size_t> places;  // of a call in its table, by the name without the place
  for (const Record& record : records) {
    if (!record.message || record.pass == 2) continue;
    // Rounds of pairs that went well are in the matrix.
    if (record.status != Status::wrong && (record.status != Status::ok || record.message->pattern == Pattern::pairs)) continue;
    const std::string title =
        case_name(record.family, record.operation, record.type, {{"impl", value_of(record.shape, "impl")}});
    std::vector<CallLine>& lines = tables[title];
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

}  // namespace roofmark
