// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "kernels/base/cuda.hpp"
#include "kernels/base/host_limits.hpp"
#include "kernels/cuda/cost.hpp"

namespace roofmark::cuda {

namespace {

using OwnedPool = Owned<cudaMemPool_t, cudaMemPoolDestroy>;

/// Where memory is from: cudaMalloc; a pool that keeps what is freed, or gives it back; cudaHostAlloc.
enum class Source { malloc, warm_pool, cold_pool, pinned_host };

class Allocator {
 public:
  Allocator(Source source, std::size_t bytes, cudaStream_t stream) : source_(source), bytes_(bytes), stream_(stream) {
    if (source_ != Source::warm_pool && source_ != Source::cold_pool) return;
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    check(cudaGetDevice(&properties.location.id));
    int supported = 0;
    check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, properties.location.id));
    if (!supported) throw Unsupported("the driver offers no memory pools on this device");
    cudaMemPool_t pool = nullptr;
    check(cudaMemPoolCreate(&pool, &properties));
    pool_ = OwnedPool(pool);
    std::uint64_t kept = source_ == Source::warm_pool ? UINT64_MAX : 0;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    obtain();
    release();
    settle();
  }
  ~Allocator() {
    if (data_) static_cast<void>(try_release());
    cudaStreamSynchronize(stream_);
  }
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  bool holds() const { return data_ != nullptr; }
  void obtain() {
    const cudaError_t status = pool_                            ? cudaMallocFromPoolAsync(&data_, bytes_, pool_.get(), stream_)
                               : source_ == Source::pinned_host ? cudaHostAlloc(&data_, bytes_, cudaHostAllocDefault)
                                                                : cudaMalloc(&data_, bytes_);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      if (source_ == Source::pinned_host) {
        throw OutOfMemory(bytes_, available_host_memory(), "pinned host memory", lock_limit_in_words());
      }
      std::size_t free = 0, total = 0;
      check(cudaMemGetInfo(&free, &total));
      throw OutOfMemory(bytes_, free);
    }
    check(status);
  }
  void release() { check(try_release()); }
  void settle() { check(cudaStreamSynchronize(stream_)); }

 private:
  cudaError_t try_release() {
    void* const data = std::exchange(data_, nullptr);
    return pool_ ? cudaFreeAsync(data, stream_) : source_ == Source::pinned_host ? cudaFreeHost(data) : cudaFree(data);
  }

  Source source_;
  std::size_t bytes_;
  cudaStream_t stream_;
  OwnedPool pool_;
  void* data_ = nullptr;
};

class Allocate final : public HostCall {
 public:
  Allocate(Source source, std::size_t bytes, cudaStream_t stream) : memory_(source, bytes, stream) {}
  void call() override { memory_.obtain(); }
  void restore() override {
    if (memory_.holds()) memory_.release();
    memory_.settle();
  }
  bool needs_restore() const override { return true; }
  Effect effect() const override { return memory_.holds() ? Effect::there : Effect::missing; }

 private:
  Allocator memory_;
};

class Free final : public HostCall {
 public:
  Free(Source source, std::size_t bytes, cudaStream_t stream) : memory_(source, bytes, stream) { memory_.obtain(); }
  void call() override { memory_.release(); }
  void restore() override {
    if (!memory_.holds()) memory_.obtain();
    memory_.settle();
  }
  bool needs_restore() const override { return true; }
  Effect effect() const override { return memory_.holds() ? Effect::missing : Effect::there; }

 private:
  Allocator memory_;
};

}  // namespace

void add_memory(CallPlans& calls) {
  for (const auto& [source, name] :
       {std::pair{Source::malloc, "malloc"}, std::pair{Source::warm_pool, "pool_warm"},
        std::pair{Source::cold_pool, "pool_cold"}, std::pair{Source::pinned_host, "pinned_host"}}) {
    for (const std::size_t bytes : {std::size_t{4} << 10, std::size_t{2} << 20, std::size_t{1} << 30}) {
      const bool host = source == Source::pinned_host;
      const CallPlans::Keys keys = {{"bytes", std::to_string(bytes)}, {"from", name}};
      // A pool obeys the stream: the call returns before, and memory may be given back when the stream is waited for.
      const bool pool = source == Source::warm_pool || source == Source::cold_pool;
      const CallPlans::Returns returns = pool ? CallPlans::at_once : CallPlans::when_finished;
      const auto complete = [&](HostCallPlan& plan) {
        plan.device_bytes = host ? 0 : bytes;
        if (host && bytes > (std::size_t{2} << 20)) plan.samples = 10;  // each takes a good part of a second
      };
      complete(calls.add<Allocate>("allocate", keys, returns, source, bytes));
      complete(calls.add<Free>("free", keys, returns, source, bytes));
    }
  }
}

}  // namespace roofmark::cuda
