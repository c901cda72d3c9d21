// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "harness/device/hash.hpp"
#include "harness/model/prepared.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

/// A device whose time is made up: a launch takes as long as `seconds` says, and the clock moves by that alone.
class FakeDevice final : public Device {
 public:
  double now = 0;
  double overhead = 10e-6;                                               ///< of the host, a batch
  std::function<double(int launch)> seconds = [](int) { return 1e-3; };  ///< of the n-th launch ever made
  std::function<bool(int batch)> valid = [](int) { return true; };
  std::function<std::uint64_t()> hash_value = [] { return 1; };
  bool hashes_bytes = false;  ///< instead of giving hash_value
  double hash_seconds_per_byte = 1e-6;
  std::function<std::optional<double>()> clock_probe = [] { return 1e9; };
  std::function<std::vector<ClockStamp>()> stamps = [] { return std::vector<ClockStamp>(); };
  bool lost = false;            ///< nothing may be asked of it any more
  std::size_t taken_bytes = 0;  ///< of the free memory, since it was opened
  std::vector<int> slots_seen;
  int launches = 0, batches = 0, flushes = 0, restores = 0;
  std::unique_ptr<TelemetrySource> telemetry;
  DeviceInfo device;

  FakeDevice() {
    device.id = "cpu";
    device.name = "fake";
    device.memory_bytes = device.free_bytes = 1000;
    device.caches = {{"l2", 100, 100}};
  }

  const DeviceInfo& info() const override { return device; }
  Stream stream() override { return nullptr; }
  void synchronize() override {}
  std::size_t free_bytes() override {
    if (lost) throw DeviceError("lost", true);
    return device.free_bytes - taken_bytes;
  }
  Memory obtain(std::size_t bytes) override {
    return {std::malloc(bytes), [](void* p) { std::free(p); }};
  }
  Memory allocate_host(std::size_t bytes, const HostMemory&) override { return allocate(bytes); }
  void to_host(void* host, const void* data, std::size_t bytes) override { std::memcpy(host, data, bytes); }
  void to_device(void* data, const void* host, std::size_t bytes) override { std::memcpy(data, host, bytes); }
  void zero(void* data, std::size_t bytes) override { std::memset(data, 0, bytes); }
  void fill(void*, DataType, std::size_t, const Fill&) override {}
  void fill(void*, const BlockScaledLayout&, const Fill&) override {}
  void poison(void* data, std::size_t bytes) override { std::memset(data, 0xFF, bytes); }
  std::uint64_t hash(const void* data, std::size_t bytes) override {
    return hashes_bytes ? hash_bytes(data, bytes) : hash_value();
  }
  void enqueue_hash(Stream, const void* data, std::size_t bytes, std::uint64_t* result) override {
    *result = hash(data, bytes);
    hashed_seconds_ += static_cast<double>(bytes) * hash_seconds_per_byte;
  }
  ElementwiseError compare_linear(DataType, const void*, std::size_t, double, const void*, double, const void*,
                                  double) override {
    return {};
  }
  ElementwiseError compare(DataType, const void*, std::size_t, const double*, const double*) override { return {}; }
  TermSums sum_terms(DataType, const void*, const void*, std::size_t) override { return {}; }
  void signed_block_sums(const MatrixView&, std::int64_t, std::uint64_t, double*, double*) override {}
  void fourth_power_sums(const MatrixView&, double*) override {}
  void multiply_fp64(const MatrixView&, const double*, std::int64_t, double*) override {}
  std::optional<double> observed_clock_hz(bool) override { return clock_probe(); }
  std::vector<ClockStamp> clock_stamps() override { return stamps(); }
  std::unique_ptr<TelemetrySource> telemetry_source() override { return std::move(telemetry); }
  std::function<double()> clock() const override {
    return [this] { return now; };
  }

  std::unique_ptr<Batch> batch(const BatchPlan& plan, Launch launch) override {
    return std::make_unique<FakeBatch>(*this, plan, std::move(launch));
  }

 private:
  double hashed_seconds_ = 0;

  class FakeBatch final : public Batch {
   public:
    FakeBatch(FakeDevice& device, BatchPlan plan, Launch launch)
        : device_(device), plan_(std::move(plan)), launch_(std::move(launch)) {}
    Timing run() override {
      if (plan_.flush_before) ++device_.flushes;
      if (plan_.restore) {
        ++device_.restores;
        for (int slot = 0; slot < plan_.slots; ++slot) plan_.restore(slot);
      }
      Timing timing;
      timing.start_seconds = device_.now;
      bool hashes = false;
      for (int i = 0; i < plan_.launches; ++i) {
        timing.last_slot = next_++ % plan_.slots;
        launch_(nullptr, timing.last_slot);
        // A hash takes its own time and is no launch.
        const double hashed = std::exchange(device_.hashed_seconds_, 0);
        hashes = hashed > 0;
        if (!hashes) device_.slots_seen.push_back(timing.last_slot);
        timing.seconds += hashes ? hashed : device_.seconds(device_.launches++);
      }
      timing.host_seconds = device_.overhead;
      timing.valid = hashes || device_.valid(device_.batches++);
      device_.now += timing.seconds + device_.overhead;
      return timing;
    }
    Issue path() const override { return plan_.path == Issue::automatic ? Issue::gate : plan_.path; }

   private:
    FakeDevice& device_;
    BatchPlan plan_;
    Launch launch_;
    int next_ = 0;
  };
};

/// A case of nothing: what it does is what the test says.
class FakePrepared final : public Prepared {
 public:
  std::function<void(int slot)> on_launch = [](int) {};
  std::function<void()> on_reset = [] {};
  std::function<Verification(int slot)> on_verify = [](int) { return Verification::within(0, 1, "error"); };
  Memory memory;
  int resets = 0;
  bool resetting = false, accumulating = false;
  bool outputs_all = true;
  bool deterministic = false;
  bool evicted = false;
  float value = 0;  ///< what it outputs, from every slot

  void launch(Stream, int slot) override { on_launch(slot); }
  void reset(int) override {
    ++resets;
    on_reset();
  }
  bool needs_reset() const override { return resetting; }
  bool accumulates() const override { return accumulating; }
  bool begins_evicted() const override { return evicted; }
  Verification verify(int slot) override { return on_verify(slot); }
  std::vector<Output> outputs(int) override { return {{&value, DataType::fp32, 1}}; }
  bool outputs_are_all() const override { return outputs_all; }
  bool is_deterministic() const override { return deterministic; }
};

}  // namespace roofmark
