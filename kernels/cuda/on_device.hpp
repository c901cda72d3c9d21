// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <new>

#include "kernels/base/cuda.hpp"

namespace roofmark::cuda {

/// Makes another device the calling thread's current one for its lifetime.
class OnDevice {
 public:
  explicit OnDevice(int device) : OnDevice(device, std::nothrow) { check(describe_status(status_, device_)); }
  /// For destructors: ask status() whether it is the current one, which a lost device is not.
  OnDevice(int device, std::nothrow_t) noexcept : device_(device), before_(device), status_(cudaGetDevice(&before_)) {
    if (status_ == cudaSuccess && before_ != device_) status_ = cudaSetDevice(device_);
    if (status_ != cudaSuccess) cudaGetLastError();
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (before_ != device_ && cudaSetDevice(before_) != cudaSuccess) cudaGetLastError();  // nobody else must be blamed for it
  }

  cudaError_t status() const { return status_; }

 private:
  int device_, before_;
  cudaError_t status_;
};

}  // namespace roofmark::cuda
