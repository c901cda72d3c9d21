// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "harness/model/statistics.hpp"
#include "harness/team/gather.hpp"

namespace roofmark {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Dips, count, seconds, deepest, deepest_after, deepest_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Sustained, burst_rate, settled_rate, settled_after_seconds, settled_of_burst, dips,
                                   burst_clock_hz, settled_clock_hz, burst_memory_clock_hz, settled_memory_clock_hz,
                                   burst_power_watts, settled_power_watts, burst_temperature_celsius,
                                   settled_temperature_celsius, clock, rate_per_clock_ratio, explained_by_clock,
                                   launches_checked, share_checked, checking_share_of_time)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankTimes, median, maximum, p95, p99, clock_hz, power_watts, throttled_share, sm_clock_hz,
                                   sustained, interval_low, interval_high, temperature_celsius, memory_temperature_celsius,
                                   slowdown_margin_celsius, joules_per_launch)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankVerdict, status, reason, error, bound, wrong)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Verification, status, error, bound, detail, wrong)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OutputBits, key, hash)

namespace {

/// The last verification that was made.
template <class Of>
auto& last_verification(Of& record) {
  return record.verification_after ? record.verification_after : record.verification_before;
}

}  // namespace

RankVerdict verdict_of(const Record& record) {
  const Verification found = last_verification(record).value_or(Verification{});
  return {record.status, record.reason, found.error, found.bound, found.wrong};
}

std::size_t worst_of(const std::vector<RankVerdict>& ranks) {
  const auto worse = [](const RankVerdict& a, const RankVerdict& b) { return is_worse(a.status, b.status); };
  return static_cast<std::size_t>(std::min_element(ranks.begin(), ranks.end(), worse) - ranks.begin());
}

void join_verdicts(Record& record, const std::vector<RankVerdict>& ranks, const std::function<std::string(int)>& describe) {
  const auto worst = ranks.begin() + static_cast<std::ptrdiff_t>(worst_of(ranks));
  record.status = worst->status;
  record.reason = describe(static_cast<int>(worst - ranks.begin())) + ": " + worst->reason;
  if (record.status != Status::wrong) return;
  std::size_t wrong = 0;
  std::vector<std::string> others;
  for (auto rank = worst; rank != ranks.end(); ++rank) {
    if (rank->status != Status::wrong) continue;
    wrong += rank->wrong;
    if (rank != worst) others.push_back(describe(static_cast<int>(rank - ranks.begin())));
  }
  if (!others.empty()) record.reason += fmt::format("; also wrong: {}", fmt::join(others, ", "));
  // The record is the team's, and so is its verification.
  if (auto& found = last_verification(record))
    found = Verification{Verification::Status::failed, worst->error, worst->bound, record.reason, wrong};
}

void agree_on_status(Team& team, Record& record, Status own_status, const std::string& own_reason, bool interrupted) {
  record.status = own_status;
  record.reason = own_reason;
  if (team.size() == 1) return;
  join_verdicts(record, team.gather(verdict_of(record), interrupted), [&](int rank) { return team.describe(rank); });
}

Verification team_verification(const std::vector<Verification>& ranks, const std::function<std::string(int)>& describe) {
  const auto weaker = [](const Verification& a, const Verification& b) {
    const bool compared = a.status == Verification::Status::passed, other_compared = b.status == Verification::Status::passed;
    if (compared != other_compared) return other_compared;
    return a.error * b.bound < b.error * a.bound;
  };
  const auto worst = std::max_element(ranks.begin(), ranks.end(), weaker);
  Verification found = *worst;
  if (worst != ranks.begin()) found.detail = describe(static_cast<int>(worst - ranks.begin())) + ": " + found.detail;
  return found;
}

void share_verifications(Team& team, Record& record) {
  for (auto* found : {&record.verification_before, &record.verification_after}) {
    if (!*found) continue;  // on every rank alike
    *found = team_verification(team.gather(**found), [&](int rank) { return team.describe(rank); });
  }
}

std::vector<int> differing_ranks(const std::vector<std::optional<OutputBits>>& all) {
  std::map<std::string, std::map<std::string, std::vector<int>>> ranks;  // by key, by hash
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank]) ranks[all[rank]->key][all[rank]->hash].push_back(static_cast<int>(rank));
  }
  std::vector<int> differing;
  for (const auto& [key, hashes] : ranks) {
    std::size_t largest = 0;
    for (const auto& [hash, same] : hashes) largest = std::max(largest, same.size());
    const auto groups_of_largest =
        std::count_if(hashes.begin(), hashes.end(), [&](const auto& group) { return group.second.size() == largest; });
    const auto nondeterministic = hashes.find(std::string());
    if (nondeterministic != hashes.end() && nondeterministic->second.size() == largest) continue;  // the operation may be so
    for (const auto& [hash, same] : hashes) {
      const bool majority = same.size() == largest && groups_of_largest == 1;
      if (hashes.size() == 1 || majority) continue;
      differing.insert(differing.end(), same.begin(), same.end());
    }
  }
  std::sort(differing.begin(), differing.end());
  return differing;
}

void compare_fingerprints(Team& team, std::optional<Fingerprint>& own) {
  const auto all = team.gather(own ? std::optional<OutputBits>({own->key, own->hash}) : std::nullopt);
  if (own) own->differing_ranks = differing_ranks(all);
}

RankTimes own_times(const Record& record, const Summary& own) {
  const Measurement& measured = *record.measurement;
  RankTimes times{own.median, own.maximum, own.p95, own.p99, measured.clock_hz};
  if (measured.telemetry) {
    times.power_watts = measured.telemetry->power_watts;
    times.throttled_share = measured.telemetry->throttled_share;
    times.sm_clock_hz = measured.telemetry->sm_clock_hz;
    times.temperature_celsius = measured.telemetry->temperature_celsius;
    times.memory_temperature_celsius = measured.telemetry->memory_temperature_celsius;
    times.slowdown_margin_celsius = measured.telemetry->slowdown_margin_celsius;
    times.joules_per_launch = measured.telemetry->joules_per_launch;
  }
  times.sustained = record.sustained;
  times.interval_low = own.interval_low;
  times.interval_high = own.interval_high;
  return times;
}

std::vector<std::optional<RankTimes>> gather_rank_times(Team& team, const std::vector<Sample>& own_samples,
                                                        const std::optional<Sustained>& own_sustained,
                                                        const Record& own_record) {
  std::optional<RankTimes> own;
  if (!own_samples.empty()) {
    own = own_times(own_record, summarize(own_samples));
    own->sustained = own_sustained;
  }
  return team.gather(own);
}

std::map<std::string, std::vector<int>> gather_transports(Team& team, const std::set<std::string>& own) {
  std::map<std::string, std::vector<int>> ranks;
  int rank = 0;
  for (const std::set<std::string>& transports : team.gather(own)) {
    for (const std::string& transport : transports) ranks[transport].push_back(rank);
    ++rank;
  }
  return ranks;
}

}  // namespace roofmark
