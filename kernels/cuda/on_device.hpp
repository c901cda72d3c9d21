// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

namespace roofmark::cuda {

/// Makes another device the calling thread's current one for its lifetime.
class OnDevice {
 public:
  explicit OnDevice(int device) : device_(device), before_(device) {
    if (cudaGetDevice(&before_) == cudaSuccess && before_ != device_) cudaSetDevice(device_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (before_ != device_) cudaSetDevice(before_);
  }

 private:
  int device_, before_;
};

}  // namespace roofmark::cuda
