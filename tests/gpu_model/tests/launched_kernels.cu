// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_model/tests/launched_kernels.hpp"

namespace gpu_model {
namespace {

__global__ void add_one_kernel(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += 1;
}
__global__ void add_two_kernel(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += 2;
}
__global__ void deadlock_kernel() { asm volatile("bar.sync 1, 64;"); }
__global__ void misaligned_kernel(float* x) { *reinterpret_cast<float*>(reinterpret_cast<char*>(x) + 1) = 1; }
__global__ __launch_bounds__(64) void narrow_kernel() {}
__global__ void shared_kernel() {}
__global__ void wait_for_all_blocks_kernel(volatile unsigned* count, unsigned* seen) {
  atomicAdd(const_cast<unsigned*>(count), 1);
  while (*count < gridDim.x) {
  }
  seen[blockIdx.x] = *count;
}
__constant__ char constant_bytes[64];
__global__ void get_constant_kernel(char* to) { to[threadIdx.x] = constant_bytes[threadIdx.x]; }

}  // namespace

namespace {

/// `attribute` is referred to.
cudaLaunchConfig_t configuration_of(int blocks, unsigned threads, cudaLaunchAttribute& attribute, cudaStream_t stream) {
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(threads);
  configuration.stream = stream;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  return configuration;
}

}  // namespace

cudaError_t wait_for_all_blocks(unsigned* count, unsigned* seen, int blocks, bool cooperative, cudaStream_t stream,
                                std::size_t shared_bytes) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = cooperative ? 1 : 0;
  cudaLaunchConfig_t configuration = configuration_of(blocks, 1, attribute, stream);
  configuration.dynamicSmemBytes = shared_bytes;
  return cudaLaunchKernelEx(&configuration, wait_for_all_blocks_kernel, static_cast<volatile unsigned*>(count), seen);
}
cudaError_t set_constant(const void* from, int bytes, int offset, cudaStream_t stream) {
  return cudaMemcpyToSymbolAsync(constant_bytes, from, bytes, offset, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t get_constant(char* to, cudaStream_t stream) {
  get_constant_kernel<<<1, 64, 0, stream>>>(to);
  return cudaGetLastError();
}

cudaError_t add_one(float* x, int n, cudaStream_t stream) {
  add_one_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, n);
  return cudaGetLastError();
}
cudaError_t add_two(float* x, int n, cudaStream_t stream) {
  add_two_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, n);
  return cudaGetLastError();
}
cudaError_t deadlock(cudaStream_t stream) {
  deadlock_kernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}
cudaError_t misalign(float* x, cudaStream_t stream) {
  misaligned_kernel<<<1, 1, 0, stream>>>(x);
  return cudaGetLastError();
}
cudaError_t launch_too_wide(cudaStream_t stream) {
  narrow_kernel<<<1, 96, 0, stream>>>();
  return cudaGetLastError();
}
cudaError_t use_shared_memory(int bytes, int granted, cudaStream_t stream) {
  if (granted > 0) {
    const cudaError_t status = cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, granted);
    if (status != cudaSuccess) return status;
  }
  shared_kernel<<<1, 32, bytes, stream>>>();
  return cudaGetLastError();
}

namespace {

/// `cluster` is referred to.
cudaLaunchConfig_t cluster_of(int blocks, cudaLaunchAttribute& cluster, cudaStream_t stream) {
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(blocks);
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  return configuration_of(blocks, 32, cluster, stream);
}

}  // namespace

cudaError_t launch_cluster(int blocks, cudaStream_t stream) {
  cudaLaunchAttribute cluster{};
  const cudaLaunchConfig_t configuration = cluster_of(blocks, cluster, stream);
  return cudaLaunchKernelEx(&configuration, shared_kernel);
}
cudaError_t active_clusters(int* clusters, int blocks, int shared_bytes) {
  cudaLaunchAttribute cluster{};
  cudaLaunchConfig_t configuration = cluster_of(blocks, cluster, nullptr);
  configuration.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  return cudaOccupancyMaxActiveClusters(clusters, shared_kernel, &configuration);
}

}  // namespace gpu_model
