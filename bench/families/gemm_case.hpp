// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "bench/families/prepared_gemm.hpp"
#include "bench/support/listing.hpp"

namespace roofmark::gemm {

/// Types that D may have.
inline constexpr DataType kOutputTypes[] = {DataType::bf16, DataType::fp16, DataType::fp32,
                                            DataType::fp8,  DataType::fp64, DataType::int32};

/// With another type of D, and an epilogue. Alpha is then near 1 / sqrt(k), so that sums of N(0, 1) are about 1, as activations
/// are: neither all where an activation is linear nor beyond the range of fp8.
GemmProblem with_output(GemmProblem problem, DataType output, GemmEpilogue epilogue);

/// Our own product on compute capability 9.0, as an `impl`.
inline constexpr std::string_view kTiledWgmma = "tiled_wgmma";

/// `what`: the layer that has this shape, for the record. `impl`: empty for the device's library. Throws std::invalid_argument
/// for an unknown algo, and a size below 1.
Case make_case(const Listing& listing, const GemmProblem& problem, const std::string& algo, const std::string& what = {},
               Activation activation = Activation::fused, std::string_view impl = {});

}  // namespace roofmark::gemm
