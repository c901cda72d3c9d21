// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Entry points of streams.
#include "graphs.hpp"
#include "operations.hpp"
#include "state.hpp"

using namespace gpu_model::runtime;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* to, unsigned flags, int /*priority*/) {
  GPUMODEL_CHECK(enter());
  if (!to || (flags & ~cudaStreamNonBlocking)) return fail(cudaErrorInvalidValue);
  auto* made = new CUstream_st;
  made->device = current_device().ordinal();
  made->flags = flags;
  const std::lock_guard lock(state().mutex);
  state().streams.insert(made);
  current_device().streams.insert(made);
  *to = made;
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  GPUMODEL_CHECK(enter());
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t before = enter();
  if (before == cudaErrorInitializationError || before == cudaErrorNoDevice) return before;
  const std::lock_guard all(state().mutex);
  if (!state().streams.erase(stream)) {
    return fail(cudaErrorInvalidResourceHandle, "cudaStreamDestroy of an unknown or destroyed stream");
  }
  if (stream->capture) {
    stream->capture->invalid = true;
    stream->capture->streams.erase(stream);
    say("a stream is destroyed during its capture");
  }
  std::unique_lock lock(stream->mutex);
  if (stream->started) {
    stream->closing = true;
    stream->changed.notify_all();
    return before;
  }
  lock.unlock();
  device_at(stream->device).streams.erase(stream);
  delete stream;
  return before;
}

cudaError_t cudaStreamSynchronize(cudaStream_t given) {
  GPUMODEL_CHECK(enter());
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  GPUMODEL_CHECK(refuse_during_its_capture(*stream));
  synchronize(*stream);
  return enter();
}

cudaError_t cudaStreamQuery(cudaStream_t given) {
  GPUMODEL_CHECK(enter());
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  GPUMODEL_CHECK(refuse_during_its_capture(*stream));
  const std::lock_guard lock(state().mutex);
  return !stream->last || stream->last->ready() ? cudaSuccess : fail(cudaErrorNotReady);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  GPUMODEL_CHECK(enter());
  if (!function) return fail(cudaErrorInvalidValue);
  CompletionRef done;
  GPUMODEL_CHECK(submit(
      stream, "host function",
      [function, data](Device&, double start, double overhead) {
        function(data);
        return start + overhead;
      },
      &done));
  return wait_if_blocking(done);
}

cudaError_t cudaDeviceSynchronize() {
  GPUMODEL_CHECK(enter());
  {
    const std::lock_guard lock(state().mutex);
    GPUMODEL_CHECK(refuse_during_captures());
  }
  synchronize(current_device());
  return enter();
}

}  // extern "C"
