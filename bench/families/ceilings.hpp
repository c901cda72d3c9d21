// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bench/support/listing.hpp"
#include "kernels/ceilings.hpp"

namespace roofmark {

/// The cases that raise the empirical ceilings, the same for every suite: no choice of cases moves a roof. Each demands one
/// resource, for about 2 ms but for DRAM and launches.
std::vector<Group> ceilings(const Listing& listing);

/// The same with these kernels in place of the device's own.
std::vector<Group> ceilings(const Listing& listing, const CeilingKernels& kernels);

}  // namespace roofmark
