// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "harness/device/cuda/batch.hpp"
#include "harness/device/cuda/gate.hpp"
#include "harness/device/cuda/host_memory.hpp"
#include "harness/device/cuda/info.hpp"
#include "harness/device/cuda/kernels.hpp"
#include "harness/device/cuda/nvml_telemetry.hpp"
#include "harness/device/cuda_device.hpp"
#include "harness/device/host_pages.hpp"
#include "harness/machine/facts.hpp"
#include "harness/machine/host.hpp"
#include "kernels/base/cuda.hpp"

namespace roofmark {

namespace cuda {

namespace {

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
  return variables;
}

NvmlDevice find_in_nvml(int ordinal) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, ordinal));
  const Nvml& nvml = Nvml::driver();
  const auto found = ask_patiently<NvmlDevice>(
      nvml, [&nvml, uuid = uuid_text(properties.uuid), bus_id = pci_bus_id(ordinal)] { return NvmlDevice(nvml, uuid, bus_id); },
      kLongPatienceSeconds);
  return found.value_or(NvmlDevice(nvml));
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal), nvml_(find_in_nvml(ordinal)), info_(read_device_info(ordinal, nvml_)) {
    make_context();
    check_code();
    stream_ = make_stream();
    const MemoryInfo memory = memory_info();
    info_.free_bytes = memory.free;
    info_.used_bytes = memory.total - memory.free;
    const std::optional<int> node = info_.near_memory_node();
    info_.host_memory_bytes = total_memory("/");
    if (const auto of_node = node ? total_memory_of_node(*node, "/") : std::nullopt) {
      info_.host_memory_bytes = std::min(info_.host_memory_bytes, *of_node);
    }
    info_.host_free_bytes = available_to({HostMemoryKind::pinned, node});
    if (const std::string obstacle = make_gate(); !obstacle.empty()) info_.gpu.gate = "off: " + obstacle;
  }

  const DeviceInfo& info() const override { return info_; }
  Stream stream() override {
    use();
    return stream_.get();
  }
  void synchronize() override {
    use();
    check(cudaStreamSynchronize(stream_.get()));
  }

  std::size_t free_bytes() override { return memory_info().free; }
  Memory obtain(std::size_t bytes) override {
    use();
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemory(bytes, free_bytes(), "memory of " + info_.id);
    }
    check(status);
    return Memory(data, [](void* allocated) { cudaFree(allocated); });
  }
  Memory allocate_host(std::size_t bytes, const HostMemory& wanted) override {
    use();
    return cuda::allocate_host(ordinal_, bytes, wanted);
  }
  void to_host(void* host, const void* device, std::size_t bytes) override {
    use();
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_.get()));
    synchronize();
  }
  void to_device(void* device, const void* host, std::size_t bytes) override {
    use();
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_.get()));
    synchronize();
  }
  void zero(void* data, std::size_t bytes) override { set_bytes(data, 0, bytes); }

  void fill(void* data, DataType type, std::size_t count, const Fill& fill) override {
    use();
    cuda::fill(data, type, count, fill, stream_.get());
    synchronize();
  }
  void fill(void* data, const BlockScaledLayout& layout, const Fill& fill) override {
    use();
    cuda::fill(data, layout, fill, stream_.get());
    synchronize();
  }
  void poison(void* data, std::size_t bytes) override { set_bytes(data, 0xff, bytes); }
  std::uint64_t hash(const void* data, std::size_t bytes) override { return cuda::hash(data, bytes, scratch(), stream_.get()); }
  void enqueue_hash(Stream stream, const void* data, std::size_t bytes, std::uint64_t* result) override {
    use();
    cuda::enqueue_hash(data, bytes, result, stream);
  }
  ElementwiseError compare_linear(DataType type, const void* out, std::size_t count, double alpha, const void* x, double beta,
                                  const void* y, double constant) override {
    if (count == 0) return {};
    const LinearComparison comparison{out, x, y, alpha, beta, constant};
    const WorstError worst = cuda::compare_linear(type, comparison, count, scratch(), stream_.get());
    return {same_bits<double>(worst.error_bits), worst.index};
  }
  ElementwiseError compare(DataType type, const void* out, std::size_t count, const double* expected,
                           const double* scale) override {
    if (count == 0) return {};
    const WorstError worst = cuda::compare(type, out, expected, scale, count, scratch(), stream_.get());
    return {same_bits<double>(worst.error_bits), worst.index};
  }
  void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums,
                         double* squares) override {
    use();
    cuda::signed_block_sums(view, block, seed, sums, squares, stream_.get());
    synchronize();
  }
  void fourth_power_sums(const MatrixView& view, double* sums) override {
    use();
    cuda::fourth_power_sums(view, sums, stream_.get());
    synchronize();
  }
  void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products) override {
    use();
    cuda::multiply_fp64(view, right, n, products, stream_.get());
    synchronize();
  }
  TermSums sum_terms(DataType type, const void* x, const void* y, std::size_t count) override {
    const SumAndSquares sums = cuda::sum_terms(type, x, y, count, scratch(), stream_.get());
    return {sums.sum, sums.squares};
  }

  std::unique_ptr<Batch> batch(const BatchPlan& plan, Launch launch) override {
    use();
    return make_batch({ordinal_, stream_.get(), gate_.get(), opened_, [this] { flush_caches(); }}, plan, std::move(launch));
  }

  std::optional<double> observed_clock_hz(bool) override {
    std::vector<double> clocks;
    for (const ClockReading& reading : of_each_sm<ClockReading>(read_clocks)) {
      if (reading.nanoseconds)
        clocks.push_back(static_cast<double>(reading.cycles) * 1e9 / static_cast<double>(reading.nanoseconds));
    }
    return median_clock_hz(std::move(clocks), info_.highest_clock_hz);
  }
  std::vector<ClockStamp> clock_stamps() override {
    if (!counts_while_idle_) counts_while_idle_ = counts_while_idle();
    return *counts_while_idle_ ? of_each_sm<ClockStamp>(stamp_clocks) : std::vector<ClockStamp>();
  }
  std::unique_ptr<TelemetrySource> telemetry_source() override {
    return nvml_.nvml().is_hung() ? nullptr : std::make_unique<NvmlTelemetry>(nvml_);
  }

 private:
  void use() const { set_device(ordinal_); }

  struct MemoryInfo {
    std::size_t free = 0, total = 0;
  };
  MemoryInfo memory_info() const {
    use();
    MemoryInfo memory;
    check(cudaMemGetInfo(&memory.free, &memory.total));
    return memory;
  }

  void make_context() const {
    const cudaError_t status = cudaSetDevice(ordinal_);
    if (status == cudaSuccess) return;
    cudaGetLastError();
    throw DeviceError(why_unusable(status, info_), false);
  }

  /// Why there is none, or empty.
  std::string make_gate() {
    std::string obstacle = gate_obstacle(environment());
    if (!obstacle.empty()) return obstacle;
    if (is_confidential(info_.gpu)) return "in confidential computing a running kernel shares no memory with the host";
    try {
      gate_ = std::make_unique<Gate>();
    } catch (const DeviceError& error) {
      if (error.sticky()) throw;
      obstacle = fmt::format("the host has no pinned memory for it ({})", error.what());
    }
    return obstacle;
  }

  void check_code() const {
    const Code code = find_code();
    if (const std::string why = why_no_code(code, info_, describe_build().cuda_architectures); !why.empty()) {
      throw DeviceError(why, false);
    }
    check(code.status);
  }

  /// What one block per SM writes, one entry each.
  template <class Entry>
  std::vector<Entry> of_each_sm(void (*enqueue)(Entry*, int, cudaStream_t)) {
    std::vector<Entry> entries(std::min<std::size_t>(info_.multiprocessors, kReductionScratchBytes / sizeof(Entry)));
    auto* on_device = static_cast<Entry*>(scratch());
    enqueue(on_device, static_cast<int>(entries.size()), stream_.get());
    to_host(entries.data(), on_device, entries.size() * sizeof(Entry));
    return entries;
  }

  /// Between two samples the SMs wait for the host. No document says that their cycle counters go on then: if these stood
  /// still, stamps would give a clock below the true one.
  bool counts_while_idle() {
    constexpr double kLeastShare = 0.8;
    const auto first = of_each_sm<ClockStamp>(stamp_clocks);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto mean = mean_clock_hz(first, of_each_sm<ClockStamp>(stamp_clocks), info_.highest_clock_hz, 0);
    const auto now = observed_clock_hz(false);
    return mean && now && *mean > kLeastShare * *now;
  }

  void set_bytes(void* data, int value, std::size_t bytes) {
    use();
    check(cudaMemsetAsync(data, value, bytes, stream_.get()));
    synchronize();
  }

  void* scratch() {
    use();
    if (!scratch_) scratch_ = obtain(kReductionScratchBytes);  // none of a case's memory: not counted
    return scratch_.get();
  }

  void flush_caches() {
    const std::size_t bytes = 2 * info_.last_level_cache_bytes();
    if (!flush_buffer_) flush_buffer_ = allocate(bytes);
    sweep(flush_buffer_.get(), bytes, stream_.get());
  }

  int ordinal_;
  NvmlDevice nvml_;
  DeviceInfo info_;
  OwnedStream stream_;
  std::unique_ptr<Gate> gate_;
  std::optional<bool> counts_while_idle_;
  Memory scratch_, flush_buffer_;
};

}  // namespace

}  // namespace cuda

DeviceInfo describe_cuda_device(int ordinal) { return cuda::read_device_info(ordinal, cuda::find_in_nvml(ordinal)); }

PeerPath cuda_peer_path(int one, int other) {
  const cuda::NvmlDevice first = cuda::find_in_nvml(one), second = cuda::find_in_nvml(other);
  const auto found = cuda::ask_patiently<std::pair<PeerPath, bool>>(
      first.nvml(),
      [first, second] { return std::pair(first.path_to(second), first.fabric_is_ready() && second.fabric_is_ready()); },
      kLongPatienceSeconds);
  auto [path, is_ready] = found.value_or(std::pair(PeerPath(), true));
  int there = 0, back = 0;
  check(cudaDeviceCanAccessPeer(&there, one, other));
  check(cudaDeviceCanAccessPeer(&back, other, one));
  return cuda::with_access(std::move(path), is_ready, there && back);
}

std::unique_ptr<Device> open_cuda_device(int ordinal) { return std::make_unique<cuda::CudaDevice>(ordinal); }

}  // namespace roofmark
