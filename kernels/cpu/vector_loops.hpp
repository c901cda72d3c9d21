// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/stream.hpp"

namespace roofmark::cpu {

/// The loops of one thread for one type. Arrays are aligned to their elements and have any length.
template <class T>
struct TypedLoops {
  /// Streams that write to[i] from x[i] and y[i]. past_caches: non-temporal stores.
  void (*map)(StreamOp op, T* to, const T* x, const T* y, std::size_t n, T s, bool past_caches);
  /// read and dot.
  double (*reduce)(StreamOp op, const T* x, const T* y, std::size_t n);
  /// sink[0, fma_chains): each chain begins at the value it finds there and makes `steps` (a multiple of 8) steps
  /// x = fma(x, multiplier, 1). Null without a fused multiply-add.
  void (*fma)(T* sink, std::size_t steps, T multiplier);
  std::size_t fma_chains;
};

/// The inner loops, compiled for one vector instruction set.
struct VectorLoops {
  std::string_view instructions;
  TypedLoops<double> fp64;
  TypedLoops<float> fp32;
  /// The sum of `bytes` / 8 words (a multiple of 512 bytes, 64-byte aligned), read `repeats` times, modulo 2^64.
  std::uint64_t (*sum_words)(const void* data, std::size_t bytes, std::size_t repeats);
  /// Pass p of `repeats`, counted from 0, stores first + w + p to each 8-byte word w of `to`, or from[w] + p. `bytes` (of one
  /// array) and alignments as for sum_words.
  void (*write_words)(void* to, std::size_t bytes, std::size_t repeats, std::uint64_t first);
  void (*copy_words)(void* to, const void* from, std::size_t bytes, std::size_t repeats);
};

/// The implementations that this CPU can run, the fastest first.
const std::vector<VectorLoops>& vector_loops();

template <class T>
const TypedLoops<T>& best_loops();
template <>
inline const TypedLoops<double>& best_loops<double>() {
  return vector_loops().front().fp64;
}
template <>
inline const TypedLoops<float>& best_loops<float>() {
  return vector_loops().front().fp32;
}

}  // namespace roofmark::cpu
