// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "operations.hpp"

#include <algorithm>
#include <map>
#include <thread>

#include "graphs.hpp"
#include "state.hpp"

namespace gpu_model::runtime {
namespace {

constexpr double launch_overhead_ns = 2000;
constexpr std::size_t queue_length = 1024;  // submit() blocks beyond this

/// Body of the stream's thread. Deletes the stream once it is destroyed and its queue is empty.
void work_off(CUstream_st* stream) {
  Device& device = device_at(stream->device);
  for (;;) {
    Operation operation;
    {
      std::unique_lock lock(stream->mutex);
      stream->changed.wait(lock, [&] { return !stream->queue.empty() || stream->closing; });
      if (stream->queue.empty()) break;
      operation = std::move(stream->queue.front());
      stream->queue.pop_front();
    }
    double start = std::max(stream->end_ns, operation.enqueued_ns);
    for (const CompletionRef& before : operation.after) start = std::max(start, before->wait());
    const double end = perform(device, operation.what, operation.work, start, launch_overhead_ns);
    operation.work = nullptr;  // frees what it owns before others see it done
    {
      const std::lock_guard lock(stream->mutex);
      stream->end_ns = end;
      --stream->unfinished;
      stream->changed.notify_all();
    }
    operation.done->finish(end);
  }
  {
    const std::lock_guard lock(state().mutex);
    device.streams.erase(stream);
  }
  delete stream;
}

/// Adds the operations that the implicit synchronisation with the legacy stream orders before the stream's next one. Call it
/// with the state's mutex held.
void add_implicit_order(const CUstream_st& stream, std::vector<CompletionRef>& after) {
  const Device& device = device_at(stream.device);
  if (stream.legacy) {
    for (const CUstream_st* other : device.streams) {
      if (other->synchronises_with_legacy() && other->last) after.push_back(other->last);
    }
  } else if (stream.synchronises_with_legacy() && device.legacy_stream->last) {
    after.push_back(device.legacy_stream->last);
  }
}

CUstream_st* stream_of_thread() {
  thread_local std::map<int, CUstream_st*> streams;
  CUstream_st*& mine = streams[current_device().ordinal()];
  if (!mine) {
    mine = new CUstream_st;
    mine->device = current_device().ordinal();
    const std::lock_guard lock(state().mutex);
    state().streams.insert(mine);
    current_device().streams.insert(mine);
  }
  return mine;
}

}  // namespace

void Completion::finish(double end_ns) {
  const std::lock_guard lock(mutex_);
  done_ = true;
  end_ns_ = end_ns;
  changed_.notify_all();
}

double Completion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
  return end_ns_;
}

bool Completion::ready() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

double perform(Device& device, const char* what, const Work& work, double start_ns, double overhead_ns) {
  if (has_sticky_error(device)) return start_ns;
  const double end_ns = work(device, start_ns, overhead_ns);
  GPUMODEL_TRACE("device %d: %s from %.2f us, for %.2f us", device.ordinal(), what, start_ns * 1e-3,
                 (end_ns - start_ns) * 1e-3);
  return end_ns;
}

cudaError_t submit(cudaStream_t given, const char* what, Work work, CompletionRef* done, std::vector<CompletionRef> after) {
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  {
    std::unique_lock lock(stream->mutex);
    stream->changed.wait(lock, [&] { return stream->unfinished < queue_length; });
  }
  const std::lock_guard all(state().mutex);
  if (stream->capture) {
    if (done) done->reset();
    return add_node(*stream, what, std::move(work));
  }
  if (stream->legacy) GPUMODEL_CHECK(refuse_legacy_during_capture(*stream));
  add_implicit_order(*stream, after);
  auto completion = std::make_shared<Completion>();
  if (done) *done = completion;
  stream->last = completion;
  const std::lock_guard lock(stream->mutex);
  stream->queue.push_back({what, std::move(work), std::move(after), std::move(completion), host_now_ns()});
  ++stream->unfinished;
  if (!stream->started) {
    stream->started = true;
    std::thread(work_off, stream).detach();
  }
  stream->changed.notify_all();
  return cudaSuccess;
}

cudaError_t wait_if_blocking(const CompletionRef& done) {
  if (!done || !settings().blocking) return cudaSuccess;
  done->wait();
  return enter();
}

cudaError_t find_stream(cudaStream_t given, CUstream_st** found) {
  if (given == nullptr || given == cudaStreamLegacy) {
    *found = current_device().legacy_stream;
    return cudaSuccess;
  }
  if (given == cudaStreamPerThread) {
    *found = stream_of_thread();
    return cudaSuccess;
  }
  const std::lock_guard lock(state().mutex);
  if (!state().streams.contains(given)) return fail(cudaErrorInvalidResourceHandle, "an unknown or destroyed stream");
  *found = given;
  return cudaSuccess;
}

cudaError_t device_of_stream(cudaStream_t given, int* device) {
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  *device = stream->device;
  return cudaSuccess;
}

void synchronize(CUstream_st& stream) {
  CompletionRef last;
  {
    const std::lock_guard lock(state().mutex);
    last = stream.last;
  }
  if (last) last->wait();
}

void synchronize(Device& device) {
  std::vector<CompletionRef> all;
  {
    const std::lock_guard lock(state().mutex);
    for (const CUstream_st* stream : device.streams) {
      if (stream->last) all.push_back(stream->last);
    }
  }
  for (const CompletionRef& one : all) one->wait();
}

}  // namespace gpu_model::runtime
