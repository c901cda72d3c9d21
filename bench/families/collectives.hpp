// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bench/support/fabric.hpp"
#include "bench/support/listing.hpp"

namespace roofmark {

/// The bytes that a collective must carry over each boundary at the least, in the busier direction, whatever the algorithm, as
/// long as the network does not reduce. S is `bytes` (nccl-tests' size), n the ranks, k the hosts that they are on, m the ranks
/// of one host:
///                                  of a rank, inside its host     of a host, over the network
///   all_reduce                     2 (m-1)/m S                    2 (k-1)/k S
///   all_gather, reduce_scatter     (m-1)/m S                      (n-m)/n S
///   broadcast, reduce              S where m > 1                  S where k > 1
///   all_to_all                     (m-1)/n S                      m (n-m)/n S
///   gather, scatter                (m-1)/n S, of the root         (n-m)/n S, of the root's host
///   send_recv                      S where a neighbour is inside  S a neighbour that is outside
///   ping_pong                      S, twice in turn, inside or over the network
struct Traffic {
  double inside = 0;   ///< of the busiest rank
  double network = 0;  ///< of the busiest host, all its groups together
};

/// `groups` are the ranks of each communicator, all at work at once; `hosts` the host of every rank; `largest_bytes` the size
/// of the largest group's, of which each other group's ranks have the same part where the size counts all ranks' parts.
Traffic traffic(Collective op, double largest_bytes, const std::vector<std::vector<int>>& groups,
                const std::vector<int>& hosts);

/// Probes of what links the ranks: neighbours in a ring inside of each host, and over the network with all ranks of each host.
std::vector<Group> link_ceilings(const Listing& listing);

/// Every collective over the fabric's ranks, the groups of them, and the pairs; each rank lists the same.
std::vector<Group> collectives(const Listing& listing);

/// A matrix product, an all-reduce, and both at once.
std::vector<Group> overlap(const Listing& listing);

}  // namespace roofmark
