// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/support/listing.hpp"
#include "kernels/access.hpp"

namespace roofmark::access {

/// Atomic additions of 1 on a GPU, to counters in global or shared memory. Types: int32, fp32.
Case atomic_case(const Listing& listing, bool global, DataType type, AddressPer per);

}  // namespace roofmark::access
