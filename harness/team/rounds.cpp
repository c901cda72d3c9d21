// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/rounds.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace roofmark {

namespace {

using Pairs = std::vector<std::pair<int, int>>;

/// Every one of `count` with every other once; with an odd number, one rests in each round.
std::vector<Pairs> circle(int count) {
  const int seats = count + count % 2, turning = seats - 1;
  std::vector<Pairs> rounds;
  for (int round = 0; round < turning; ++round) {
    Pairs pairs;
    for (int i = 0; i < seats / 2; ++i) {
      const int a = (round + i) % turning, b = i == 0 ? turning : (round - i + turning) % turning;
      if (a < count && b < count) pairs.emplace_back(a, b);
    }
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

/// Adds those of groups that work at the same time.
void add_beside(std::vector<Pairs>& rounds, const std::vector<Pairs>& others) {
  rounds.resize(std::max(rounds.size(), others.size()));
  for (std::size_t i = 0; i < others.size(); ++i) rounds[i].insert(rounds[i].end(), others[i].begin(), others[i].end());
}

/// Each member of a group with each of another, in as many rounds as the larger has members.
std::vector<Pairs> across(const std::vector<int>& one, const std::vector<int>& other) {
  const auto& [few, many] = one.size() < other.size() ? std::pair(one, other) : std::pair(other, one);
  std::vector<Pairs> rounds(many.size());
  for (std::size_t shift = 0; shift < many.size(); ++shift) {
    for (std::size_t i = 0; i < few.size(); ++i) rounds[shift].emplace_back(few[i], many[(i + shift) % many.size()]);
  }
  return rounds;
}

/// The same of groups, each of which meets one of the other side at a time.
std::vector<Pairs> across_groups(const std::vector<std::vector<int>>& one, const std::vector<std::vector<int>>& other) {
  const auto& [few, many] = one.size() < other.size() ? std::pair(one, other) : std::pair(other, one);
  std::vector<Pairs> rounds;
  for (std::size_t shift = 0; shift < many.size(); ++shift) {
    std::vector<Pairs> meetings;
    for (std::size_t i = 0; i < few.size(); ++i) add_beside(meetings, across(few[i], many[(i + shift) % many.size()]));
    rounds.insert(rounds.end(), meetings.begin(), meetings.end());
  }
  return rounds;
}

/// Those within each group, all groups at the same time.
template <class Within>
std::vector<Pairs> within_groups(const std::vector<std::vector<int>>& groups, Within within) {
  std::vector<Pairs> rounds;
  for (const std::vector<int>& group : groups) add_beside(rounds, within(group));
  return rounds;
}

/// Those between groups, by the groups that meet at the same time.
template <class Between>
std::vector<std::vector<Pairs>> between_groups(const std::vector<std::vector<int>>& groups, Between between) {
  std::vector<std::vector<Pairs>> all;
  if (groups.size() < 2) return all;
  for (const Pairs& meetings : circle(static_cast<int>(groups.size()))) {
    std::vector<Pairs>& met = all.emplace_back();
    for (const auto& [a, b] : meetings) {
      add_beside(met, between(groups[static_cast<std::size_t>(a)], groups[static_cast<std::size_t>(b)]));
    }
  }
  return all;
}

std::vector<Pairs> joined(std::vector<Pairs> within, const std::vector<std::vector<Pairs>>& between) {
  for (const std::vector<Pairs>& met : between) within.insert(within.end(), met.begin(), met.end());
  return within;
}

/// Those within each group, as `within` makes them of one, then those between groups, as `between` makes them of two.
template <class Within, class Between>
std::vector<Pairs> rounds_of(const std::vector<std::vector<int>>& groups, Within within, Between between) {
  return joined(within_groups(groups, within), between_groups(groups, between));
}

/// Of ranks that share all links alike.
std::vector<Pairs> rounds_of_equals(const std::vector<int>& ranks) {
  std::vector<Pairs> rounds = ranks.size() < 2 ? std::vector<Pairs>() : circle(static_cast<int>(ranks.size()));
  for (Pairs& pairs : rounds) {
    for (auto& [a, b] : pairs) a = ranks[static_cast<std::size_t>(a)], b = ranks[static_cast<std::size_t>(b)];
  }
  return rounds;
}

/// Groups of ranks that `key` says the same of.
template <class Key>
std::vector<std::vector<int>> grouped_by(const std::vector<int>& ranks, const std::vector<RankInfo>& members, Key key) {
  std::map<decltype(key(members.front())), std::vector<int>> found;
  for (const int rank : ranks) found[key(members[static_cast<std::size_t>(rank)])].push_back(rank);
  std::vector<std::vector<int>> groups;
  for (auto& [of, group] : found) groups.push_back(std::move(group));
  return groups;
}

std::vector<std::vector<int>> as_colours(const std::vector<Pairs>& rounds, std::size_t ranks) {
  std::vector<std::vector<int>> all;
  for (const Pairs& pairs : rounds) {
    std::vector<int> colours(ranks, -1);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      for (const int rank : {pairs[i].first, pairs[i].second}) colours[static_cast<std::size_t>(rank)] = static_cast<int>(i);
    }
    all.push_back(std::move(colours));
  }
  return all;
}

struct RoundsByDomain {
  std::vector<Pairs> within;
  std::vector<std::vector<Pairs>> between;  ///< by the domains that meet at the same time
};

RoundsByDomain rounds_by_domain(const std::vector<RankInfo>& members) {
  const auto by_port = [&](const std::vector<int>& ranks) {
    return grouped_by(ranks, members, [](const RankInfo& member) { return member.root_port; });
  };
  const auto by_node = [&](const std::vector<int>& ranks) {
    return grouped_by(ranks, members, [](const RankInfo& member) { return member.numa_node.value_or(-1); });
  };
  const auto by_host = [&](const std::vector<int>& ranks) {
    return grouped_by(ranks, members, [](const RankInfo& member) { return member.host; });
  };
  const auto of_node = [&](const std::vector<int>& ranks) { return rounds_of(by_port(ranks), rounds_of_equals, across); };
  const auto of_host = [&](const std::vector<int>& ranks) { return rounds_of(by_node(ranks), of_node, across); };
  const auto of_domain = [&](const std::vector<int>& ranks) { return rounds_of(by_host(ranks), of_host, across); };
  const auto between_domains = [&](const std::vector<int>& one, const std::vector<int>& other) {
    return across_groups(by_host(one), by_host(other));
  };
  const std::vector<std::vector<int>> domains = ranks_by_domain(members);
  return {within_groups(domains, of_domain), between_groups(domains, between_domains)};
}

}  // namespace

std::vector<std::vector<int>> rounds_of_pairs(int ranks) { return as_colours(circle(ranks), static_cast<std::size_t>(ranks)); }

std::vector<std::vector<int>> rounds_of_pairs(const std::vector<RankInfo>& members) {
  const auto [within, between] = rounds_by_domain(members);
  return as_colours(joined(within, between), members.size());
}

std::vector<std::size_t> sample_of_rounds(const std::vector<RankInfo>& members, std::size_t most_between) {
  const auto [within, between] = rounds_by_domain(members);
  std::vector<std::size_t> sample(within.size()), begins;
  std::iota(sample.begin(), sample.end(), 0);
  std::size_t count = within.size(), longest = 0;
  for (const std::vector<Pairs>& met : between) {
    begins.push_back(count);
    count += met.size();
    longest = std::max(longest, met.size());
  }
  for (std::size_t step = 0; step < longest; ++step) {
    std::vector<std::size_t> these;
    for (std::size_t i = 0; i < between.size(); ++i) {
      if (step < between[i].size()) these.push_back(begins[i] + step);
    }
    if (step > 0 && these.size() > most_between) break;
    const std::size_t taken = std::min(most_between, these.size());
    for (std::size_t i = 0; i < taken; ++i) sample.push_back(these[i * these.size() / taken]);
    most_between -= taken;
  }
  std::sort(sample.begin(), sample.end());
  return sample;
}

}  // namespace roofmark
