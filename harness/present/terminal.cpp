// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "harness/model/units.hpp"
#include "harness/result/json.hpp"

namespace roofmark {

namespace {

using Row = std::vector<std::string>;

// Columns a UTF-8 text takes; the texts of this program hold no wide characters.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string paint(const TerminalStyle& style, const char* code, const std::string& text) {
  return style.colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

std::string rate_or_dash(std::optional<double> rate, Unit unit) { return rate ? format_rate(*rate, unit) : "-"; }

// Of a case's name what its family's table does not say already.
std::string within_family(const Record& record) { return record.name.substr(record.family.size() + 1); }

Unit unit_of_raised(const Record& record) { return record.raises ? record.raises->unit : Unit::flop; }

Row table_row(const Record& record) {
  const Measurement& measurement = *record.measurement;
  const Summary& summary = measurement.summary;
  const Placement placement = record.placement.value_or(Placement{});
  const std::string interval =
      summary.interval_low && summary.interval_high
          ? fmt::format("{:.2f} %", 50 * (*summary.interval_high - *summary.interval_low) / summary.median)
          : "-";
  // A probe of neither FLOPs nor bytes (exponentials, launches) shows its own unit in the FLOP column.
  std::optional<double> operations = placement.flops_per_second;
  Unit unit = record.work.total(Unit::op) > 0 ? Unit::op : Unit::flop;
  if (!operations && !placement.bytes_per_second && record.raises) {
    operations = record.work.total(*record.raises) / summary.median;
    unit = unit_of_raised(record);
  }
  return {within_family(record) + (record.pass == 2 ? " (again)" : ""),
          format_seconds(summary.median),
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
  if (bad) {
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
  std::vector<Row> rows = {{"ceiling", "id", "measured", "theoretical", "measured/theor.", "datasheet", "drift"}};
  for (const Ceiling& ceiling : roofline.ceilings()) {
    const Unit unit = ceiling.resource.unit;
    const auto empirical = ceiling.empirical();
    if (!empirical && !ceiling.theoretical) continue;
    rows.push_back({std::string(ceiling.resource.title), std::string(ceiling.resource.id), rate_or_dash(empirical, unit),
                    rate_or_dash(ceiling.theoretical, unit),
                    empirical && ceiling.theoretical ? format_share(*empirical / *ceiling.theoretical) : "-",
                    rate_or_dash(ceiling.datasheet, unit),
                    ceiling.drift() ? fmt::format("{:+.1f} %", 100 * *ceiling.drift()) : "-"});
  }
  return rows.size() > 1 ? align(rows) : "";
}

std::string records_table(const std::vector<Record>& records, const TerminalStyle& style) {
  std::vector<std::string> families;
  std::map<std::string, std::vector<Row>> tables;
  for (const Record& record : records) {
    if (record.status != Status::ok || record.pass == 2 || record.message) continue;
    std::vector<Row>& rows = tables[record.family];
    if (rows.empty()) {
      families.push_back(record.family);
      rows.push_back(
          {record.family, "median", "+- 95 %", "rate", "bandwidth", "FLOP/B", "bound by", "of roof", "of theor.", "clock"});
    }
    rows.push_back(table_row(record));
  }
  std::string text;
  for (const std::string& family : families) {
    std::string table = align(tables[family]);
    const auto line = table.find('\n');
    text += (text.empty() ? "" : "\n") + paint(style, "1", table.substr(0, line)) + table.substr(line);
  }
  return text;
}

std::string comparisons_table(const std::vector<ComparisonResult>& comparisons) {
  std::vector<Row> rows = {{"comparison", "key", "times faster", "95 % interval", "case"}};
  for (const ComparisonResult& result : comparisons) {
    rows.push_back({result.comparison.name, result.comparison.key, fmt::format("{:.3f}", result.ratio),
                    result.low && result.high ? fmt::format("{:.3f} .. {:.3f}", *result.low, *result.high) : "-",
                    result.comparison.numerator});
  }
  return comparisons.empty() ? "" : align(rows);
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

  std::string text = "FLOP/s (op/s), log\n";
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
  std::string legend;
  for (const auto& [family, letter] : letters) legend += fmt::format("  {} {}", letter, family);
  text += fmt::format("{}  / DRAM {}, measured{}\n", std::string(kLabel, ' '), format_rate(bandwidth, Unit::byte), legend);
  return text;
}

std::string findings_text(const std::vector<Finding>& findings, const TerminalStyle& style) {
  std::vector<std::string> kinds;
  std::map<std::string, std::vector<const Finding*>> by_kind;
  for (const Finding& finding : findings) {
    if (by_kind[finding.kind].empty()) kinds.push_back(finding.kind);
    by_kind[finding.kind].push_back(&finding);
  }
  constexpr std::size_t kShown = 3;
  std::string text;
  for (const std::string& kind : kinds) {
    const auto& same = by_kind[kind];
    for (std::size_t i = 0; i < std::min(same.size(), kShown); ++i) {
      const std::string of = same[i]->case_name.empty() ? "" : same[i]->case_name + ": ";
      text += paint(style, "33", kind) + "  " + of + same[i]->text + "\n";
    }
    if (same.size() > kShown)
      text += fmt::format("{}  and {} more like these\n", paint(style, "33", kind), same.size() - kShown);
  }
  return text;
}

std::string wall_time_text(const WallTime& wall, double total) {
  const double other = total - wall.timing - wall.warm_up - wall.preparation - wall.verification - wall.writing;
  const auto share = [&](double seconds) { return format_share(seconds / total); };
  return fmt::format("{} in all: timing {}, warm-up {}, preparation {}, verification {}, writing {}, other {}\n",
                     format_duration(total), share(wall.timing), share(wall.warm_up), share(wall.preparation),
                     share(wall.verification), share(wall.writing), share(other));
}

}  // namespace roofmark
