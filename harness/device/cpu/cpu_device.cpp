// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cpu_device.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "harness/device/cpu/checks.hpp"
#include "harness/device/cpu/fill.hpp"
#include "harness/device/cpu/pool.hpp"
#include "harness/device/cpu/telemetry.hpp"
#include "harness/device/hash.hpp"
#include "harness/device/host_pages.hpp"
#include "harness/machine/facts.hpp"
#include "harness/machine/huge_pages.hpp"
#include "harness/machine/numa.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

using Clock = std::chrono::steady_clock;

const char* const kRoot = "/";

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// `from`: by steady_seconds().
double seconds_since(double from, Clock::time_point to) {
  return std::chrono::duration<double>(to.time_since_epoch()).count() - from;
}

class CpuBatch : public Batch {
 public:
  CpuBatch(const BatchPlan& plan, Launch launch, double opened, std::function<void()> flush, cpu::Pool& pool)
      : plan_(plan), launch_(std::move(launch)), opened_(opened), flush_(std::move(flush)), pool_(pool) {}

  Timing run() override {
    if (plan_.restore) {
      for (int slot = 0; slot < plan_.slots; ++slot) plan_.restore(slot);
    }
    if (plan_.flush_before) flush_();
    if (plan_.timed == Timed::device && !plan_.one_core)
      pool_.make_ready();  // else threads that wait for work would run beside a single call
    const Clock::time_point begin = Clock::now();
    int slot = 0;
    for (int i = 0; i < plan_.launches; ++i) {
      slot = next_slot_;
      launch_(nullptr, slot);
      next_slot_ = (slot + 1) % plan_.slots;
    }
    const double seconds = seconds_between(begin, Clock::now());
    return {seconds_since(opened_, begin), seconds, seconds, true, slot};
  }

  Issue path() const override { return Issue::stream; }

 private:
  BatchPlan plan_;
  Launch launch_;
  double opened_;
  std::function<void()> flush_;
  cpu::Pool& pool_;
  int next_slot_ = 0;
};

class CpuDevice : public Device {
 public:
  CpuDevice() {
    const CpuFacts facts = read_cpu_facts(kRoot, cpu::usable_cpus());
    cores_ = first_cpus(kRoot, cpu::usable_cpus());
    if (cores_.empty()) throw DeviceError("the affinity mask of this process has no CPU", false);
    if (!std::getenv("OMP_NUM_THREADS")) {
      // More threads than the quota are stopped by the kernel in turns.
      const double cores = static_cast<double>(cores_.size());
      omp_set_num_threads(static_cast<int>(std::max(1.0, std::floor(std::min(cores, facts.cpu_quota.value_or(cores))))));
    }
    const int threads = omp_get_max_threads();
    pool_.emplace(cores_, threads);

    info_.id = "cpu";
    info_.backend = Backend::cpu;
    info_.name = facts.model;
    info_.multiprocessors = std::min(threads, static_cast<int>(cores_.size()));
    info_.highest_clock_hz = facts.max_clock_hz;
    info_.memory_bytes = facts.memory_bytes;
    info_.free_bytes = free_bytes();
    info_.caches = facts.caches;
    info_.host_nodes = nodes_with_memory(kRoot);
    info_.why_no_huge_pages = why_no_huge_pages(kRoot);
    info_.cpu = facts;
    info_.openmp_threads = threads;
    info_.places_threads = pool_->places();
  }

  const DeviceInfo& info() const override { return info_; }
  Stream stream() override { return nullptr; }
  void synchronize() override {}

  std::size_t free_bytes() override { return available_memory(kRoot); }

  Memory obtain(std::size_t bytes) override {
    require_host_memory(bytes, {});
    // An array of some size stands in huge pages, whole ones: small pages would measure the TLB too.
    Memory memory = map_pages(bytes, true);
    zero(memory.get(), bytes);
    return memory;
  }
  Memory allocate_host(std::size_t bytes, const HostMemory& wanted) override {
    if (wanted.kind != HostMemoryKind::pageable) throw Unsupported(fmt::format("the CPU has no {} memory", name(wanted.kind)));
    return adopt(map_pages_on_node(bytes, wanted), bytes);
  }

  void to_host(void* host, const void* device, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
  }
  void to_device(void* device, const void* host, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
  }
  void zero(void* data, std::size_t bytes) override { set_bytes(data, 0, bytes); }
  void poison(void* data, std::size_t bytes) override { set_bytes(data, 0xFF, bytes); }

  void fill(void* data, DataType type, std::size_t count, const Fill& fill) override { cpu::fill(data, type, count, fill); }
  void fill(void* data, const BlockScaledLayout& layout, const Fill& fill) override { cpu::fill(data, layout, fill); }
  std::uint64_t hash(const void* data, std::size_t bytes) override { return hash_bytes(data, bytes); }
  void enqueue_hash(Stream, const void* data, std::size_t bytes, std::uint64_t* result) override {
    *result = hash_bytes(data, bytes);
  }

  ElementwiseError compare_linear(DataType type, const void* out, std::size_t count, double alpha, const void* x, double beta,
                                  const void* y, double constant) override {
    return cpu::compare_linear(type, out, count, alpha, x, beta, y, constant);
  }
  ElementwiseError compare(DataType type, const void* out, std::size_t count, const double* expected,
                           const double* scale) override {
    return cpu::compare(type, out, count, expected, scale);
  }
  void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums,
                         double* squares) override {
    cpu::signed_block_sums(view, block, seed, sums, squares);
  }
  void fourth_power_sums(const MatrixView& view, double* sums) override { cpu::fourth_power_sums(view, sums); }
  void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products) override {
    cpu::multiply_fp64(view, right, n, products);
  }
  TermSums sum_terms(DataType type, const void* x, const void* y, std::size_t count) override {
    return cpu::sum_terms(type, x, y, count);
  }

  std::unique_ptr<Batch> batch(const BatchPlan& plan, Launch launch) override {
    if (plan.flush_before && !evicting_) evicting_ = allocate(flush_bytes());
    return std::make_unique<CpuBatch>(
        plan, std::move(launch), opened_, [this] { cpu::set_bytes(evicting_.get(), 0, flush_bytes()); }, *pool_);
  }

  std::optional<double> observed_clock_hz(bool of_one_core) override {
    if (of_one_core) return best_additions_per_second();
    // All cores at once, as under load. Nothing a thread may suffer makes a chain shorter, so each one's best counts.
    double sum = 0;
    const int threads = pool_->threads();
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    { sum += best_additions_per_second(); }
    return sum / threads;
  }

  std::unique_ptr<TelemetrySource> telemetry_source() override { return std::make_unique<cpu::CpuTelemetry>(kRoot, cores_); }

 private:
  void set_bytes(void* data, unsigned char value, std::size_t bytes) const {
    cpu::set_bytes(data, value, bytes, [this] { progressed(); });
  }

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

  static double best_additions_per_second() {
    double best = 0;
    for (int attempt = 0; attempt < 8; ++attempt) best = std::max(best, additions_per_second());
    return best;
  }

  std::size_t flush_bytes() const {
    constexpr std::size_t kUnknown = std::size_t{64} << 20;
    const std::size_t cache = info_.last_level_cache_bytes();
    return 4 * (cache > 0 ? cache : kUnknown);
  }

  std::vector<int> cores_;
  std::optional<cpu::Pool> pool_;
  DeviceInfo info_;
  Memory evicting_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace roofmark
