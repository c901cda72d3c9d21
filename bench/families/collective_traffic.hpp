// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/team/rank_info.hpp"
#include "kernels/collectives.hpp"

namespace roofmark::collectives {

/// By rank: its host, and its domain, which no network divides (an NVLink domain of several hosts, else the host).
struct RankPlaces {
  std::vector<int> hosts, domains;
};
/// Of each host at most one rank is in a group, though a host has several.
bool is_one_rank_per_host(const std::vector<std::vector<int>>& groups, const RankPlaces& places);

RankPlaces places_of(const std::vector<RankInfo>& members);

/// What a switch does with the data of a reduction: in-network reduction is NVLS inside an NVLink domain, SHARP between hosts.
enum class Switches { forward, reduce };

/// The minimum of bytes that a collective carries over each boundary, in the busier direction, whatever the algorithm. S is
/// `bytes` (nccl-tests' size), n the ranks, k the domains that they are in, m the ranks of one domain:
///                                  per rank, inside its domain      per domain, over the network
///   all_reduce                     2 (m-1)/m S                      2 (k-1)/k S
///     where the switches reduce    (m+1)/m S                        S
///   all_gather, reduce_scatter     (m-1)/m S                        (n-m)/n S
///   broadcast, reduce              S where m > 1, of the root's     S where k > 1
///                                  domain; of others (m-1)/m S
///   all_to_all                     (m-1)/n S                        m (n-m)/n S
///     whose root receives          (m-1) r S, of the root           the largest of (n-m) (r + (m-1) o) S, received by the
///     r S of each rank, and each                                    root's domain, and m (n-m) o S and
///     other o S, o < r                                              m (r + (n-m-1) o) S, sent by the root's and the others'
///   gather, scatter                (m-1)/n S, of the root           (n-m)/n S, of the root's domain
///   send_recv                      S where a neighbour is inside    S per neighbour outside, of the sender's host
///   ping_pong                      S, twice in turn, inside or over the network
/// The hosts of a domain share what it carries over the network.
struct Traffic {
  double inside = 0;   ///< of the busiest rank
  double network = 0;  ///< of the busiest host, all its groups together
};

/// `groups` are the ranks of each communicator, all active at once; `root` is a rank of each. `largest_bytes` is the size of
/// the largest group; each other group's ranks have the same part of it where the size counts all ranks' parts. `imbalance` is
/// r n: what the root receives over the average; the groups are then of equal size.
Traffic traffic(Collective op, double largest_bytes, const std::vector<std::vector<int>>& groups, const RankPlaces& places,
                int root = 0, Switches switches = Switches::forward, double imbalance = 1);

/// What rings carry that use all links of every rank and all network ports of every host: each rank sends the size x bus factor
/// to the next one, and each ring enters and leaves a domain once. That is how NCCL builds its rings, one after the other over
/// the NICs (NCCL, src/graph/connect.cc), so that the size is divided among them. For an all-reduce over n ranks in k domains
/// 2 (n-1)/n S inside and as much over the network, where traffic() has 2 (m-1)/m S and 2 (k-1)/k S.
Traffic ring_traffic(Collective op, double largest_bytes, const std::vector<std::vector<int>>& groups,
                     const RankPlaces& places);

}  // namespace roofmark::collectives
