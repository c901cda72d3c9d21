// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/ceilings.hpp"
#include "kernels/cuda/ptx/barrier.cuh"
#include "kernels/cuda/ptx/memory.cuh"
#include "kernels/cuda/ptx/swizzle.cuh"

namespace roofmark::cuda {

/// A block's operands of a tensor probe in shared memory, for instructions that read them there: A has 128 rows, B has 256,
/// both K-major. A row is two slabs of 128 bytes, each one row of the 128-byte swizzle; one instruction covers 32 bytes of k.
struct SwizzledOperands {
  static constexpr int kM = 128, kN = 256;
  static constexpr int kSlabBytes = 128, kSlabs = 2, kStepBytes = 32;
  static constexpr int kRowBytes = kSlabs * kSlabBytes, kSteps = kRowBytes / kStepBytes;
  static constexpr int kSlabRows = kM + kN;
  /// Dynamic shared memory, with what aligning it may take.
  static constexpr int kSharedBytes = kSlabs * kSlabRows * kSlabBytes + kSwizzleAtomBytes;

  /// From a row of A or B to its bytes of a step.
  static constexpr int step_offset(int step) {
    constexpr int steps_per_slab = kSlabBytes / kStepBytes;
    return step / steps_per_slab * kSlabRows * kSlabBytes + step % steps_per_slab * kStepBytes;
  }

  /// Of `bytes` of a row.
  static constexpr int elements_in(DataType type, int bytes) {
    if (type == DataType::nvfp4) return 2 * bytes;
    return type == DataType::mxfp8 ? bytes : bytes / static_cast<int>(size_of(type));
  }
  static constexpr int elements_per_row(DataType type) { return elements_in(type, kRowBytes); }
  static TensorLayout layout(DataType type, ProbeTarget target, int warps, double iterations_per_clock) {
    return {target.processors, warps, kM, kN, elements_per_row(type), elements_in(type, kStepBytes), 1, iterations_per_clock};
  }

  std::uint32_t a, b;  ///< shared addresses of their first rows

  /// The first byte behind both, which more dynamic shared memory than kSharedBytes has.
  __device__ std::uint32_t end() const { return a + kSlabs * kSlabRows * kSlabBytes; }
  static __device__ unsigned char* end(unsigned char* dynamic) {
    const std::uint32_t start = shared_address(dynamic);
    return dynamic + (aligned_address(start) - start) + kSlabs * kSlabRows * kSlabBytes;
  }

  /// By all threads of a block: copies both, row-major, and makes them visible to instructions after the next barrier.
  template <int kThreads>
  static __device__ SwizzledOperands stage(unsigned char* dynamic, const uint4* a, const uint4* b) {
    const std::uint32_t start = shared_address(dynamic), aligned = aligned_address(start);
    unsigned char* shared = dynamic + (aligned - start);
    copy_rows<kThreads>(shared, a, kM);
    copy_rows<kThreads>(shared + kM * kSlabBytes, b, kN);
    fence_proxy_async_shared();
    return {aligned, aligned + kM * kSlabBytes};
  }

 private:
  static __device__ std::uint32_t aligned_address(std::uint32_t start) {
    return (start + kSwizzleAtomBytes - 1) / kSwizzleAtomBytes * kSwizzleAtomBytes;
  }
  /// In a slab, 16-byte chunk c of row r is stored at c ^ (r % 8).
  template <int kThreads>
  static __device__ void copy_rows(unsigned char* shared, const uint4* rows, int count) {
    constexpr int chunks = kSlabBytes / 16;
    for (int i = threadIdx.x; i < count * kSlabs * chunks; i += kThreads) {
      const int row = i / (kSlabs * chunks), slab = i / chunks % kSlabs, chunk = i % chunks;
      *reinterpret_cast<uint4*>(shared + slab * kSlabRows * kSlabBytes + row * kSlabBytes + ((chunk ^ row % 8) * 16)) = rows[i];
    }
  }
};

}  // namespace roofmark::cuda
