// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory_test.hpp"

#include <algorithm>

#include "kernels/cpu/instruction_sets.hpp"

namespace roofmark::cpu {

namespace {

constexpr std::uint32_t kPiece = 4096;

template <MemoryPattern kPattern, MemoryPass kPass>
void report(const std::uint32_t* words, std::uint64_t begin, std::uint32_t count, WrongWords& wrong) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t bits = words[i] ^ expected_word<kPattern, kPass>(begin + i);
    if (bits == 0) continue;
    ++wrong.count;
    wrong.bits |= bits;
    wrong.first = std::max(wrong.first, ~(begin + i));
  }
}

#define ROOFMARK_LOOPS "kernels/cpu/memory_test.inc"
#include "kernels/cpu/instruction_sets.inc"

void pass(MemoryPattern pattern, MemoryPass pass, std::uint32_t* words, std::size_t count, WrongWords* wrong, Stream) {
  static const auto choose = table_for(widest_instruction_set());
  const auto work = choose(pattern, pass);
  const auto pieces = static_cast<std::int64_t>((count + kPiece - 1) / kPiece);
#pragma omp parallel for schedule(static)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::size_t begin = static_cast<std::size_t>(piece) * kPiece;
    WrongWords found;
    work(words + begin, begin, static_cast<std::uint32_t>(std::min<std::size_t>(kPiece, count - begin)), found);
    if (found.count == 0) continue;
#pragma omp critical
    {
      wrong->count += found.count;
      wrong->bits |= found.bits;
      wrong->first = std::max(wrong->first, found.first);
    }
  }
}

}  // namespace

const MemoryTestKernels memory_test = {pass};

}  // namespace roofmark::cpu
