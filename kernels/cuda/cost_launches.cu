// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/cost.hpp"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/ptx/griddepcontrol.cuh"

namespace roofmark::cuda {

namespace {

constexpr int kThreads = 256, kCluster = 2;
constexpr std::size_t kArgumentBytes = 4096;
struct Arguments {
  std::uint64_t words[kArgumentBytes / sizeof(std::uint64_t)];
};

__global__ void empty_kernel() {}
__global__ void empty_kernel_of_arguments(Arguments) {}

/// What kernel is launched.
enum class Kind { empty, full_grid, arguments, cluster, cooperative };

class LaunchKernel final : public HostCall {
 public:
  LaunchKernel(Kind kind, cudaStream_t stream) : kind_(kind), config_(blocks_of(kind), fills(kind) ? kThreads : 1, stream) {
    if (kind == Kind::cluster) config_.set_clusters(kCluster);
    if (kind == Kind::cooperative) config_.set_cooperative();
  }
  void call() override {
    if (kind_ == Kind::arguments) return check(cudaLaunchKernelEx(config_.get(), empty_kernel_of_arguments, arguments_));
    check(cudaLaunchKernelEx(config_.get(), empty_kernel));
  }

 private:
  static bool fills(Kind kind) { return kind == Kind::full_grid || kind == Kind::cooperative; }
  static unsigned blocks_of(Kind kind) {
    const DeviceLimits& limits = device_limits();
    if (!fills(kind)) return kind == Kind::cluster ? kCluster : 1;
    return static_cast<unsigned>(limits.multiprocessors * (limits.threads_per_multiprocessor / kThreads));
  }

  Kind kind_;
  LaunchConfig config_;
  Arguments arguments_ = {};
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

/// A function of the host that a stream calls.
class CallHost final : public HostCall {
 public:
  explicit CallHost(cudaStream_t stream) : stream_(stream) {}
  void call() override {
    called_ = false;
    check(cudaLaunchHostFunc(
        stream_, [](void* called) { *static_cast<bool*>(called) = true; }, &called_));
  }
  Effect effect() const override { return called_ ? Effect::there : Effect::missing; }

 private:
  cudaStream_t stream_;
  bool called_ = false;
};

/// Reads nothing of the kernel before it, and lets the next one start at once.
__global__ void dependent_kernel() {
#if __CUDA_ARCH__ >= 900
  griddepcontrol_launch_dependents();
  griddepcontrol_wait();
#endif
}

void launch_dependent(Stream stream) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = 1;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, dependent_kernel));
}

__global__ void store_kernel(unsigned* to, unsigned value) { *to = value; }

}  // namespace

void launch_store(unsigned* to, unsigned value, Stream stream) {
  store_kernel<<<1, 1, 0, stream>>>(to, value);
  check(cudaGetLastError());
}

const void* store_function() { return reinterpret_cast<const void*>(store_kernel); }

void launch_empty(Stream stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
  check(cudaGetLastError());
}

void add_launches(CallPlans& calls) {
  for (const auto& [kind, name] :
       {std::pair{Kind::empty, "empty"}, std::pair{Kind::full_grid, "full_grid"}, std::pair{Kind::arguments, "arguments_4096"},
        std::pair{Kind::cluster, "cluster_2"}, std::pair{Kind::cooperative, "cooperative"}}) {
    HostCallPlan& plan = calls.add<LaunchKernel>("launch", {{"kernel", name}}, CallPlans::at_once, kind);
    if (kind == Kind::cluster && calls.compute_capability() < 90) plan.unsupported = "clusters need compute capability 9.0";
  }
  calls.add<TwoStreams>("two_streams", {{"kernels", "3"}}, CallPlans::at_once);
  calls.add<CallHost>("host_function", {}, CallPlans::at_once);
}

void add_back_to_back(std::vector<DeviceCostPlan>& plans, const CostTarget& target) {
  for (const int kernels : {50, 100, 150, 200}) {
    for (const bool dependent : {true, false}) {
      DeviceCostPlan& plan = plans.emplace_back();
      plan.operation = "back_to_back";
      plan.keys = {{"kernels", std::to_string(kernels)}, {"by", dependent ? "dependent" : "stream"}, {"impl", "cuda"}};
      plan.kernels = kernels;
      plan.is_compared = dependent;
      if (dependent && target.compute_capability < 90) plan.unsupported = "programmatic launches need compute capability 9.0";
      plan.prepare = [kernels, launch = dependent ? launch_dependent : launch_empty] {
        return [kernels, launch](const BarrierMemory&, Stream stream) {
          for (int i = 0; i < kernels; ++i) launch(stream);
        };
      };
    }
  }
}

}  // namespace roofmark::cuda
