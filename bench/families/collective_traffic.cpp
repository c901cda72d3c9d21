// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collective_traffic.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace roofmark::collectives {

namespace {

/// An amount by host, or by domain. Both are numbered from 0, and are no more than the ranks.
using Amounts = std::vector<double>;

double& at(Amounts& amounts, int place) { return amounts[static_cast<std::size_t>(place)]; }

double largest(const Amounts& amounts) { return *std::max_element(amounts.begin(), amounts.end()); }

/// Of what each domain carries, the largest part of one of its hosts that take part.
double largest_of_host(Amounts carried, const std::vector<std::vector<int>>& groups, const RankPlaces& places) {
  Amounts hosts(carried.size());  // by domain
  std::vector<bool> seen(places.hosts.size());
  for (const std::vector<int>& group : groups) {
    for (const int rank : group) {
      const auto host = static_cast<std::size_t>(places.hosts[static_cast<std::size_t>(rank)]);
      if (!seen[host]) at(hosts, places.domains[static_cast<std::size_t>(rank)]) += 1;
      seen[host] = true;
    }
  }
  for (std::size_t domain = 0; domain < carried.size(); ++domain) carried[domain] /= std::max(1.0, hosts[domain]);
  return largest(carried);
}

std::size_t most_ranks_of(const std::vector<std::vector<int>>& groups) {
  std::size_t most = 1;
  for (const std::vector<int>& group : groups) most = std::max(most, group.size());
  return most;
}

/// A rank's part is the same in all groups, so that a smaller one's total is smaller.
double bytes_of_group(Collective op, double largest_bytes, std::size_t ranks, std::size_t most_ranks) {
  return counts_total(op) ? largest_bytes * static_cast<double>(ranks) / static_cast<double>(most_ranks) : largest_bytes;
}

std::map<int, int> ranks_by_domain_of(const std::vector<int>& group, const RankPlaces& places) {
  std::map<int, int> ranks;
  for (const int rank : group) ++ranks[places.domains[static_cast<std::size_t>(rank)]];
  return ranks;
}

std::vector<int> indices(const std::vector<std::vector<int>>& groups, std::size_t ranks) {
  std::vector<int> of_rank(ranks);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const int rank : groups[group]) of_rank[static_cast<std::size_t>(rank)] = static_cast<int>(group);
  }
  return of_rank;
}

/// A group's ranks in one domain.
struct Part {
  double n = 0, k = 0, m = 0;  ///< ranks of the group, domains of the group, ranks here
  bool with_root = false;
  double imbalance = 1;  ///< of an all-to-all: what the root receives over the average of all ranks
};

/// Of the root's domain the root is the busiest rank inside, whether or not others receive less.
Traffic of_all_to_all(double bytes, const Part& part) {
  const auto [n, k, m, with_root, imbalance] = part;
  const double of_root = imbalance / n, of_other = n > 1 ? (1 - of_root) / (n - 1) : 0;
  const double inside = (m - 1) * (with_root ? of_root : of_other);
  const double received = (n - m) * (with_root ? of_root + (m - 1) * of_other : m * of_other);
  const double sent = n > m ? m * (with_root ? (n - m) * of_other : of_root + (n - m - 1) * of_other) : 0;
  return {inside * bytes, std::max(received, sent) * bytes};
}

Traffic of_part(Collective op, double bytes, const Part& part, Switches switches) {
  const auto [n, k, m, with_root, imbalance] = part;
  switch (op) {
    case Collective::all_reduce:
      // In the switch: a rank sends its data and its reduced share once, and receives as much.
      if (switches == Switches::reduce) {
        return {std::min(2 * (m - 1) / m, (m + 1) / m) * bytes, std::min(2 * (k - 1) / k, 1.0) * bytes};
      }
      return {2 * (m - 1) / m * bytes, 2 * (k - 1) / k * bytes};
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return {(m - 1) / m * bytes, (n - m) / n * bytes};
    case Collective::broadcast:
    case Collective::reduce:
      return {m == 1 ? 0 : with_root ? bytes : (m - 1) / m * bytes, k > 1 ? bytes : 0};
    case Collective::all_to_all:
      return of_all_to_all(bytes, part);
    case Collective::gather:
    case Collective::scatter:
      return {with_root ? (m - 1) / n * bytes : 0, (with_root ? n - m : m) / n * bytes};
    case Collective::send_recv:
    case Collective::ping_pong:
      break;
  }
  return {};
}

}  // namespace

RankPlaces places_of(const std::vector<RankInfo>& members) {
  return {indices(ranks_by_host(members), members.size()), indices(ranks_by_domain(members), members.size())};
}

bool is_one_rank_per_host(const std::vector<std::vector<int>>& groups, const RankPlaces& places) {
  std::vector<bool> taken(places.hosts.size());
  for (const std::vector<int>& group : groups) {
    for (const int rank : group) {
      const auto host = static_cast<std::size_t>(places.hosts[static_cast<std::size_t>(rank)]);
      if (taken[host]) return false;
      taken[host] = true;
    }
  }
  return static_cast<std::size_t>(*std::max_element(places.hosts.begin(), places.hosts.end())) + 1 < places.hosts.size();
}

Traffic traffic(Collective op, double largest_bytes, const std::vector<std::vector<int>>& groups, const RankPlaces& places,
                int root, Switches switches, double imbalance) {
  const auto host = [&](int rank) { return places.hosts[static_cast<std::size_t>(rank)]; };
  const auto domain = [&](int rank) { return places.domains[static_cast<std::size_t>(rank)]; };
  Traffic all;
  const std::size_t most_ranks = most_ranks_of(groups);
  const bool to_neighbours = op == Collective::send_recv || op == Collective::ping_pong;
  Amounts carried(places.domains.size()), sent(places.hosts.size()), received(places.hosts.size());
  for (const std::vector<int>& group : groups) {
    const double bytes = bytes_of_group(op, largest_bytes, group.size(), most_ranks);
    const std::map<int, int> ranks = to_neighbours ? std::map<int, int>() : ranks_by_domain_of(group, places);
    for (const auto& [place, count] : ranks) {
      const Part part{static_cast<double>(group.size()), static_cast<double>(ranks.size()), static_cast<double>(count),
                      place == domain(group.at(static_cast<std::size_t>(root))), imbalance};
      const Traffic moved = of_part(op, bytes, part, switches);
      all.inside = std::max(all.inside, moved.inside);
      at(carried, place) += moved.network;
    }
    const std::size_t senders = op == Collective::send_recv ? group.size() : op == Collective::ping_pong ? 1 : 0;
    for (std::size_t i = 0; i < senders && group.size() > 1; ++i) {
      const int from = group[i], to = group[(i + 1) % group.size()];
      if (domain(from) == domain(to)) {
        all.inside = std::max(all.inside, bytes);
      } else {
        at(sent, host(from)) += bytes;
        at(received, host(to)) += bytes;
      }
    }
  }
  all.network =
      to_neighbours ? std::max(largest(sent), largest(received)) : largest_of_host(std::move(carried), groups, places);
  return all;
}

Traffic ring_traffic(Collective op, double largest_bytes, const std::vector<std::vector<int>>& groups,
                     const RankPlaces& places) {
  Traffic all;
  const std::size_t most_ranks = most_ranks_of(groups);
  Amounts carried(places.domains.size());
  for (const std::vector<int>& group : groups) {
    const double bytes =
        bytes_of_group(op, largest_bytes, group.size(), most_ranks) * bus_factor(op, static_cast<int>(group.size()));
    const std::map<int, int> ranks = ranks_by_domain_of(group, places);
    for (const auto& [place, count] : ranks) {
      if (count > 1) all.inside = std::max(all.inside, bytes);
      if (ranks.size() > 1) at(carried, place) += bytes;
    }
  }
  all.network = largest_of_host(std::move(carried), groups, places);
  return all;
}

}  // namespace roofmark::collectives
