// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/judge/ranks/bus_bandwidth.hpp"
#include "harness/judge/ranks/fits.hpp"
#include "harness/judge/ranks/overlap.hpp"
#include "harness/judge/ranks/pairs.hpp"
#include "harness/judge/ranks/rings.hpp"
#include "harness/judge/ranks/scaling.hpp"
#include "harness/judge/ranks/stragglers.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

struct Communication {
  std::vector<LatencyFit> fits;
  std::vector<RingPrediction> rings;
  std::vector<PairTime> pairs;
  std::vector<ScalingRow> scaling;
  std::vector<Overlap> overlaps;
  std::vector<Slowest> slowest;
  std::vector<RankGroup> groups;
  std::string slow;                       ///< who_is_slow
  std::vector<Finding> findings;          ///< stragglers, shared cores, fingerprints, missing results, transports
  std::vector<std::string> measure_next;  ///< Stragglers::measure_next
  bool tells_network = false;             ///< how ranks reach other hosts; without it that nothing is found says nothing
  /// Of the kinds that ranks show by differing from each other (FoundBy::ranks), those for which there was enough to compare.
  std::set<FindingKind> compared;
};

/// The derived results of a team's records, on their ceilings; pure.
Communication analyze_communication(const std::vector<Record>& records, const std::vector<RankInfo>& members,
                                    const Roofline& roofline = {});

}  // namespace roofmark
