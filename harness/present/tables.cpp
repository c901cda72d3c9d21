// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "harness/model/statistics.hpp"
#include "harness/model/units.hpp"
#include "harness/present/grid.hpp"

namespace roofmark {

namespace {

/// Half a 95 % interval above this share of the median leaves little to read.
constexpr double kUncertain = 0.2;

std::string rate_or_dash(std::optional<double> rate, Unit unit) { return rate ? format_rate(*rate, unit) : "-"; }

/// The parts of a name behind its family, by heading: the operation is the "case".
Shape words_of(const CaseName& name) {
  Shape words;
  if (!name.operation.empty()) words.emplace_back("case", name.operation);
  words.emplace_back("type", roofmark::name(name.type));
  words.insert(words.end(), name.shape.begin(), name.shape.end());
  return words;
}

using Tables = std::vector<Grid>;

/// Adds a row to the table with this title and these keys; creates the table if needed.
void add_row(Tables& tables, const std::string& title, const std::vector<Column>& columns, const CaseName& name, Row values,
             Mark mark = Mark::none) {
  const Shape words = words_of(name);
  const auto same_keys = [&](const Grid& table) {
    return table.title == title && table.keys == words.size() &&
           std::equal(words.begin(), words.end(), table.columns.begin(),
                      [](const auto& word, const Column& column) { return word.first == column.heading; });
  };
  auto table = std::find_if(tables.begin(), tables.end(), same_keys);
  if (table == tables.end()) {
    table = tables.insert(tables.end(), {title, {}, words.size()});
    for (const auto& [key, value] : words) {
      table->columns.push_back({.heading = key, .is_shared = true, .speaks_for_itself = key == "case" || key == "type"});
    }
    table->columns.insert(table->columns.end(), columns.begin(), columns.end());
  }
  Row& row = table->rows.emplace_back();
  for (const auto& [key, value] : words) row.push_back(value);
  std::move(values.begin(), values.end(), std::back_inserter(row));
  table->marks.push_back(mark);
}

std::string to_text(const Tables& tables, const TerminalStyle& style) {
  std::string text;
  std::set<std::string> left_out;
  for (const Grid& table : tables) text += (text.empty() ? "" : "\n") + to_text(table, style, &left_out);
  return text + left_out_text(left_out, style);
}

std::string clock_or_dash(std::optional<double> hz) { return hz ? format_clock(*hz) : "-"; }

/// "3 (14 s)".
std::string dips_or_dash(const std::optional<Dips>& dips) {
  if (!dips) return "-";
  return dips->count == 0 ? "0" : fmt::format("{} ({:.0f} s)", dips->count, std::ceil(dips->seconds));
}

std::string cycles_or_dash(std::optional<double> cycles) { return cycles ? fmt::format("{:.1f}", *cycles) : "-"; }

bool is_call(const Record& record) { return record.measurement && record.measurement->timed != Timed::device; }

/// In the order of the columns of records_table.
Row values_of(const Record& record) {
  const Measurement& measurement = *record.measurement;
  const Summary& summary = measurement.summary;
  const Placement placement = record.placement.value_or(Placement{});
  const auto half = relative_half_width(summary);
  // What has neither FLOPs nor bytes (exponentials, launches, accesses) shows its own unit in the column of the rate.
  std::optional<double> operations = placement.flops_per_second;
  Unit unit = record.work.total(Unit::op) > 0 ? Unit::op : Unit::flop;
  if (!operations && !placement.bytes_per_second && record.sets_ceiling) {
    const Resource& resource = record.sets_ceiling->resource;
    operations = record.work.total(resource) / summary.median;
    unit = resource.unit;
  } else if (const double accesses = record.work.total(Unit::access); accesses > 0 && !operations) {
    operations = accesses / summary.median;
    unit = Unit::access;
  }
  const std::optional<AccessLatency> access = access_latency(record);
  return {format_share(placement.of_empirical),
          format_seconds(summary.median),
          half ? fmt::format("{:.2f} %", 100 * *half) : "-",
          access ? format_seconds(access->seconds) : "-",
          cycles_or_dash(access ? access->cycles() : std::nullopt),
          rate_or_dash(operations, unit),
          rate_or_dash(placement.bytes_per_second, Unit::byte),
          placement.bound_by.empty() ? "-" : placement.bound_by,
          format_share(placement.of_theoretical_clock),
          placement.intensity ? format_intensity(*placement.intensity) : "-",
          clock_or_dash(measurement.slowest_clock_hz())};
}

/// "launch kernel:empty until:return", of the name of a case or of a series of cases.
std::string name_of_call(const CaseName& name) {
  std::string call;
  for (const auto& [key, value] : words_of(name)) {
    if (key == "type" || key == "impl") continue;
    call += (call.empty() ? "" : " ") + (key == "case" ? value : key + ":" + value);
  }
  return call;
}

}  // namespace

std::string ceilings_table(const Roofline& roofline, const TerminalStyle& style) {
  Grid grid{"",
            {{.heading = "ceiling", .leaves = 2},
             {.heading = "id"},
             {.heading = "measured"},
             {.heading = "theoretical", .leaves = 3},
             {.heading = "of theor."},
             {.heading = "datasheet", .leaves = 1},
             {.heading = "drift"}}};
  bool doubtful = false, by_clock = false, by_scatter = false;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    const Unit unit = ceiling.resource.unit;
    const auto empirical = ceiling.empirical();
    if (!empirical && !ceiling.theoretical) continue;
    doubtful |= ceiling.doubtful;
    const auto drift = ceiling.drift();
    const double left = std::abs(ceiling.unexplained_drift().value_or(0));
    const bool explained = drift && std::abs(*drift) > kDriftLimit && left <= kDriftLimit;
    const bool scatters = left > kDriftLimit && !ceiling.moved();
    by_clock |= explained;
    by_scatter |= scatters;
    grid.rows.push_back({std::string(ceiling.resource.title), std::string(ceiling.resource.id), rate_or_dash(empirical, unit),
                         rate_or_dash(ceiling.theoretical, unit) + (ceiling.doubtful ? " ?" : ""),
                         empirical && ceiling.theoretical ? format_share(*empirical / *ceiling.theoretical) : "-",
                         rate_or_dash(ceiling.datasheet, unit),
                         format_change(drift) + (explained  ? " *"
                                                 : scatters ? " ~"
                                                            : "")});
  }
  std::string text = to_text(Tables{grid}, style);
  const auto say = [&](const std::string& what) { text += wrapped(what, static_cast<std::size_t>(style.columns), 2) + "\n"; };
  if (doubtful) say("? doubtful: a verified result exceeds it by more than 2 %; no verdict uses it");
  if (by_clock) say("* the SM clock explains this drift, which puts nothing in doubt");
  if (by_scatter) say("~ may be chance: the two measurements scatter as much");
  return text;
}

std::string records_table(const std::vector<Record>& records, const TerminalStyle& style) {
  const std::vector<Column> columns = {{.heading = "of roof"},
                                       {.heading = "median"},
                                       {.heading = "+- 95 %", .leaves = 5},
                                       {.heading = "per access"},
                                       {.heading = "cycles", .leaves = 8},
                                       {.heading = "rate", .leaves = 7},
                                       {.heading = "bandwidth", .leaves = 6},
                                       {.heading = "bound by", .leaves = 4, .is_shared = true},
                                       {.heading = "of theor.", .leaves = 3},
                                       {.heading = "FLOP/B", .leaves = 1, .is_shared = true},
                                       {.heading = "clock", .leaves = 2, .is_shared = true}};
  Tables results, probes;
  for (const Record& record : records) {
    if (record.status != Status::ok || record.pass == 2 || record.message || is_call(record)) continue;
    if (!value_of(record.shape, kSmKey).empty()) continue;
    const auto half = relative_half_width(record.measurement->summary);
    add_row(record.sets_ceiling ? probes : results, record.family, columns, record, values_of(record),
            half && *half > kUncertain ? Mark::uncertain : Mark::none);
  }
  std::move(probes.begin(), probes.end(), std::back_inserter(results));
  return to_text(results, style);
}

std::string calls_table(const std::vector<Record>& records, const TerminalStyle& style) {
  const auto seconds = [](std::optional<double> value) { return value ? format_seconds(*value) : "-"; };
  Grid grid{"single calls, by the host's clock",
            {{.heading = "call"},
             {.heading = "p50"},
             {.heading = "p95", .leaves = 2},
             {.heading = "p99"},
             {.heading = "maximum", .leaves = 3},
             {.heading = "calls", .leaves = 1}}};
  std::vector<const Record*> calls;
  for (const Record& record : records) {
    if (record.status == Status::ok && record.pass != 2 && is_call(record)) calls.push_back(&record);
  }
  std::stable_sort(calls.begin(), calls.end(), [](const Record* a, const Record* b) {
    return a->measurement->summary.median < b->measurement->summary.median;
  });
  for (const Record* record : calls) {
    const Summary& summary = record->measurement->summary;
    grid.rows.push_back({name_of_call(*record), format_seconds(summary.median), seconds(summary.p95), seconds(summary.p99),
                         format_seconds(summary.maximum), std::to_string(record->measurement->samples.size())});
  }
  return grid.rows.empty() ? "" : to_text(Tables{grid}, style);
}

std::string call_lines_table(const std::vector<CallLine>& lines, const TerminalStyle& style) {
  Grid grid{"costs over a count: time = fixed + count x each",
            {{.heading = "call"},
             {.heading = "count", .is_text = true},
             {.heading = "fixed"},
             {.heading = "each"},
             {.heading = "r2", .leaves = 2},
             {.heading = "points", .leaves = 1}}};
  std::string crossings;
  for (const CallLine& line : lines) {
    const std::string call = name_of_call(line.series);
    grid.rows.push_back({call, line.key, format_seconds(line.fixed_seconds), format_seconds(line.each_seconds),
                         r2_text(line.r2), std::to_string(line.points)});
    if (!line.faster_from) continue;
    const std::string from = *line.faster_from > 0 ? fmt::format("from {}:{:.0f} on", line.key, std::ceil(*line.faster_from))
                                                   : fmt::format("for any number of {}", line.key);
    crossings += wrapped(fmt::format("{}: faster than {} {}", call, name_of_call(*line.than), from),
                         static_cast<std::size_t>(style.columns), 2) +
                 "\n";
  }
  return grid.rows.empty() ? "" : to_text(Tables{grid}, style) + crossings;
}

std::string sustained_table(const std::vector<Record>& records, const TerminalStyle& style) {
  const std::vector<Column> columns = {{.heading = "settled/burst"},
                                       {.heading = "burst"},
                                       {.heading = "settled"},
                                       {.heading = "after", .leaves = 5},
                                       {.heading = "dips", .leaves = 7},
                                       {.heading = "per clock"},
                                       {.heading = "explained", .leaves = 6},
                                       {.heading = "clock", .leaves = 3},
                                       {.heading = "settled clock", .leaves = 4},
                                       {.heading = "power", .leaves = 1},
                                       {.heading = "settled power", .leaves = 2},
                                       {.heading = "bytes checked"}};
  const auto power = [](std::optional<double> watts) { return watts ? format_power(*watts) : "-"; };
  Tables tables;
  for (const Record& record : records) {
    if (!record.sustained) continue;
    const Sustained& rates = *record.sustained;
    const auto [burst_clock, settled_clock] = rates.clocks_hz();
    const Demand demand = record.work.main();
    const auto rate = [&](double launches) { return format_rate(launches * demand.amount, demand.resource.unit); };
    add_row(tables, "rate of a sustained load: the first second (burst) and the last quarter (settled)", columns, record,
            {format_share(rates.settled_of_burst), rate(rates.burst_rate), rate(rates.settled_rate),
             rates.settled_after_seconds ? fmt::format("{:.0f} s", std::ceil(*rates.settled_after_seconds)) : "never",
             dips_or_dash(rates.dips), format_share(rates.rate_per_clock_ratio), format_share(rates.explained_by_clock),
             clock_or_dash(burst_clock), clock_or_dash(settled_clock), power(rates.burst_power_watts),
             power(rates.settled_power_watts), format_share(rates.share_checked)});
  }
  return to_text(tables, style);
}

namespace {

/// The sizes on no level, and the memories in which sizes are said to lie that have none.
std::string between_levels(const Ladder& ladder, const TerminalStyle& style) {
  std::vector<std::string> points, missing;
  for (const LadderPoint& point : ladder.points) {
    const bool on_level = std::any_of(ladder.levels.begin(), ladder.levels.end(), [&](const LadderLevel& level) {
      return level.smallest_bytes <= point.bytes && point.bytes <= level.largest_bytes;
    });
    if (!on_level) {
      points.push_back(fmt::format("{} ({})", format_bytes(static_cast<double>(point.bytes)), format_seconds(point.seconds)));
    }
    const bool has_level = std::any_of(ladder.levels.begin(), ladder.levels.end(),
                                       [&](const LadderLevel& level) { return level.resource == point.resource; });
    if (!has_level && std::find(missing.begin(), missing.end(), point.resource) == missing.end())
      missing.push_back(point.resource);
  }
  if (points.empty() && missing.empty()) return {};
  std::string text = name_of_call(ladder.series) + ": ";
  if (!points.empty()) text += fmt::format("on no level: {}", fmt::join(points, ", "));
  if (!missing.empty()) text += fmt::format("{}no level found of {}", points.empty() ? "" : "; ", fmt::join(missing, ", "));
  return wrapped(text, static_cast<std::size_t>(style.columns), 2) + "\n";
}

}  // namespace

std::string ladders_table(const std::vector<Ladder>& ladders, const TerminalStyle& style) {
  Tables tables;
  for (const Ladder& ladder : ladders) {
    for (const LadderLevel& level : ladder.levels) {
      const auto bytes = [](std::size_t size) { return format_bytes(static_cast<double>(size)); };
      add_row(tables, "ladder of dependent accesses: " + ladder.series.family,
              {{.heading = "level"},
               {.heading = "capacity"},
               {.heading = "cycles"},
               {.heading = "latency"},
               {.heading = "rate"},
               {.heading = "sizes", .leaves = 1}},
              ladder.series,
              {level.step == 1 ? level.resource : fmt::format("{} ({})", level.resource, level.step),
               level.beyond_bytes ? bytes(level.largest_bytes) + " to " + bytes(*level.beyond_bytes) : "-",
               cycles_or_dash(level.cycles), format_seconds(level.seconds), format_rate(1 / level.seconds, Unit::access),
               std::to_string(level.points)});
    }
  }
  std::string text = to_text(tables, style);
  const bool has_steps = std::any_of(ladders.begin(), ladders.end(), [](const Ladder& ladder) {
    return std::any_of(ladder.levels.begin(), ladder.levels.end(), [](const LadderLevel& level) { return level.step > 1; });
  });
  if (has_steps) {
    text += wrapped("(2), (3): further steps within a level: a farther part of the cache, or memory beyond the reach of a TLB",
                    static_cast<std::size_t>(style.columns), 2) +
            "\n";
  }
  for (const Ladder& ladder : ladders) text += between_levels(ladder, style);
  return text;
}

std::string sm_latencies_table(const std::vector<SmLatencies>& latencies, const TerminalStyle& style) {
  Tables tables;
  for (const SmLatencies& series : latencies) {
    int number = 0;
    auto first = series.points.begin();
    for (const SmLevel& level : series.levels) {
      const auto last = first + static_cast<std::ptrdiff_t>(level.sms.size()) - 1;
      add_row(tables, "dependent accesses from each SM to the same line: " + series.series.family,
              {{.heading = "level"},
               {.heading = "SMs"},
               {.heading = "cycles"},
               {.heading = "latency"},
               {.heading = "fastest", .leaves = 1},
               {.heading = "slowest", .leaves = 1}},
              series.series,
              {std::to_string(++number), std::to_string(level.sms.size()), cycles_or_dash(level.cycles),
               format_seconds(level.seconds), fmt::format("{} (SM {})", format_seconds(first->seconds), first->sm),
               fmt::format("{} (SM {})", format_seconds(last->seconds), last->sm)});
      first = last + 1;
    }
  }
  return to_text(tables, style);
}

std::string loaded_latencies_table(const std::vector<LoadedLatencies>& latencies, const TerminalStyle& style) {
  Tables tables;
  for (const LoadedLatencies& series : latencies) {
    for (const LoadedLatency& point : series.points) {
      add_row(tables, fmt::format("dependent accesses under load on {}: {}", series.background.title, series.series.family),
              {{.heading = "load"}, {.heading = "of roof"}, {.heading = "cycles"}, {.heading = "latency"}}, series.series,
              {format_rate(point.background_per_second, series.background.unit), format_share(point.share_of_ceiling),
               cycles_or_dash(point.cycles()), format_seconds(point.seconds)});
    }
  }
  return to_text(tables, style);
}

std::string comparisons_table(const std::vector<ComparisonResult>& comparisons, const TerminalStyle& style) {
  Tables tables;
  for (const ComparisonResult& result : comparisons) {
    const CaseName& name = result.comparison.numerator;
    const std::string interval = result.low && result.high ? fmt::format("{:.3f} .. {:.3f}", *result.low, *result.high) : "-";
    add_row(tables, fmt::format("{} {}: {}", result.comparison.key, result.comparison.name, name.family),
            {{.heading = "times faster"}, {.heading = "95 % interval"}}, name, {fmt::format("{:.3f}", result.ratio), interval});
  }
  return to_text(tables, style);
}

}  // namespace roofmark
