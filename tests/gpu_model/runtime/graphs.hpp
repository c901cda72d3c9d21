// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "operations.hpp"

namespace gpu_model::runtime {

struct GraphNode {
  const char* what = "";
  Work work;
  std::vector<int> after;  ///< the nodes that it waits for
  int device = 0;          ///< ordinal
};

struct Capture {
  CUstream_st* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool invalid = false, over = false;
  std::vector<GraphNode> nodes;
  std::set<CUstream_st*> streams;  ///< the origin and the streams that joined the capture
};

// The first three are called with the state's mutex held; the last one locks it.

/// Adds an operation to the capture that the stream is in.
cudaError_t add_node(CUstream_st& stream, const char* what, Work work);

/// For calls that CUDA calls unsafe during a capture (cudaMalloc, ...). Where the mode of a capture forbids them to this
/// thread, invalidates the capture and returns an error.
cudaError_t refuse_during_captures();

/// For uses of the legacy stream. While a stream that synchronises with it is captured, invalidates the capture and returns an
/// error.
cudaError_t refuse_legacy_during_capture(const CUstream_st& legacy);

/// For calls that cannot be captured (cudaStreamSynchronize, ...). Where the stream is captured, invalidates the capture and
/// returns an error.
cudaError_t refuse_during_its_capture(CUstream_st& stream);

}  // namespace gpu_model::runtime
