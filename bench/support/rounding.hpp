// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/data_type.hpp"

namespace roofmark {

/// The unit at which tensor cores truncate aligned products and sums, relative to the largest: they keep 24 bits or more (Fasi,
/// Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ CS, 2021), and about 14 bits for fp8
/// (DeepSeek-V3 Technical Report, 3.3.2). What products of mxfp8 and nvfp4 keep is not documented; they are taken to be like
/// fp8.
constexpr bool sums_in_few_bits(DataType type) { return type == DataType::fp8 || is_block_scaled(type); }
constexpr double tensor_core_unit(DataType type) { return sums_in_few_bits(type) ? 0x1p-13 : 0x1p-23; }

/// What a sum of `terms` products of a 16-bit type may lose on tensor cores, in u(type) x the largest partial sum. They add
/// groups of at least eight products; the errors of truncation add up. 8 allows for merging partial sums.
constexpr double tensor_core_error(DataType type, double terms) {
  return tensor_core_unit(type) / unit_roundoff(type) * (8 + terms / 8);
}

/// Roundings to fp32 of a term whose kernel applies its fp32 scales and alpha one by one.
inline constexpr double kScaleRoundings = 4;

}  // namespace roofmark
