// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "harness/device/device.hpp"
#include "kernels/gemm.hpp"

namespace roofmark::gemm {

/// Why there is no such activation as a kernel of its own; empty if there is.
std::string reason_against_separate_activation(Backend backend, const GemmProblem& problem);

/// Device memory of such a plan: the product before the activation.
std::size_t separate_activation_bytes(const GemmProblem& problem);

/// The product as the library has it with the bias alone, in D's type, and after it the activation in a kernel of its own: what
/// a framework runs that does not fuse the two. The algorithms are those of the product.
std::unique_ptr<GemmPlan> plan_separate_activation(Device& device, const GemmKernels& kernels, const GemmProblem& problem,
                                                   int most, const GemmOperands& operands);

}  // namespace roofmark::gemm
