// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/transfers.hpp"

#include <fmt/format.h>

#include <string_view>

#include "harness/model/units.hpp"
#include "harness/present/grid.hpp"

namespace roofmark {
namespace {

constexpr double kStraight = 0.99;  ///< the smallest r2 of times that are called a line

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? std::string() : std::string(between)) + word;
  return text;
}

std::string name_of(const TransferSeries& series) {
  std::vector<std::string> links;
  for (const Resource& link : series.links) links.emplace_back(link.title);
  std::vector<std::string> words = {joined(links, " + ")};
  words.insert(words.end(), series.how.begin(), series.how.end());
  return joined(words, ", ");
}

/// "87.4 % of PCIe 5: 16 lanes x 32 GT/s".
std::string share_of(const TransferSeries& series, const Roofline& roofline) {
  const Ceiling* const ceiling = roofline.find(series.links.front());
  if (!series.of_theoretical || !ceiling) return "-";
  const std::string& source = ceiling->theoretical_source;
  return fmt::format("{} of {}", format_share(series.of_theoretical), source.substr(0, source.find(',')));
}

}  // namespace

std::string transfers_text(const Transfers& transfers, const Roofline& roofline, const TerminalStyle& style) {
  Grid grid{"transfers: bytes / time of the largest, in each direction; time = latency + bytes / rate over all sizes",
            {{.heading = "link"},
             {.heading = "size", .leaves = 2},
             {.heading = "reached"},
             {.heading = "of theor.", .is_text = true},
             {.heading = "of roof"},
             {.heading = "latency"},
             {.heading = "rate", .leaves = 4},
             {.heading = "half at", .leaves = 5},
             {.heading = "r2", .leaves = 3},
             {.heading = "sizes", .leaves = 1}}};
  for (const TransferSeries& series : transfers.series) {
    const LatencyFit fit = series.fit.value_or(LatencyFit{});
    grid.rows.push_back({name_of(series), format_bytes(series.bytes), format_rate(series.bytes_per_second, Unit::byte),
                         share_of(series, roofline), format_share(series.of_empirical),
                         fit.latency_seconds ? format_seconds(*fit.latency_seconds) : "-",
                         fit.bytes_per_second ? format_rate(*fit.bytes_per_second, Unit::byte) : "-",
                         series.half_size_bytes ? format_bytes(*series.half_size_bytes) : "-",
                         fit.r2 ? fmt::format("{:.4f}{}", *fit.r2, *fit.r2 < kStraight ? " (not linear)" : "") : "-",
                         fit.points ? std::to_string(fit.points) : "-"});
  }
  Grid shared{"links at the same time: what they carry together / the sum of what each carries alone",
              {{.heading = "case"}, {.heading = "together/alone"}}};
  for (const LinkContention& found : transfers.contention) {
    shared.rows.push_back({found.together, fmt::format("{:.3f}", found.factor)});
  }
  const std::string lines = to_text(grid, style), together = to_text(shared, style);
  return lines + (lines.empty() || together.empty() ? "" : "\n") + together;
}

}  // namespace roofmark
