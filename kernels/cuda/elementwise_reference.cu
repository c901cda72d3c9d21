// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/elementwise_reference.hpp"
#include "kernels/elementwise_reference.hpp"

namespace roofmark::cuda {
namespace {

constexpr int kThreads = 256;

/// One thread per element.
__global__ void __launch_bounds__(kThreads)
    reference_kernel(ElementwiseProblem problem, ElementwiseArrays arrays, ElementwiseOutput which, std::int64_t first,
                     std::int64_t count, double* expected, double* scale) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const Scaled found = roofmark::elementwise_reference(problem, arrays, which, first + i);
  expected[i] = found.value;
  scale[i] = found.scale;
}

}  // namespace

void elementwise_reference(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, ElementwiseOutput which,
                           std::int64_t first, std::int64_t count, double* expected, double* scale, Stream stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  reference_kernel<<<blocks, kThreads, 0, stream>>>(problem, arrays, which, first, count, expected, scale);
  check(cudaGetLastError());
}

}  // namespace roofmark::cuda
