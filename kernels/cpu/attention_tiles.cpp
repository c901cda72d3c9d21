// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention_tiles.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "kernels/cpu/vector_loops.hpp"

namespace roofmark::cpu {
namespace {

#if defined(__x86_64__)

#pragma GCC push_options
#pragma GCC target("avx512f")
namespace avx512 {
constexpr std::size_t kVectorBytes = 64;
inline __attribute__((always_inline)) __m512 multiply_add(__m512 x, __m512 factor, __m512 term) {
  return _mm512_fmadd_ps(x, factor, term);
}
#include "kernels/cpu/attention_tiles.inc"
}  // namespace avx512
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr std::size_t kVectorBytes = 32;
inline __attribute__((always_inline)) __m256 multiply_add(__m256 x, __m256 factor, __m256 term) {
  return _mm256_fmadd_ps(x, factor, term);
}
#include "kernels/cpu/attention_tiles.inc"
}  // namespace avx2
#pragma GCC pop_options

namespace sse2 {
constexpr std::size_t kVectorBytes = 16;
inline __attribute__((always_inline)) __m128 multiply_add(__m128 x, __m128 factor, __m128 term) { return x * factor + term; }
#include "kernels/cpu/attention_tiles.inc"
}  // namespace sse2

AttentionTiles tiles(std::string_view instructions) {
  if (instructions == "avx512f") return avx512::tiles(instructions);
  return instructions == "avx2" ? avx2::tiles(instructions) : sse2::tiles(instructions);
}

#else

namespace plain {
constexpr std::size_t kVectorBytes = 16;
#if defined(__aarch64__)
inline float32x4_t multiply_add(float32x4_t x, float32x4_t factor, float32x4_t term) { return vfmaq_f32(term, x, factor); }
#else
template <class Vector>
Vector multiply_add(const Vector& x, const Vector& factor, const Vector& term) {
  return x * factor + term;
}
#endif
#include "kernels/cpu/attention_tiles.inc"
}  // namespace plain

AttentionTiles tiles(std::string_view instructions) { return plain::tiles(instructions); }

#endif

}  // namespace

const std::vector<AttentionTiles>& attention_tiles() {
  static const std::vector<AttentionTiles> found = [] {
    std::vector<AttentionTiles> all;
    for (const VectorLoops& loops : vector_loops()) all.push_back(tiles(loops.instructions));
    return all;
  }();
  return found;
}

}  // namespace roofmark::cpu
