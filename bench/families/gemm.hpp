// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "bench/support/listing.hpp"

namespace roofmark {

/// D [m, n] = A [m, k] x B [k, n] through the device's library, on `type` (that of A and B). `layout` is tn, nt, nn or tt;
/// `algo` is default (the library's first choice) or tuned (the fastest of up to 8 that it proposes, timed while preparing).
/// The family is "gemm"; a caller may change it before it lists the case. Throws std::invalid_argument for an unknown layout
/// or algo, or a size below 1.
Case gemm_case(const Listing& listing, DataType type, std::int64_t m, std::int64_t n, std::int64_t k,
               const std::string& layout = "tn", const std::string& algo = "default");

}  // namespace roofmark
