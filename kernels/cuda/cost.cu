// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "kernels/base/cuda.hpp"
#include "kernels/cost.hpp"

namespace roofmark::cuda {

namespace {

using OwnedPool = Owned<cudaMemPool_t, cudaMemPoolDestroy>;

constexpr int kThreads = 256, kCluster = 2;
constexpr std::size_t kArgumentBytes = 4096;
struct Arguments {
  std::uint64_t words[kArgumentBytes / sizeof(std::uint64_t)];
};

__global__ void empty_kernel() {}
__global__ void empty_kernel_of_arguments(Arguments) {}

void launch_empty(cudaStream_t stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
  check(cudaGetLastError());
}

/// What kernel is launched.
enum class Kind { empty, full_grid, arguments, cluster, cooperative };

class LaunchKernel final : public HostCall {
 public:
  LaunchKernel(Kind kind, cudaStream_t stream) : kind_(kind) {
    const bool fills = kind == Kind::full_grid || kind == Kind::cooperative;
    const DeviceLimits& limits = device_limits();
    config_.gridDim = fills ? limits.multiprocessors * (limits.threads_per_multiprocessor / kThreads)
                            : (kind == Kind::cluster ? kCluster : 1);
    config_.blockDim = fills ? kThreads : 1;
    config_.stream = stream;
    if (kind == Kind::cluster) {
      attribute_.id = cudaLaunchAttributeClusterDimension;
      attribute_.val.clusterDim.x = kCluster;
      attribute_.val.clusterDim.y = attribute_.val.clusterDim.z = 1;
    } else if (kind == Kind::cooperative) {
      attribute_.id = cudaLaunchAttributeCooperative;
      attribute_.val.cooperative = 1;
    } else {
      return;
    }
    config_.attrs = &attribute_;
    config_.numAttrs = 1;
  }
  void call() override {
    if (kind_ == Kind::arguments) return check(cudaLaunchKernelEx(&config_, empty_kernel_of_arguments, arguments_));
    check(cudaLaunchKernelEx(&config_, empty_kernel));
  }

 private:
  Kind kind_;
  cudaLaunchConfig_t config_ = {};
  cudaLaunchAttribute attribute_ = {};
  Arguments arguments_ = {};
};

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

/// A kernel, and one in another stream that waits for it, and one in the first that waits for that.
class TwoStreams final : public HostCall {
 public:
  explicit TwoStreams(cudaStream_t stream) : stream_(stream) {}
  void call() override {
    launch_empty(stream_);
    pass(stream_, other_.get(), there_.get());
    launch_empty(other_.get());
    pass(other_.get(), stream_, back_.get());
    launch_empty(stream_);
  }

 private:
  static void pass(cudaStream_t from, cudaStream_t to, cudaEvent_t event) {
    check(cudaEventRecord(event, from));
    check(cudaStreamWaitEvent(to, event, 0));
  }

  cudaStream_t stream_;
  OwnedStream other_ = make_stream();
  OwnedEvent there_ = make_event(cudaEventDisableTiming), back_ = make_event(cudaEventDisableTiming);
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
    check(cudaMemcpy(device_, &kValue, sizeof(kValue), cudaMemcpyHostToDevice));
    if (!pinned) return;
    check(cudaMallocHost(&pinned_, sizeof(kValue)));
    target_ = static_cast<std::int32_t*>(pinned_);
    *target_ = 0;
  }
  ~CopyToHost() override {
    cudaFree(device_);
    cudaFreeHost(pinned_);
  }
  void call() override {
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

/// A function of the host that a stream calls.
class CallHost final : public HostCall {
 public:
  explicit CallHost(cudaStream_t stream) : stream_(stream) {}
  void call() override {
    check(cudaLaunchHostFunc(
        stream_, [](void* called) { *static_cast<bool*>(called) = true; }, &called_));
  }
  Effect effect() const override { return called_ ? Effect::there : Effect::missing; }

 private:
  cudaStream_t stream_;
  bool called_ = false;
};

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
        throw DeviceError(
            "the driver pins no " + std::to_string(bytes_) + " bytes more of the host's memory (ulimit -l, control group)",
            false);
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

/// Captures graphs of `nodes` empty kernels in `width` chains that begin and end together.
class GraphMaker {
 public:
  GraphMaker(int nodes, int width) : nodes_(nodes) {
    for (int i = 0; i < width; ++i) {
      streams_.push_back(make_stream());
      events_.push_back(make_event(cudaEventDisableTiming));
    }
  }
  OwnedGraph graph() const {
    const cudaStream_t first = streams_.front().get();
    check(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    check(cudaEventRecord(events_.front().get(), first));
    for (std::size_t i = 1; i < streams_.size(); ++i) check(cudaStreamWaitEvent(streams_[i].get(), events_.front().get(), 0));
    for (int i = 0; i < nodes_; ++i) launch_empty(streams_[i % streams_.size()].get());
    for (std::size_t i = 1; i < streams_.size(); ++i) {
      check(cudaEventRecord(events_[i].get(), streams_[i].get()));
      check(cudaStreamWaitEvent(first, events_[i].get(), 0));
    }
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(first, &captured));
    return OwnedGraph(captured);
  }

 private:
  int nodes_;
  std::vector<OwnedStream> streams_;
  std::vector<OwnedEvent> events_;
};

OwnedGraphExec instantiate(cudaGraph_t graph) {
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0));
  return OwnedGraphExec(executable);
}

/// The steps of a graph's life.
enum class GraphStep { capture, instantiate, upload, first_launch, launch, update };

class GraphCall final : public HostCall {
 public:
  GraphCall(GraphStep step, int nodes, int width, cudaStream_t stream)
      : step_(step), stream_(stream), maker_(nodes, width), graph_(maker_.graph()), other_(maker_.graph()) {
    executable_ = cuda::instantiate(graph_.get());
    if (needs_restore()) restore();
  }
  void call() override {
    switch (step_) {
      case GraphStep::capture:
        captured_ = maker_.graph();
        return;
      case GraphStep::instantiate:
        executable_ = cuda::instantiate(graph_.get());
        return;
      case GraphStep::upload:
        return check(cudaGraphUpload(executable_.get(), stream_));
      case GraphStep::first_launch:
      case GraphStep::launch:
        return check(cudaGraphLaunch(executable_.get(), stream_));
      case GraphStep::update: {
        cudaGraphExecUpdateResultInfo result = {};
        return check(cudaGraphExecUpdate(executable_.get(), other_.get(), &result));
      }
    }
  }
  void restore() override {
    check(cudaStreamSynchronize(stream_));
    captured_.reset();
    executable_.reset();
    if (step_ == GraphStep::upload || step_ == GraphStep::first_launch) executable_ = cuda::instantiate(graph_.get());
  }
  bool needs_restore() const override { return step_ != GraphStep::launch && step_ != GraphStep::update; }
  Effect effect() const override {
    if (step_ == GraphStep::capture) return captured_ ? Effect::there : Effect::missing;
    if (step_ == GraphStep::instantiate) return executable_ ? Effect::there : Effect::missing;
    return Effect::invisible;
  }

 private:
  GraphStep step_;
  cudaStream_t stream_;
  GraphMaker maker_;
  OwnedGraph graph_, other_, captured_;
  OwnedGraphExec executable_;
};

class LaunchMany final : public HostCall {
 public:
  LaunchMany(int kernels, cudaStream_t stream) : kernels_(kernels), stream_(stream) {}
  void call() override {
    for (int i = 0; i < kernels_; ++i) launch_empty(stream_);
  }

 private:
  int kernels_;
  cudaStream_t stream_;
};

using Keys = std::vector<std::pair<std::string, std::string>>;

class Plans {
 public:
  explicit Plans(int compute_capability) : compute_capability_(compute_capability) {}

  std::vector<HostCallPlan> all() && {
    launches();
    waits();
    memory();
    graphs();
    return std::move(plans_);
  }

 private:
  enum Returns { kAtOnce, kWhenFinished };

  template <class Call, class... Given>
  HostCallPlan& add(std::string operation, Keys keys, Returns returns, Given... given) {
    const auto make = [given...](Stream stream) -> std::unique_ptr<HostCall> {
      return std::make_unique<Call>(given..., stream);
    };
    return plans_.emplace_back(HostCallPlan{std::move(operation), std::move(keys), returns == kWhenFinished, 0, {}, make});
  }

  void launches() {
    for (const auto& [kind, name] : {std::pair{Kind::empty, "empty"}, std::pair{Kind::full_grid, "full_grid"},
                                     std::pair{Kind::arguments, "arguments_4096"}, std::pair{Kind::cluster, "cluster_2"},
                                     std::pair{Kind::cooperative, "cooperative"}}) {
      HostCallPlan& plan = add<LaunchKernel>("launch", {{"kernel", name}}, kAtOnce, kind);
      if (kind == Kind::cluster && compute_capability_ < 90) plan.unsupported = "clusters need compute capability 9.0";
    }
    add<TwoStreams>("two_streams", {{"kernels", "3"}}, kAtOnce);
    add<CallHost>("host_function", {}, kAtOnce);
  }

  void waits() {
    for (const auto& [by, name] : {std::pair{WaitBy::stream, "stream"}, std::pair{WaitBy::event, "event"},
                                   std::pair{WaitBy::blocking_event, "blocking_event"}, std::pair{WaitBy::query, "query"}}) {
      add<LaunchAndWait>("launch_and_wait", {{"by", name}}, kWhenFinished, by);
    }
    for (const auto& [what, name] : {std::pair{Idle::synchronize_stream, "stream"}, std::pair{Idle::synchronize_event, "event"},
                                     std::pair{Idle::synchronize_device, "device"}}) {
      add<OnIdleDevice>("synchronize", {{"idle", name}}, kWhenFinished, what);
    }
    add<OnIdleDevice>("query_event", {}, kWhenFinished, Idle::query_event);
    add<OnIdleDevice>("record_event", {}, kAtOnce, Idle::record_event);
    for (const bool pinned : {true, false}) {
      add<CopyToHost>("copy_to_host", {{"bytes", "4"}, {"memory", pinned ? "pinned" : "pageable"}}, kWhenFinished, pinned);
    }
  }

  void memory() {
    for (const auto& [source, name] :
         {std::pair{Source::malloc, "malloc"}, std::pair{Source::warm_pool, "pool_warm"},
          std::pair{Source::cold_pool, "pool_cold"}, std::pair{Source::pinned_host, "pinned_host"}}) {
      for (const std::size_t bytes : {std::size_t{4} << 10, std::size_t{2} << 20, std::size_t{1} << 30}) {
        const bool host = source == Source::pinned_host;
        if (host && bytes > (std::size_t{2} << 20)) continue;  // takes a good part of a second
        const Keys keys = {{"bytes", std::to_string(bytes)}, {"from", name}};
        // A pool obeys the stream: the call returns before, and memory may be given back when the stream is waited for.
        const bool pool = source == Source::warm_pool || source == Source::cold_pool;
        const Returns returns = pool ? kAtOnce : kWhenFinished;
        add<Allocate>("allocate", keys, returns, source, bytes).device_bytes = host ? 0 : bytes;
        add<Free>("free", keys, returns, source, bytes).device_bytes = host ? 0 : bytes;
      }
    }
  }

  void graphs() {
    for (const int nodes : {1, 10, 100, 1000}) {
      for (const int width : {1, 32}) {
        if (nodes < width) continue;
        const Keys keys = {{"nodes", std::to_string(nodes)}, {"width", std::to_string(width)}};
        add<GraphCall>("graph_capture", keys, kWhenFinished, GraphStep::capture, nodes, width);
        add<GraphCall>("graph_instantiate", keys, kWhenFinished, GraphStep::instantiate, nodes, width);
        add<GraphCall>("graph_update", keys, kWhenFinished, GraphStep::update, nodes, width);
        add<GraphCall>("graph_upload", keys, kAtOnce, GraphStep::upload, nodes, width);
        add<GraphCall>("graph_first_launch", keys, kAtOnce, GraphStep::first_launch, nodes, width);
        add<GraphCall>("graph_launch", keys, kAtOnce, GraphStep::launch, nodes, width);
      }
    }
    // From how many kernels on a graph pays.
    for (const int kernels : {1, 2, 5, 10, 20, 100}) {
      const std::pair<std::string, std::string> many = {"kernels", std::to_string(kernels)};
      add<GraphCall>("launch_all", {many, {"by", "graph"}}, kAtOnce, GraphStep::launch, kernels, 1);
      add<LaunchMany>("launch_all", {many, {"by", "stream"}}, kAtOnce, kernels);
    }
  }

  int compute_capability_;
  std::vector<HostCallPlan> plans_;
};

std::vector<HostCallPlan> calls(int compute_capability) { return Plans(compute_capability).all(); }

}  // namespace

const CostKernels cost = {calls};

}  // namespace roofmark::cuda
