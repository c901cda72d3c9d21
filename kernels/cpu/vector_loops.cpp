// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/vector_loops.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <utility>

namespace roofmark::cpu {
namespace {

constexpr std::size_t kLine = 64;

// kFmaVectors, the vectors in flight in a chain of multiply-adds, hides a latency of 4 or 5 clocks at two a clock within the
// 16 registers of x86, and of 4 clocks at four a clock on Arm; 0 where there is no fused multiply-add.

#if defined(__x86_64__)

/// Stores past the caches are in memory before any later store, the one that tells other threads among them.
inline void finish_stores() { _mm_sfence(); }

#pragma GCC push_options
#pragma GCC target("avx512f")
namespace avx512 {
constexpr std::size_t kVectorBytes = 64;
constexpr std::size_t kFmaVectors = 12;
inline void store_past_caches(double* to, __m512d value) { _mm512_stream_pd(to, value); }
inline void store_past_caches(float* to, __m512 value) { _mm512_stream_ps(to, value); }
inline __m512d fused_multiply_add(__m512d x, __m512d factor, __m512d term) { return _mm512_fmadd_pd(x, factor, term); }
inline __m512 fused_multiply_add(__m512 x, __m512 factor, __m512 term) { return _mm512_fmadd_ps(x, factor, term); }
#include "kernels/cpu/vector_loops.inc"
}  // namespace avx512
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr std::size_t kVectorBytes = 32;
constexpr std::size_t kFmaVectors = 12;
inline void store_past_caches(double* to, __m256d value) { _mm256_stream_pd(to, value); }
inline void store_past_caches(float* to, __m256 value) { _mm256_stream_ps(to, value); }
inline __m256d fused_multiply_add(__m256d x, __m256d factor, __m256d term) { return _mm256_fmadd_pd(x, factor, term); }
inline __m256 fused_multiply_add(__m256 x, __m256 factor, __m256 term) { return _mm256_fmadd_ps(x, factor, term); }
#include "kernels/cpu/vector_loops.inc"
}  // namespace avx2
#pragma GCC pop_options

namespace sse2 {
constexpr std::size_t kVectorBytes = 16;
constexpr std::size_t kFmaVectors = 0;
inline void store_past_caches(double* to, __m128d value) { _mm_stream_pd(to, value); }
inline void store_past_caches(float* to, __m128 value) { _mm_stream_ps(to, value); }
#include "kernels/cpu/vector_loops.inc"
}  // namespace sse2

std::vector<VectorLoops> runnable_loops() {
  std::vector<VectorLoops> found;
  if (__builtin_cpu_supports("avx512f")) found.push_back(avx512::loops("avx512f"));
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(avx2::loops("avx2"));
  // Zen 4 does a 512-bit instruction as two halves: multiply-adds run alike, but of the 64 bytes a clock that its first-level
  // cache gives to 256-bit loads, 512-bit loads were measured to get 60.
  if (found.size() == 2 && __builtin_cpu_is("amdfam19h")) std::swap(found[0], found[1]);
  found.push_back(sse2::loops("sse2"));
  return found;
}

#else

// Vectors of 16 bytes as the compiler has them for its target; GCC has no stores past the caches in its vector language.
inline void finish_stores() {}
template <class T, class Vector>
void store_past_caches(T* to, const Vector& value) {
  *reinterpret_cast<Vector*>(to) = value;
}

namespace plain {
constexpr std::size_t kVectorBytes = 16;
#if defined(__aarch64__)
constexpr std::size_t kFmaVectors = 24;
inline float64x2_t fused_multiply_add(float64x2_t x, float64x2_t factor, float64x2_t term) {
  return vfmaq_f64(term, x, factor);
}
inline float32x4_t fused_multiply_add(float32x4_t x, float32x4_t factor, float32x4_t term) {
  return vfmaq_f32(term, x, factor);
}
#else
constexpr std::size_t kFmaVectors = 0;
#endif
#include "kernels/cpu/vector_loops.inc"
}  // namespace plain

std::vector<VectorLoops> runnable_loops() { return {plain::loops("plain")}; }

#endif

}  // namespace

const std::vector<VectorLoops>& vector_loops() {
  static const std::vector<VectorLoops> found = runnable_loops();
  return found;
}

}  // namespace roofmark::cpu
