// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/communication.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "harness/model/statistics.hpp"
#include "harness/model/units.hpp"

namespace roofmark {

namespace {

constexpr double kDeviations = 5;
// One size alone may be a neighbour's noise: named is who is slow at a third of them, and at two where there are as many.
constexpr int kSlowSizes = 2;
constexpr double kSlow = 1.1;  ///< times the median
// Of fewer, the deviation is itself too uncertain to name anybody by it.
constexpr std::size_t kMany = 7;
constexpr double kSlowOfFew = 1.25;
constexpr double kSlowPair = 1.2;  ///< times what its ranks' scores explain
constexpr double kSlowCases = 0.05;
constexpr double kSameSize = 0.02;
constexpr int kFitRounds = 20;

using Records = std::vector<const Record*>;
using Groups = std::vector<std::vector<int>>;

std::string name_without(const Record& record, const std::set<std::string_view>& left_out) {
  Shape shape;
  for (const auto& entry : record.shape) {
    if (!left_out.contains(entry.first)) shape.push_back(entry);
  }
  return case_name(record.family, record.operation, record.type, shape);
}

/// The ok records with a message, but for the two families that say more together than apart.
bool is_collective(const Record& record) {
  return bus_bandwidth(record) && record.family != "ping_pong" && record.family != "overlap";
}

/// In the order of their first records.
std::vector<std::pair<std::string, Records>> series_of(const std::vector<Record>& records,
                                                       const std::set<std::string_view>& left_out) {
  std::vector<std::pair<std::string, Records>> all;
  std::map<std::string, std::size_t> places;
  for (const Record& record : records) {
    if (!is_collective(record)) continue;
    const std::string name = name_without(record, left_out);
    const auto [place, fresh] = places.emplace(name, all.size());
    if (fresh) all.emplace_back(name, Records());
    all[place->second].second.push_back(&record);
  }
  return all;
}

std::optional<LatencyFit> fit(std::string series, const std::map<std::size_t, double>& seconds, double bus_factor) {
  std::vector<double> x, y;
  for (const auto& [bytes, time] : seconds) {
    x.push_back(static_cast<double>(bytes));
    y.push_back(time);
  }
  std::vector<double> fitted = y;
  std::optional<Line> line;
  for (int round = 0; round < kFitRounds; ++round) {
    std::vector<double> weights;
    for (const double time : fitted) weights.push_back(1 / (time * time));
    line = fit_line(x, y, weights, 0);  // no message arrives before it is sent
    if (!line) return std::nullopt;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double time = line->intercept + line->slope * x[i];
      fitted[i] = time > 0 ? time : y[i];
    }
  }
  LatencyFit made{std::move(series), {}, {}, {}, {}, static_cast<int>(seconds.size())};
  if (line->intercept > 0) made.latency_seconds = line->intercept;
  if (line->slope > 0) {
    made.bytes_per_second = 1 / line->slope;
    if (bus_factor > 0) made.bus_bytes_per_second = bus_factor / line->slope;
  }
  if (seconds.size() > 2) made.r2 = line->r2;
  return made;
}

/// Times by size and pair, a < b.
using PairTimes = std::map<std::size_t, std::map<std::pair<int, int>, double>>;

PairTimes pair_times(const std::vector<Record>& records) {
  PairTimes times;
  for (const Record& record : records) {
    if (record.family != "ping_pong" || !bus_bandwidth(record)) continue;
    const Message& message = *record.message;
    const std::vector<std::optional<RankTimes>>& ranks = record.measurement->ranks;
    for (const std::vector<int>& pair : message.groups) {
      if (pair.size() != 2) continue;
      const auto [a, b] = std::minmax(pair[0], pair[1]);
      if (a < 0 || static_cast<std::size_t>(b) >= ranks.size()) continue;
      const auto &one = ranks[static_cast<std::size_t>(a)], &other = ranks[static_cast<std::size_t>(b)];
      if (!one || !other) continue;
      const double seconds = std::max(one->median, other->median) / message.trips;
      if (!(seconds > 0)) continue;
      const auto [place, fresh] = times[message.bytes].emplace(std::pair(a, b), seconds);
      if (!fresh) place->second = std::min(place->second, seconds);  // the better of two ways
    }
  }
  return times;
}

/// The hosts' names by rank; a rank that is not known has none.
struct Hosts {
  explicit Hosts(const std::vector<RankInfo>& members) {
    for (const RankInfo& member : members) {
      names[member.rank] = member.host;
      ranks[member.host].push_back(member.rank);
    }
  }
  std::string of(int rank) const {
    const auto found = names.find(rank);
    return found == names.end() ? std::string() : found->second;
  }
  bool several_on(const std::string& host) const {
    const auto found = ranks.find(host);
    return found != ranks.end() && found->second.size() > 1;
  }
  bool same(const std::pair<int, int>& pair) const { return of(pair.first) == of(pair.second); }
  std::string describe(int rank) const {
    const std::string host = of(rank);
    return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, host);
  }

  std::map<int, std::string> names;
  std::map<std::string, std::vector<int>> ranks;
};

constexpr const char* kKinds[] = {"between hosts", "within a host"};

void fit_pairs(const std::vector<Record>& records, const PairTimes& times, const Hosts& hosts, std::vector<LatencyFit>& fits) {
  for (const bool within : {true, false}) {
    std::map<std::size_t, double> medians;
    for (const auto& [bytes, pairs] : times) {
      std::vector<double> seconds;
      for (const auto& [pair, time] : pairs) {
        if (hosts.same(pair) == within) seconds.push_back(time);
      }
      if (!seconds.empty()) medians[bytes] = median(std::move(seconds));
    }
    if (medians.size() < 2) continue;
    const auto first =
        std::find_if(records.begin(), records.end(), [](const Record& record) { return record.family == "ping_pong"; });
    if (auto made = fit(name_without(*first, {"bytes", "round"}) + ", " + kKinds[within], medians, 1)) fits.push_back(*made);
  }
}

/// 0 where a family is no collective that a ring could do.
int ring_steps(const std::string& family, int ranks) {
  if (family == "all_reduce") return 2 * (ranks - 1);
  if (family == "send_recv") return 1;
  for (const char* other : {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter", "broadcast", "reduce"}) {
    if (family == other) return ranks - 1;
  }
  return 0;
}

class Rings {
 public:
  Rings(const std::vector<Record>& records, const PairTimes& times) : times_(times) {
    for (const auto& [name, same] : series_of(records, {"bytes"})) {
      if (same.front()->family != "send_recv") continue;
      if (auto made = fit_of(name, same); made && made->bytes_per_second) sources_.emplace_back(same.front(), *made);
    }
  }

  static std::optional<LatencyFit> fit_of(const std::string& name, const Records& same) {
    std::map<std::size_t, double> seconds;
    for (const Record* record : same) seconds[record->message->bytes] = bus_bandwidth(*record)->seconds;
    return fit(name, seconds, same.front()->message->bus_factor);
  }

  /// Latency and rate of the neighbours of the rings that a record's ranks make.
  std::optional<LatencyFit> of(const Record& record) {
    const Message& message = *record.message;
    const LatencyFit* best = nullptr;
    std::ptrdiff_t most = -1;
    for (const auto& [source, made] : sources_) {
      if (value_of(source->shape, "impl") != value_of(record.shape, "impl") || source->message->ranks != message.ranks ||
          source->message->groups != message.groups) {
        continue;
      }
      // Of several the one that is done most alike.
      const auto alike = (source->type == record.type) +
                         std::count_if(record.shape.begin(), record.shape.end(), [&, from = source](const auto& entry) {
                           return std::find(from->shape.begin(), from->shape.end(), entry) != from->shape.end();
                         });
      if (alike > most) {
        most = alike;
        best = &made;
      }
    }
    if (best) return record.family == "send_recv" ? std::nullopt : std::optional(*best);
    Groups groups = message.groups;
    if (groups.empty()) {
      groups.emplace_back();
      for (int rank = 0; rank < message.ranks; ++rank) groups.back().push_back(rank);
    }
    const auto [known, fresh] = by_pairs_.try_emplace(groups);
    if (fresh) known->second = neighbours(groups);
    return known->second;
  }

 private:
  std::optional<LatencyFit> neighbours(const Groups& groups) const {
    std::map<std::size_t, double> slowest;
    for (const auto& [bytes, pairs] : times_) {
      double seconds = 0;
      bool whole = true;
      for (const std::vector<int>& ring : groups) {
        for (std::size_t i = 0; i < ring.size() && ring.size() > 1; ++i) {
          const auto pair = std::minmax(ring[i], ring[(i + 1) % ring.size()]);
          const auto found = pairs.find({pair.first, pair.second});
          whole = whole && found != pairs.end();
          if (found != pairs.end()) seconds = std::max(seconds, found->second);
        }
      }
      if (whole && seconds > 0) slowest[bytes] = seconds;
    }
    auto made = fit({}, slowest, 1);
    return made && made->bytes_per_second ? made : std::nullopt;
  }

  const PairTimes& times_;
  std::vector<std::pair<const Record*, LatencyFit>> sources_;
  std::map<Groups, std::optional<LatencyFit>> by_pairs_;
};

std::vector<ScalingRow> scaling_of(const std::string& series, const Records& records) {
  std::vector<ScalingRow> rows;
  int smallest = std::numeric_limits<int>::max();
  std::set<int> teams;
  for (const Record* record : records) {
    const BusBandwidth bandwidth = *bus_bandwidth(*record);
    rows.push_back({series, record->message->ranks, record->message->bytes, bandwidth.seconds, bandwidth.busbw, {}, {}});
    teams.insert(rows.back().ranks);
    if (rows.back().ranks > 1) smallest = std::min(smallest, rows.back().ranks);
  }
  if (teams.size() < 2) return {};
  std::stable_sort(rows.begin(), rows.end(), [](const ScalingRow& a, const ScalingRow& b) {
    return std::pair(a.ranks, a.bytes) < std::pair(b.ranks, b.bytes);
  });
  const auto efficiency = [&](const ScalingRow& row, double bytes) -> std::optional<double> {
    const ScalingRow* nearest = nullptr;
    const auto distance = [&](const ScalingRow& other) { return std::abs(static_cast<double>(other.bytes) - bytes); };
    for (const ScalingRow& other : rows) {
      if (other.ranks == smallest && (!nearest || distance(other) < distance(*nearest))) nearest = &other;
    }
    if (!nearest || distance(*nearest) > kSameSize * bytes || !(nearest->busbw > 0)) return std::nullopt;
    return row.busbw / nearest->busbw;
  };
  for (ScalingRow& row : rows) {
    if (row.ranks < smallest) continue;
    const auto bytes = static_cast<double>(row.bytes);
    row.strong_efficiency = efficiency(row, bytes);
    row.weak_efficiency = efficiency(row, bytes * smallest / row.ranks);
  }
  return rows;
}

std::vector<Overlap> overlaps_of(const std::vector<Record>& records) {
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, const Summary*>> found;
  for (const Record& record : records) {
    if (record.family != "overlap" || record.status != Status::ok) continue;
    const std::string series = case_name(record.family, "", record.type, record.shape);
    if (!found.contains(series)) order.push_back(series);
    found[series][record.operation] = &record.measurement->summary;
  }
  std::vector<Overlap> overlaps;
  for (const std::string& series : order) {
    const auto& parts = found[series];
    if (!parts.contains("gemm") || !parts.contains("all_reduce") || !parts.contains("both")) continue;
    Overlap overlap;
    overlap.series = series;
    overlap.work_seconds = parts.at("gemm")->median;
    overlap.communication_seconds = parts.at("all_reduce")->median;
    overlap.together_seconds = parts.at("both")->median;
    overlap.hidden =
        (overlap.work_seconds + overlap.communication_seconds - overlap.together_seconds) / overlap.communication_seconds;
    double square = 0;
    bool known = true;
    for (const auto& [operation, summary] : parts) {
      known = known && summary->interval_low && summary->interval_high;
      if (!known) break;
      const double half = (*summary->interval_high - *summary->interval_low) / 2;
      square += half * half;
    }
    if (known) overlap.hidden_half_width = std::sqrt(square) / overlap.communication_seconds;
    if (overlap.work_seconds >= overlap.communication_seconds) {
      overlap.slow_down = overlap.together_seconds / overlap.work_seconds - 1;
    }
    overlaps.push_back(std::move(overlap));
  }
  return overlaps;
}

/// How far above the median of all a value stands.
struct Deviation {
  double times = 1;            ///< the median
  std::optional<double> mads;  ///< absent where the median absolute deviation is 0
};

std::optional<Deviation> stands_out(double value, const std::vector<double>& all, double least_times) {
  if (all.size() < 3) return std::nullopt;
  if (all.size() < kMany) least_times = std::max(least_times, kSlowOfFew);
  const double centre = median(all), spread = scaled_median_absolute_deviation(all);
  if (!(centre > 0) || !(value > least_times * centre)) return std::nullopt;
  if (spread == 0) return Deviation{value / centre, {}};
  const double mads = (value - centre) / spread;
  return mads > kDeviations ? std::optional(Deviation{value / centre, mads}) : std::nullopt;
}

std::string words(const Deviation& deviation) {
  return deviation.mads ? fmt::format(", {:.0f} MADs above it", *deviation.mads) : std::string();
}

/// How often something stood out, and where by most.
struct Seen {
  int times = 0;
  Deviation worst{0, {}};
  std::string where;

  void add(const Deviation& deviation, const std::string& place) {
    ++times;
    if (deviation.times <= worst.times) return;
    worst = deviation;
    where = place;
  }
};

template <class Who>
std::vector<std::pair<Who, Seen>> worst_first(const std::map<Who, Seen>& seen) {
  std::vector<std::pair<Who, Seen>> all(seen.begin(), seen.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.worst.times > b.second.worst.times; });
  return all;
}

template <class Key>
std::vector<double> values_of(const std::map<Key, double>& map) {
  std::vector<double> values;
  for (const auto& [key, value] : map) values.push_back(value);
  return values;
}

/// Those whose value stands out, noted in `seen`.
template <class Key>
void note_slow(const std::map<Key, double>& values, double least_times, const std::string& where, std::map<Key, Seen>& seen) {
  const std::vector<double> all = values_of(values);
  for (const auto& [key, value] : values) {
    if (const auto deviation = stands_out(value, all, least_times)) seen[key].add(*deviation, where);
  }
}

template <class Key>
void keep_least(std::map<Key, double>& values, const Key& key, double value) {
  const auto [place, fresh] = values.emplace(key, value);
  if (!fresh) place->second = std::min(place->second, value);
}

/// What each took over the median of all, at one size or in one case after another.
template <class Key>
class Ratios {
 public:
  void add(const std::map<Key, double>& values) {
    if (values.size() < 2) return;
    const double centre = median(values_of(values));
    if (!(centre > 0)) return;
    for (const auto& [key, value] : values) {
      if (!(value > 0)) continue;
      Sum& sum = sums_[key];
      sum.logs += std::log(value / centre);
      ++sum.count;
    }
  }

  std::optional<Slowest> slowest(std::string of, const std::function<std::string(const Key&)>& describe) const {
    std::map<Key, double> means;
    for (const auto& [key, sum] : sums_) means[key] = std::exp(sum.logs / sum.count);
    if (means.size() < 2) return std::nullopt;
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [fastest, worst] = std::minmax_element(means.begin(), means.end(), less);
    const std::vector<double> all = values_of(means);
    const double centre = median(all), spread = scaled_median_absolute_deviation(all);
    Slowest made{std::move(of),          describe(worst->first),          static_cast<int>(means.size()),
                 worst->second / centre, worst->second / fastest->second, {}};
    if (spread > 0 && all.size() > 2) made.mads = (worst->second - centre) / spread;
    return made;
  }

 private:
  struct Sum {
    double logs = 0;
    int count = 0;
  };
  std::map<Key, Sum> sums_;
};

/// The slowest rank and, where hosts have several ranks, the slowest host.
void add_slowest(const Ratios<int>& ranks, const Ratios<std::string>& nodes, const Hosts& hosts, const std::string& how,
                 std::vector<Slowest>& slowest) {
  const auto several =
      std::any_of(hosts.ranks.begin(), hosts.ranks.end(), [](const auto& host) { return host.second.size() > 1; });
  if (several) {
    if (auto found = nodes.slowest("hosts, " + how, [](const std::string& node) { return node; })) slowest.push_back(*found);
  }
  if (auto found = ranks.slowest("ranks, " + how, [&](const int& rank) { return hosts.describe(rank); })) {
    slowest.push_back(*found);
  }
}

void find_slow_pairs(const PairTimes& times, const Hosts& hosts, bool within, Communication& made) {
  std::vector<Finding>& findings = made.findings;
  Ratios<int> rank_ratios;
  Ratios<std::string> node_ratios;
  std::size_t judged = 0;  // of the ranks, the most at any size
  std::map<int, Seen> ranks;
  std::map<std::string, Seen> nodes;
  std::map<std::pair<int, int>, Seen> links;
  int sizes = 0;
  for (const auto& [bytes, pairs] : times) {
    std::map<int, double> rank_scores;
    std::map<std::string, double> node_scores;
    for (const auto& [pair, seconds] : pairs) {
      if (hosts.same(pair) != within) continue;
      for (const int rank : {pair.first, pair.second}) {
        keep_least(rank_scores, rank, seconds);
        keep_least(node_scores, hosts.of(rank), seconds);
      }
    }
    if (rank_scores.empty()) continue;
    ++sizes;
    const std::string where = format_bytes(static_cast<double>(bytes));
    note_slow(rank_scores, kSlow, where, ranks);
    note_slow(node_scores, kSlow, where, nodes);
    judged = std::max(judged, rank_scores.size());
    rank_ratios.add(rank_scores);
    if (!within) node_ratios.add(node_scores);
    std::map<std::pair<int, int>, double> excesses;
    for (const auto& [pair, seconds] : pairs) {
      if (hosts.same(pair) == within) {
        excesses[pair] = seconds / std::max(rank_scores.at(pair.first), rank_scores.at(pair.second));
      }
    }
    const std::vector<double> all = values_of(excesses);
    for (const auto& [pair, excess] : excesses) {
      if (!(excess > kSlowPair)) continue;
      // Said is how far it is from what its ranks explain, and by what it stands out among the others of its kind.
      if (const auto deviation = stands_out(excess, all, 1)) links[pair].add({excess, deviation->mads}, where);
    }
  }
  // Two ranks have one pair: it is neither's.
  if (judged > 2)
    add_slowest(rank_ratios, node_ratios, hosts, fmt::format("by the best pair {}", kKinds[within]), made.slowest);
  const int often = judged < kMany ? (sizes + 1) / 2 : std::min(sizes, std::max(kSlowSizes, (sizes + 2) / 3));
  const auto seldom = [&](const auto& seen) { return seen.second.times < often; };
  std::erase_if(nodes, [&](const auto& node) { return !hosts.several_on(node.first) || seldom(node); });
  std::erase_if(ranks, [&](const auto& rank) { return nodes.contains(hosts.of(rank.first)) || seldom(rank); });
  std::erase_if(links, seldom);
  const auto of_sizes = [&](const Seen& seen) {
    return fmt::format("{}{}", seen.where, sizes > 1 ? fmt::format(", slow at {} of {} sizes", seen.times, sizes) : "");
  };
  for (const auto& [node, seen] : worst_first(nodes)) {
    findings.push_back({FindingKind::slow_node,
                        fmt::format("{}: its best pair {} takes {:.2f} times the median of the hosts{} ({})", node,
                                    kKinds[within], seen.worst.times, words(seen.worst), of_sizes(seen)),
                        {}});
  }
  for (const auto& [rank, seen] : worst_first(ranks)) {
    findings.push_back({FindingKind::slow_rank,
                        fmt::format("{}: its best pair {} takes {:.2f} times the median of the ranks{} ({})",
                                    hosts.describe(rank), kKinds[within], seen.worst.times, words(seen.worst), of_sizes(seen)),
                        {}});
  }
  for (const auto& [pair, seen] : worst_first(links)) {
    findings.push_back({FindingKind::slow_link,
                        fmt::format("{} and {}: this pair takes {:.2f} times what the best pairs of the two explain ({})",
                                    hosts.describe(pair.first), hosts.describe(pair.second), seen.worst.times, of_sizes(seen)),
                        {}});
  }
}

void find_slow_in_suite(const std::vector<Record>& records, const Hosts& hosts, Communication& made) {
  std::vector<Finding>& findings = made.findings;
  Ratios<int> rank_ratios;
  Ratios<std::string> node_ratios;
  std::map<int, Seen> ranks;
  std::map<std::string, Seen> nodes;
  int cases = 0;
  for (const Record& record : records) {
    // Of an overlap the ranks do some together.
    if (record.status != Status::ok || record.message || record.family == "overlap") continue;
    if (record.measurement->ranks.size() < 2) continue;
    ++cases;
    std::map<int, double> medians;
    std::map<std::string, std::vector<double>> of_nodes;
    for (std::size_t i = 0; i < record.measurement->ranks.size(); ++i) {
      if (!record.measurement->ranks[i]) continue;
      const int rank = static_cast<int>(i);
      medians[rank] = record.measurement->ranks[i]->median;
      of_nodes[hosts.of(rank)].push_back(medians[rank]);
    }
    std::map<std::string, double> node_medians;
    for (auto& [node, values] : of_nodes) node_medians[node] = median(std::move(values));
    note_slow(medians, kSlow, record.name, ranks);
    note_slow(node_medians, kSlow, record.name, nodes);
    rank_ratios.add(medians);
    node_ratios.add(node_medians);
  }
  add_slowest(rank_ratios, node_ratios, hosts, "each alone", made.slowest);
  const auto seldom = [&](const auto& seen) { return seen.second.times < kSlowCases * cases; };
  std::erase_if(nodes, [&](const auto& node) { return !hosts.several_on(node.first) || seldom(node); });
  std::erase_if(ranks, [&](const auto& rank) { return nodes.contains(hosts.of(rank.first)) || seldom(rank); });
  const auto say = [&](FindingKind kind, const std::string& who, const char* whom, const Seen& seen) {
    findings.push_back(
        {kind,
         fmt::format("{}: slower than the median of the {} in {} of {} cases that every rank ran alone; the worst "
                     "takes {:.2f} times the median{}: {}",
                     who, whom, seen.times, cases, seen.worst.times, words(seen.worst), seen.where),
         {}});
  };
  for (const auto& [node, seen] : worst_first(nodes)) say(FindingKind::slow_node, node, "hosts", seen);
  for (const auto& [rank, seen] : worst_first(ranks)) say(FindingKind::slow_rank, hosts.describe(rank), "ranks", seen);
}

void find_fingerprints(const std::vector<Record>& records, const Hosts& hosts, std::vector<Finding>& findings) {
  constexpr std::size_t shown = 3;
  std::map<int, std::vector<std::string>> cases;
  int compared = 0;
  bool majority = true;
  for (const Record& record : records) {
    if (!record.fingerprint) continue;
    const std::vector<int>& differing = record.fingerprint->differing_ranks;
    if (record.fingerprint->deterministic || !differing.empty()) ++compared;
    majority = majority && 2 * differing.size() < hosts.names.size();
    for (const int rank : differing) cases[rank].push_back(record.name);
  }
  for (const auto& [rank, names] : cases) {
    const std::size_t listed = std::min(names.size(), shown);
    const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(listed));
    findings.push_back({FindingKind::fingerprint,
                        fmt::format("{}: other bits than {} in {} of {} cases, which points at silent data corruption: {}{}",
                                    hosts.describe(rank), majority ? "most ranks" : "others (any of them may be the wrong one)",
                                    names.size(), compared, fmt::join(first, ", "), names.size() > listed ? ", ..." : ""),
                        {}});
  }
}

}  // namespace

std::optional<BusBandwidth> bus_bandwidth(const Record& record) {
  if (record.status != Status::ok || !record.message || !record.measurement) return std::nullopt;
  BusBandwidth made;
  made.seconds = record.measurement->summary.median / record.message->trips;
  if (!(made.seconds > 0) || !std::isfinite(made.seconds)) return std::nullopt;
  made.algbw = static_cast<double>(record.message->bytes) / made.seconds;
  made.busbw = made.algbw * record.message->bus_factor;
  return made;
}

std::optional<double> switched_share(const Record& record) {
  if (!record.message || !record.message->switched_bytes || !record.placement) return std::nullopt;
  const Placement& placement = *record.placement;
  const std::optional<double> share = placement.of_empirical ? placement.of_empirical : placement.of_theoretical;
  for (const Resource& link : {resource::nvlink, resource::pcie}) {
    const double bytes = record.work.total(link);
    if (share && placement.bound_by == link.id && bytes > 0) return *share * *record.message->switched_bytes / bytes;
  }
  return std::nullopt;
}

Communication analyze_communication(const std::vector<Record>& records, const std::vector<RankInfo>& members) {
  Communication made;
  const Hosts hosts(members);
  const PairTimes times = pair_times(records);
  for (const auto& [name, same] : series_of(records, {"bytes"})) {
    if (auto found = Rings::fit_of(name, same)) made.fits.push_back(std::move(*found));
  }
  fit_pairs(records, times, hosts, made.fits);
  Rings rings(records, times);
  for (const Record& record : records) {
    if (!is_collective(record) || record.message->ranks < 2) continue;
    const int steps = ring_steps(record.family, record.message->ranks);
    const auto link = steps ? rings.of(record) : std::nullopt;
    if (!link) continue;
    RingPrediction ring{record.name, 0, 0};
    ring.seconds = steps * link->latency_seconds.value_or(0) +
                   static_cast<double>(record.message->bytes) * record.message->bus_factor / *link->bytes_per_second;
    if (!(ring.seconds > 0)) continue;
    ring.ratio = ring.seconds / bus_bandwidth(record)->seconds;
    made.rings.push_back(std::move(ring));
  }
  for (const auto& [bytes, pairs] : times) {
    for (const auto& [pair, seconds] : pairs) made.pairs.push_back({pair.first, pair.second, bytes, seconds});
  }
  for (const auto& [name, same] : series_of(records, {"bytes", "ranks"})) {
    for (ScalingRow& row : scaling_of(name, same)) made.scaling.push_back(std::move(row));
  }
  made.overlaps = overlaps_of(records);
  find_slow_in_suite(records, hosts, made);
  for (const bool within : {true, false}) find_slow_pairs(times, hosts, within, made);
  find_fingerprints(records, hosts, made.findings);
  return made;
}

}  // namespace roofmark
