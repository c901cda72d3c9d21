// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/base/element.hpp"
#include "kernels/base/kernel.hpp"

namespace roofmark {

/// The value p(i) of word i, 32 bits. A test also writes its complement, so that every bit holds both values.
///   random        a hash of i: no two words of an aligned 16 GiB are equal: a word that lies elsewhere is wrong there
///   solid         0
///   checkerboard  0x55555555: adjacent bits differ
enum class MemoryPattern { random, solid, checkerboard };
inline constexpr MemoryPattern kMemoryPatterns[] = {MemoryPattern::random, MemoryPattern::solid, MemoryPattern::checkerboard};
constexpr std::string_view name(MemoryPattern pattern) {
  constexpr std::string_view names[] = {"random", "solid", "checkerboard"};
  return names[static_cast<int>(pattern)];
}

/// A pass over all words. A test runs the four in this order: the moving inversions of memory testers, in one direction.
///   write    w[i] = p(i)
///   invert   compares w[i] with p(i), then w[i] = ~p(i)
///   restore  compares w[i] with ~p(i), then w[i] = p(i)
///   check    compares w[i] with p(i)
enum class MemoryPass { write, invert, restore, check };
inline constexpr MemoryPass kMemoryPasses[] = {MemoryPass::write, MemoryPass::invert, MemoryPass::restore, MemoryPass::check};
constexpr bool reads(MemoryPass pass) { return pass != MemoryPass::write; }
constexpr bool writes(MemoryPass pass) { return pass != MemoryPass::check; }

/// What passes have found. They add to it, in any order; all zeros at first.
struct WrongWords {
  std::uint64_t count = 0;
  std::uint64_t bits = 0;   ///< that differed in any of them
  std::uint64_t first = 0;  ///< the complement of the lowest index; 0: none
};

/// A bijection of the low 32 bits of i: a product, the high bits folded into the low ones, a second product, and again.
/// Multipliers: C. Wellons, lowbias32, nullprogram.com/blog/2018/07/31.
ROOFMARK_HOST_DEVICE inline std::uint32_t random_word(std::uint64_t i) {
  std::uint32_t x = static_cast<std::uint32_t>(i) + 0x9e3779b9U * static_cast<std::uint32_t>(i >> 32);
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ x >> 16;
}

template <MemoryPattern kPattern>
ROOFMARK_HOST_DEVICE std::uint32_t pattern_word(std::uint64_t i) {
  if constexpr (kPattern == MemoryPattern::random) return random_word(i);
  return kPattern == MemoryPattern::solid ? 0 : 0x55555555U;
}

/// What a pass that reads compares word i with; and what a pass that writes leaves there.
template <MemoryPattern kPattern, MemoryPass kPass>
ROOFMARK_HOST_DEVICE std::uint32_t expected_word(std::uint64_t i) {
  const std::uint32_t word = pattern_word<kPattern>(i);
  return kPass == MemoryPass::restore ? ~word : word;
}
template <MemoryPattern kPattern, MemoryPass kPass>
ROOFMARK_HOST_DEVICE std::uint32_t written_word(std::uint64_t i) {
  const std::uint32_t word = pattern_word<kPattern>(i);
  return kPass == MemoryPass::invert ? ~word : word;
}

/// words is aligned to 16 bytes.
struct MemoryTestKernels {
  void (*pass)(MemoryPattern pattern, MemoryPass pass, std::uint32_t* words, std::size_t count, WrongWords* wrong,
               Stream stream);
};

namespace cuda {
ROOFMARK_KERNELS MemoryTestKernels memory_test;
}
namespace cpu {
ROOFMARK_KERNELS MemoryTestKernels memory_test;
}

}  // namespace roofmark
