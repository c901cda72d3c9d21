// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "harness/judge/ranks/bus_bandwidth.hpp"
#include "harness/model/units.hpp"
#include "harness/present/grid.hpp"

namespace roofmark {

namespace {

/// One call out of place and in place: one line of nccl-tests.
struct SizeLine {
  const Record* out = nullptr;  ///< also without a place
  const Record* in = nullptr;

  const Record& record() const { return out ? *out : *in; }
};

/// What tells a record from others of its family and type beside nccl-tests' columns: group:node issue:graph.
std::string variant(const Record& record) {
  static const std::set<std::string> columns = {"bytes", "ranks", "op", "root", "place", "impl"};
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
  if (record.status == Status::wrong) return count ? std::to_string(count) : std::string(type_of(record.status).words);
  return found && found->status == Verification::Status::passed ? "0" : "N/A";
}

/// Microseconds, algbw, busbw and wrong elements of a record that may be missing.
void add_place(Row& row, const Record* record) {
  if (!record) {
    row.insert(row.end(), 4, "");
    return;
  }
  const auto bandwidth = bus_bandwidth(*record);
  const auto rate = [](std::optional<double> bytes_per_second) { return bytes_per_second ? giga(*bytes_per_second) : "-"; };
  row.push_back(bandwidth ? micros(bandwidth->seconds) : "-");
  row.push_back(bandwidth ? rate(bandwidth->algbw) : "-");
  row.push_back(bandwidth ? rate(bandwidth->busbw) : "-");
  row.push_back(wrong_elements(*record));
}

/// What names a line of a table: the size and the settings. Lines that share a setting have it in the title.
constexpr std::size_t kKeys = 5;
std::vector<Column> key_columns() {
  return {{.heading = "size", .unit = "(B)"},
          {.heading = "redop", .is_shared = true},
          {.heading = "root", .is_shared = true},
          {.heading = "ranks", .is_shared = true},
          {.heading = "", .is_shared = true}};
}
Row keys_of(const SizeLine& line) {
  const Message& message = *line.record().message;
  return {std::to_string(message.bytes), message.reduction, message.root < 0 ? "" : std::to_string(message.root),
          std::to_string(message.ranks), variant(line.record())};
}

std::vector<Column> bandwidth_columns(const std::vector<SizeLine>& lines) {
  std::vector<Column> columns = key_columns();
  columns.push_back({.heading = "count", .leaves = 1, .unit = "(elements)"});
  for (const char* group : {"out-of-place", "in-place"}) {
    const bool is_out = columns.size() == kKeys + 1;
    // Which elements are wrong is not left out, and a place where all are wrong has its columns.
    const bool right = std::none_of(lines.begin(), lines.end(), [&](const SizeLine& line) {
      const Record* record = is_out ? line.out : line.in;
      return record && record->status == Status::wrong;
    });
    columns.push_back({.heading = "time", .stays = !right, .unit = "(us)", .group = group});
    columns.push_back({.heading = "algbw", .leaves = 2, .stays = !right, .unit = "(GB/s)", .group = group});
    columns.push_back({.heading = "busbw", .stays = !right, .unit = "(GB/s)", .group = group});
    columns.push_back({.heading = "#wrong", .leaves = right ? 3 : 0, .group = group});
  }
  return columns;
}

/// nccl-tests' columns.
Row bandwidth_row(const SizeLine& line) {
  Row row = keys_of(line);
  row.push_back(std::to_string(line.record().message->count));
  add_place(row, line.out);
  add_place(row, line.in);
  return row;
}

bool is_any_out(const std::vector<SizeLine>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](const SizeLine& line) { return line.out != nullptr; });
}

/// Of calls out of place where there are any, and the share of those in place beside them.
std::vector<Column> placement_columns(bool any_out) {
  std::vector<Column> columns = key_columns();
  const char* const group = any_out ? "out-of-place" : "in-place";
  for (Column column : {Column{.heading = "of roof"}, Column{.heading = "of theor.", .leaves = 2},
                        Column{.heading = "on the wire"}, Column{.heading = "of ring"},
                        Column{.heading = "p95", .leaves = 1, .unit = "(us)"}, Column{.heading = "p99", .unit = "(us)"}}) {
    column.group = group;
    columns.push_back(std::move(column));
  }
  columns.push_back({.heading = "of roof", .leaves = 3, .group = "in-place"});
  columns.push_back({.heading = "roof", .is_shared = true});
  return columns;
}

/// What placement_columns() names, of a call that may be missing.
void add_placement(Row& row, const Record* record, const std::map<std::string, double>& ring_ratios) {
  if (!record) {
    row.insert(row.end(), 6, "");
    return;
  }
  const Placement placement = record->placement.value_or(Placement{});
  const auto ring = ring_ratios.find(record->name());
  row.push_back(format_share(placement.of_empirical));
  row.push_back(format_share(placement.of_theoretical));
  row.push_back(format_share(switched_share(*record)));
  row.push_back(ring == ring_ratios.end() ? "-" : format_share(ring->second));
  const Summary summary = record->measurement ? record->measurement->summary : Summary{};
  for (const auto& percentile : {summary.p95, summary.p99}) {
    row.push_back(percentile ? micros(*percentile / record->message->trips) : "-");
  }
}

Row placement_row(const SizeLine& line, const std::map<std::string, double>& ring_ratios, bool any_out) {
  Row row = keys_of(line);
  add_placement(row, any_out ? line.out : line.in, ring_ratios);
  row.push_back(any_out && line.in && line.in->placement ? format_share(line.in->placement->of_empirical) : "");
  row.push_back(line.record().placement ? line.record().placement->bound_by : "");
  return row;
}

/// The title stands over a table of nccl-tests' columns; a second table places the same lines on the roofline.
std::string collective_table(const std::string& title, const std::vector<SizeLine>& lines,
                             const std::map<std::string, double>& ring_ratios, const TerminalStyle& style,
                             std::set<std::string>& left_out) {
  const bool any_out = is_any_out(lines);
  Grid bandwidths{title, bandwidth_columns(lines), kKeys}, placements{"", placement_columns(any_out), kKeys};
  bool placed = false;
  for (const SizeLine& line : lines) {
    const auto wrong = [](const Record* record) { return record && record->status == Status::wrong; };
    const Mark mark = wrong(line.out) || wrong(line.in) ? Mark::wrong : Mark::none;
    bandwidths.rows.push_back(bandwidth_row(line));
    bandwidths.marks.push_back(mark);
    placements.rows.push_back(placement_row(line, ring_ratios, any_out));
    placements.marks.push_back(mark);
    const Row& row = placements.rows.back();
    placed |= std::any_of(row.begin() + kKeys, row.end(), [](const std::string& cell) { return !cell.empty() && cell != "-"; });
  }
  std::string text = to_text(bandwidths, style, &left_out);
  if (!placed) return text;
  // The title has what the lines share.
  for (std::size_t i = 0; i < kKeys; ++i) {
    const auto same = [&](const Row& row) { return row[i] == placements.rows.front()[i]; };
    if (!placements.columns[i].is_shared || !std::all_of(placements.rows.begin(), placements.rows.end(), same)) continue;
    for (Row& row : placements.rows) row[i].clear();
  }
  return text + "\n" + to_text(placements, style, &left_out);
}

std::string note_of(const Record& record) {
  const auto found =
      std::find_if(record.notes.begin(), record.notes.end(), [](const auto& note) { return note.first == kSmallSizesNote; });
  return found == record.notes.end() ? std::string() : found->second;
}

/// Of those whose times are mostly those of issuing the calls; or null.
const Record* largest_small(const std::vector<Record>& records) {
  const Record* largest = nullptr;
  for (const Record& record : records) {
    if (!record.message || record.status != Status::ok || note_of(record).empty()) continue;
    if (!largest || record.message->bytes > largest->message->bytes) largest = &record;
  }
  return largest;
}

/// The teams in the order in which they were measured, the reductions and sizes of each together.
void gather_teams(std::vector<SizeLine>& lines) {
  using Team = std::tuple<int, std::string, std::string>;
  std::map<Team, std::size_t> order;
  const auto team = [&](const SizeLine& line) {
    const Message& message = *line.record().message;
    return Team(message.ranks, variant(line.record()), message.reduction);
  };
  for (const SizeLine& line : lines) order.emplace(team(line), order.size());
  const auto place = [&](const SizeLine& line) { return std::pair(order.at(team(line)), line.record().message->bytes); };
  std::stable_sort(lines.begin(), lines.end(), [&](const SizeLine& a, const SizeLine& b) { return place(a) < place(b); });
}

}  // namespace

std::string collective_tables(const std::vector<Record>& records, const std::vector<RingPrediction>& rings,
                              const TerminalStyle& style) {
  std::map<std::string, double> ring_ratios;
  for (const RingPrediction& ring : rings) ring_ratios[ring.case_name] = ring.ratio;
  std::vector<CaseName> order;
  std::map<CaseName, std::vector<SizeLine>> tables;
  std::map<CaseName, std::size_t> places;  // of a call in its table, by the name without the place
  for (const Record& record : records) {
    if (!record.message || record.pass == 2) continue;
    // Rounds of pairs that went well are in the matrix.
    if (record.status != Status::wrong && (record.status != Status::ok || record.message->pattern == Pattern::pairs)) continue;
    const CaseName title{record.family, record.operation, record.type, {{"impl", value_of(record.shape, "impl")}}};
    std::vector<SizeLine>& lines = tables[title];
    if (lines.empty()) order.push_back(title);
    const auto [place, fresh] = places.emplace(name_without(record, {"place"}), lines.size());
    if (fresh) lines.emplace_back();
    (record.message->place == "in" ? lines[place->second].in : lines[place->second].out) = &record;
  }
  // The probes of the ceilings stand last.
  std::stable_partition(order.begin(), order.end(),
                        [&](const CaseName& title) { return !tables[title].front().record().sets_ceiling; });
  std::string text;
  std::set<std::string> left_out;
  for (const CaseName& title : order) {
    gather_teams(tables[title]);
    text += (text.empty() ? "" : "\n") + collective_table(title.name(), tables[title], ring_ratios, style, left_out);
  }
  text += left_out_text(left_out, style);
  if (const Record* const small = largest_small(records)) {
    const std::string upto = format_bytes(static_cast<double>(small->message->bytes));
    text +=
        grey(style, wrapped(fmt::format("up to {}: {}", upto, note_of(*small)), static_cast<std::size_t>(style.columns), 2)) +
        "\n";
  }
  return text;
}

}  // namespace roofmark
