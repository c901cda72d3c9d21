// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/transfers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "harness/model/units.hpp"
#include "harness/present/grid.hpp"

namespace roofmark {
namespace {

std::string links_of(const TransferSeries& series) {
  std::vector<std::string_view> titles;
  for (const Resource& link : series.links) titles.push_back(link.title);
  return fmt::format("{}", fmt::join(titles, " + "));
}

/// "87.4 % of PCIe 5 x16".
std::string share_of(const TransferSeries& series, const Roofline& roofline) {
  const Ceiling* const ceiling = roofline.find(series.links.front());
  if (!series.of_theoretical || !ceiling) return "-";
  const std::string& source = ceiling->theoretical_source;
  return fmt::format("{} of {}", format_share(series.of_theoretical), source.substr(0, source.find(':')));
}

/// What the links of the largest size lose by carrying at the same time.
std::string contention_of(const TransferSeries& series, const Transfers& transfers) {
  for (const LinkContention& found : transfers.contention) {
    if (found.together == series.largest) return fmt::format("{:.3f}", found.factor);
  }
  return "-";
}

}  // namespace

std::string transfers_text(const Transfers& transfers, const Roofline& roofline, const TerminalStyle& style) {
  Grid grid{"transfers: rate of the largest, in each direction; over all sizes, time = latency + bytes / slope",
            {{.heading = "link"},
             {.heading = "how", .is_shared = true, .speaks_for_itself = true},
             {.heading = "size", .leaves = 2},
             {.heading = "rate"},
             {.heading = "of theor.", .is_text = true},
             {.heading = "of roof"},
             {.heading = "together/alone"},
             {.heading = "latency"},
             {.heading = "slope", .leaves = 4},
             {.heading = "half at", .leaves = 5},
             {.heading = "r2", .leaves = 3},
             {.heading = "sizes", .leaves = 1}},
            2};
  for (const TransferSeries& series : transfers.series) {
    const LatencyFit fit = series.fit.value_or(LatencyFit{});
    grid.rows.push_back({links_of(series), fmt::format("{}", fmt::join(series.how, ", ")), format_bytes(series.bytes),
                         format_rate(series.bytes_per_second, Unit::byte), share_of(series, roofline),
                         format_share(series.of_empirical), contention_of(series, transfers),
                         fit.latency_seconds ? format_seconds(*fit.latency_seconds) : "-",
                         fit.bytes_per_second ? format_rate(*fit.bytes_per_second, Unit::byte) : "-",
                         series.half_size_bytes ? format_bytes(*series.half_size_bytes) : "-", r2_text(fit.r2),
                         fit.points ? std::to_string(fit.points) : "-"});
  }
  return to_text(grid, style);
}

}  // namespace roofmark
