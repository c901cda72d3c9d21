// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "kernels/base/cuda.hpp"

namespace roofmark::cuda {

template <class Handle, auto kDestroy>
struct Destroyer {
  using pointer = Handle;
  void operator()(Handle handle) const { kDestroy(handle); }
};
/// A CUDA handle with one owner.
template <class Handle, auto kDestroy>
using Owned = std::unique_ptr<Handle, Destroyer<Handle, kDestroy>>;

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;
using OwnedGraph = Owned<cudaGraph_t, cudaGraphDestroy>;
using OwnedGraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

inline OwnedEvent make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event));
  return OwnedEvent(event);
}

}  // namespace roofmark::cuda
