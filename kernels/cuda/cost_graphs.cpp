// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/cost.hpp"

namespace roofmark::cuda {

namespace {

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

OwnedGraph capture(const std::function<void(cudaStream_t)>& enqueue) {
  const OwnedStream stream = make_stream();
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  enqueue(stream.get());
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(stream.get(), &captured));
  return OwnedGraph(captured);
}

/// Gives every kernel of a graph, of which each stores a value of its own, another value to store.
class SetParameters final : public HostCall {
 public:
  SetParameters(int nodes, cudaStream_t stream) : stream_(stream), values_(make_values(nodes)), nodes_(nodes) {
    unsigned* const values = values_.get();
    graph_ = capture([&](cudaStream_t captured) {
      for (int i = 0; i < nodes; ++i) launch_store(values + i, 0, captured);
    });
    std::size_t count = nodes_.size();
    check(cudaGraphGetNodes(graph_.get(), nodes_.data(), &count));
    executable_ = cuda::instantiate(graph_.get());
  }
  void call() override {
    cudaKernelNodeParams parameters = {};
    parameters.func = const_cast<void*>(store_function());
    parameters.gridDim = parameters.blockDim = dim3(1);
    unsigned* to = values_.get();
    for (cudaGraphNode_t node : nodes_) {
      void* arguments[] = {&to, &wanted_};
      parameters.kernelParams = arguments;
      check(cudaGraphExecKernelNodeSetParams(executable_.get(), node, &parameters));
      ++to;
    }
  }
  void restore() override { ++wanted_; }
  bool needs_restore() const override { return true; }
  Effect effect() const override {
    check(cudaGraphLaunch(executable_.get(), stream_));
    check(cudaStreamSynchronize(stream_));
    std::vector<unsigned> stored(nodes_.size());
    check(cudaMemcpy(stored.data(), values_.get(), stored.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    const auto is_new = [&](unsigned value) { return value == wanted_; };
    return std::all_of(stored.begin(), stored.end(), is_new) ? Effect::there : Effect::missing;
  }

 private:
  struct Free {
    void operator()(unsigned* data) const { cudaFree(data); }
  };
  using Values = std::unique_ptr<unsigned, Free>;
  static Values make_values(int count) {
    void* data = nullptr;
    check(cudaMalloc(&data, static_cast<std::size_t>(count) * sizeof(unsigned)));
    return Values(static_cast<unsigned*>(data));
  }

  cudaStream_t stream_;
  Values values_;
  std::vector<cudaGraphNode_t> nodes_;
  OwnedGraph graph_;
  OwnedGraphExec executable_;
  unsigned wanted_ = 1;  ///< by the next call; the graph was captured with 0
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

}  // namespace

void add_graphs(CallPlans& calls) {
  // Three counts of each width at least, for a line.
  constexpr std::pair<int, int> kNodesAndWidths[] = {{1, 1}, {10, 1}, {100, 1}, {1000, 1}, {32, 32}, {100, 32}, {1000, 32}};
  for (const auto& [nodes, width] : kNodesAndWidths) {
    const CallPlans::Keys keys = {{"nodes", std::to_string(nodes)}, {"width", std::to_string(width)}};
    calls.add<GraphCall>("graph_capture", keys, CallPlans::when_finished, GraphStep::capture, nodes, width);
    calls.add<GraphCall>("graph_instantiate", keys, CallPlans::when_finished, GraphStep::instantiate, nodes, width);
    calls.add<GraphCall>("graph_update", keys, CallPlans::when_finished, GraphStep::update, nodes, width);
    calls.add<GraphCall>("graph_upload", keys, CallPlans::at_once, GraphStep::upload, nodes, width);
    calls.add<GraphCall>("graph_first_launch", keys, CallPlans::at_once, GraphStep::first_launch, nodes, width);
    calls.add<GraphCall>("graph_launch", keys, CallPlans::at_once, GraphStep::launch, nodes, width);
  }
  for (const int nodes : {1, 10, 100, 1000}) {
    const CallPlans::Keys keys = {{"nodes", std::to_string(nodes)}, {"width", "1"}};
    calls.add<SetParameters>("graph_set_parameters", keys, CallPlans::when_finished, nodes);
  }
  // From how many kernels on a graph pays.
  for (const int kernels : {1, 2, 5, 10, 20, 100}) {
    const std::pair<std::string, std::string> many = {"kernels", std::to_string(kernels)};
    calls.add<GraphCall>("launch_all", {many, {"by", "graph"}}, CallPlans::at_once, GraphStep::launch, kernels, 1);
    calls.add<LaunchMany>("launch_all", {many, {"by", "stream"}}, CallPlans::at_once, kernels);
  }
}

void add_empty_graphs(std::vector<DeviceCostPlan>& plans, const CostTarget&) {
  for (const int nodes : {32, 64, 128, 192}) {  // of equal chains
    for (const int width : {32, 1}) {
      DeviceCostPlan& plan = plans.emplace_back();
      plan.operation = "graph";
      plan.keys = {{"nodes", std::to_string(nodes)}, {"width", std::to_string(width)}, {"impl", "cuda"}};
      plan.kernels = nodes;
      plan.is_compared = width > 1;
      plan.prepare = [nodes, width] {
        const auto executable = std::make_shared<OwnedGraphExec>(instantiate(GraphMaker(nodes, width).graph().get()));
        return [executable](const BarrierMemory&, Stream stream) { check(cudaGraphLaunch(executable->get(), stream)); };
      };
    }
  }
}

}  // namespace roofmark::cuda
