// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "kernels/base/cuda.hpp"
#include "kernels/transpose.hpp"

namespace roofmark::cuda {

namespace {

constexpr int kWarp = 32, kWarps = 8;

// A tile is 32 elements wide, or 64 for elements of one and two bytes, so that both its rows and its columns fill whole
// sectors. The padding of one element spreads the reads of a column over all banks.
template <class Element>
constexpr int kTile = sizeof(Element) >= 4 ? 32 : 64;

template <class Element>
__global__ void __launch_bounds__(kWarp* kWarps)
    transpose_kernel(Element* __restrict__ out, const Element* __restrict__ in, std::int64_t rows, std::int64_t columns,
                     std::int64_t tiles_across, std::int64_t tiles) {
  constexpr int kSide = kTile<Element>;
  __shared__ Element tile[kSide][kSide + 1];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const std::int64_t r0 = t / tiles_across * kSide, c0 = t % tiles_across * kSide;
#pragma unroll
    for (int i = y; i < kSide; i += kWarps) {
#pragma unroll
      for (int j = x; j < kSide; j += kWarp) {
        if (r0 + i < rows && c0 + j < columns) tile[i][j] = in[(r0 + i) * columns + c0 + j];
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = y; i < kSide; i += kWarps) {
#pragma unroll
      for (int j = x; j < kSide; j += kWarp) {
        if (c0 + i < columns && r0 + j < rows) out[(c0 + i) * rows + r0 + j] = tile[j][i];
      }
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
  transpose_kernel<<<blocks, dim3(kWarp, kWarps), 0, stream>>>(static_cast<Element*>(out), static_cast<const Element*>(in),
                                                               rows, columns, across, tiles);
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
