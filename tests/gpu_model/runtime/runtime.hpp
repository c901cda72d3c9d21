// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in CUDA runtime of the model GPU: what its files share. See README.md.
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../interpreter/interpreter.hpp"

namespace gpu_model::runtime {

// ---- what the environment says --------------------------------------------------------------------------------------
struct Planted {  // "<substring of kernel>:<n>[:<byte>][@<device>]", n counted from 1; n = 0: every launch
  std::string part;
  int device = -1;  // -1: any
  long n = 1;
  double value = 0;
  long seen = 0;
};
/// What the two devices that can be modelled differ in.
struct DeviceModel {
  int compute_capability = 90;
  const char* name = "";
  int multiprocessors = 0;
  std::size_t shared_optin = 0, shared_per_multiprocessor = 0;  // bytes; the first per block
  std::size_t l2_bytes = 0, memory_bytes = 0;
  double clock_mhz = 0, loaded_clock_mhz = 0;  // boost, and what the tensor cores' power leaves of it
  int memory_clock_mhz = 0, memory_bus_bits = 0;
  double dram_bytes_per_ns = 0, l2_bytes_per_ns = 0;
  bool clusters = false;
};
struct Settings {
  const DeviceModel* model = nullptr;
  int devices = 1, multiprocessors = 0;
  std::size_t memory = std::size_t{4} << 30, total = 0, oom_after = 0;
  std::size_t l2_bytes = 0;
  double clock_mhz = 0;  // 0: the model's own
  double throttle_after_s = -1, throttle_mhz = 0;
  double noise = 0.003;
  std::uint64_t seed = 1;
  bool ecc = true, trace = false, blocking = false, deadlock_hangs = false, noop = false;
  bool visible = true;
  std::vector<Planted> slow, flip, sticky, hang, skip;
  double blas_limit = 0;  // products of more FLOPs are not computed (0: all are); their results are garbage
  double skip_over = 0;   // launches of more threads than this are not run (0: none); their results are garbage
};
Settings& settings();
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));  // a diagnostic line to stderr
#define GPUMODEL_TRACE(...)                 \
  do {                                      \
    if (settings().trace) say(__VA_ARGS__); \
  } while (0)

// ---- memory ---------------------------------------------------------------------------------------------------------
struct Allocation {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  int device = -1;  // -1: pinned host memory
  void* map = nullptr;
  std::size_t map_bytes = 0;
};
/// Of the allocation that holds `address`, or nothing.
std::unique_ptr<Allocation> find_allocation(const void* address);
enum class Place { pageable, pinned, device, broken };  // broken: starts in an allocation and leaves it
Place place_of(const void* address, std::size_t bytes, int* device = nullptr);

// ---- time and execution ---------------------------------------------------------------------------------------------
struct Device;
/// An operation that has not yet ended, or has.
struct Done {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  double end_ns = 0;  // model time
  void finish(double at);
  double wait();
  bool ready();
};
using DoneRef = std::shared_ptr<Done>;

/// Does an operation that starts at this model time, after `overhead_ns` of launching; returns when it ends.
using Work = std::function<double(Device&, double start_ns, double overhead_ns)>;

struct Operation {
  const char* what = "";
  Work work;
  std::vector<DoneRef> after;
  DoneRef done;
  double enqueued_ns = 0;
};

struct GraphNode {
  const char* what = "";
  Work work;
  std::vector<int> after;
  int device = 0;
};

struct Capture {
  CUstream_st* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  unsigned long long id = 0;
  bool invalid = false, over = false;
  std::vector<GraphNode> nodes;
  std::set<CUstream_st*> streams;
};

struct Kernel;

struct Telemetry {
  double sm_mhz = 345, memory_mhz = 3201, power_watts = 76, celsius = 31;
  unsigned long long reasons = 1;
};

struct Device {
  int ordinal = 0;
  cudaError_t sticky = cudaSuccess;  // under state().mutex
  std::size_t used = 0, allocated_ever = 0;
  CUstream_st* legacy = nullptr;
  std::set<CUstream_st*> streams;
  std::mutex time_mutex;
  std::mt19937_64 random;
  double busy_until_ns = 0, busy_total_ns = 0, last_load = 0;

  double noise();
  double clock_mhz(double at_ns, double load);  // the SM clock at a model time; load 0..1 of the tensor cores
  Telemetry telemetry();
  void was_busy(double from_ns, double to_ns, double load);
};

struct State {
  std::mutex mutex;  // of all below but what has its own
  std::vector<std::unique_ptr<Device>> devices;
  std::map<std::uintptr_t, Allocation> allocations;
  std::set<const void*> streams, events, graphs, execs;
  std::map<const void*, Kernel*> kernels;  // by the host's function and by handle
  std::vector<std::shared_ptr<Capture>> captures;
  unsigned long long ids = 0;
  int pid = 0;
};
State& state();
double host_now_ns();                     // model time of the host: nanoseconds since the start
std::uint64_t timer_ns(double model_ns);  // %globaltimer at a model time
Device& current_device();

/// What every entry point starts with: the error that the device, or a process that was forked, answers with.
cudaError_t enter(bool needs_device = true);
cudaError_t fail(cudaError_t);                     // notes it as the thread's last error and returns it
cudaError_t failed(cudaError_t, const char* why);  // the same with a diagnostic line
void set_sticky(Device&, cudaError_t);

/// Enqueues on a stream, or adds to the capture that the stream is in.
cudaError_t submit(cudaStream_t, const char* what, Work, DoneRef* done = nullptr, std::vector<DoneRef> after = {});
cudaError_t check_stream(cudaStream_t, CUstream_st** found);  // resolves 0, cudaStreamLegacy, cudaStreamPerThread

cudaError_t cublas_stream_device(cudaStream_t, int* device);

inline constexpr double kStreamOverheadNs = 2000, kGraphOverheadNs = 1200;

bool planted(std::vector<Planted>&, const std::string& name, int device, double* value = nullptr, bool count = true);

}  // namespace gpu_model::runtime

struct CUstream_st {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  bool legacy = false;
  // The worker's.
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<gpu_model::runtime::Operation> queue;
  std::size_t unfinished = 0;
  bool closing = false, started = false;
  double end_ns = 0;
  gpu_model::runtime::DoneRef last;  // of what was enqueued last
  // Of a capture; under state().mutex.
  std::shared_ptr<gpu_model::runtime::Capture> capture;
  std::vector<int> tail;
};

struct CUevent_st {
  int device = 0;
  unsigned flags = 0;
  std::mutex mutex;
  gpu_model::runtime::DoneRef record;
  std::shared_ptr<gpu_model::runtime::Capture> capture;
  std::vector<int> tail;
};

struct CUgraph_st {
  std::vector<gpu_model::runtime::GraphNode> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<gpu_model::runtime::GraphNode>> nodes;
  int device = 0;
};
