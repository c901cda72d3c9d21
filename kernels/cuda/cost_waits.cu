// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <mutex>

#include "kernels/base/cuda.hpp"
#include "kernels/base/special_registers.cuh"
#include "kernels/cuda/cost.hpp"

namespace roofmark::cuda {

namespace {

/// How the host waits for an empty kernel.
enum class WaitBy { stream, event, blocking_event, query };

class LaunchAndWait final : public HostCall {
 public:
  LaunchAndWait(WaitBy by, cudaStream_t stream)
      : by_(by),
        stream_(stream),
        event_(make_event(cudaEventDisableTiming | (by == WaitBy::blocking_event ? cudaEventBlockingSync : 0U))) {}
  void call() override {
    launch_empty(stream_);
    if (by_ == WaitBy::stream) return check(cudaStreamSynchronize(stream_));
    check(cudaEventRecord(event_.get(), stream_));
    if (by_ != WaitBy::query) return check(cudaEventSynchronize(event_.get()));
    cudaError_t status = cudaErrorNotReady;
    while (status == cudaErrorNotReady) status = cudaEventQuery(event_.get());
    cudaGetLastError();  // "not ready" counts as an error, which the next launch would be blamed for
    check(status);
  }

 private:
  WaitBy by_;
  cudaStream_t stream_;
  OwnedEvent event_;
};

/// Calls that work on an idle stream and an event that has passed.
enum class Idle { synchronize_stream, synchronize_event, synchronize_device, record_event, query_event };

class OnIdleDevice final : public HostCall {
 public:
  OnIdleDevice(Idle what, cudaStream_t stream) : what_(what), stream_(stream) {
    check(cudaEventRecord(event_.get(), stream_));
    check(cudaStreamSynchronize(stream_));
  }
  void call() override {
    switch (what_) {
      case Idle::synchronize_stream:
        return check(cudaStreamSynchronize(stream_));
      case Idle::synchronize_event:
        return check(cudaEventSynchronize(event_.get()));
      case Idle::synchronize_device:
        return check(cudaDeviceSynchronize());
      case Idle::record_event:
        return check(cudaEventRecord(event_.get(), stream_));
      case Idle::query_event:
        return check(cudaEventQuery(event_.get()));
    }
  }

 private:
  Idle what_;
  cudaStream_t stream_;
  OwnedEvent event_ = make_event(cudaEventDisableTiming);
};

/// Brings one number of the device to the host and waits for it, as the `.item()` of a tensor does.
class CopyToHost final : public HostCall {
 public:
  static constexpr std::int32_t kValue = 0x5eed;

  CopyToHost(bool pinned, cudaStream_t stream) : stream_(stream) {
    check(cudaMalloc(&device_, sizeof(kValue)));
    check(cudaMemcpyAsync(device_, &kValue, sizeof(kValue), cudaMemcpyHostToDevice, stream_));
    check(cudaStreamSynchronize(stream_));
    if (!pinned) return;
    check(cudaMallocHost(&pinned_, sizeof(kValue)));
    target_ = static_cast<std::int32_t*>(pinned_);
  }
  ~CopyToHost() override {
    cudaFree(device_);
    cudaFreeHost(pinned_);
  }
  void call() override {
    *target_ = 0;
    check(cudaMemcpyAsync(target_, device_, sizeof(kValue), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
  }
  Effect effect() const override { return *target_ == kValue ? Effect::there : Effect::missing; }

 private:
  cudaStream_t stream_;
  void* device_ = nullptr;
  void* pinned_ = nullptr;
  std::int32_t pageable_ = 0;
  std::int32_t* target_ = &pageable_;
};

/// How a thread that waits for the device waits: cudaDeviceSchedule*, for as long as one of the same lives.
class ScheduleFlags {
 public:
  explicit ScheduleFlags(unsigned flags) {
    check(cudaGetDevice(&device_));
    check(cudaGetDeviceFlags(&before_));
    before_ &= cudaDeviceMask;
    const cudaError_t status = cudaSetDeviceFlags((before_ & ~unsigned{cudaDeviceScheduleMask}) | flags);
    if (status == cudaErrorSetOnActiveProcess) {
      cudaGetLastError();
      throw Unsupported("the driver does not change the flags of a device in use");
    }
    check(status);
  }
  ~ScheduleFlags() {
    int current = 0;
    if (cudaGetDevice(&current) != cudaSuccess || cudaSetDevice(device_) != cudaSuccess) return;
    cudaSetDeviceFlags(before_);
    cudaSetDevice(current);
  }
  ScheduleFlags(const ScheduleFlags&) = delete;
  ScheduleFlags& operator=(const ScheduleFlags&) = delete;

  /// Calls of one case share them: those that are made first and freed last would otherwise restore one another's.
  static std::shared_ptr<ScheduleFlags> shared(unsigned flags) {
    static std::mutex mutex;
    static std::weak_ptr<ScheduleFlags> alive[cudaDeviceScheduleMask + 1];
    const std::lock_guard lock(mutex);
    std::shared_ptr<ScheduleFlags> found = alive[flags].lock();
    if (!found) alive[flags] = found = std::make_shared<ScheduleFlags>(flags);
    return found;
  }

 private:
  int device_ = 0;
  unsigned before_ = 0;
};

__global__ void busy_kernel(std::uint64_t nanoseconds) {
  const std::uint64_t start = globaltimer();
  while (globaltimer() - start < nanoseconds) {
  }
}

/// Waits in the way that the flags say for an idle device, or for a kernel that the call launches first.
class WaitByFlags final : public HostCall {
 public:
  enum class By { stream, event, device };
  enum class Stream { idle, empty_kernel, busy_kernel };
  static constexpr std::uint64_t kBusyNanoseconds = 50'000;

  WaitByFlags(unsigned flags, By by, Stream what, cudaStream_t stream)
      : flags_(ScheduleFlags::shared(flags)), by_(by), what_(what), stream_(stream) {
    check(cudaEventRecord(event_.get(), stream_));
    check(cudaStreamSynchronize(stream_));
  }
  void call() override {
    if (what_ == Stream::empty_kernel) launch_empty(stream_);
    if (what_ == Stream::busy_kernel) {
      busy_kernel<<<1, 1, 0, stream_>>>(kBusyNanoseconds);
      check(cudaGetLastError());
    }
    if (by_ == By::stream) return check(cudaStreamSynchronize(stream_));
    if (by_ == By::device) return check(cudaDeviceSynchronize());
    if (what_ != Stream::idle) check(cudaEventRecord(event_.get(), stream_));
    check(cudaEventSynchronize(event_.get()));
  }

 private:
  std::shared_ptr<ScheduleFlags> flags_;
  By by_;
  Stream what_;
  cudaStream_t stream_;
  OwnedEvent event_ = make_event(cudaEventDisableTiming);
};

}  // namespace

void add_waits(CallPlans& calls) {
  for (const auto& [by, name] : {std::pair{WaitBy::stream, "stream"}, std::pair{WaitBy::event, "event"},
                                 std::pair{WaitBy::blocking_event, "blocking_event"}, std::pair{WaitBy::query, "query"}}) {
    calls.add<LaunchAndWait>("launch_and_wait", {{"by", name}}, CallPlans::when_finished, by);
  }
  for (const auto& [what, name] : {std::pair{Idle::synchronize_stream, "stream"}, std::pair{Idle::synchronize_event, "event"},
                                   std::pair{Idle::synchronize_device, "device"}}) {
    calls.add<OnIdleDevice>("synchronize", {{"idle", name}}, CallPlans::when_finished, what);
  }
  calls.add<OnIdleDevice>("query_event", {}, CallPlans::when_finished, Idle::query_event);
  calls.add<OnIdleDevice>("record_event", {}, CallPlans::at_once, Idle::record_event);
  for (const bool pinned : {true, false}) {
    calls.add<CopyToHost>("copy_to_host", {{"bytes", "4"}, {"memory", pinned ? "pinned" : "pageable"}},
                          CallPlans::when_finished, pinned);
  }
  for (const auto& [flags, name] : {std::pair{cudaDeviceScheduleSpin, "spin"}, std::pair{cudaDeviceScheduleYield, "yield"},
                                    std::pair{cudaDeviceScheduleBlockingSync, "block"}}) {
    using By = WaitByFlags::By;
    using Stream = WaitByFlags::Stream;
    for (const auto& [by, waits_by] :
         {std::pair{By::stream, "stream"}, std::pair{By::event, "event"}, std::pair{By::device, "device"}}) {
      for (const auto& [what, stream] : {std::pair{Stream::idle, "idle"}, std::pair{Stream::empty_kernel, "empty_kernel"},
                                         std::pair{Stream::busy_kernel, "kernel_of_50us"}}) {
        calls.add<WaitByFlags>("wait_by_flags", {{"flags", name}, {"by", waits_by}, {"stream", stream}},
                               CallPlans::when_finished, unsigned(flags), by, what);
      }
    }
  }
}

}  // namespace roofmark::cuda
