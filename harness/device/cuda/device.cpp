// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "harness/device/cuda/batch.hpp"
#include "harness/device/cuda/gate.hpp"
#include "harness/device/cuda/info.hpp"
#include "harness/device/cuda/kernels.hpp"
#include "harness/device/cuda/nvml_telemetry.hpp"
#include "harness/device/cuda_device.hpp"
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
  return NvmlDevice(Nvml::driver(), uuid_text(properties.uuid), pci_bus_id(ordinal));
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal), nvml_(find_in_nvml(ordinal)), info_(read_device_info(ordinal, nvml_)) {
    use();
    stream_ = make_stream();
    info_.free_bytes = free_bytes();
    if (const std::string obstacle = gate_obstacle(environment()); obstacle.empty()) {
      gate_ = std::make_unique<Gate>();
    } else {
      info_.details["gate"] = "off: " + obstacle;
    }
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

  std::size_t free_bytes() override {
    use();
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    return free;
  }
  Memory obtain(std::size_t bytes) override {
    use();
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemory(bytes, free_bytes());
    }
    check(status);
    return Memory(data, [](void* allocated) { cudaFree(allocated); });
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

  std::optional<double> observed_clock_hz() override {
    use();
    static_assert(sizeof(ClockReading) == 16);
    std::vector<ClockReading> readings(
        std::min<std::size_t>(info_.multiprocessors, kReductionScratchBytes / sizeof(ClockReading)));
    auto* on_device = static_cast<ClockReading*>(scratch());
    read_clocks(on_device, static_cast<int>(readings.size()), stream_.get());
    to_host(readings.data(), on_device, readings.size() * sizeof(ClockReading));
    std::vector<double> clocks;
    for (const ClockReading& reading : readings) {
      if (reading.nanoseconds)
        clocks.push_back(static_cast<double>(reading.cycles) * 1e9 / static_cast<double>(reading.nanoseconds));
    }
    if (clocks.empty()) return std::nullopt;
    const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
    std::nth_element(clocks.begin(), middle, clocks.end());
    // A timer that runs at another rate than it says, under some hypervisors, would give what no SM can do.
    const double least = 0.025 * info_.highest_clock_hz.value_or(2e9), most = 1.05 * info_.highest_clock_hz.value_or(10e9);
    if (*middle < least || *middle > most) return std::nullopt;
    return *middle;
  }
  std::unique_ptr<TelemetrySource> telemetry_source() override { return std::make_unique<NvmlTelemetry>(nvml_); }

 private:
  void use() const { check(cudaSetDevice(ordinal_)); }

  void set_bytes(void* data, int value, std::size_t bytes) {
    use();
    check(cudaMemsetAsync(data, value, bytes, stream_.get()));
    synchronize();
  }

  void* scratch() {
    use();
    if (!scratch_) scratch_ = allocate(kReductionScratchBytes);
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
  Memory scratch_, flush_buffer_;
};

}  // namespace

}  // namespace cuda

DeviceInfo describe_cuda_device(int ordinal) { return cuda::read_device_info(ordinal, cuda::find_in_nvml(ordinal)); }

std::unique_ptr<Device> open_cuda_device(int ordinal) { return std::make_unique<cuda::CudaDevice>(ordinal); }

}  // namespace roofmark
