// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cpu_device.hpp"

#include <omp.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "harness/device/cpu/fill.hpp"
#include "harness/device/elementwise_error.hpp"
#include "harness/device/hash.hpp"
#include "harness/device/random.hpp"
#include "harness/machine/facts.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPage = 4096;
/// Elements that one thread works on at a time, where the result must not depend on the number of threads.
constexpr std::int64_t kPiece = 1 << 16;
const char* const kRoot = "/";

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

bool placed_by_environment() {
  return std::getenv("OMP_PROC_BIND") || std::getenv("OMP_PLACES") || std::getenv("GOMP_CPU_AFFINITY");
}

/// The logical CPUs of this process. An OpenMP runtime that places threads has already put this one in the first place.
std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> members(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, members.data());
    cpus.insert(cpus.end(), members.begin(), members.end());
  }
  if (cpus.empty()) cpus = allowed_cpus();
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

cpu_set_t set_of(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return set;
}

/// The threads of the OpenMP pool, one per core.
class Pool {
 public:
  Pool(const std::vector<int>& cores, int threads, bool placed_by_environment)
      : cores_(cores), threads_(threads), places_(!placed_by_environment) {
    sched_getaffinity(0, sizeof(everywhere_), &everywhere_);
    make_ready();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
#pragma omp parallel num_threads(threads_)
    if (core_of_this_thread_ != kNone) {
      sched_setaffinity(0, sizeof(everywhere_), &everywhere_);
      core_of_this_thread_ = kNone;
    }
  }

  int threads() const { return threads_; }
  bool places() const { return places_; }

  /// Wakes all threads and puts each on its core. To be called again before work is timed: a pool that worked with fewer
  /// threads has ended the others, and new ones run wherever their creator may. So that this is everywhere, the calling
  /// thread is moved to its core and not kept there; with the others kept on theirs it has no reason to leave.
  void make_ready() {
#pragma omp parallel num_threads(threads_)
    if (places_) {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      const int core = cores_[thread % cores_.size()];
      const cpu_set_t set = set_of(core);
      if (thread == 0 && sched_getcpu() != core) {
        sched_setaffinity(0, sizeof(set), &set);
        sched_setaffinity(0, sizeof(everywhere_), &everywhere_);
      } else if (thread != 0 && core_of_this_thread_ != core) {
        sched_setaffinity(0, sizeof(set), &set);
        core_of_this_thread_ = core;
      }
    }
  }

 private:
  static constexpr int kNone = -1;
  inline static thread_local int core_of_this_thread_ = kNone;

  std::vector<int> cores_;
  int threads_;
  bool places_;
  cpu_set_t everywhere_;
};

/// Sets all bytes; every thread takes the part that a loop of equal shares over the array gives it, so that the pages it
/// touches first lie near it.
void set_bytes(void* data, unsigned char value, std::size_t bytes) {
  auto* to = static_cast<unsigned char*>(data);
#pragma omp parallel
  {
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const std::size_t share = round_up((bytes + threads - 1) / threads, kPage);
    const std::size_t begin = std::min(bytes, thread * share), end = std::min(bytes, begin + share);
    std::memset(to + begin, value, end - begin);
  }
}

template <DataType kType>
using Storage = typename Element<kType>::Storage;

/// value(r, c) of a matrix of a type known here, as a double.
template <DataType kType>
class Elements {
 public:
  explicit Elements(const MatrixView& view)
      : data_(static_cast<const Storage<kType>*>(view.data)),
        row_stride_(view.row_stride),
        column_stride_(view.column_stride) {}
  double operator()(std::int64_t r, std::int64_t c) const {
    return Element<kType>::value(data_[r * row_stride_ + c * column_stride_]);
  }

 private:
  const Storage<kType>* data_;
  std::int64_t row_stride_, column_stride_;
};

/// Rows that are walked together, so that the innermost loop runs along memory whichever way the matrix lies.
constexpr std::int64_t kMostRows = 64;
std::int64_t rows_at_once(const MatrixView& view) {
  return std::abs(view.row_stride) < std::abs(view.column_stride) ? kMostRows : 1;
}

/// The greater error; NaN is greater than all, and of equals the first one counts.
void keep_worse(ElementwiseError& worst, const ElementwiseError& other) {
  const auto rank = [](double error) { return std::isnan(error) ? std::pair(1, 0.0) : std::pair(0, error); };
  if (rank(other.worst) > rank(worst.worst) || (rank(other.worst) == rank(worst.worst) && other.index < worst.index)) {
    worst = other;
  }
}

template <DataType kType>
ElementwiseError worst_of(const void* out_data, std::int64_t begin, std::int64_t end, double alpha, const void* x_data,
                          double beta, const void* y_data, double constant) {
  using E = Element<kType>;
  const auto* out = static_cast<const Storage<kType>*>(out_data);
  const auto* x = static_cast<const Storage<kType>*>(x_data);
  const auto* y = static_cast<const Storage<kType>*>(y_data);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ElementwiseError worst{0, static_cast<std::size_t>(begin)};
  double no_worse = 0;  // a difference of so many scales is certainly no worse: the division is for the few that may be
  for (std::int64_t i = begin; i < end; ++i) {
    const double ax = x ? alpha * E::value(x[i]) : 0, by = y ? beta * E::value(y[i]) : 0;
    const double got = E::value(out[i]), expected = ax + by + constant;
    const double scale = std::abs(ax) + std::abs(by) + std::abs(constant);
    const double difference = std::abs(got - expected);
    if (difference <= no_worse * scale && difference < kInfinity) continue;
    const double error = elementwise_error(kType, got, expected, scale);
    if (error <= worst.worst) continue;
    worst = {error, static_cast<std::size_t>(i)};
    if (std::isnan(error)) break;
    no_worse = error * unit_roundoff(kType) * (1 - 0x1p-40);
  }
  return worst;
}

class CpuBatch : public Batch {
 public:
  CpuBatch(const BatchPlan& plan, Launch launch, Clock::time_point opened, std::function<void()> flush, Pool& pool)
      : plan_(plan), launch_(std::move(launch)), opened_(opened), flush_(std::move(flush)), pool_(pool) {}

  Timing run() override {
    if (plan_.restore) {
      for (int slot = 0; slot < plan_.slots; ++slot) plan_.restore(slot);
    }
    if (plan_.flush_before) flush_();
    pool_.make_ready();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < plan_.launches; ++i) {
      launch_(nullptr, next_slot_);
      next_slot_ = (next_slot_ + 1) % plan_.slots;
    }
    const double seconds = seconds_between(begin, Clock::now());
    return {seconds_between(opened_, begin), seconds, seconds, true};
  }

  Issue path() const override { return Issue::stream; }

 private:
  BatchPlan plan_;
  Launch launch_;
  Clock::time_point opened_;
  std::function<void()> flush_;
  Pool& pool_;
  int next_slot_ = 0;
};

class CpuDevice : public Device {
 public:
  CpuDevice() {
    const CpuFacts facts = read_cpu_facts(kRoot, usable_cpus());
    if (facts.cores.empty()) throw DeviceError("no CPU is left to this process by its affinity", false);
    cores_ = facts.cores;
    if (!std::getenv("OMP_NUM_THREADS")) {
      // More threads than the quota are stopped by the kernel in turns.
      const double cores = static_cast<double>(cores_.size());
      omp_set_num_threads(static_cast<int>(std::max(1.0, std::floor(std::min(cores, facts.cpu_quota.value_or(cores))))));
    }
    const int threads = omp_get_max_threads();
    pool_.emplace(cores_, threads, placed_by_environment());

    info_.id = "cpu";
    info_.backend = Backend::cpu;
    info_.name = facts.model;
    info_.multiprocessors = std::min(threads, static_cast<int>(cores_.size()));
    info_.highest_clock_hz = facts.max_clock_hz;
    info_.memory_bytes = facts.memory_bytes;
    info_.free_bytes = free_bytes();
    info_.caches = facts.caches;
    info_.details = facts.details;
    info_.details["openmp_threads"] = threads;
    info_.details["threads_placed_by"] = pool_->places() ? "roofmark, one per core" : "the environment";
  }

  const DeviceInfo& info() const override { return info_; }
  Stream stream() override { return nullptr; }
  void synchronize() override {}

  std::size_t free_bytes() override { return available_memory(kRoot); }

  Memory obtain(std::size_t bytes) override {
    const std::size_t free = free_bytes();
    if (bytes > free) throw OutOfMemory(bytes, free);
    // An array of some size stands in huge pages, whole ones: small pages would measure the TLB too.
    const std::size_t step = bytes >= kHugePage / 2 ? kHugePage : kPage;
    const std::size_t length = round_up(std::max<std::size_t>(bytes, 1), step);
    void* mapped = mmap(nullptr, length + step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw OutOfMemory(bytes, free);
    auto* start = static_cast<unsigned char*>(mapped);
    auto* aligned = start + (round_up(reinterpret_cast<std::size_t>(start), step) - reinterpret_cast<std::size_t>(start));
    if (aligned != start) munmap(start, static_cast<std::size_t>(aligned - start));
    munmap(aligned + length, static_cast<std::size_t>(start + step - aligned));
    if (step == kHugePage) madvise(aligned, length, MADV_HUGEPAGE);
    Memory memory(aligned, [length](void* data) { munmap(data, length); });
    zero(aligned, bytes);
    return memory;
  }

  void to_host(void* host, const void* device, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
  }
  void to_device(void* device, const void* host, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
  }
  void zero(void* data, std::size_t bytes) override { set_bytes(data, 0, bytes); }
  void poison(void* data, std::size_t bytes) override { set_bytes(data, 0xFF, bytes); }

  void fill(void* data, DataType type, std::size_t count, const Fill& fill) override {
    const auto n = static_cast<std::int64_t>(count);
#pragma omp parallel for
    for (std::int64_t begin = 0; begin < n; begin += kPiece) {
      fill_range(data, type, begin, std::min(n, begin + kPiece), fill);
    }
  }

  std::uint64_t hash(const void* data, std::size_t bytes) override { return hash_bytes(data, bytes); }

  ElementwiseError compare_linear(DataType type, const void* out, std::size_t count, double alpha, const void* x, double beta,
                                  const void* y, double constant) override {
    const auto n = static_cast<std::int64_t>(count);
    ElementwiseError worst;
    with_type(type, [&]<DataType kType>() {
#pragma omp parallel for
      for (std::int64_t begin = 0; begin < n; begin += kPiece) {
        const ElementwiseError found = worst_of<kType>(out, begin, std::min(n, begin + kPiece), alpha, x, beta, y, constant);
#pragma omp critical
        keep_worse(worst, found);
      }
    });
    return worst;
  }

  ElementwiseError compare(DataType type, const void* out, std::size_t count, const double* expected,
                           const double* scale) override {
    const auto n = static_cast<std::int64_t>(count);
    ElementwiseError worst;
    with_type(type, [&]<DataType kType>() {
      const auto* elements = static_cast<const Storage<kType>*>(out);
#pragma omp parallel for
      for (std::int64_t begin = 0; begin < n; begin += kPiece) {
        ElementwiseError found{0, static_cast<std::size_t>(begin)};
        for (std::int64_t i = begin; i < std::min(n, begin + kPiece); ++i) {
          keep_worse(found, {elementwise_error(kType, Element<kType>::value(elements[i]), expected[i], scale[i]),
                             static_cast<std::size_t>(i)});
        }
#pragma omp critical
        keep_worse(worst, found);
      }
    });
    return worst;
  }

  void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums,
                         double* squares) override {
    const std::int64_t blocks = (view.columns + block - 1) / block, together = rows_at_once(view);
    std::vector<double> signs(static_cast<std::size_t>(view.columns));
    for (std::size_t c = 0; c < signs.size(); ++c) signs[c] = sign(seed, c);
    with_type(view.type, [&]<DataType kType>() {
      const Elements<kType> value(view);
#pragma omp parallel for collapse(2)
      for (std::int64_t top = 0; top < view.rows; top += together) {
        for (std::int64_t b = 0; b < blocks; ++b) {
          const std::int64_t rows = std::min(together, view.rows - top), end = std::min(view.columns, (b + 1) * block);
          double sum[kMostRows] = {}, square[kMostRows] = {};
          for (std::int64_t c = b * block; c < end; ++c) {
            for (std::int64_t r = 0; r < rows; ++r) {
              const double term = value(top + r, c);
              sum[r] += term * signs[static_cast<std::size_t>(c)];
              square[r] += term * term;
            }
          }
          for (std::int64_t r = 0; r < rows; ++r) {
            sums[(top + r) * blocks + b] = sum[r];
            if (squares) squares[(top + r) * blocks + b] = square[r];
          }
        }
      }
    });
  }

  void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products) override {
    const std::int64_t together = rows_at_once(view);
    with_type(view.type, [&]<DataType kType>() {
      const Elements<kType> value(view);
#pragma omp parallel for
      for (std::int64_t top = 0; top < view.rows; top += together) {
        const std::int64_t rows = std::min(together, view.rows - top);
        double* out = products + top * n;
        std::fill(out, out + rows * n, 0.0);
        for (std::int64_t c = 0; c < view.columns; ++c) {
          for (std::int64_t r = 0; r < rows; ++r) {
            const double factor = value(top + r, c);
            for (std::int64_t j = 0; j < n; ++j) out[r * n + j] += factor * right[c * n + j];
          }
        }
      }
    });
  }

  TermSums sum_terms(DataType type, const void* x, const void* y, std::size_t count) override {
    const auto n = static_cast<std::int64_t>(count);
    std::vector<TermSums> pieces(static_cast<std::size_t>((n + kPiece - 1) / kPiece));
    with_type(type, [&]<DataType kType>() {
      const auto* first = static_cast<const Storage<kType>*>(x);
      const auto* second = static_cast<const Storage<kType>*>(y);
#pragma omp parallel for
      for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
        const auto begin = static_cast<std::int64_t>(piece) * kPiece;
        TermSums sums;
        for (std::int64_t i = begin; i < std::min(n, begin + kPiece); ++i) {
          const double term = Element<kType>::value(first[i]) * (second ? Element<kType>::value(second[i]) : 1);
          sums.sum += term;
          sums.squares += term * term;
        }
        pieces[piece] = sums;
      }
    });
    TermSums total;
    for (const TermSums& piece : pieces) {
      total.sum += piece.sum;
      total.squares += piece.squares;
    }
    return total;
  }

  std::unique_ptr<Batch> batch(const BatchPlan& plan, Launch launch) override {
    if (plan.flush_before && !evicting_) evicting_ = allocate(flush_bytes());
    return std::make_unique<CpuBatch>(
        plan, std::move(launch), opened_, [this] { set_bytes(evicting_.get(), 0, flush_bytes()); }, *pool_);
  }

  std::optional<double> observed_clock_hz() override {
    // All cores at once, as under load. Nothing a thread may suffer makes a chain shorter, so each one's best counts.
    double sum = 0;
    const int threads = pool_->threads();
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
      double best = 0;
      for (int attempt = 0; attempt < 8; ++attempt) best = std::max(best, additions_per_second());
      sum += best;
    }
    return sum / threads;
  }

  Telemetry telemetry() override {
    Telemetry now;
    now.sm_clock_hz = current_clock_hz(kRoot, cores_);
    now.temperature_celsius = temperature_celsius(kRoot);
    return now;
  }

 private:
  /// An addition that waits for the one before takes one clock on every core of the last decades. The operand is no constant,
  /// which some cores would fold while renaming, and the empty asm keeps the compiler from folding the chain.
  static double additions_per_second() {
    constexpr int kRounds = 1500, kUnrolled = 64;
    std::uint64_t sum = 1, step = 3;
    asm volatile("" : "+r"(step));
    const Clock::time_point begin = Clock::now();
    for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 64
      for (int i = 0; i < kUnrolled; ++i) {
        sum += step;
        asm volatile("" : "+r"(sum));
      }
    }
    return kRounds * kUnrolled / seconds_between(begin, Clock::now());
  }

  std::size_t flush_bytes() const {
    constexpr std::size_t kUnknown = std::size_t{64} << 20;
    const std::size_t cache = info_.last_level_cache_bytes();
    return 4 * (cache > 0 ? cache : kUnknown);
  }

  Clock::time_point opened_ = Clock::now();
  std::vector<int> cores_;
  std::optional<Pool> pool_;
  DeviceInfo info_;
  Memory evicting_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace roofmark
