// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Events.
#include <algorithm>
#include <cmath>

#include "graphs.hpp"
#include "operations.hpp"
#include "state.hpp"

struct CUevent_st {
  int device = 0;  // ordinal
  unsigned flags = 0;
  // Guarded by the mutex of the state. At most one of record and capture is set.
  gpu_model::runtime::CompletionRef record;
  std::shared_ptr<gpu_model::runtime::Capture> capture;
  std::vector<int> tail;  // nodes of the capture that the event stands for
};

namespace gpu_model::runtime {
namespace {

constexpr double timer_tick_ns = 32;

/// Fails if the event was not created or is destroyed.
cudaError_t check_event(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  return state().events.contains(event) ? cudaSuccess : fail(cudaErrorInvalidResourceHandle, "an unknown or destroyed event");
}

/// The event's last record, or null. Fails if the event was recorded in a capture that has not ended.
cudaError_t find_record(cudaEvent_t event, CompletionRef* record) {
  GPUMODEL_CHECK(check_event(event));
  const std::lock_guard lock(state().mutex);
  if (event->capture && !event->capture->over) {
    event->capture->invalid = true;
    return fail(cudaErrorCapturedEvent);
  }
  *record = event->record;
  return cudaSuccess;
}

/// A stream that waits for an event of a capture joins that capture. Call it with the state's mutex held.
cudaError_t wait_in_capture(CUstream_st& stream, const CUevent_st& event) {
  Capture& capture = *event.capture;
  if (stream.legacy) {
    capture.invalid = true;
    return fail(cudaErrorStreamCaptureImplicit, "the legacy stream waits for a captured event");
  }
  if (capture.invalid) return fail(cudaErrorStreamCaptureInvalidated);
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->invalid = capture.invalid = true;
    return fail(cudaErrorStreamCaptureMerge, "a captured stream waits for an event of another capture");
  }
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.tail.clear();
    capture.streams.insert(&stream);
  }
  for (const int node : event.tail) {
    if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end()) stream.tail.push_back(node);
  }
  return cudaSuccess;
}

}  // namespace
}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  GPUMODEL_CHECK(enter());
  if (!event || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess))) {
    return fail(cudaErrorInvalidValue);
  }
  if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)) return fail(cudaErrorInvalidValue);
  *event = new CUevent_st;
  (*event)->device = current_device().ordinal();
  (*event)->flags = flags;
  const std::lock_guard lock(state().mutex);
  state().events.insert(*event);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const cudaError_t before = enter();
  if (before == cudaErrorInitializationError || before == cudaErrorNoDevice) return before;
  GPUMODEL_CHECK(check_event(event));
  const std::lock_guard lock(state().mutex);
  state().events.erase(event);
  delete event;  // operations share its record
  return before;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t given) {
  GPUMODEL_CHECK(enter());
  GPUMODEL_CHECK(check_event(event));
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  if (event->device != stream->device) {
    return fail(cudaErrorInvalidResourceHandle, "an event is recorded in a stream of another device");
  }
  {
    const std::lock_guard lock(state().mutex);
    if (stream->capture) {
      if (stream->capture->invalid) return fail(cudaErrorStreamCaptureInvalidated);
      event->capture = stream->capture;
      event->tail = stream->tail;
      event->record.reset();
      return cudaSuccess;
    }
    event->capture.reset();
  }
  CompletionRef done;
  GPUMODEL_CHECK(submit(
      given, "event", [](Device&, double start, double) { return std::floor(start / timer_tick_ns) * timer_tick_ns; }, &done));
  const std::lock_guard lock(state().mutex);
  event->record = done;
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (flags != 0) return fail(cudaErrorNotSupported);
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  GPUMODEL_CHECK(enter());
  CompletionRef record;
  GPUMODEL_CHECK(find_record(event, &record));
  if (record) record->wait();
  return enter();
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  GPUMODEL_CHECK(enter());
  CompletionRef record;
  GPUMODEL_CHECK(find_record(event, &record));
  return !record || record->ready() ? cudaSuccess : fail(cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  GPUMODEL_CHECK(enter());
  if (!milliseconds) return fail(cudaErrorInvalidValue);
  CompletionRef first, second;
  GPUMODEL_CHECK(find_record(begin, &first));
  GPUMODEL_CHECK(find_record(end, &second));
  if (!first || !second) return fail(cudaErrorInvalidResourceHandle, "the time of an event that was never recorded");
  if ((begin->flags | end->flags) & cudaEventDisableTiming) {
    return fail(cudaErrorInvalidResourceHandle, "the time of an event without timing");
  }
  if (begin->device != end->device) return fail(cudaErrorInvalidResourceHandle, "the time between events of two devices");
  if (!first->ready() || !second->ready()) return fail(cudaErrorNotReady);
  *milliseconds = static_cast<float>((second->wait() - first->wait()) * 1e-6);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t given, cudaEvent_t event, unsigned flags) {
  GPUMODEL_CHECK(enter());
  if (flags & ~cudaEventWaitExternal) return fail(cudaErrorInvalidValue);
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  GPUMODEL_CHECK(check_event(event));
  CompletionRef record;
  {
    const std::lock_guard lock(state().mutex);
    if (event->capture && event->capture->over) event->capture.reset();
    if (event->capture) return wait_in_capture(*stream, *event);
    if (stream->capture) {
      if (stream->capture->invalid) return fail(cudaErrorStreamCaptureInvalidated);
      stream->capture->invalid = true;
      return fail(cudaErrorStreamCaptureIsolation, "a captured stream waits for an event that was not captured");
    }
    record = event->record;
  }
  if (!record) return cudaSuccess;
  return submit(given, "wait for an event", [](Device&, double start, double) { return start; }, nullptr, {record});
}

}  // extern "C"
