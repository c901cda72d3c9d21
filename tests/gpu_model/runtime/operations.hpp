// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Streams and the operations on them. Each stream has a thread that runs its queue in order. An operation also waits for those
// operations of other streams that CUDA orders before it.
//
// Model time: an operation starts when its stream's previous operation and all those that it waits for have ended, but not
// before the host enqueued it.
#pragma once
#include <cuda_runtime_api.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "device.hpp"

namespace gpu_model::runtime {

struct Capture;

/// Tells whether and when an operation has ended.
class Completion {
 public:
  void finish(double end_ns);
  /// Blocks until the operation has ended. Returns its end in model time.
  double wait();
  bool ready() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  double end_ns_ = 0;
};
using CompletionRef = std::shared_ptr<Completion>;

/// Executes an operation. It starts at start_ns with overhead_ns of launching; returns its end in model time.
using Work = std::function<double(Device&, double start_ns, double overhead_ns)>;

/// Executes the work, unless the device has a sticky error. Returns its end in model time.
double perform(Device& device, const char* what, const Work& work, double start_ns, double overhead_ns);

/// Enqueues on a stream, or adds to the capture that the stream is in. `done` receives the completion; null if captured.
cudaError_t submit(cudaStream_t stream, const char* what, Work work, CompletionRef* done = nullptr,
                   std::vector<CompletionRef> after = {});
/// With CUDA_LAUNCH_BLOCKING=1 waits for the operation and returns its error.
cudaError_t wait_if_blocking(const CompletionRef& done);

/// Resolves 0, cudaStreamLegacy and cudaStreamPerThread. Fails if the stream was not created or is destroyed.
cudaError_t find_stream(cudaStream_t given, CUstream_st** found);
cudaError_t device_of_stream(cudaStream_t stream, int* device);

/// Blocks until all operations that are enqueued on the stream, or on the device, have ended.
void synchronize(CUstream_st& stream);
void synchronize(Device& device);

struct Operation {
  const char* what = "";
  Work work;
  std::vector<CompletionRef> after;
  CompletionRef done;
  double enqueued_ns = 0;
};

}  // namespace gpu_model::runtime

struct CUstream_st {
  int device = 0;  ///< ordinal
  unsigned flags = 0;
  bool legacy = false;

  // The queue. Only the stream's thread uses end_ns.
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<gpu_model::runtime::Operation> queue;
  std::size_t unfinished = 0;
  bool started = false, closing = false;
  double end_ns = 0;

  // Guarded by the mutex of the state.
  gpu_model::runtime::CompletionRef last;  ///< of the operation that was enqueued last
  std::shared_ptr<gpu_model::runtime::Capture> capture;
  std::vector<int> tail;  ///< nodes of the capture that the stream's next node waits for

  bool synchronises_with_legacy() const { return !legacy && !(flags & cudaStreamNonBlocking); }
};
