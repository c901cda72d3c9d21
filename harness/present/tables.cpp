// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"

namespace roofmark {

namespace {

constexpr const char* kBoundBy = "bound by";

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, width(line));
  return widest;
}

std::string rate_or_dash(std::optional<double> rate, Unit unit) { return rate ? format_rate(*rate, unit) : "-"; }

using Words = std::vector<std::pair<std::string, std::string>>;

bool is_data_type(std::string_view text) {
  return std::any_of(std::begin(kDataTypes), std::end(kDataTypes), [&](DataType type) { return name(type) == text; });
}

/// The parts of a case's name behind its family, by key; its path is "case", its data type "type".
Words words_of(const std::string& name) {
  Words words;
  std::istringstream parts(name);
  std::string part, path;
  std::getline(parts, part, '/');
  while (std::getline(parts, part, '/')) {
    if (const auto colon = part.find(':'); colon != std::string::npos) {
      words.emplace_back(part.substr(0, colon), part.substr(colon + 1));
    } else if (is_data_type(part)) {
      words.emplace_back("type", part);
    } else {
      path += (path.empty() ? "" : "/") + part;
    }
  }
  if (!path.empty()) words.insert(words.begin(), {"case", path});
  return words;
}

/// Lines whose names have the same keys.
struct Table {
  std::string title;
  Row columns;  ///< of the values
  struct Line {
    Words words;
    Row values;
  };
  std::vector<Line> lines;
};

template <class Value>
bool constant(const std::vector<Table::Line>& lines, const Value& value) {
  return std::all_of(lines.begin(), lines.end(), [&](const auto& line) { return value(line) == value(lines.front()); });
}

/// What is constant over the lines stands above them; values that no line has are left out. Lines that would be wider than the
/// terminal are split by the key that has the fewest values.
std::string to_text(const Table& table, const TerminalStyle& style) {
  const std::vector<Table::Line>& lines = table.lines;
  std::string title = bold(style, table.title);
  std::size_t used = width(table.title);
  const auto add = [&](const std::string& word) {
    const bool fits = used + 2 + width(word) <= std::size_t(style.columns);
    title += (fits ? "  " : "\n  ") + word;
    used = (fits ? used : 0) + 2 + width(word);
  };
  std::vector<std::size_t> keys, values;
  for (std::size_t i = 0; i < lines.front().words.size(); ++i) {
    const auto& [key, word] = lines.front().words[i];
    if (!constant(lines, [i](const Table::Line& line) { return line.words[i].second; })) {
      keys.push_back(i);
    } else {
      add(key == "case" || key == "type" ? word : key + ":" + word);
    }
  }
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& first = lines.front().values[i];
    const bool same = constant(lines, [i](const Table::Line& line) { return line.values[i]; });
    if (same && first == "-") continue;
    if (same && table.columns[i] == kBoundBy) {
      add(fmt::format("{} {}", kBoundBy, first));
    } else {
      values.push_back(i);
    }
  }
  std::vector<Row> rows(lines.size() + 1);
  for (const std::size_t i : keys) rows[0].push_back(lines.front().words[i].first);
  for (const std::size_t i : values) rows[0].push_back(table.columns[i]);
  for (std::size_t r = 0; r < lines.size(); ++r) {
    for (const std::size_t i : keys) rows[r + 1].push_back(lines[r].words[i].second);
    for (const std::size_t i : values) rows[r + 1].push_back(lines[r].values[i]);
  }
  const std::string text = align(rows);
  if (keys.empty() || text.find('\n') == std::string::npos || widest_line(text) <= std::size_t(style.columns)) {
    return title + "\n" + text;
  }
  std::map<std::size_t, std::vector<std::string>> distinct;
  for (const std::size_t i : keys) {
    for (const Table::Line& line : lines) {
      std::vector<std::string>& seen = distinct[i];
      if (std::find(seen.begin(), seen.end(), line.words[i].second) == seen.end()) seen.push_back(line.words[i].second);
    }
  }
  const auto fewest = std::min_element(distinct.begin(), distinct.end(),
                                       [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::string parts;
  for (const std::string& word : fewest->second) {
    Table part{table.title, table.columns, {}};
    std::copy_if(lines.begin(), lines.end(), std::back_inserter(part.lines),
                 [&](const Table::Line& line) { return line.words[fewest->first].second == word; });
    parts += (parts.empty() ? "" : "\n") + to_text(part, style);
  }
  return parts;
}

/// Adds a line to the table of this title whose names have the same keys, which is made where there is none.
void add_line(std::vector<Table>& tables, const std::string& title, const Row& columns, Table::Line line) {
  const auto same_keys = [&](const Table& table) {
    const Words& words = table.lines.front().words;
    return table.title == title && std::equal(words.begin(), words.end(), line.words.begin(), line.words.end(),
                                              [](const auto& a, const auto& b) { return a.first == b.first; });
  };
  auto table = std::find_if(tables.begin(), tables.end(), same_keys);
  if (table == tables.end()) table = tables.insert(tables.end(), {title, columns, {}});
  table->lines.push_back(std::move(line));
}

std::string to_text(const std::vector<Table>& tables, const TerminalStyle& style) {
  std::string text;
  for (const Table& table : tables) text += (text.empty() ? "" : "\n") + to_text(table, style);
  return text;
}

Row values_of(const Record& record) {
  const Measurement& measurement = *record.measurement;
  const Summary& summary = measurement.summary;
  const Placement placement = record.placement.value_or(Placement{});
  const std::string interval =
      summary.interval_low && summary.interval_high
          ? fmt::format("{:.2f} %", 50 * (*summary.interval_high - *summary.interval_low) / summary.median)
          : "-";
  // A probe of neither FLOPs nor bytes (exponentials, launches) shows its own unit in the column of the rate.
  std::optional<double> operations = placement.flops_per_second;
  Unit unit = record.work.total(Unit::op) > 0 ? Unit::op : Unit::flop;
  if (!operations && !placement.bytes_per_second && record.raises) {
    operations = record.work.total(*record.raises) / summary.median;
    unit = record.raises->unit;
  }
  return {format_seconds(summary.median),
          interval,
          rate_or_dash(operations, unit),
          rate_or_dash(placement.bytes_per_second, Unit::byte),
          placement.intensity ? fmt::format("{:.3g}", *placement.intensity) : "-",
          placement.bound_by.empty() ? "-" : placement.bound_by,
          format_share(placement.of_empirical),
          format_share(placement.of_theoretical_clock),
          measurement.clock_hz ? fmt::format("{:.0f} MHz", *measurement.clock_hz / 1e6) : "-"};
}

}  // namespace

std::string ceilings_table(const Roofline& roofline) {
  std::vector<Row> rows = {{"ceiling", "id", "measured", "theoretical", "of theor.", "datasheet", "drift"}};
  bool doubtful = false;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    const Unit unit = ceiling.resource.unit;
    const auto empirical = ceiling.empirical();
    if (!empirical && !ceiling.theoretical) continue;
    doubtful |= ceiling.doubtful;
    rows.push_back({std::string(ceiling.resource.title), std::string(ceiling.resource.id), rate_or_dash(empirical, unit),
                    rate_or_dash(ceiling.theoretical, unit) + (ceiling.doubtful ? " ?" : ""),
                    empirical && ceiling.theoretical ? format_share(*empirical / *ceiling.theoretical) : "-",
                    rate_or_dash(ceiling.datasheet, unit),
                    ceiling.drift() ? fmt::format("{:+.1f} %", 100 * *ceiling.drift()) : "-"});
  }
  if (rows.size() == 1) return "";
  return align(rows) + (doubtful ? "? doubtful: a verified result exceeds it by more than 2 %; no verdict rests on it\n" : "");
}

std::string records_table(const std::vector<Record>& records, const TerminalStyle& style) {
  const Row columns = {"median", "+- 95 %", "rate", "bandwidth", "FLOP/B", kBoundBy, "of roof", "of theor.", "clock"};
  std::vector<Table> tables;
  for (const Record& record : records) {
    if (record.status != Status::ok || record.pass == 2 || record.message) continue;
    add_line(tables, record.family, columns, {words_of(record.name), values_of(record)});
  }
  return to_text(tables, style);
}

std::string sustained_table(const std::vector<Record>& records, const TerminalStyle& style) {
  const Row columns = {"burst", "settled",       "after",     "settled/burst", "clock",        "settled clock",
                       "power", "settled power", "per clock", "explained",     "bytes checked"};
  const auto clock = [](std::optional<double> hz) { return hz ? fmt::format("{:.0f} MHz", *hz / 1e6) : "-"; };
  const auto power = [](std::optional<double> watts) { return watts ? fmt::format("{:.0f} W", *watts) : "-"; };
  std::vector<Table> tables;
  for (const Record& record : records) {
    if (!record.sustained) continue;
    const Sustained& rates = *record.sustained;
    // A case's first demand is what it is measured for.
    const Demand& demand = record.work.phases.front().front();
    const auto rate = [&](double launches) { return format_rate(launches * demand.amount, demand.resource.unit); };
    add_line(
        tables, "rate of a load that lasts: the first second (burst) and the last quarter (settled)", columns,
        {words_of(record.name),
         {rate(rates.burst_rate), rate(rates.settled_rate), fmt::format("{:.0f} s", std::ceil(rates.settled_after_seconds)),
          format_share(rates.settled_of_burst), clock(rates.burst_clock_hz), clock(rates.settled_clock_hz),
          power(rates.burst_power_watts), power(rates.settled_power_watts), format_share(rates.rate_per_clock_ratio),
          format_share(rates.explained_by_clock), format_share(rates.share_checked)}});
  }
  return to_text(tables, style);
}

std::string comparisons_table(const std::vector<ComparisonResult>& comparisons, const TerminalStyle& style) {
  std::vector<Table> tables;
  for (const ComparisonResult& result : comparisons) {
    const std::string& name = result.comparison.numerator;
    const std::string interval = result.low && result.high ? fmt::format("{:.3f} .. {:.3f}", *result.low, *result.high) : "-";
    add_line(tables, fmt::format("{} {}: {}", result.comparison.key, result.comparison.name, name.substr(0, name.find('/'))),
             {"times faster", "95 % interval"}, {words_of(name), {fmt::format("{:.3f}", result.ratio), interval}});
  }
  return to_text(tables, style);
}

}  // namespace roofmark
