// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/epilogue.hpp"
#include "kernels/epilogue_reference.hpp"

namespace roofmark::cuda {
namespace {

constexpr int kThreads = 256;

/// One thread per element.
__global__ void __launch_bounds__(kThreads)
    epilogue_reference_kernel(EpilogueReference of, std::int64_t first, std::int64_t count, double* expected, double* allowed) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const Scaled found = epilogue_reference(of, first + i);
  expected[i] = found.value;
  allowed[i] = found.scale;
}

void reference(const EpilogueReference& of, std::int64_t first, std::int64_t count, double* expected, double* allowed,
               Stream stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  epilogue_reference_kernel<<<blocks, kThreads, 0, stream>>>(of, first, count, expected, allowed);
  check(cudaGetLastError());
}

}  // namespace

const EpilogueKernels epilogue = {reference};

}  // namespace roofmark::cuda
