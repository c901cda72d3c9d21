// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/batch.hpp"

#include <chrono>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/base/cuda.hpp"

namespace roofmark::cuda {

namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_between(SteadyClock::time_point from, SteadyClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// `from`: by steady_seconds().
double seconds_since(double from, SteadyClock::time_point to) {
  return std::chrono::duration<double>(to.time_since_epoch()).count() - from;
}

/// Nodes of all graphs of a batch, one graph per slot that a sample can start with. More would take too much time and memory.
constexpr std::int64_t kMaxGraphNodes = 1 << 16;

class CudaBatch final : public Batch {
 public:
  CudaBatch(const BatchSite& site, const BatchPlan& plan, Launch launch)
      : site_(site), plan_(plan), launch_(std::move(launch)), begin_(make_event()), end_(make_event()) {
    if (plan_.launches < 1 || plan_.slots < 1) throw std::invalid_argument("a batch needs at least one launch and one slot");
    path_ = plan_.timed == Timed::device ? plan_.path : Issue::stream;
    if (path_ == Issue::automatic) path_ = plan_.launches > Gate::kMaxLaunches ? Issue::graph : Issue::gate;
    if (path_ == Issue::graph && graph_nodes() > kMaxGraphNodes) path_ = Issue::gate;
    if (path_ == Issue::gate && !can_be_gated()) path_ = Issue::stream;
  }

  Issue path() const override { return path_; }

  Timing run() override {
    set_device(site_.ordinal);
    if (!started_) start();
    restore();
    if (plan_.flush_before) site_.flush_caches();
    if (plan_.timed != Timed::device) return by_host();
    return path_ == Issue::stream || !site_.gate ? timed([] {}) : gated();
  }

 private:
  /// Opens the gate however the batch ends, so that the device does not wait for the time limit.
  struct Opener {
    Gate& gate;
    ~Opener() { gate.open(); }
  };

  int samples_until_slots_repeat() const { return plan_.slots / std::gcd(plan_.slots, plan_.launches); }
  std::int64_t graph_nodes() const { return std::int64_t{samples_until_slots_repeat()} * plan_.launches; }
  bool can_be_gated() const { return site_.gate && plan_.launches <= Gate::kMaxLaunches; }
  int slot_of(std::int64_t launch) const { return static_cast<int>(launch % plan_.slots); }

  void restore() const {
    if (!plan_.restore) return;
    for (int slot = 0; slot < plan_.slots; ++slot) plan_.restore(slot);
    set_device(site_.ordinal);  // a case of several devices may have left another one
  }

  void start() {
    restore();
    launch_(site_.stream, slot_of(launched_++));
    check(cudaStreamSynchronize(site_.stream));
    started_ = true;
    if (path_ != Issue::graph) return;
    for (int i = 0; i < samples_until_slots_repeat(); ++i) {
      OwnedGraphExec graph = capture(launched_ + std::int64_t{i} * plan_.launches);
      if (!graph) {
        graphs_.clear();
        path_ = can_be_gated() ? Issue::gate : Issue::stream;
        return;
      }
      check(cudaGraphUpload(graph.get(), site_.stream));
      graphs_.push_back(std::move(graph));
    }
    check(cudaStreamSynchronize(site_.stream));
  }

  /// Null if the launches cannot be captured. A launch that fails for another reason fails again without capture.
  OwnedGraphExec capture(std::int64_t first) {
    check(cudaStreamBeginCapture(site_.stream, cudaStreamCaptureModeThreadLocal));
    bool refused = false;
    std::exception_ptr failure;
    try {
      for (int i = 0; i < plan_.launches; ++i) launch_(site_.stream, slot_of(first + i));
    } catch (const DeviceError& error) {
      refused = true;
      if (error.sticky()) failure = std::current_exception();
    } catch (...) {
      failure = std::current_exception();
    }
    cudaGraph_t captured = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(site_.stream, &captured);
    const OwnedGraph graph(captured);
    if (failure) std::rethrow_exception(failure);
    if (refused || ended != cudaSuccess || !graph) {
      cudaGetLastError();
      return nullptr;
    }
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph.get(), 0));
    return OwnedGraphExec(executable);
  }

  void enqueue() {
    if (!graphs_.empty()) {
      check(cudaGraphLaunch(graphs_[next_graph_].get(), site_.stream));
      next_graph_ = (next_graph_ + 1) % graphs_.size();
    } else {
      for (int i = 0; i < plan_.launches; ++i) launch_(site_.stream, slot_of(launched_ + i));
    }
    launched_ += plan_.launches;
  }

  /// Enqueues the events and the batch between them; `before_wait` is called when all is enqueued.
  template <class BeforeWait>
  Timing timed(BeforeWait before_wait) {
    Timing timing;
    check(cudaEventRecord(begin_.get(), site_.stream));
    const auto enqueuing = SteadyClock::now();
    enqueue();
    const auto enqueued = SteadyClock::now();
    check(cudaEventRecord(end_.get(), site_.stream));
    before_wait();
    check(cudaEventSynchronize(end_.get()));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
    timing.start_seconds = seconds_since(site_.opened, enqueuing);
    timing.host_seconds = seconds_between(enqueuing, enqueued);
    timing.seconds = milliseconds * 1e-3;
    timing.last_slot = slot_of(launched_ - 1);
    return timing;
  }

  Timing by_host() {
    check(cudaStreamSynchronize(site_.stream));
    const auto called = SteadyClock::now();
    enqueue();
    const auto returned = SteadyClock::now();
    check(cudaStreamSynchronize(site_.stream));
    const auto finished = SteadyClock::now();
    Timing timing;
    timing.start_seconds = seconds_since(site_.opened, called);
    timing.host_seconds = seconds_between(called, returned);
    timing.seconds = plan_.timed == Timed::call ? timing.host_seconds : seconds_between(called, finished);
    timing.last_slot = slot_of(launched_ - 1);
    return timing;
  }

  Timing gated() {
    Timing timing;
    SteadyClock::time_point opened;
    {
      const Opener opener{*site_.gate};
      site_.gate->shut(site_.stream);
      timing = timed([&] {
        opened = SteadyClock::now();
        site_.gate->open();
      });
    }
    timing.start_seconds = seconds_since(site_.opened, opened);
    timing.valid = !site_.gate->expired();
    void_running_ = timing.valid ? 0 : void_running_ + 1;
    if (void_running_ == 2) {
      site_.gate = nullptr;
      if (path_ == Issue::gate) path_ = Issue::stream;
    }
    return timing;
  }

  BatchSite site_;
  BatchPlan plan_;
  Launch launch_;
  OwnedEvent begin_, end_;
  Issue path_ = Issue::stream;
  bool started_ = false;
  std::int64_t launched_ = 0;
  std::vector<OwnedGraphExec> graphs_;
  std::size_t next_graph_ = 0;
  int void_running_ = 0;
};

}  // namespace

std::unique_ptr<Batch> make_batch(const BatchSite& site, const BatchPlan& plan, Launch launch) {
  return std::make_unique<CudaBatch>(site, plan, std::move(launch));
}

}  // namespace roofmark::cuda
