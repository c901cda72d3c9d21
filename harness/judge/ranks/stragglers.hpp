// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/ranks/deviation.hpp"
#include "harness/judge/ranks/pairs.hpp"
#include "harness/judge/ranks/pairs_alone.hpp"
#include "harness/judge/ranks/places.hpp"
#include "harness/judge/ranks/rank_groups.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// The slowest rank or host, straggler or not.
struct Slowest {
  std::string of;              ///< "ranks, each alone", "hosts, each alone", "ranks, by the best pair within a host", ...
  std::string who;             ///< "rank 3 (node1)", "node1"
  int among = 0;               ///< number of ranks or hosts that are compared
  double times_median = 1;     ///< geometric mean over the cases or sizes of its time / the median of all
  double times_fastest = 1;    ///< the same / the fastest one's
  std::optional<double> mads;  ///< above the median, in scaled median absolute deviations; absent for two, and where it is 0
};

inline constexpr std::size_t kMostJudgedAlone = 8;

/// Slow ranks, hosts and links.
///
/// All ranks of a collective take nearly the time of the slowest, so pairs are compared: by size, those within a host with one
/// another, and those between hosts with as many ranks, each over the typical time of its kind (relative_pair_times). A rank's
/// score is the time of its best pair, a host's score that of its ranks' best pair. A slow link to host C slows the pairs A-C
/// and B-C; only C has no fast pair. A rank is a slow_rank if its score exceeds the median by 10 % and by 5 scaled median
/// absolute deviations, its 95 % interval lies above the median, and most of its pairs are 10 % slower than most of others'. A
/// host with several ranks is a slow_host by the same rule, and its ranks are then not reported.
///
/// A slow_link is a pair that takes over 1.2 times what most pairs of either rank take, if that ratio exceeds the other pairs'
/// by 5 deviations, and no other pair of its round is nearly as slow. So a longer way between groups of ranks, below other
/// switches, on other rails or sockets, is none, and neither is a link that two pairs of a round share. By the same rule, of
/// the lower medians of the pairs between two hosts, the link between the hosts is slow, and the pairs are then not reported.
///
/// With two ranks, neither can be called slow. A single slow size may be chance: it takes a third of the sizes, of a link half
/// of them, two at least. With fewer than seven ranks, deviations are unreliable (of three ranks, the two of the best pair
/// always agree exactly): the threshold is then 25 % at half of the sizes. The two largest sizes suffice where the intervals
/// show that it is no chance: a link that has lost bandwidth shows it nowhere else if smaller messages are a matter of latency.
/// The interval of a slow rank then lies above those of half of the ranks, that of a slow link above what it is compared with,
/// and the scatter between these sizes is a threshold (slow_pairs.hpp). If half of the ranks or more are slow, none is.
///
/// In the single-device suite, which every rank runs alone but at the same time, the same rule judges the ranks' medians of
/// each case; a straggler is slow in at least 5 % of the cases plus two. Among fewer than seven it takes 25 % in a case, but
/// who exceeds the median by 10 % and 5 deviations in a fifth of the cases that the device itself limits, of 10 and more, is a
/// straggler too. So is, among any number, who exceeds it by 25 % and 5 deviations in most of a group of cases that the device
/// limits: those of a family, or those that one resource limits. (A link or host may be slower for good reasons while all
/// measure: GPUs share switches.) Fewer than three slow cases are never enough. A host's time is the median of its ranks', of
/// an even number the faster of the two in the middle: of a host half of whose ranks are slow, these are named.
struct Stragglers {
  std::vector<Slowest> slowest;
  std::vector<Finding> findings;  ///< the worst first in each kind
  std::vector<PairsAlone> alone;  ///< of the findings by pairs
  /// The names of cases that would tell more: of the first kMostJudgedAlone findings by pairs, those of pairs alone.
  std::vector<std::string> measure_next;
  /// Of slow_rank, slow_host and slow_link those for which there was enough to compare.
  std::set<FindingKind> compared;
  std::size_t not_compared = 0;   ///< pairs of ComparedPairs that are not compared
  std::vector<RankGroup> groups;  ///< by the pairs of the largest size, kind after kind
  bool in_rounds = false;         ///< pairs were measured in rounds
  bool communicate = false;       ///< a case of the run moves data between ranks, as pairs do

  void note_compared(FindingKind kind, std::size_t subjects);
  /// Adds the slowest rank and, where hosts have several ranks, the slowest host. `by`: "each alone".
  void note_slowest(const Ratios<int>& of_ranks, const Ratios<std::string>& of_hosts, const Places& places,
                    const std::string& by);
};

/// share_cores: several ranks may run on one CPU core, and the times of pairs say nothing.
Stragglers stragglers_of(const std::vector<Record>& records, const Places& places, bool share_cores);

/// The answer to "which rank is slow?" in one line; also if none is, if it cannot be told, or if the run did not check.
std::string who_is_slow(const Stragglers& found, const PairTimes& times, std::size_t ranks, std::size_t hosts,
                        bool share_cores);

}  // namespace roofmark
