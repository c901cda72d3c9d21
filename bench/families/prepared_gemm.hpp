// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "bench/support/slots.hpp"
#include "kernels/gemm.hpp"

namespace roofmark::gemm {

/// The arrays A, B and D of a slot, and the bias of an epilogue that has one.
SlotLayout layout_of(const GemmProblem& problem);

/// Memory that all slots share: the library's workspace, and what the check of an epilogue holds.
std::size_t shared_bytes(const GemmProblem& problem, const GemmKernels& kernels);

/// Operands, and the library's first algorithm, or the fastest of up to eight, which are timed. `what`: the layer that has this
/// shape, for the record. Throws Unsupported, with the library's reason.
std::unique_ptr<Prepared> prepare(const Setup& setup, const GemmProblem& problem, const GemmKernels& kernels, bool tuned,
                                  const std::string& what);

}  // namespace roofmark::gemm
