// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "kernels/base/cuda.hpp"
#include "kernels/transpose.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kWarp = 32, kWarps = 8;

// A tile is 32 elements wide, or 64 for elements of one and two bytes, so that both its rows and its columns fill whole
// sectors.
template <class Element>
constexpr int kTile = sizeof(Element) >= 4 ? 32 : 64;

/// Element by element. A row of the tile has a pad of one 4-byte bank, or of one element where that is larger: the elements of
/// a column are in different banks.
template <class Element>
__global__ void __launch_bounds__(kWarp* kWarps)
    transpose_kernel(Element* __restrict__ out, const Element* __restrict__ in, std::int64_t rows, std::int64_t columns,
                     std::int64_t tiles_across, std::int64_t tiles) {
  constexpr int kSide = kTile<Element>, kPad = sizeof(Element) >= 4 ? 1 : 4 / sizeof(Element);
  constexpr int kDown = kSide / kWarps, kAcross = kSide / kWarp;
  __shared__ Element tile[kSide][kSide + kPad];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const std::int64_t r0 = t / tiles_across * kSide, c0 = t % tiles_across * kSide;
    Element loaded[kDown][kAcross];  // all loads are issued before the first result is used
#pragma unroll
    for (int a = 0; a < kDown; ++a) {
#pragma unroll
      for (int b = 0; b < kAcross; ++b) {
        const std::int64_t row = r0 + y + a * kWarps, column = c0 + x + b * kWarp;
        loaded[a][b] = row < rows && column < columns ? in[row * columns + column] : Element{};
      }
    }
#pragma unroll
    for (int a = 0; a < kDown; ++a) {
#pragma unroll
      for (int b = 0; b < kAcross; ++b) tile[y + a * kWarps][x + b * kWarp] = loaded[a][b];
    }
    __syncthreads();
#pragma unroll
    for (int a = 0; a < kDown; ++a) {
#pragma unroll
      for (int b = 0; b < kAcross; ++b) {
        const int i = y + a * kWarps, j = x + b * kWarp;
        if (c0 + i < columns && r0 + j < rows) out[(c0 + i) * rows + r0 + j] = tile[j][i];
      }
    }
    __syncthreads();
  }
}

/// Transposes 4 x 4 bytes, or 2 x 2 elements of two bytes: a word per row.
__device__ void transpose_words(std::uint32_t (&w)[4]) {
  const std::uint32_t low01 = __byte_perm(w[0], w[1], 0x5140), high01 = __byte_perm(w[0], w[1], 0x7362);
  const std::uint32_t low23 = __byte_perm(w[2], w[3], 0x5140), high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410);
  w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410);
  w[3] = __byte_perm(high01, high23, 0x7632);
}
__device__ void transpose_words(std::uint32_t (&w)[2]) {
  const std::uint32_t first = __byte_perm(w[0], w[1], 0x5410);
  w[1] = __byte_perm(w[0], w[1], 0x7632);
  w[0] = first;
}

/// Words of several elements, of which rows and columns are whole multiples: an access moves four bytes per lane, as for larger
/// elements. Rows are in words of `in`, `word_rows` and `word_columns` in units of a word's elements.
template <class Element>
__global__ void __launch_bounds__(kWarp* kWarps)
    transpose_packed_kernel(std::uint32_t* __restrict__ out, const std::uint32_t* __restrict__ in, std::int64_t word_rows,
                            std::int64_t word_columns, std::int64_t tiles_across, std::int64_t tiles) {
  constexpr int kPack = 4 / sizeof(Element), kSide = kTile<Element>, kWords = kSide / kPack, kThreads = kWarp * kWarps;
  constexpr int kLoads = kSide * kWords / kThreads, kRowStep = kThreads / kWords;
  // In the second loop a warp reads the words of 32 / kPack groups of kPack rows, in kPack columns of words. With this pad they
  // are in 32 banks.
  __shared__ std::uint32_t tile[kSide][kWords + 1];
  const int thread = static_cast<int>(threadIdx.y) * kWarp + static_cast<int>(threadIdx.x);
  const std::int64_t rows = word_rows * kPack, columns = word_columns * kPack;
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const std::int64_t r0 = t / tiles_across * kSide, w0 = t % tiles_across * kWords;
    std::uint32_t loaded[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const std::int64_t row = r0 + i * kRowStep + thread / kWords, word = w0 + thread % kWords;
      loaded[i] = row < rows && word < word_columns ? in[row * word_columns + word] : 0;
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) tile[i * kRowStep + thread / kWords][thread % kWords] = loaded[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kWords * kWords; i += kThreads) {
      constexpr int kGroups = kWarp / kPack;  // of rows, in a warp
      const int patch = (i + thread) / kWarp, lane = (i + thread) % kWarp;
      const int group = patch % (kWords / kGroups) * kGroups + lane % kGroups;
      const int word = patch / (kWords / kGroups) * kPack + lane / kGroups;
      std::uint32_t words[kPack];
#pragma unroll
      for (int k = 0; k < kPack; ++k) words[k] = tile[group * kPack + k][word];
      transpose_words(words);
      const std::int64_t column = (w0 + word) * kPack;
      if (r0 / kPack + group >= word_rows || column >= columns) continue;
#pragma unroll
      for (int k = 0; k < kPack; ++k) out[(column + k) * word_rows + r0 / kPack + group] = words[k];
    }
    __syncthreads();
  }
}

template <class Element>
void launch_as(void* out, const void* in, std::int64_t rows, std::int64_t columns, Stream stream) {
  constexpr std::int64_t kSide = kTile<Element>;
  constexpr std::int64_t kMostBlocks = 0x7fffffff;
  const std::int64_t across = (columns + kSide - 1) / kSide;
  const std::int64_t tiles = across * ((rows + kSide - 1) / kSide);
  if (tiles == 0) return;
  const auto blocks = static_cast<unsigned>(tiles < kMostBlocks ? tiles : kMostBlocks);
  const dim3 threads(kWarp, kWarps);
  if constexpr (sizeof(Element) < 4) {
    constexpr std::int64_t kPack = 4 / sizeof(Element);
    const auto is_aligned = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 4 == 0; };
    if (rows % kPack == 0 && columns % kPack == 0 && is_aligned(out) && is_aligned(in)) {
      transpose_packed_kernel<Element><<<blocks, threads, 0, stream>>>(static_cast<std::uint32_t*>(out),
                                                                       static_cast<const std::uint32_t*>(in), rows / kPack,
                                                                       columns / kPack, across, tiles);
      check(cudaGetLastError());
      return;
    }
  }
  transpose_kernel<<<blocks, threads, 0, stream>>>(static_cast<Element*>(out), static_cast<const Element*>(in), rows, columns,
                                                   across, tiles);
  check(cudaGetLastError());
}

void launch(DataType type, void* out, const void* in, std::int64_t rows, std::int64_t columns, Stream stream) {
  switch (size_of(type)) {
    case 1:
      return launch_as<std::uint8_t>(out, in, rows, columns, stream);
    case 2:
      return launch_as<std::uint16_t>(out, in, rows, columns, stream);
    case 4:
      return launch_as<std::uint32_t>(out, in, rows, columns, stream);
    default:
      return launch_as<std::uint64_t>(out, in, rows, columns, stream);
  }
}

}  // namespace

const TransposeKernels transpose = {launch};

}  // namespace roofmark::cuda
