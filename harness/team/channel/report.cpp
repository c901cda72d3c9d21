// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/channel/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace roofmark::channel {

namespace {

constexpr std::size_t kNamed = 16, kFaults = 4;

std::string name_all(const std::vector<int>& ranks, const std::function<std::string(int)>& describe) {
  std::string names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) names += (i == 0 ? "" : ", ") + describe(ranks[i]);
  if (ranks.size() > kNamed) names += fmt::format(" and {} more", ranks.size() - kNamed);
  return names;
}

/// Each fault once, with the ranks that found it.
void add_faults(const std::vector<int>& faulty, const std::vector<RankState>& ranks,
                const std::function<std::string(int)>& describe, std::vector<std::string>& parts) {
  std::vector<std::pair<std::string, std::vector<int>>> faults;
  for (const int rank : faulty) {
    const std::string& text = ranks[static_cast<std::size_t>(rank)].fault;
    const auto known = std::find_if(faults.begin(), faults.end(), [&](const auto& fault) { return fault.first == text; });
    if (known == faults.end()) {
      faults.push_back({text, {rank}});
    } else {
      known->second.push_back(rank);
    }
  }
  for (std::size_t i = 0; i < std::min(faults.size(), kFaults); ++i) {
    parts.push_back(fmt::format("{}: {}", name_all(faults[i].second, describe), faults[i].first));
  }
  if (faults.size() > kFaults) parts.push_back(fmt::format("and {} more", faults.size() - kFaults));
}

}  // namespace

Report report(const std::vector<RankState>& ranks, const Patience& patience, const std::function<std::string(int)>& describe) {
  using Link = RankState::Link;
  Report made;
  std::vector<int> killed, failed, faulty, left_early, behind, silent;
  std::int64_t most_steps = 0, fewest_steps = std::numeric_limits<std::int64_t>::max();
  for (const RankState& rank : ranks) {
    if (rank.answered || rank.link == Link::left) most_steps = std::max(most_steps, rank.position.steps);
  }
  double longest = 0, shortest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    const RankState& state = ranks[i];
    const Position& position = state.position;
    const bool arrived = position.steps == most_steps;
    if (!state.fault.empty()) faulty.push_back(rank);
    if (state.link == Link::ended) {
      killed.push_back(rank);
    } else if (state.link == Link::failed) {
      failed.push_back(rank);
    } else if (state.link == Link::left) {
      if (!arrived) left_early.push_back(rank);
    } else if (!state.answered) {
      silent.push_back(rank);
    } else if (position.rests) {
      // The others wait for a rank that rests, but not where it has already arrived.
      if (!arrived) shortest = 0;
    } else {
      if (!arrived) behind.push_back(rank);
      fewest_steps = std::min(fewest_steps, position.steps);
      longest = std::max(longest, position.waiting_seconds);
      shortest = std::min(shortest, position.waiting_seconds);
    }
  }
  // A rank that has just made a step lets the others go on soon. The ranks that wait at one step complain within a moment.
  const bool stands = longest >= 0.9 * patience.seconds && shortest >= 0.9 * patience.seconds;
  if (killed.empty() && failed.empty() && faulty.empty() && !stands) {
    made.wait_seconds = std::max(0.0, patience.seconds - shortest);
    return made;
  }

  // A rank may be behind because it waits for one that is further behind, or that is gone: only the last ones never arrived.
  if (silent.empty() && killed.empty() && failed.empty() && faulty.empty()) {
    std::erase_if(behind, [&](int rank) { return ranks[static_cast<std::size_t>(rank)].position.steps != fewest_steps; });
    if (!behind.empty()) made.late_steps = fewest_steps;
  } else {
    behind.clear();
  }

  Standstill& standstill = made.standstill.emplace();
  std::vector<std::string> parts;
  const auto add = [&](const std::vector<int>& which, const std::string& what) {
    if (!which.empty()) parts.push_back(name_all(which, describe) + what);
  };
  add(killed, " ended unexpectedly");
  // MPI tells the peers of a killed rank, which makes them fail too.
  if (killed.empty()) add(failed, " failed");
  if (killed.empty()) add_faults(faulty, ranks, describe, parts);
  add(silent, fmt::format(" {} not answer: stopped, or the host or network is down", silent.size() == 1 ? "does" : "do"));
  standstill.ended = killed;
  standstill.ended.insert(standstill.ended.end(), failed.begin(), failed.end());
  standstill.silent = silent;
  standstill.faulty = faulty;
  if (stands && faulty.empty()) {
    add(left_early, " ended before the others");
    add(behind, " never arrived");
    standstill.ended.insert(standstill.ended.end(), left_early.begin(), left_early.end());
    standstill.never_arrived = behind;
    standstill.reason = patience.interrupted ? fmt::format("interrupted while no rank made progress, for {:.0f} s", shortest)
                                             : fmt::format("no progress for {:g} s", patience.seconds);
    if (parts.empty() && ranks.size() > 1) {
      parts.push_back(fmt::format("all ranks arrived and none proceeds: the network or a link failed, or this step takes {}",
                                  patience.interrupted ? "long" : "longer than --timeout"));
    }
  }
  std::sort(standstill.ended.begin(), standstill.ended.end());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    standstill.reason += (i > 0 ? "; " : standstill.reason.empty() ? "" : ": ") + parts[i];
  }
  return made;
}

}  // namespace roofmark::channel
