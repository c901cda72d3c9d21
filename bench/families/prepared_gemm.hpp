// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bench/support/slots.hpp"
#include "kernels/gemm.hpp"

namespace roofmark::gemm {

/// The arrays A, B and D of a slot, and the bias of an epilogue that has one.
SlotLayout layout_of(const GemmProblem& problem);
/// Of D, where it is added to.
std::size_t updated_bytes(const GemmProblem& problem);

/// Who applies an epilogue's activation: the product's kernel, or one of its own after it.
enum class Activation { fused, separate };
inline constexpr Activation kActivations[] = {Activation::fused, Activation::separate};
constexpr std::string_view name(Activation activation) { return activation == Activation::fused ? "fused" : "separate"; }

/// Memory that all slots share: the library's workspace, the product before a separate activation, and what the checks of
/// an epilogue and of scales hold.
std::size_t shared_bytes(const GemmProblem& problem, Activation activation, const GemmKernels& kernels);

/// Operands, and the library's first algorithm, or the fastest of up to eight, which are timed. `what`: the layer that has this
/// shape, for the record. Throws Unsupported, with the library's reason.
std::unique_ptr<Prepared> prepare(const Setup& setup, const GemmProblem& problem, Activation activation,
                                  const GemmKernels& kernels, bool tuned, const std::string& what);

}  // namespace roofmark::gemm
