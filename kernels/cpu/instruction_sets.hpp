// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <string_view>
#include <vector>

namespace roofmark::cpu {

/// The sets of vector instructions that this CPU can run, the fastest for loops of loads and multiply-adds first: of x86-64
/// avx512, avx2 and sse2, elsewhere what the compiler has for its target, `plain`.
const std::vector<std::string_view>& instruction_sets();

/// The set of the longest vectors, for loops that take many instructions an element.
std::string_view widest_instruction_set();

}  // namespace roofmark::cpu
