// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/access.hpp"
#include "kernels/cuda/launch_config.hpp"

namespace roofmark::cuda {

namespace {

/// Which thread adds to which counter: number (thread >> shift) * stride. All is known at run time alone, the 1 included: where
/// ptxas can tell that the lanes of a warp share an address, it adds up the warp's share first.
struct Counters {
  unsigned shift, stride;

  __device__ unsigned of(unsigned thread) const { return (thread >> shift) * stride; }
};

template <class T>
__global__ void __launch_bounds__(kAtomicBlock)
    atomic_add_global_kernel(T* counters, Counters counters_of, unsigned repeats, T one) {
  T* const counter = counters + counters_of.of(blockIdx.x * kAtomicBlock + threadIdx.x);
#pragma unroll 8
  for (unsigned repeat = 0; repeat < repeats; ++repeat) atomicAdd(counter, one);
}

template <class T>
__global__ void __launch_bounds__(kAtomicBlock)
    atomic_add_shared_kernel(T* out, Counters counters_of, unsigned repeats, T one) {
  __shared__ T counters[kAtomicBlock];
  counters[threadIdx.x] = 0;
  __syncthreads();
  T* const counter = counters + counters_of.of(threadIdx.x);
#pragma unroll 8
  for (unsigned repeat = 0; repeat < repeats; ++repeat) atomicAdd(counter, one);
  __syncthreads();
  out[blockIdx.x * kAtomicBlock + threadIdx.x] = counters[threadIdx.x];
}

unsigned shift_of(AddressPer per) {
  constexpr unsigned kShifts[] = {31, 8, 5, 0};
  static_assert(kAtomicBlock == 1 << 8);
  return kShifts[static_cast<int>(per)];
}

template <class T>
void launch(bool global, void* data, Counters counters, unsigned repeats, int processors, Stream stream) {
  constexpr int kBlocks = kAtomicThreads / kAtomicBlock;
  const auto kernel = global ? atomic_add_global_kernel<T> : atomic_add_shared_kernel<T>;
  // More blocks on one SM would leave another idle.
  const std::size_t shared_bytes = shared_bytes_to_be(kBlocks, kernel, kAtomicBlock);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  kernel<<<processors * kBlocks, kAtomicBlock, shared_bytes, stream>>>(static_cast<T*>(data), counters, repeats, T{1});
  check(cudaGetLastError());
}

void launch(bool global, DataType type, void* data, Counters counters, unsigned repeats, int processors, Stream stream) {
  switch (type) {
    case DataType::int32:
      return launch<int>(global, data, counters, repeats, processors, stream);
    case DataType::fp32:
      return launch<float>(global, data, counters, repeats, processors, stream);
    default:
      throw Unsupported("atomic additions support int32 and fp32");
  }
}

}  // namespace

void atomic_add_global(DataType type, void* counters, AddressPer per, unsigned repeats, int processors, Stream stream) {
  launch(true, type, counters, {shift_of(per), per == AddressPer::thread ? 1U : unsigned{kAtomicCounterStride}}, repeats,
         processors, stream);
}

void atomic_add_shared(DataType type, void* out, AddressPer per, unsigned repeats, int processors, Stream stream) {
  launch(false, type, out, {shift_of(per), 1}, repeats, processors, stream);
}

}  // namespace roofmark::cuda
