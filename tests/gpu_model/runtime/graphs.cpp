// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "graphs.hpp"

#include <algorithm>
#include <string_view>

#include "kernels.hpp"
#include "state.hpp"

struct CUgraph_st {
  std::vector<gpu_model::runtime::GraphNode> nodes;
};
struct CUgraphExec_st {
  CUgraph_st* graph;                                                        // that it was made of, which may be gone
  std::shared_ptr<const std::vector<gpu_model::runtime::GraphNode>> nodes;  // shared with the launches in flight
};

namespace gpu_model::runtime {
namespace {

constexpr double graph_overhead_ns = 3000, node_overhead_ns = 1200, upload_ns = 20'000;

double perform_node(const GraphNode& node, double start_ns) {
  return perform(device_at(node.device), node.what, node.work, start_ns, node_overhead_ns);
}

bool is_chain(const std::vector<GraphNode>& nodes) {
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const auto& after = nodes[i].after;
    if (std::find(after.begin(), after.end(), static_cast<int>(i) - 1) == after.end()) return false;
  }
  return true;
}

/// One thread per node, because branches may wait for each other: collectives of several devices do.
double perform_branches(const std::vector<GraphNode>& nodes, double start_ns) {
  std::vector<Completion> ends(nodes.size());
  std::vector<std::thread> threads;
  threads.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    threads.emplace_back([&, i] {
      double from = start_ns;
      for (const int before : nodes[i].after) from = std::max(from, ends[static_cast<std::size_t>(before)].wait());
      ends[i].finish(perform_node(nodes[i], from));
    });
  }
  double end = start_ns;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    threads[i].join();
    end = std::max(end, ends[i].wait());
  }
  return end;
}

double perform_graph(const std::vector<GraphNode>& nodes, double start_ns) {
  if (!is_chain(nodes)) return perform_branches(nodes, start_ns);
  for (const GraphNode& node : nodes) start_ns = perform_node(node, start_ns);
  return start_ns;
}

/// Whether all nodes at the ends of the capture's streams are reached from the end of this one.
bool joins_all(const CUstream_st& stream, const Capture& capture) {
  std::vector<bool> reached(capture.nodes.size());
  std::vector<int> open = stream.tail;
  while (!open.empty()) {
    const auto node = static_cast<std::size_t>(open.back());
    open.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    open.insert(open.end(), capture.nodes[node].after.begin(), capture.nodes[node].after.end());
  }
  return std::all_of(capture.streams.begin(), capture.streams.end(), [&](const CUstream_st* other) {
    return std::all_of(other->tail.begin(), other->tail.end(),
                       [&](int node) { return reached[static_cast<std::size_t>(node)]; });
  });
}

}  // namespace

cudaError_t add_node(CUstream_st& stream, const char* what, Work work) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return fail(cudaErrorStreamCaptureInvalidated);
  capture.nodes.push_back({what, std::move(work), stream.tail, stream.device});
  stream.tail = {static_cast<int>(capture.nodes.size()) - 1};
  return cudaSuccess;
}

cudaError_t refuse_during_captures() {
  cudaError_t status = cudaSuccess;
  for (const auto& capture : state().captures) {
    if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
    if (capture->mode == cudaStreamCaptureModeThreadLocal && capture->thread != std::this_thread::get_id()) continue;
    capture->invalid = true;
    status = cudaErrorStreamCaptureUnsupported;
  }
  return fail(status);
}

cudaError_t refuse_during_its_capture(CUstream_st& stream) {
  const std::lock_guard lock(state().mutex);
  if (!stream.capture) return cudaSuccess;
  const bool was_invalid = stream.capture->invalid;
  stream.capture->invalid = true;
  return fail(was_invalid ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnsupported);
}

cudaError_t refuse_legacy_during_capture(const CUstream_st& legacy) {
  for (const auto& capture : state().captures) {
    if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
    for (const CUstream_st* stream : capture->streams) {
      if (stream->device != legacy.device || !stream->synchronises_with_legacy()) continue;
      capture->invalid = true;
      return fail(cudaErrorStreamCaptureImplicit, "the legacy stream was used while a stream that waits for it is captured");
    }
  }
  return cudaSuccess;
}

}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t given, cudaStreamCaptureMode mode) {
  GPUMODEL_CHECK(enter());
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  if (stream->legacy) return fail(cudaErrorStreamCaptureUnsupported, "the legacy stream cannot be captured");
  if (mode != cudaStreamCaptureModeGlobal && mode != cudaStreamCaptureModeThreadLocal && mode != cudaStreamCaptureModeRelaxed) {
    return fail(cudaErrorInvalidValue);
  }
  const std::lock_guard lock(state().mutex);
  if (stream->capture) return fail(cudaErrorIllegalState, "the stream is captured already");
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  stream->capture->streams = {stream};
  stream->tail.clear();
  state().captures.push_back(stream->capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t given, cudaGraph_t* graph) {
  if (graph) *graph = nullptr;
  GPUMODEL_CHECK(enter());
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  const std::lock_guard lock(state().mutex);
  if (!stream->capture) return fail(cudaErrorIllegalState, "the end of a capture in a stream that is not captured");
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != stream) {
    capture->invalid = true;
    return fail(cudaErrorStreamCaptureUnmatched, "a capture ends in another stream than it began in");
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id()) {
    return fail(cudaErrorStreamCaptureWrongThread, "a capture is ended by another thread than began it");
  }
  const bool joined = joins_all(*stream, *capture);
  for (CUstream_st* member : capture->streams) {
    member->capture.reset();
    member->tail.clear();
  }
  capture->over = true;
  std::erase(state().captures, capture);
  if (capture->invalid) return fail(cudaErrorStreamCaptureInvalidated);
  if (!joined)
    return fail(cudaErrorStreamCaptureUnjoined, "a forked stream was not joined to the one that the capture began in");
  if (!graph) return fail(cudaErrorInvalidValue);
  *graph = new CUgraph_st{std::move(capture->nodes)};
  state().graphs.insert(*graph);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t given, cudaStreamCaptureStatus* status) {
  GPUMODEL_CHECK(enter());
  if (!status) return fail(cudaErrorInvalidValue);
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  const std::lock_guard lock(state().mutex);
  *status = !stream->capture           ? cudaStreamCaptureStatusNone
            : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* to, cudaGraph_t graph, unsigned long long flags) {
  GPUMODEL_CHECK(enter());
  constexpr unsigned long long known_flags = 0xf;
  const std::lock_guard lock(state().mutex);
  if (!to || !state().graphs.contains(graph) || (flags & ~known_flags)) return fail(cudaErrorInvalidValue);
  *to = new CUgraphExec_st{graph, std::make_shared<const std::vector<GraphNode>>(graph->nodes)};
  state().graph_execs.insert(*to);
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  GPUMODEL_CHECK(enter());
  const std::lock_guard lock(state().mutex);
  if (!result || !state().graph_execs.contains(exec) || !state().graphs.contains(graph)) return fail(cudaErrorInvalidValue);
  *result = {};
  const auto same = [](const GraphNode& a, const GraphNode& b) { return a.after == b.after && a.device == b.device; };
  if (!std::equal(exec->nodes->begin(), exec->nodes->end(), graph->nodes.begin(), graph->nodes.end(), same)) {
    result->result = cudaGraphExecUpdateErrorTopologyChanged;
    return fail(cudaErrorGraphExecUpdateFailure);
  }
  exec->nodes = std::make_shared<const std::vector<GraphNode>>(graph->nodes);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  GPUMODEL_CHECK(enter());
  const std::lock_guard lock(state().mutex);
  if (!count || !state().graphs.contains(graph)) return fail(cudaErrorInvalidValue);
  const std::size_t room = nodes ? *count : 0;
  *count = graph->nodes.size();
  for (std::size_t i = 0; i < std::min(room, *count); ++i) nodes[i] = reinterpret_cast<cudaGraphNode_t>(&graph->nodes[i]);
  for (std::size_t i = *count; i < room; ++i) nodes[i] = nullptr;
  if (nodes) *count = std::min(room, *count);
  return cudaSuccess;
}

/// The node is one of the graph that the executable one was made of, which is still there.
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t given,
                                             const cudaKernelNodeParams* parameters) {
  GPUMODEL_CHECK(enter());
  if (!parameters) return fail(cudaErrorInvalidValue);
  const auto* const node = reinterpret_cast<const GraphNode*>(given);
  Work work;
  GPUMODEL_CHECK(work_of_launch(find_kernel(parameters->func), parameters->gridDim, parameters->blockDim, dim3(0, 0, 0),
                                parameters->kernelParams, parameters->sharedMemBytes, false, work));
  const std::lock_guard lock(state().mutex);
  if (!state().graph_execs.contains(exec) || !state().graphs.contains(exec->graph)) return fail(cudaErrorInvalidValue);
  const std::vector<GraphNode>& of = exec->graph->nodes;
  const auto place = std::find_if(of.begin(), of.end(), [&](const GraphNode& one) { return &one == node; });
  if (place == of.end() || std::string_view(place->what) != "kernel") return fail(cudaErrorInvalidValue);
  auto nodes = std::make_shared<std::vector<GraphNode>>(*exec->nodes);
  (*nodes)[static_cast<std::size_t>(place - of.begin())].work = std::move(work);
  exec->nodes = std::move(nodes);
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t given) {
  GPUMODEL_CHECK(enter());
  {
    const std::lock_guard lock(state().mutex);
    if (!state().graph_execs.contains(exec)) return fail(cudaErrorInvalidValue);
  }
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  GPUMODEL_CHECK(refuse_during_its_capture(*stream));
  return submit(given, "upload of a graph", [](Device&, double start, double) { return start + upload_ns; });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  GPUMODEL_CHECK(enter());
  std::shared_ptr<const std::vector<GraphNode>> nodes;
  {
    const std::lock_guard lock(state().mutex);
    if (!state().graph_execs.contains(exec)) return fail(cudaErrorInvalidValue);
    nodes = exec->nodes;
  }
  CompletionRef done;
  GPUMODEL_CHECK(submit(
      stream, "graph", [nodes](Device&, double start, double) { return perform_graph(*nodes, start + graph_overhead_ns); },
      &done));
  return wait_if_blocking(done);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::lock_guard lock(state().mutex);
  if (!state().graphs.erase(graph)) return fail(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  const std::lock_guard lock(state().mutex);
  if (!state().graph_execs.erase(exec)) return fail(cudaErrorInvalidValue);
  delete exec;
  return cudaSuccess;
}

}  // extern "C"
