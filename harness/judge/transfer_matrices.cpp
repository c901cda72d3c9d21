// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/transfer_matrices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/judge/ranks/slow_pairs.hpp"
#include "harness/model/units.hpp"

namespace roofmark {
namespace {

using Ends = std::pair<Endpoint, Endpoint>;

/// The two ends of all flows, in order; absent of a transfer between more.
std::optional<Ends> ends_of(const Transfer& transfer) {
  std::optional<Ends> all;
  for (const Flow& flow : transfer.flows) {
    const Ends ends = std::minmax(flow.from, flow.to);
    if (all && *all != ends) return std::nullopt;
    all = ends;
  }
  return all;
}

/// An end as the one that sends or that receives.
struct Side {
  bool receives = false;
  Endpoint end;

  friend bool operator<(const Side& a, const Side& b) { return a.receives != b.receives ? b.receives : a.end < b.end; }
};
using SidePair = std::pair<Side, Side>;

std::string in_words(const Side& side) {
  return fmt::format("{} {}", side.receives ? "to" : "from", roofmark::in_words(side.end));
}
std::string in_words(const SidePair& pair) { return fmt::format("{} {}", in_words(pair.first), in_words(pair.second)); }

/// The kinds of path, each compared by itself. The host is reached in one way.
using PathClass = std::pair<int, int>;

/// Where something was worst, and in how many series it stood out.
struct Named {
  Outlier worst;
  std::string how;
  int sizes = 0, series = 0;
  std::map<PathClass, int> measured, slow;  ///< at how many sizes of all series

  /// A cell has no interval, so one measurement is chance where another could confirm it.
  bool is_sure() const {
    return std::any_of(slow.begin(), slow.end(),
                       [&](const auto& found) { return found.second >= std::min(measured.at(found.first), 2); });
  }

  void add(const Outlier& seen, const PathClass& kind, const std::string& in, int of_sizes) {
    ++series;
    slow[kind] += seen.times;
    if (seen.worst.times <= worst.worst.times) return;
    worst = seen;
    how = in;
    sizes = of_sizes;
  }
  /// "copy_engine_read, 268 MB, slow at 2 of 2 sizes; slow in 2 series"
  std::string place() const {
    return fmt::format("{}, {}{}{}", how, worst.where,
                       sizes > 1 ? fmt::format(", slow at {} of {} sizes", worst.times, sizes) : "",
                       series > 1 ? fmt::format("; slow in {} series", series) : "");
  }
};

/// GPUs that are wired one to one have pairs of several counts of NVLinks, and each count is a kind of its own. But a GPU all
/// of whose pairs have fewer links than others' has lost some, and one that has none, where three others or more are linked
/// each with each, has lost all: its pairs are compared with theirs.
class PathClasses {
 public:
  explicit PathClasses(const TransferMatrix& matrix) {
    for (const TransferMatrix::Cell& cell : matrix.cells) {
      if (!cell.path || !cell.path->kind) continue;
      for (const Endpoint& end : {cell.flow.from, cell.flow.to}) links_[end].insert(nvlinks_of(cell));
    }
    constexpr std::size_t kLeast = 4;
    const auto has_none = [](const auto& end) { return *end.second.rbegin() == 0; };
    if (links_.size() < kLeast || std::count_if(links_.begin(), links_.end(), has_none) != 1) return;
    const Endpoint lost = std::find_if(links_.begin(), links_.end(), has_none)->first;
    const bool others_are_linked = std::all_of(matrix.cells.begin(), matrix.cells.end(), [&](const TransferMatrix::Cell& cell) {
      return cell.flow.from == lost || cell.flow.to == lost || !cell.path || !cell.path->kind || nvlinks_of(cell) > 0;
    });
    if (others_are_linked) has_lost_all_ = lost;
  }

  PathClass of(const TransferMatrix::Cell& cell) const {
    if (!cell.path || !cell.path->kind) return {-1, 0};
    const bool has_lost_all = has_lost_all_ == cell.flow.from || has_lost_all_ == cell.flow.to;
    if (*cell.path->kind != PathKind::nvlink && !has_lost_all) return {static_cast<int>(*cell.path->kind), 0};
    const bool has_lost_some = is_alike(cell.flow.from) || is_alike(cell.flow.to);
    const int links = has_lost_some ? std::max(most_of(cell.flow.from), most_of(cell.flow.to)) : nvlinks_of(cell);
    return {static_cast<int>(PathKind::nvlink), links};
  }

 private:
  static int nvlinks_of(const TransferMatrix::Cell& cell) {
    return *cell.path->kind == PathKind::nvlink ? cell.path->nvlinks : 0;
  }
  int most_of(const Endpoint& end) const { return *links_.at(end).rbegin(); }
  bool is_alike(const Endpoint& end) const { return links_.at(end).size() == 1; }

  std::map<Endpoint, std::set<int>> links_;  ///< of the pairs of an end
  std::optional<Endpoint> has_lost_all_;
};

/// What the cells of a matrix are relative to: the median rate of those whose ends are as far apart.
class TypicalRates {
 public:
  explicit TypicalRates(const TransferMatrix& matrix) {
    std::map<std::optional<int>, std::vector<double>> rates;
    for (const TransferMatrix::Cell& cell : matrix.cells) rates[cell.node_distance].push_back(cell.bytes_per_second);
    for (const auto& [distance, all] : rates) medians_[distance] = median(all);
  }
  double of(const TransferMatrix::Cell& cell) const { return medians_.at(cell.node_distance); }

 private:
  std::map<std::optional<int>, double> medians_;
};

/// The series whose transfers connect several GPUs with their own and with far NUMA nodes at one size: their matrices have a
/// row or column per node, also for the one that is near a GPU.
class NodesByGpu {
 public:
  explicit NodesByGpu(const std::vector<const Record*>& transfers) {
    for (const Record* record : transfers) {
      const Transfer& transfer = *record->transfer;
      if (!transfer.host_node || !transfer.one_model) continue;
      Connected& ends = ends_[key_of(*record)];
      ends.has_far |= transfer.host_node->distance != HostNode::kOwn;
      const Flow& flow = transfer.flows.front();
      ends.gpus.insert(flow.from.kind == Endpoint::Kind::gpu ? flow.from : flow.to);
    }
  }
  bool have(const Record& record) const {
    if (!record.transfer->host_node) return false;
    const auto found = ends_.find(key_of(record));
    return found != ends_.end() && found->second.has_far && found->second.gpus.size() > 1;
  }
  static CaseName name_of(const Record& record) { return name_without(record, {"bytes", "gpu", "node"}); }

 private:
  struct Connected {
    bool has_far = false;
    std::set<Endpoint> gpus;
  };
  static std::pair<CaseName, std::size_t> key_of(const Record& record) { return {name_of(record), record.transfer->bytes}; }
  std::map<std::pair<CaseName, std::size_t>, Connected> ends_;
};

/// Of the sizes of one series.
void find_slow(const std::vector<const TransferMatrix*>& sizes, std::map<Side, Named>& ends, std::map<SidePair, Named>& pairs) {
  std::set<PathClass> classes;
  for (const TransferMatrix* matrix : sizes) {
    const PathClasses of_matrix(*matrix);
    for (const TransferMatrix::Cell& cell : matrix->cells) classes.insert(of_matrix.of(cell));
  }
  for (const PathClass& kind : classes) {
    std::map<Side, SlowAtSizes> slow_ends;
    std::map<SidePair, SlowAtSizes> slow_pairs;
    std::size_t judged = 0;
    int count = 0;
    for (const TransferMatrix* matrix : sizes) {
      const PathClasses of_matrix(*matrix);
      const TypicalRates typical(*matrix);
      PairsOf<Side> times;
      for (const TransferMatrix::Cell& cell : matrix->cells) {
        // Within a NUMA node a copy is another thing than between two.
        if (of_matrix.of(cell) != kind || cell.flow.from == cell.flow.to) continue;
        const double ratio = typical.of(cell) / cell.bytes_per_second;
        times[{Side{false, cell.flow.from}, Side{true, cell.flow.to}}] = {ratio, ratio, ratio};
      }
      if (times.empty()) continue;
      ++count;
      const std::map<Side, EndTimes> of_ends = times_of_ends(times);
      for (const auto& [end, time] : of_ends) ++ends[end].measured[kind];
      for (const auto& [pair, time] : times) ++pairs[pair].measured[kind];
      const std::string where = format_bytes(matrix->bytes);
      note_slow_ends(of_ends, {}, where, slow_ends);
      note_slow_pairs(times, of_ends, {}, {}, where, slow_pairs);
      judged = std::max(judged, of_ends.size());
    }
    const int often = least_slow_sizes(judged, count);
    const std::string how = fmt::format("{}", fmt::join(sizes.front()->how, ", "));
    for (const auto& [end, seen] : slow_ends) {
      if (seen.is_slow(often)) ends[end].add(seen, kind, how, count);
    }
    for (const auto& [pair, seen] : slow_pairs) {
      if (seen.is_slow(often)) pairs[pair].add(seen, kind, how, count);
    }
  }
}

/// The worst first.
template <class Who>
std::vector<std::pair<Who, Named>> named_in(const std::map<Who, Named>& named) {
  std::vector<std::pair<Who, Named>> all;
  std::copy_if(named.begin(), named.end(), std::back_inserter(all), [](const auto& one) { return one.second.is_sure(); });
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.worst.worst.times > b.second.worst.worst.times; });
  return all;
}

}  // namespace

std::string in_words(const Endpoint& end) {
  if (end.kind == Endpoint::Kind::gpu) return fmt::format("GPU {}", end.number);
  return end.number < 0 ? std::string("the host") : fmt::format("NUMA node {}", end.number);
}

std::string in_words(const PeerPath& path) {
  if (!path.kind) return {};
  switch (*path.kind) {
    case PathKind::nvlink:
      return path.nvlinks > 0 ? fmt::format("{} NVLink{}", path.nvlinks, path.nvlinks == 1 ? "" : "s") : "NVLink";
    case PathKind::board:
      return "one board";
    case PathKind::pcie_switch:
      return "one PCIe switch";
    case PathKind::pcie_switches:
      return "several PCIe switches";
    case PathKind::host_bridge:
      return "a PCIe host bridge";
    case PathKind::numa_node:
      return "PCIe host bridges of one NUMA node";
    case PathKind::system:
      break;
  }
  return "PCIe across NUMA nodes";
}

std::vector<std::string> how_of(const Record& record, const Keys& without) {
  std::vector<std::string> how;
  for (const auto& [key, value] : record.shape) {
    if (key == "bytes" || without.contains(key)) continue;
    const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
    const bool needs_key = is_number || value == "on" || value == "off" || value == "all";
    how.push_back(needs_key ? key + " " + value : value);
  }
  return how;
}

std::vector<std::string> how_in_words(const Record& record, const Keys& without) {
  std::vector<std::string> how = how_of(record, without);
  if (const std::string_view way = way_of(*record.transfer); !way.empty()) how.insert(how.begin(), std::string(way));
  return how;
}

namespace {

/// NVLink says nothing of the way through the host's memory.
std::optional<PeerPath> path_of(const Transfer& transfer) {
  std::optional<PeerPath> path = transfer.path;
  if (path && transfer.staged && path->kind == PathKind::nvlink) {
    path->kind.reset();
    path->nvlinks = 0;
  }
  return path;
}

}  // namespace

std::vector<TransferMatrix> matrices_of(const std::vector<const Record*>& transfers) {
  struct Made {
    TransferMatrix matrix;
    std::set<Ends> pairs = {};
  };
  std::vector<Made> all;
  const NodesByGpu nodes(transfers);
  for (const Record* record : transfers) {
    const Transfer& transfer = *record->transfer;
    const std::optional<Ends> ends = ends_of(transfer);
    if (!ends || !transfer.one_model) continue;
    const bool by_node = nodes.have(*record);
    const std::string name =
        (by_node ? NodesByGpu::name_of(*record) : name_without(*record, {"bytes", "from", "to", "gpu"})).name();
    const auto bytes = static_cast<double>(transfer.bytes);
    auto place = std::find_if(all.begin(), all.end(),
                              [&](const Made& made) { return made.matrix.name == name && made.matrix.bytes == bytes; });
    if (place == all.end()) {
      Keys keys = kEndKeys;
      if (by_node) keys.insert("node");
      place = all.insert(all.end(), Made{TransferMatrix{name, how_in_words(*record, keys), bytes, transfer.staged}});
    }
    place->pairs.insert(*ends);
    place->matrix.series.push_back(name_without(*record, {"bytes"}).name());
    const auto& node = transfer.host_node;
    for (Flow flow : transfer.flows) {
      for (Endpoint* const end : {&flow.from, &flow.to}) {
        if (by_node && end->kind == Endpoint::Kind::host) end->number = node->number;
      }
      place->matrix.cells.push_back({flow, bytes / record->measurement->summary.median, path_of(transfer),
                                     node ? std::optional(node->distance) : std::nullopt});
    }
  }
  std::vector<TransferMatrix> matrices;
  for (Made& made : all) {
    if (made.pairs.size() > 1) matrices.push_back(std::move(made.matrix));
  }
  return matrices;
}

bool compares_pairs(const TransferMatrix& matrix) {
  const PathClasses of_matrix(matrix);
  std::map<PathClass, std::set<Ends>> pairs;
  for (const TransferMatrix::Cell& cell : matrix.cells) {
    if (cell.flow.from != cell.flow.to) pairs[of_matrix.of(cell)].insert(std::minmax(cell.flow.from, cell.flow.to));
  }
  return std::any_of(pairs.begin(), pairs.end(), [](const auto& kind) { return kind.second.size() > 1; });
}

std::vector<Finding> slow_links(const std::vector<TransferMatrix>& matrices) {
  std::map<std::string, std::vector<const TransferMatrix*>> series;
  for (const TransferMatrix& matrix : matrices) series[matrix.name].push_back(&matrix);
  std::map<Side, Named> ends;
  std::map<SidePair, Named> pairs;
  for (const auto& [name, sizes] : series) find_slow(sizes, ends, pairs);
  std::vector<Finding> findings;
  const auto say = [&](std::string text, double times, std::string brief) {
    findings.push_back({FindingKind::slow_link, std::move(text), {}, times, std::move(brief)});
  };
  for (const auto& [end, named] : named_in(ends)) {
    const Deviation& worst = named.worst.worst;
    say(fmt::format("{}: its best transfer takes {:.2f} times the median of all endpoints{} ({})", in_words(end), worst.times,
                    words(worst), named.place()),
        worst.times, fmt::format("transfers {} ({:.2f} times the median)", in_words(end), worst.times));
  }
  for (const auto& [pair, named] : named_in(pairs)) {
    const Deviation& worst = named.worst.worst;
    say(fmt::format("{}: this transfer takes {:.2f} times what most transfers of either end take ({})", in_words(pair),
                    worst.times, named.place()),
        worst.times, fmt::format("transfers {} ({:.2f} times their time with other peers)", in_words(pair), worst.times));
  }
  return findings;
}

namespace {

std::vector<RefusedAccess> refused_in(const Transfer& transfer) {
  if (!transfer.path || transfer.path->refusal.empty()) return transfer.refused;
  const auto [one, other] = *ends_of(transfer);
  return {{one, other, transfer.path->refusal, transfer.path->by_design}};
}

}  // namespace

std::vector<Finding> refused_access(const std::vector<Record>& records) {
  struct Refused {
    bool by_design = true;
    std::set<Ends> pairs;
    std::map<std::size_t, std::vector<double>> staged;  // rates by size
  };
  std::map<std::string, Refused> by_reason;
  for (const Record& record : records) {
    if (!record.transfer || record.sets_ceiling) continue;
    for (const RefusedAccess& pair : refused_in(*record.transfer)) {
      Refused& refused = by_reason[pair.reason];
      refused.by_design &= pair.by_design;
      refused.pairs.emplace(pair.one, pair.other);
      if (record.status != Status::ok || !record.transfer->path) continue;
      const auto bytes = static_cast<double>(record.transfer->bytes);
      refused.staged[record.transfer->bytes].push_back(bytes / record.measurement->summary.median);
    }
  }
  std::vector<Finding> findings;
  for (const auto& [reason, refused] : by_reason) {
    const auto& [one, other] = *refused.pairs.begin();
    const std::size_t more = refused.pairs.size() - 1;
    const std::string staged = refused.staged.empty()
                                   ? std::string()
                                   : fmt::format(", at {}", format_rate(median(refused.staged.rbegin()->second), Unit::byte));
    findings.push_back(
        {refused.by_design ? FindingKind::no_peer_access : FindingKind::peer_access,
         fmt::format("{} and {}{} have no access to each other's memory ({}): copies between them go through host memory{}",
                     in_words(one), in_words(other),
                     more > 0 ? fmt::format(", and {} more pair{},", more, more == 1 ? "" : "s") : "", reason, staged),
         {},
         static_cast<double>(refused.pairs.size()),
         "GPUs have no access to each other's memory"});
  }
  return findings;
}

}  // namespace roofmark
