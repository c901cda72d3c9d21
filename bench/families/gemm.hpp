// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "bench/support/listing.hpp"
#include "kernels/gemm.hpp"

namespace roofmark::gemm {

/// D [m, n] = A [m, k] x B [k, n] by the device's library; `type` is that of A and B. `layout` is tn, nt, nn or tt; `algo` is
/// default (the library's first choice) or tuned (the fastest of up to 8 algorithms, timed in prepare). The family is "gemm"; a
/// caller may change it before listing the case. Throws std::invalid_argument for an unknown layout or algo, or a size below 1.
Case gemm_case(const Listing& listing, DataType type, std::int64_t m, std::int64_t n, std::int64_t k,
               const std::string& layout = "tn", const std::string& algo = "default");

/// FLOPs of D [m, n] = A [m, k] B [k, n]: a multiplication and an addition per term.
constexpr double product_flops(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

/// Of all products of a batch.
constexpr double flops(const GemmProblem& p) { return static_cast<double>(p.batch) * product_flops(p.m, p.n, p.k); }

/// Of a GPU: it has tensor cores for the type, or needs none.
bool has_tensor_cores(const DeviceInfo& device, DataType type);

/// fp64 runs at no small part of the fp32 rate, as far as the table knows the device.
bool is_fp64_fast(const DeviceInfo& device);

/// The side of the largest square product that is worth its time: where fp64 is not fast, one launch of a larger one would take
/// seconds.
std::int64_t largest_square(const DeviceInfo& device, DataType type);

}  // namespace roofmark::gemm
