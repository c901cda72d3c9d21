// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.hpp"

namespace roofmark::cuda {

inline constexpr std::int64_t kMostSoftmaxKeys = 32768;

/// Turns scores [batch, heads, queries, pitch] of the problem's type (fp16, bf16) into probabilities, in place, with 0 for keys
/// that a query does not see and up to the pitch, a multiple of 8. keys is at most kMostSoftmaxKeys; scores are 16-byte
/// aligned.
void attention_softmax(const AttentionProblem& problem, void* scores, std::int64_t pitch, Stream stream);

}  // namespace roofmark::cuda
