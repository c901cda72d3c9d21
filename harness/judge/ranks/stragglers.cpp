// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/stragglers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "harness/judge/ranks/slow_pairs.hpp"
#include "harness/judge/ranks/stragglers_in_pairs.hpp"

namespace roofmark {

namespace {

/// Fewer slow cases are chance, whatever their share.
constexpr int kLeastSlowCases = 3;
/// Of all cases, and two cases more, which may be chance.
constexpr double kSlowCases = 0.05;
constexpr int kByChance = 2;
/// Among few, of the cases that the device limits.
constexpr double kOftenSlowCases = 0.2;
constexpr int kLeastCases = 10;
/// In most of a group of cases: those of a family, or those that one resource limits.
constexpr double kSlowInGroup = 1.25;

/// A resource of the device binds it, not a link, the host's memory or the rate of launches, which depend on slot and host.
bool is_limited_by_device(const Record& record) {
  return record.placement && !record.placement->bound_by.empty() &&
         find_resource(record.placement->bound_by).clock != ClockDomain::none;
}

/// In how many of the cases someone was slow.
struct SlowCases : Outlier {
  int of = 0;
  std::string which;  ///< the cases that count, for a text: " of attention that the device limits"; empty: all
};

/// Ranks or hosts by the cases that each ran alone.
template <class Key>
class SlowInCases {
 public:
  void add(const std::map<Key, double>& times, const Record& record) {
    ratios_.add(times);
    if (times.size() >= kLeastCompared) ++compared_;
    ++all_.cases;
    note_slow(times, kSlow, record.name(), all_.slow);
    if (!is_limited_by_device(record)) return;
    const std::vector<double> values = values_of(times);
    const auto count = [&](Group& group, double least_times) {
      ++group.cases;
      for (const auto& [key, value] : times) {
        if (const auto deviation = deviates(value, values, least_times)) group.slow[key].add(*deviation, record.name());
      }
    };
    if (times.size() < kMany) count(of_device_, kSlow);
    count(groups_[fmt::format(" of {} that the device limits", record.family)], kSlowInGroup);
    count(groups_[fmt::format(" limited by {}", find_resource(record.placement->bound_by).title)], kSlowInGroup);
  }

  const Ratios<Key>& ratios() const { return ratios_; }

  /// Whether someone could have been named.
  bool compares() const { return compared_ >= kLeastSlowCases; }

  /// Who is slow in enough of all, of those that the device limits, or of a group; each by the first that says so.
  std::map<Key, SlowCases> slow() const {
    std::map<Key, SlowCases> found;
    const auto find = [&found](const Group& group, double least_share, const std::string& which, int by_chance = 0) {
      for (const auto& [key, seen] : group.slow) {
        if (seen.times < kLeastSlowCases || seen.times < by_chance + least_share * group.cases) continue;
        found.try_emplace(key, SlowCases{seen, group.cases, which});
      }
    };
    find(all_, kSlowCases, "", kByChance);
    if (of_device_.cases >= kLeastCases) find(of_device_, kOftenSlowCases, " that the device limits");
    constexpr double kMost = 0.5 + 1e-9;
    for (const auto& [which, group] : groups_) find(group, kMost, which);
    return found;
  }

 private:
  struct Group {
    int cases = 0;
    std::map<Key, Outlier> slow;
  };
  Group all_, of_device_;
  std::map<std::string, Group> groups_;
  Ratios<Key> ratios_;
  int compared_ = 0;  ///< cases of enough ranks or hosts to tell a slow one
};

void find_slow_in_suite(const std::vector<Record>& records, const Places& places, Stragglers& made) {
  std::vector<Finding>& findings = made.findings;
  SlowInCases<int> by_rank;
  SlowInCases<std::string> by_node;
  for (const Record& record : records) {
    // Ranks that communicate wait for one another.
    if (record.status != Status::ok || record.message || record.overlap) continue;
    if (record.measurement->ranks.size() < 2) continue;
    std::map<int, double> medians;
    std::map<std::string, std::vector<double>> of_nodes;
    for (std::size_t i = 0; i < record.measurement->ranks.size(); ++i) {
      if (!record.measurement->ranks[i]) continue;
      const int rank = static_cast<int>(i);
      medians[rank] = record.measurement->ranks[i]->median;
      of_nodes[places.host(rank)].push_back(medians[rank]);
    }
    // Of a host half of whose ranks are slow, the ranks are slow.
    std::map<std::string, double> node_medians;
    for (auto& [node, values] : of_nodes) node_medians[node] = lower_median(std::move(values));
    by_rank.add(medians, record);
    by_node.add(node_medians, record);
  }
  if (by_rank.compares()) made.compared.insert(FindingKind::slow_rank);
  if (by_node.compares()) made.compared.insert(FindingKind::slow_host);
  made.note_slowest(by_rank.ratios(), by_node.ratios(), places, "each alone");
  std::map<std::string, SlowCases> nodes = by_node.slow();
  std::map<int, SlowCases> ranks = by_rank.slow();
  std::erase_if(nodes, [&](const auto& node) { return !places.host_has_several(node.first); });
  std::erase_if(ranks, [&](const auto& rank) { return nodes.contains(places.host(rank.first)); });
  const auto say = [&](FindingKind kind, const std::string& who, const char* whom, const SlowCases& seen,
                       std::vector<int> whose) {
    findings.push_back(
        {kind,
         fmt::format("{}: slower than the median of the {} in {} of {} cases{}, each rank alone; the worst takes {:.2f} times "
                     "the median{}: {}",
                     who, whom, seen.times, seen.of, seen.which, seen.worst.times, words(seen.worst), seen.where),
         {},
         seen.worst.times,
         brief(who, seen),
         std::move(whose)});
  };
  for (const auto& [node, seen] : worst_first(nodes)) say(FindingKind::slow_host, node, "hosts", seen, places.ranks_of(node));
  for (const auto& [rank, seen] : worst_first(ranks)) {
    say(FindingKind::slow_rank, places.describe(rank), "ranks", seen, {rank});
  }
}

std::size_t most_pairs(const auto& times) {
  std::size_t most = 0;
  for (const auto& [bytes, pairs] : times) most = std::max(most, pairs.size());
  return most;
}

}  // namespace

void Stragglers::note_slowest(const Ratios<int>& of_ranks, const Ratios<std::string>& of_hosts, const Places& places,
                              const std::string& by) {
  const auto add = [&](const std::string& of, const std::string& who, const auto& found) {
    slowest.push_back(
        {of + ", " + by, who, static_cast<int>(found.among), found.times_median, found.times_fastest, found.mads});
  };
  if (places.any_host_has_several()) {
    if (const auto found = of_hosts.slowest()) add("hosts", found->who, *found);
  }
  if (const auto found = of_ranks.slowest()) add("ranks", places.describe(found->who), *found);
}

void Stragglers::note_compared(FindingKind kind, std::size_t subjects) {
  if (subjects >= kLeastCompared) compared.insert(kind);
}

Stragglers stragglers_of(const std::vector<Record>& records, const Places& places, bool share_cores) {
  Stragglers made;
  made.communicate =
      std::any_of(records.begin(), records.end(), [](const Record& record) { return record.message.has_value(); });
  find_slow_in_suite(records, places, made);
  if (share_cores) return made;
  const RelativePairTimes relative = relative_pair_times(records, places);
  const TimesAlone alone = times_alone(records);
  made.in_rounds = !relative.empty();
  for (const auto& [which, sizes] : std::views::reverse(relative)) {  // those within hosts first
    if (which.compared) {
      find_in_pairs(which, relative, alone, places, made);
    } else {
      made.not_compared += most_pairs(sizes);
    }
  }
  for (const PairsAlone& pairs : made.alone | std::views::take(kMostJudgedAlone)) {
    for (std::string& name : unmeasured(pairs, alone)) made.measure_next.push_back(std::move(name));
  }
  return made;
}

std::string who_is_slow(const Stragglers& found, const PairTimes& times, std::size_t ranks, std::size_t hosts,
                        bool share_cores) {
  if (ranks < 2) return "one rank has no link and no peer to compare with";
  if (!found.findings.empty()) {
    constexpr std::size_t kNamed = 5;  // the findings have all
    std::vector<std::string> names;
    for (const Finding& finding : found.findings) names.push_back(finding.brief);
    if (names.size() > kNamed + 1) {
      const std::size_t more = names.size() - kNamed;
      names.resize(kNamed);
      names.push_back(fmt::format("and {} more", more));
    }
    return fmt::format("slow: {}{}", fmt::join(names, ", "), in_words(found.groups));
  }
  if (share_cores && !times.empty()) {
    return "whether a rank or pair is slow cannot be told: ranks share CPU cores and wait for each other's turns";
  }
  if (found.slowest.empty() && !found.in_rounds) {
    if (!found.communicate) return "no case has results of several ranks, which would show a slow one";
    return "this run did not check for slow ranks: rounds of pairs are among the cases of the suites baseline and full "
           "(--suite baseline --filter '^ping_pong')";
  }
  if (found.not_compared > 0) {
    return fmt::format(
        "nobody stands out, but {} pair{} between hosts cannot be compared: the hosts have different numbers of "
        "ranks, or the rounds loaded their network ports unevenly",
        found.not_compared, found.not_compared == 1 ? "" : "s");
  }
  // One of two is always slower.
  if (ranks == 2) return "with two ranks, the slow one cannot be told from the fast one";
  std::vector<std::string_view> compared;
  for (const auto& [kind, who] :
       {std::pair(FindingKind::slow_rank, "rank"), {FindingKind::slow_host, "host"}, {FindingKind::slow_link, "pair"}}) {
    if (found.compared.contains(kind)) compared.emplace_back(who);
  }
  if (compared.empty()) return "fewer than three ranks, or cases, have results: too few to tell a slow rank from a fast one";
  const std::string_view last = compared.back();
  compared.pop_back();
  const std::size_t measured = most_pairs(times), all = ranks * (ranks - 1) / 2;
  return fmt::format("no {}{}{} stands out{}{}{}", fmt::join(compared, ", "), compared.empty() ? "" : " or ", last,
                     measured > 0 && measured < all ? fmt::format(" ({} of {} pairs were measured)", measured, all) : "",
                     hosts == 2 ? "; with two hosts, the slow one cannot be told from the fast one" : "",
                     in_words(found.groups));
}

}  // namespace roofmark
