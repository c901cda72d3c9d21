// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/roofline_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "harness/model/units.hpp"

namespace roofmark {

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
    if (!is_arithmetic(ceiling.resource) || !(ceiling.empirical() > 0.0)) continue;
    roofs.push_back({*ceiling.empirical(), std::string(ceiling.resource.title)});
  }
  if (points.empty() || roofs.empty() || !memory || !(memory->empirical() > 0.0)) return {};
  const double bandwidth = *memory->empirical();
  std::sort(roofs.begin(), roofs.end(), [](const Roof& a, const Roof& b) { return a.rate > b.rate; });

  const auto [least, most] = std::minmax_element(points.begin(), points.end(),
                                                 [](const Point& a, const Point& b) { return a.intensity < b.intensity; });
  const double x0 = std::log10(std::min(least->intensity, 0.1)) - 0.1;
  const double x1 = std::log10(std::max(most->intensity, 4 * roofs.front().rate / bandwidth));
  double lowest = std::min(bandwidth * std::pow(10, x0), roofs.back().rate), highest = roofs.front().rate;
  for (const Point& point : points) {
    lowest = std::min(lowest, point.rate);
    highest = std::max(highest, point.rate);
  }
  const double y0 = std::log10(lowest), y1 = std::log10(highest * 1.3);
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
  // Each roof's title stands where its line begins in the plot or, where it would not fit, ends with the line; unless another
  // has taken the row. Results gather at the right.
  std::vector<bool> titled(kRows, false);
  for (const Roof& roof : roofs) {
    const int r = row(roof.rate);
    if (titled[std::size_t(r)]) continue;
    titled[std::size_t(r)] = true;
    const int start = std::clamp(column(roof.rate / bandwidth) + 3, 0, columns - static_cast<int>(roof.title.size()));
    for (std::size_t i = 0; i < roof.title.size(); ++i) put(r, start + static_cast<int>(i), roof.title[i]);
  }
  for (const Point& point : points) put(row(point.rate), column(point.intensity), point.letter);

  std::string text = "rate, FLOP/s (int8: op/s), over FLOP per byte\n";
  for (int r = 0; r < kRows; ++r) {
    const double rate = std::pow(10, y1 - (y1 - y0) * r / (kRows - 1));
    const std::string label = r % 4 == 0 ? format_rate(rate, Unit::flop) : "";
    text += fmt::format("{:>{}} |{}\n", label, kLabel, canvas[std::size_t(r)]);
  }
  text += std::string(kLabel + 1, ' ') + "+" + std::string(std::size_t(columns), '-') + "\n";
  std::string axis(std::size_t(columns), ' ');
  for (int exponent = static_cast<int>(std::ceil(x0)); exponent <= x1; ++exponent) {
    const std::string label = fmt::format("{:g}", std::pow(10, exponent));
    const std::size_t start = std::min(std::size_t(column(std::pow(10, exponent))), axis.size() - label.size());
    axis.replace(start, label.size(), label);
  }
  axis.erase(axis.find_last_not_of(' ') + 1);
  text += std::string(kLabel + 2, ' ') + axis + "\n";
  const std::string indent(kLabel, ' ');
  std::string legend = fmt::format("{}  / DRAM {}, measured", indent, format_rate(bandwidth, Unit::byte));
  for (const auto& [family, letter] : letters) {
    const std::string entry = fmt::format("  {} {}", letter, family);
    if (legend.size() + entry.size() > std::size_t(kLabel + 2 + columns)) text += std::exchange(legend, indent) + "\n";
    legend += entry;
  }
  return text + legend + "\n";
}

}  // namespace roofmark
