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

/// The vector instruction sets that this CPU can run, the fastest for loops of loads and multiply-adds first: on x86-64 avx512,
/// avx2 and sse2, elsewhere `plain`, whatever the compiler uses for its target.
const std::vector<std::string_view>& instruction_sets();

/// The set with the widest vectors, for loops with many instructions per element.
std::string_view widest_instruction_set();

}  // namespace roofmark::cpu
