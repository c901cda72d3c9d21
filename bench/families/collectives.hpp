// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bench/support/fabric.hpp"
#include "bench/support/listing.hpp"

namespace roofmark::link_ceilings {

/// Probes of the links: rings inside each domain, and over the network with all ranks of each. Empty without a fabric.
std::vector<Group> list(const Listing& listing);

}  // namespace roofmark::link_ceilings

namespace roofmark::collectives {

/// Every collective over the fabric's ranks, their groups and pairs; each rank lists the same. Over the ranks of one process
/// the all-reduce of all of them; empty without a fabric.
std::vector<Group> list(const Listing& listing);

}  // namespace roofmark::collectives

namespace roofmark::overlap {

/// A matrix product, an all-reduce, and both together. Empty without a fabric between processes.
std::vector<Group> list(const Listing& listing);

}  // namespace roofmark::overlap
