// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "kernels/base/cuda.hpp"

namespace roofmark::cuda {

/// Makes another device the calling thread's current one for its lifetime.
class OnDevice {
 public:
  explicit OnDevice(int device) : device_(device), before_(device) {
    check(cudaGetDevice(&before_));
    if (before_ != device_) check(cudaSetDevice(device_));
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (before_ != device_ && cudaSetDevice(before_) != cudaSuccess) cudaGetLastError();  // nobody else must be blamed for it
  }

 private:
  int device_, before_;
};

}  // namespace roofmark::cuda
