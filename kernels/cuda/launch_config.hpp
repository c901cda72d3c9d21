// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/base/cuda.hpp"
#include "kernels/base/kernel.hpp"

namespace roofmark::cuda {

/// Dynamic shared memory, in bytes, with which no more than `blocks` blocks of `threads` are on an SM: one more has no room.
/// The hardware may otherwise place two blocks of a grid of one block per SM on one SM while another idles. 0 where one more
/// has too many threads for an SM. Allows the kernel that much.
template <class... Parameters>
std::size_t shared_bytes_to_be(int blocks, void (*kernel)(Parameters...), int threads) {
  const DeviceLimits& limits = device_limits();
  if ((blocks + 1) * threads > limits.threads_per_multiprocessor) return 0;
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, kernel));
  const std::size_t wanted = static_cast<std::size_t>(limits.shared_bytes_per_block / (blocks + 1)) + 1024;
  const std::size_t dynamic = wanted - std::min(wanted, attributes.sharedSizeBytes);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(dynamic)));
  return dynamic;
}
template <class... Parameters>
std::size_t shared_bytes_to_be_alone(void (*kernel)(Parameters...), int threads) {
  return shared_bytes_to_be(1, kernel, threads);
}

/// A launch for cudaLaunchKernelEx, with one attribute at most.
class LaunchConfig {
 public:
  LaunchConfig(unsigned blocks, unsigned threads, Stream stream, std::size_t shared_bytes = 0) {
    config_.gridDim = blocks;
    config_.blockDim = threads;
    config_.dynamicSmemBytes = shared_bytes;
    config_.stream = stream;
    config_.attrs = &attribute_;
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  /// The number of blocks of a cluster, in x. sm_90.
  void set_clusters(unsigned blocks) {
    attribute_.id = cudaLaunchAttributeClusterDimension;
    attribute_.val.clusterDim.x = blocks;
    attribute_.val.clusterDim.y = attribute_.val.clusterDim.z = 1;
    config_.numAttrs = 1;
  }
  /// All blocks run at the same time, or the launch is refused.
  void set_cooperative() {
    attribute_.id = cudaLaunchAttributeCooperative;
    attribute_.val.cooperative = 1;
    config_.numAttrs = 1;
  }

  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchConfig_t config_ = {};
  cudaLaunchAttribute attribute_ = {};
};

}  // namespace roofmark::cuda
