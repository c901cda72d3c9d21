// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bench/support/fabric.hpp"
#include "bench/support/listing.hpp"

namespace roofmark {

/// Probes of the links: rings inside each domain, and over the network with all ranks of each. Empty without a fabric.
std::vector<Group> link_ceilings(const Listing& listing);

/// Every collective over the fabric's ranks, their groups and pairs; each rank lists the same. Over the ranks of one process
/// the all-reduce of all of them; empty without a fabric.
std::vector<Group> collectives(const Listing& listing);

/// A matrix product, an all-reduce, and both together. Empty without a fabric between processes.
std::vector<Group> overlap(const Listing& listing);

}  // namespace roofmark
