// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/transfers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/transfer_matrices.hpp"
#include "harness/model/units.hpp"
#include "harness/present/grid.hpp"
#include "harness/present/matrix.hpp"

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
  // Behind it the source says what it is computed from.
  const std::size_t end = std::min(source.find(':'), source.find(" ("));
  return fmt::format("{} of {}", format_share(series.of_theoretical), source.substr(0, end));
}

/// What the links of the largest size lose by carrying at the same time.
std::string contention_of(const TransferSeries& series, const Transfers& transfers) {
  for (const LinkContention& found : transfers.contention) {
    if (found.together == series.largest) return fmt::format("{:.3f}", found.factor);
  }
  return "-";
}

/// A matrix with more cells replaces the rows of its series.
constexpr std::size_t kFewCells = 4;

/// Of each series the largest size.
std::vector<const TransferMatrix*> largest_matrices(const Transfers& transfers) {
  std::vector<const TransferMatrix*> largest;
  for (const TransferMatrix& matrix : transfers.matrices) {
    const auto same =
        std::find_if(largest.begin(), largest.end(), [&](const auto* other) { return other->name == matrix.name; });
    if (same == largest.end()) {
      largest.push_back(&matrix);
    } else if (matrix.bytes > (*same)->bytes) {
      *same = &matrix;
    }
  }
  return largest;
}

/// "NV18", "PIX"; empty where it is unknown.
std::string short_path(const std::optional<PeerPath>& path) {
  if (!path || !path->kind) return {};
  const std::string_view kind = abbreviation(*path->kind);
  return path->nvlinks > 0 ? fmt::format("{}{}", kind, path->nvlinks) : std::string(kind);
}

/// Rows send and columns receive. Each cell shows its path if the paths differ.
std::string matrix_of(const TransferMatrix& matrix, const TerminalStyle& style) {
  std::set<Endpoint> from, to;
  std::set<std::string> paths;
  std::map<std::pair<Endpoint, Endpoint>, const TransferMatrix::Cell*> cells;
  for (const TransferMatrix::Cell& cell : matrix.cells) {
    from.insert(cell.flow.from);
    to.insert(cell.flow.to);
    cells[{cell.flow.from, cell.flow.to}] = &cell;
    paths.insert(cell.path ? in_words(*cell.path) : std::string());
  }
  const auto ends = [](const std::set<Endpoint>& all) {
    std::vector<MatrixEnd> made;
    for (const Endpoint& end : all) made.push_back({name(end), "from " + name(end)});
    return made;
  };
  const auto text = [&](const TransferMatrix::Cell& cell) {
    const std::string path = paths.size() > 1 ? short_path(cell.path) : "";
    return giga(cell.bytes_per_second) + (path.empty() ? "" : " " + path);
  };
  const std::string by = matrix.staged                                  ? "; through host memory"
                         : paths.size() == 1 && !paths.begin()->empty() ? "; all by " + *paths.begin()
                                                                        : "";
  const std::string title = fmt::format("{}, {}{}", fmt::join(matrix.how, ", "), format_bytes(matrix.bytes), by);
  const std::vector<Endpoint> rows(from.begin(), from.end()), columns(to.begin(), to.end());
  std::string all = matrix_text(
      title + ", GB/s", ends(from), ends(to),
      [&](std::size_t row, std::size_t column) -> std::string {
        const auto found = cells.find({rows[row], columns[column]});
        return found == cells.end() ? "." : text(*found->second);
      },
      style);
  if (!all.empty()) return all;
  std::vector<const TransferMatrix::Cell*> worst;
  for (const TransferMatrix::Cell& cell : matrix.cells) worst.push_back(&cell);
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto* a, const auto* b) { return a->bytes_per_second < b->bytes_per_second; });
  std::vector<std::pair<std::string, std::string>> named;
  for (const auto* cell : worst) named.emplace_back(name(cell->flow.from) + " to " + name(cell->flow.to), text(*cell));
  return worst_cells_text(title, "GB/s", named, style);
}

}  // namespace

std::string transfers_text(const Transfers& transfers, const Roofline& roofline, const TerminalStyle& style) {
  std::set<std::string> in_matrices;
  std::string matrices;
  for (const TransferMatrix* matrix : largest_matrices(transfers)) {
    matrices += "\n" + matrix_of(*matrix, style);
    if (matrix->cells.size() <= kFewCells) continue;
    in_matrices.insert(matrix->series.begin(), matrix->series.end());
  }
  Grid grid{"transfers: rate of the largest size over the busiest link, per direction; fit: time = latency + bytes / slope",
            {{.heading = "link"},
             {.heading = "how", .is_shared = true, .speaks_for_itself = true},
             {.heading = "size", .leaves = 2},
             {.heading = "rate"},
             {.heading = "sum", .leaves = 6},
             {.heading = "of theor.", .is_text = true},
             {.heading = "of roof", .leaves = 9},
             {.heading = "together/alone", .leaves = 7},
             {.heading = "latency", .leaves = 8},
             {.heading = "slope", .leaves = 4},
             {.heading = "half at", .leaves = 5},
             {.heading = "r2", .leaves = 3},
             {.heading = "sizes", .leaves = 1}},
            2};
  for (const TransferSeries& series : transfers.series) {
    if (in_matrices.contains(series.name)) continue;
    const LatencyFit fit = series.fit.value_or(LatencyFit{});
    grid.rows.push_back({links_of(series), fmt::format("{}", fmt::join(series.how, ", ")), format_bytes(series.bytes),
                         format_rate(series.bytes_per_second, Unit::byte),
                         series.flows > 1 ? format_rate(series.sum_bytes_per_second, Unit::byte) : "-",
                         share_of(series, roofline), format_share(series.of_empirical), contention_of(series, transfers),
                         fit.latency_seconds ? format_seconds(*fit.latency_seconds) : "-",
                         fit.bytes_per_second ? format_rate(*fit.bytes_per_second, Unit::byte) : "-",
                         series.half_size_bytes ? format_bytes(*series.half_size_bytes) : "-", r2_text(fit.r2),
                         fit.points ? std::to_string(fit.points) : "-"});
  }
  std::set<std::string> left_out;
  std::string table = to_text(grid, style, &left_out);
  if (!table.empty()) table += left_out_text(left_out, style);
  return table.empty() && !matrices.empty() ? matrices.substr(1) : table + matrices;
}

}  // namespace roofmark
