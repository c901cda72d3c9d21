// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bench/support/listing.hpp"
#include "kernels/ceilings.hpp"

namespace roofmark::ceilings {

/// The probes that set the empirical ceilings, the same for every suite and filter. Each loads one resource for about 2 ms,
/// except for DRAM and launches.
std::vector<Group> list(const Listing& listing);

/// The same with other kernels than the device's.
std::vector<Group> list(const Listing& listing, const CeilingKernels& kernels);

}  // namespace roofmark::ceilings
