// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ranks/communication.hpp"

#include <utility>

#include "harness/judge/ranks/fingerprints.hpp"
#include "harness/judge/ranks/missing_results.hpp"
#include "harness/judge/ranks/network_transports.hpp"
#include "harness/judge/ranks/shared_cores.hpp"

namespace roofmark {

Communication analyze_communication(const std::vector<Record>& records, const std::vector<RankInfo>& members,
                                    const Roofline& roofline) {
  const Places places(members);
  const PairTimes times = pair_times(records);
  const bool take_turns = ranks_take_turns(members);
  Stragglers stragglers = stragglers_of(records, places, take_turns);
  Communication made;
  made.fits = fits_of(records, times, places);
  made.rings = rings_of(records, roofline);
  made.pairs = pairs_of(times);
  made.scaling = scaling_of(records);
  made.overlaps = overlaps_of(records);
  made.slow = who_is_slow(stragglers, times, members.size(), places.hosts(), take_turns);
  made.slowest = std::move(stragglers.slowest);
  made.measure_next = std::move(stragglers.measure_next);
  made.groups = std::move(stragglers.groups);
  made.compared = std::move(stragglers.compared);
  if (members.size() > 1) made.compared.insert({FindingKind::fingerprint, FindingKind::missing_result});
  made.findings = std::move(stragglers.findings);
  for (Finding& finding : shared_cores(members)) made.findings.push_back(std::move(finding));
  for (Finding& finding : differing_fingerprints(records, places)) made.findings.push_back(std::move(finding));
  for (Finding& finding : missing_results(records, places)) made.findings.push_back(std::move(finding));
  for (Finding& finding : network_transports(records, members)) made.findings.push_back(std::move(finding));
  made.tells_network = tells_network(records, members);
  return made;
}

}  // namespace roofmark
