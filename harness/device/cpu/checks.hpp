// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/device.hpp"

namespace roofmark::cpu {

// Device's comparisons and sums in float64, over arrays in host memory, by all threads.

ElementwiseError compare_linear(DataType type, const void* out, std::size_t count, double alpha, const void* x, double beta,
                                const void* y, double constant);
ElementwiseError compare(DataType type, const void* out, std::size_t count, const double* expected, const double* scale);
void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums, double* squares);
void fourth_power_sums(const MatrixView& view, double* sums);
void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products);
TermSums sum_terms(DataType type, const void* x, const void* y, std::size_t count);

}  // namespace roofmark::cpu
