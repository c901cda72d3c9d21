// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/clock_stamp.hpp"
#include "harness/device/gpu_facts.hpp"
#include "harness/device/host_memory.hpp"
#include "harness/device/issue.hpp"
#include "harness/device/matrix_view.hpp"
#include "harness/device/random.hpp"
#include "harness/device/telemetry.hpp"
#include "harness/machine/cache_level.hpp"
#include "harness/machine/cpu_facts.hpp"
#include "harness/machine/node_distances.hpp"
#include "harness/machine/steady_seconds.hpp"
#include "kernels/base/kernel.hpp"

namespace roofmark {

/// Facts about a device. Unreadable ones are absent.
struct DeviceInfo {
  std::string id;  ///< "cuda:0", "cpu"
  Backend backend = Backend::cpu;
  std::string name;
  int compute_capability = 0;              ///< 90 for 9.0; 0 on the CPU
  int multiprocessors = 0;                 ///< SMs; on the CPU the cores this process may use
  std::optional<double> rated_clock_hz;    ///< rated SM clock; a GeForce boosts beyond it
  std::optional<double> highest_clock_hz;  ///< highest SM (core) clock that it may reach
  std::optional<double> memory_clock_hz;   ///< memory clock; each edge moves one bit per line
  std::optional<int> memory_bus_bits;
  bool integrated = false;  ///< of a GPU: its memory is that of the host
  std::size_t memory_bytes = 0;
  std::size_t free_bytes = 0;  ///< when it was opened
  std::size_t used_bytes = 0;  ///< of a GPU, when it was opened, with the context of this process; 0 if unknown
  std::vector<CacheLevel> caches;
  std::vector<int> host_nodes = {};   ///< NUMA nodes with memory that this process may use; see nodes_with_memory()
  std::vector<int> cpu_nodes = {};    ///< NUMA nodes with CPUs that this process may use
  std::optional<int> near_node = {};  ///< the node that the device is attached to; may be in neither list
  NodeDistances node_distances = {};  ///< between the host's NUMA nodes
  // Properties of a GPU's host; for a CPU, its own.
  std::size_t host_cache_bytes = 0;    ///< last-level caches of the CPUs near the device, or of all; 0 if unknown
  std::size_t host_memory_bytes = 0;   ///< of the near node if known, usable by this process; 0 if unknown
  std::size_t host_free_bytes = 0;     ///< of it, when the device was opened; 0 if unknown
  std::string why_no_huge_pages = {};  ///< empty where memory of the host may be in huge pages
  /// Managed memory may exceed the device's: pages migrate while kernels run (concurrentManagedAccess).
  bool managed_on_demand = false;
  GpuFacts gpu = {};                 ///< of a GPU
  std::optional<CpuFacts> cpu = {};  ///< of a CPU
  int openmp_threads = 0;            ///< of a CPU
  bool places_threads = false;       ///< of a CPU: the program places its threads, one per core; else the environment does

  /// The node to request near the device; absent if there is no choice, or if this process may not use its memory.
  std::optional<int> near_memory_node() const {
    const bool is_usable = std::find(host_nodes.begin(), host_nodes.end(), near_node) != host_nodes.end();
    return is_usable && host_nodes.size() > 1 ? near_node : std::nullopt;
  }
  /// Total bytes of last-level cache; 0 if unknown.
  std::size_t last_level_cache_bytes() const { return caches.empty() ? 0 : caches.back().total_bytes; }
};

/// Device memory with one owner.
using Memory = std::unique_ptr<void, std::function<void(void*)>>;

/// The largest error of an elementwise comparison, and its index.
struct ElementwiseError {
  double worst =
      0;  ///< |got - expected| / (u(type) * scale); NaN or infinity when an output is NaN or infinite and should not be
  std::size_t index = 0;
};

/// A sum, and the sum of the squares of its terms, in float64.
struct TermSums {
  double sum = 0;
  double squares = 0;
};

/// Runs the same batch of launches repeatedly.
using Launch = std::function<void(Stream, int slot)>;
struct BatchPlan {
  Issue path = Issue::stream;
  Timed timed = Timed::device;  ///< by the host: on the stream, regardless of `path`
  bool one_core = false;        ///< on a CPU: no other thread is kept ready for work
  int launches = 1;
  /// Launch i, counted from the batch's first sample on, uses slot i modulo slots.
  int slots = 1;
  bool flush_before = false;                   ///< evict the caches before each sample, untimed
  std::function<void(int slot)> restore = {};  ///< when set, called for every slot before each sample, untimed
};
struct Timing {
  double start_seconds = 0;  ///< since the device was opened
  double seconds = 0;        ///< of the whole batch, as BatchPlan::timed says
  double host_seconds = 0;   ///< the host's time for enqueueing the batch
  bool valid = true;         ///< false: the gate timed out, so the time is void
  int last_slot = 0;         ///< of the batch's last launch
};
class Batch {
 public:
  virtual ~Batch() = default;
  virtual Timing run() = 0;
  virtual Issue path() const = 0;  ///< the path taken: a launch that cannot be captured is gated instead
};

/// A device under measurement. Not safe for use from two threads. Throws DeviceError; allocate throws OutOfMemory.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  /// The stream for all work on the device. Like every function that works on the device, it makes the device the calling
  /// thread's current one, which kernel launches depend on if there are several.
  virtual Stream stream() = 0;
  virtual void synchronize() = 0;

  virtual std::size_t free_bytes() = 0;
  /// At least 256-byte aligned. Counted in allocated_bytes() until it is freed.
  Memory allocate(std::size_t bytes) { return adopt(obtain(bytes), bytes); }
  /// Host memory on the requested node; the calling thread touches its pages first. Only on the CPU is it device memory. Throws
  /// Unsupported for a kind that the device lacks and for a node that the kernel refuses.
  virtual Memory allocate_host(std::size_t bytes, const HostMemory& wanted) = 0;
  /// Counts memory that a library allocated for this device.
  Memory adopt(Memory memory, std::size_t bytes) {
    *allocated_ += bytes;
    void* data = memory.release();
    return {data, [free = memory.get_deleter(), counter = allocated_, bytes](void* given) {
              free(given);
              *counter -= bytes;
            }};
  }
  /// Bytes allocated by allocate() and not yet freed: this measures an operation's workspace.
  std::size_t allocated_bytes() const { return *allocated_; }
  virtual void to_host(void* host, const void* device, std::size_t bytes) = 0;
  virtual void to_device(void* device, const void* host, std::size_t bytes) = 0;
  virtual void zero(void* data, std::size_t bytes) = 0;

  void on_progress(std::function<void()> told) { progress_ = std::move(told); }
  /// To be called between the parts of a preparation or a check that can take a minute. Restarts the run's timeout, and on a
  /// device alone ends the work of a run that was interrupted.
  void progressed() const {
    if (progress_) progress_();
  }

  // Data and checks. All synchronise.
  virtual void fill(void* data, DataType type, std::size_t count, const Fill& fill) = 0;
  /// Writes every block as fill_block<type>() does, and zeros into the scales' padding.
  virtual void fill(void* data, const BlockScaledLayout& layout, const Fill& fill) = 0;
  /// 0xFF bytes: NaN in every floating-point type but fp8 e4m3, where it is NaN too, and -1 in integers.
  virtual void poison(void* data, std::size_t bytes) = 0;
  /// A hash of the bytes; equal on every device for equal bytes.
  virtual std::uint64_t hash(const void* data, std::size_t bytes) = 0;
  /// Enqueues that hash; `result` is in device memory. Does not synchronise.
  virtual void enqueue_hash(Stream stream, const void* data, std::size_t bytes, std::uint64_t* result) = 0;
  /// Compares out[i] with alpha * x[i] + beta * y[i] + constant in float64, over all elements, in units of
  /// u(type) * (|alpha x| + |beta y| + |constant|), which is at least the type's smallest normal. x or y may be null.
  virtual ElementwiseError compare_linear(DataType type, const void* out, std::size_t count, double alpha, const void* x,
                                          double beta, const void* y, double constant) = 0;
  /// Compares out[i] with expected[i] over all elements, in units of u(type) * scale[i], which is at least the type's smallest
  /// normal. expected and scale are device arrays of float64.
  virtual ElementwiseError compare(DataType type, const void* out, std::size_t count, const double* expected,
                                   const double* scale) = 0;
  /// Random signs, s(i) = +-1 by sign(seed, i) of random.hpp: sums[r * blocks + b] = sum over the columns c of block b of
  /// view(r, c) * s(c), and squares[...] = sum of view(r, c)^2, in float64; blocks = ceil(columns / block). `sums` and
  /// `squares` are device arrays of rows x blocks doubles; squares may be null.
  virtual void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums,
                                 double* squares) = 0;
  /// sums[r] = sum over c of view(r, c)^4 in float64; `sums` is a device array of rows doubles.
  virtual void fourth_power_sums(const MatrixView& view, double* sums) = 0;
  /// products = view * right in float64; right is [view.columns, n], products [view.rows, n], row-major device arrays.
  virtual void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products) = 0;

  /// Over the terms x[i] * y[i], or x[i] where y is null, of all elements; each term and both sums in float64.
  virtual TermSums sum_terms(DataType type, const void* x, const void* y, std::size_t count) = 0;

  // Measuring.
  virtual std::unique_ptr<Batch> batch(const BatchPlan& plan, Launch launch) = 0;
  /// The SM (core) clock now, from a probe that runs on the device for less than a millisecond; absent if not available. On a
  /// CPU that of all cores under load, or of the calling thread's core alone, which may be higher.
  virtual std::optional<double> observed_clock_hz(bool of_one_core) = 0;
  /// One stamp or more per SM, taken behind the work enqueued before; mean_clock_hz() of two calls is the clock between. Empty
  /// where the device has no such counters.
  virtual std::vector<ClockStamp> clock_stamps() { return {}; }
  /// Null where the device says nothing of its state. May be used in another thread, and outlive the device.
  virtual std::unique_ptr<TelemetrySource> telemetry_source() { return nullptr; }
  /// Seconds since the device was opened, as Timing::start_seconds. May be called in another thread, and outlive the device.
  virtual std::function<double()> clock() const {
    return [opened = opened_] { return steady_seconds() - opened; };
  }

 protected:
  const double opened_ = steady_seconds();

 private:
  virtual Memory obtain(std::size_t bytes) = 0;

  std::shared_ptr<std::size_t> allocated_ = std::make_shared<std::size_t>(0);
  std::function<void()> progress_;
};

/// The devices that a --device value names ("auto", "cpu", "cuda", "cuda:N", "all"), as ids. `note` is set if auto chose the
/// CPU. Throws std::invalid_argument for any other value, and DeviceError, with the reason and what to do about it, if a GPU is
/// requested and none is usable.
std::vector<std::string> resolve_devices(const std::string& value, std::string& note);
/// Throws DeviceError unless exactly so many GPUs can be used.
void expect_gpus(int expected);
std::unique_ptr<Device> open_device(const std::string& id);

}  // namespace roofmark
