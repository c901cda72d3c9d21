// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/base/cuda.hpp"
#include "kernels/base/kernel.hpp"

namespace roofmark::cuda {

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
