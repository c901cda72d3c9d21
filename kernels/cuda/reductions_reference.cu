// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/reductions_reference.hpp"
#include "kernels/reductions_reference.hpp"

namespace roofmark::cuda {
namespace {

constexpr int kThreads = 256;

/// One block per row.
struct BlockLanes {
  double* parts;  ///< kThreads, in shared memory

  __device__ std::int64_t first() const { return threadIdx.x; }
  __device__ std::int64_t step() const { return kThreads; }
  template <class Both>
  __device__ double reduced(double part, Both both) const {
    __syncthreads();
    parts[threadIdx.x] = part;
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) parts[threadIdx.x] = both(parts[threadIdx.x], parts[threadIdx.x + half]);
    }
    __syncthreads();
    return parts[0];
  }
  __device__ double sum(double part) const {
    return reduced(part, [](double a, double b) { return a + b; });
  }
  __device__ double greatest(double part) const {
    return reduced(part, [](double a, double b) { return greater_or_nan(a, b); });
  }
};

__global__ void __launch_bounds__(kThreads, 4)
    reference_kernel(ReductionOp op, DataType type, ReductionArrays arrays, ReductionOutput which, std::int64_t first,
                     std::int64_t columns, std::int64_t width, double* expected, double* scale) {
  __shared__ double parts[kThreads];
  const std::int64_t r = blockIdx.x;
  reduction_reference_row(op, type, arrays, which, first + r, columns, BlockLanes{parts}, expected + r * width,
                          scale + r * width);
}

}  // namespace

void reductions_reference(ReductionOp op, DataType type, const ReductionArrays& arrays, ReductionOutput which,
                          std::int64_t first, std::int64_t count, std::int64_t columns, double* expected, double* scale,
                          Stream stream) {
  if (count == 0) return;
  const std::int64_t width = reduction_output_columns(op, which, columns);
  reference_kernel<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(op, type, arrays, which, first, columns, width,
                                                                          expected, scale);
  check(cudaGetLastError());
}

}  // namespace roofmark::cuda
