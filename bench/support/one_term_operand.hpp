// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/device/device.hpp"
#include "kernels/gemm.hpp"

namespace roofmark {

/// Bytes of B in memory, of all products of a batch.
std::size_t bytes_of_b(const GemmProblem& problem);

/// Writes a B with one element other than 0 in each column, in its first row: sums of products with it have one term, so that
/// no order and no width of the summation rounds them. The elements are N(0, 1) / alpha, at most 64 times N(0, 1), which fits
/// fp8.
void write_one_term_b(Device& device, const GemmProblem& problem, std::uint64_t seed, void* b);

}  // namespace roofmark
