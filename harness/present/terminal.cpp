// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "harness/model/units.hpp"
#include "harness/result/json.hpp"

namespace roofmark {

namespace {

using Row = std::vector<std::string>;

constexpr const char* kBoundBy = "bound by";

/// Columns that a UTF-8 text takes; the texts of this program hold no wide characters.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, width(line));
  return widest;
}

std::string paint(const TerminalStyle& style, const char* code, const std::string& text) {
  return style.colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
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
  std::string title = paint(style, "1", table.title);
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

TerminalStyle terminal_style(std::FILE* stream) {
  TerminalStyle style;
  const int file = ::fileno(stream);
  style.interactive = ::isatty(file) != 0;
  const char* no_color = std::getenv("NO_COLOR");
  style.colour = style.interactive && !(no_color && *no_color);
  winsize size{};
  if (style.interactive && ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.columns = size.ws_col;
  return style;
}

std::string align(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

Progress::Progress(TerminalStyle style, bool quiet, std::size_t cases)
    : style_(style), quiet_(quiet), cases_(cases), started_(steady_seconds()) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& case_name, std::string_view stage) {
  if (quiet_ || !style_.interactive) return;
  const double elapsed = steady_seconds() - started_;
  const std::string left =
      done_ ? format_duration(elapsed / double(done_) * double(cases_ - done_)) + " left" : std::string("starting");
  std::string line = fmt::format("[{}/{}] {}  {}  {}", done_ + 1, cases_, left, stage, case_name);
  if (line.size() >= std::size_t(style_.columns)) line.resize(std::size_t(style_.columns) - 1);
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::done(const Record& record) {
  ++done_;
  const bool bad = record.status == Status::wrong || record.status == Status::failed || record.status == Status::not_run;
  const bool repeated = record.status == Status::not_run && record.reason == std::exchange(last_reason_, record.reason);
  if (bad && !repeated) {
    clear();
    const std::string word = std::string(name(record.status));
    fmt::print(stderr, "{} {}: {}\n", paint(style_, "31", word == "not_run" ? "not run" : word), record.name, record.reason);
  }
  if (quiet_ || style_.interactive || bad) return;
  const std::string result =
      record.status == Status::ok ? format_seconds(record.measurement->summary.median) : std::string(name(record.status));
  fmt::print(stderr, "[{}/{}] {}  {}\n", done_, cases_, record.name, result);
}

void Progress::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

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

std::string roofline_plot(const Roofline& roofline, const std::vector<Record>& records, const TerminalStyle& style) {
  struct Point {
    double intensity, rate;
    char letter;
  };
  std::vector<Point> points;
  std::map<std::string, char> letters;
  for (const Record& record : records) {
    if (!record.placement || !record.placement->intensity || !record.placement->flops_per_second) continue;
    char& letter = letters[record.family];
    if (!letter) {
      letter = static_cast<char>(std::toupper(record.family.front()));
      for (const auto& [family, taken] : letters) {
        if (family != record.family && taken == letter) letter = static_cast<char>('0' + letters.size() % 10);
      }
    }
    points.push_back({*record.placement->intensity, *record.placement->flops_per_second, letter});
  }
  const Ceiling* memory = roofline.find(resource::dram);
  struct Roof {
    double rate;
    std::string title;
  };
  std::vector<Roof> roofs;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    const bool computes = ceiling.resource.unit == Unit::flop || ceiling.resource.unit == Unit::op;
    if (computes && ceiling.empirical()) roofs.push_back({*ceiling.empirical(), std::string(ceiling.resource.title)});
  }
  if (points.empty() || roofs.empty() || !memory || !memory->empirical()) return {};
  const double bandwidth = *memory->empirical();
  std::sort(roofs.begin(), roofs.end(), [](const Roof& a, const Roof& b) { return a.rate > b.rate; });

  const auto [least, most] = std::minmax_element(points.begin(), points.end(),
                                                 [](const Point& a, const Point& b) { return a.intensity < b.intensity; });
  const double x0 = std::log10(std::min(least->intensity, 0.1)) - 0.1;
  const double x1 = std::log10(std::max(most->intensity, 4 * roofs.front().rate / bandwidth));
  double floor_rate = bandwidth * std::pow(10, x0);
  for (const Point& point : points) floor_rate = std::min(floor_rate, point.rate);
  const double y0 = std::log10(floor_rate), y1 = std::log10(roofs.front().rate * 1.3);
  constexpr int kLabel = 12, kRows = 20;
  const int columns = std::clamp(style.columns, 60, 120) - kLabel - 2;
  const auto column = [&](double x) { return static_cast<int>(std::lround((std::log10(x) - x0) / (x1 - x0) * (columns - 1))); };
  const auto row = [&](double y) { return static_cast<int>(std::lround((y1 - std::log10(y)) / (y1 - y0) * (kRows - 1))); };
  std::vector<std::string> canvas(kRows, std::string(std::size_t(columns), ' '));
  const auto put = [&](int r, int c, char mark) {
    if (r >= 0 && r < kRows && c >= 0 && c < columns) canvas[std::size_t(r)][std::size_t(c)] = mark;
  };
  for (int c = 0; c < columns; ++c) {
    const double intensity = std::pow(10, x0 + (x1 - x0) * c / (columns - 1));
    if (bandwidth * intensity <= roofs.front().rate) put(row(bandwidth * intensity), c, '/');
    for (const Roof& roof : roofs) {
      if (bandwidth * intensity > roof.rate) put(row(roof.rate), c, '-');
    }
  }
  // Each roof's title stands where its line begins or, where it would not fit, ends with the line; unless another has taken the
  // row. Results gather at the right.
  std::vector<bool> titled(kRows, false);
  for (const Roof& roof : roofs) {
    const int r = row(roof.rate);
    if (titled[std::size_t(r)]) continue;
    titled[std::size_t(r)] = true;
    const int start = std::min(column(roof.rate / bandwidth) + 3, columns - static_cast<int>(roof.title.size()));
    for (std::size_t i = 0; i < roof.title.size(); ++i) put(r, start + static_cast<int>(i), roof.title[i]);
  }
  for (const Point& point : points) put(row(point.rate), column(point.intensity), point.letter);

  std::string text = "rate, FLOP/s (int8: op/s)\n";
  for (int r = 0; r < kRows; ++r) {
    const double rate = std::pow(10, y1 - (y1 - y0) * r / (kRows - 1));
    const std::string label = r % 4 == 0 ? format_rate(rate, Unit::flop) : "";
    text += fmt::format("{:>{}} |{}\n", label, kLabel, canvas[std::size_t(r)]);
  }
  text += std::string(kLabel + 1, ' ') + "+" + std::string(std::size_t(columns), '-') + "\n";
  std::string axis(std::size_t(columns) + 12, ' ');
  for (int exponent = static_cast<int>(std::ceil(x0)); exponent <= x1; ++exponent) {
    const std::string label = fmt::format("{:g}", std::pow(10, exponent));
    axis.replace(std::size_t(column(std::pow(10, exponent))), label.size(), label);
  }
  axis.erase(axis.find_last_not_of(' ') + 1);
  text += std::string(kLabel + 2, ' ') + axis + "  FLOP per byte\n";
  const std::string indent(kLabel, ' ');
  std::string legend = fmt::format("{}  / DRAM {}, measured", indent, format_rate(bandwidth, Unit::byte));
  for (const auto& [family, letter] : letters) {
    const std::string entry = fmt::format("  {} {}", letter, family);
    if (legend.size() + entry.size() > std::size_t(kLabel + 2 + columns)) text += std::exchange(legend, indent) + "\n";
    legend += entry;
  }
  return text + legend + "\n";
}

std::string findings_text(const std::vector<Finding>& findings, const TerminalStyle& style) {
  // Errors first; kinds of one severity in the order of the table.
  std::vector<FindingType> types(std::begin(kFindingTypes), std::end(kFindingTypes));
  std::stable_sort(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.severity > b.severity; });
  constexpr std::size_t kShown = 3;
  std::string text;
  for (const FindingType& type : types) {
    std::vector<const Finding*> same;
    for (const Finding& finding : findings) {
      if (finding.kind == type.kind) same.push_back(&finding);
    }
    if (same.empty()) continue;
    const std::string label =
        paint(style, type.severity == Severity::error ? "31" : "33", fmt::format("{}: {}", name(type.severity), type.id));
    for (std::size_t i = 0; i < std::min(same.size(), kShown); ++i) {
      text += fmt::format("{}  {}{}{}\n", label, same[i]->case_name, same[i]->case_name.empty() ? "" : ": ", same[i]->text);
    }
    if (same.size() > kShown) text += fmt::format("{}  and {} more like these\n", label, same.size() - kShown);
    text += fmt::format("  {}\n", type.advice);
  }
  return text;
}

std::string verdict_text(const std::vector<Record>& records, const TerminalStyle& style) {
  struct Word {
    Status status;
    const char* text;
    bool named;  ///< case by case; others once per reason
  };
  constexpr Word kWords[] = {{Status::ok, "ok", false},
                             {Status::wrong, "wrong", true},
                             {Status::failed, "failed", true},
                             {Status::not_run, "not run", false},
                             {Status::unsupported, "unsupported", false}};
  std::string text, counts;
  for (const auto& [status, word, named] : kWords) {
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
    std::size_t count = 0;
    for (const Record& record : records) {
      if (record.status != status) continue;
      ++count;
      auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == record.reason; });
      if (reason == reasons.end()) reason = reasons.insert(reasons.end(), {record.reason, {}});
      reason->second.push_back(record.name);
    }
    if (count) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, word);
    if (status == Status::ok || status == Status::unsupported) continue;
    const std::string label = paint(style, "31", word);
    for (const auto& [reason, names] : reasons) {
      const std::size_t listed = named ? names.size() : 1;
      for (std::size_t i = 0; i < listed; ++i) {
        const std::string others = listed < names.size() ? fmt::format(" and {} more", names.size() - listed) : "";
        text += fmt::format("{}  {}{}: {}\n", label, names[i], others, reason);
      }
    }
  }
  return text + counts + "\n";
}

std::string wall_time_text(const WallTime& wall, double total) {
  const double other = total - wall.timing - wall.warm_up - wall.preparation - wall.verification - wall.writing;
  const auto share = [&](double seconds) { return format_share(seconds / total); };
  return fmt::format("{} in all: timing {}, warm-up {}, preparation {}, verification {}, writing {}, other {}\n",
                     format_duration(total), share(wall.timing), share(wall.warm_up), share(wall.preparation),
                     share(wall.verification), share(wall.writing), share(other));
}

}  // namespace roofmark
