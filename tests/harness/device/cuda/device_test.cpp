// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: the contract of Device, function by function.
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "harness/device/cuda/gate.hpp"
#include "harness/device/cuda/kernels.hpp"
#include "harness/device/cuda_device.hpp"
#include "harness/device/hash.hpp"
#include "harness/team/json.hpp"
#include "tests/constants.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;

constexpr DataType kFloatingTypes[] = {DataType::fp64, DataType::fp32, DataType::tf32,
                                       DataType::fp16, DataType::bf16, DataType::fp8};

// Comparisons and sums take at most 1024 blocks of 256 threads.
constexpr std::size_t kBeyondOneLaunch = 300'007;

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    const CudaDevices devices = cuda_devices();
    if (devices.ordinals.empty()) GTEST_SKIP() << "no GPU: " << devices.reason;
    device_ = open_cuda_device(devices.ordinals.front());
  }

  template <class T>
  std::vector<T> read(const void* data, std::size_t count) {
    std::vector<T> values(count);
    device_->to_host(values.data(), data, count * sizeof(T));
    return values;
  }
  template <class T>
  Memory write(const std::vector<T>& values) {
    Memory data = device_->allocate(values.size() * sizeof(T));
    device_->to_device(data.get(), values.data(), values.size() * sizeof(T));
    return data;
  }

  std::unique_ptr<Device> device_;
};

/// `count` elements as they are stored, on the host.
struct HostArray {
  HostArray(DataType type, std::size_t count) : type(type), count(count), storage(count * size_of(type) / sizeof(double) + 1) {}
  HostArray(DataType type, std::size_t count, std::uint64_t array) : HostArray(type, count) {
    for (std::size_t i = 0; i < count; ++i) store(type, data(), i, generate(Distribution::normal, type, 42, array, i));
  }
  void* data() { return storage.data(); }
  double operator[](std::size_t i) const { return load_as_double(type, storage.data(), i); }
  void set(std::size_t i, double value) { store(type, data(), i, value); }

  DataType type;
  std::size_t count;
  std::vector<double> storage;
};

TEST_F(CudaDeviceTest, InfoIsPlausible) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.id, "cuda:0");
  EXPECT_EQ(info.backend, Backend::cuda);
  EXPECT_GE(info.compute_capability, 75);
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.free_bytes, 0u);
  EXPECT_LE(info.free_bytes, info.memory_bytes);
  EXPECT_GT(info.last_level_cache_bytes(), 0u);
  EXPECT_FALSE(info.gpu.uuid.empty());
}

TEST_F(CudaDeviceTest, AllocatesAlignedAndSaysWhenItCannot) {
  const Memory data = device_->allocate(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data.get()) % 256, 0u);
  const std::size_t wanted = 1ull << 60;
  try {
    device_->allocate(wanted);
    FAIL() << "an exabyte was allocated";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.wanted_bytes, wanted);
    EXPECT_GT(error.free_bytes, 0u);
    EXPECT_THAT(error.what(), HasSubstr("out of memory of " + device_->info().id + ": ")) << "a case may use several";
  }
  device_->zero(data.get(), 1000);
}

TEST_F(CudaDeviceTest, ZeroesAndPoisons) {
  const Memory data = device_->allocate(1003);
  device_->poison(data.get(), 1003);
  EXPECT_EQ(read<unsigned char>(data.get(), 1003), std::vector<unsigned char>(1003, 0xff));
  device_->zero(data.get(), 1000);
  std::vector<unsigned char> expected(1003, 0xff);
  std::fill_n(expected.begin(), 1000, 0);
  EXPECT_EQ(read<unsigned char>(data.get(), 1003), expected);
}

TEST_F(CudaDeviceTest, FillsWithTheBitsOfTheHost) {
  constexpr std::size_t kMost = 3'000'001;  // more than the threads of one launch
  const Memory data = device_->allocate(kMost * sizeof(double));
  for (DataType type : kArrayTypes) {
    for (Distribution distribution : {Distribution::normal, Distribution::uniform, Distribution::zeros}) {
      const std::size_t count = distribution == Distribution::uniform ? kMost : 100'003;
      device_->poison(data.get(), count * sizeof(double));
      device_->fill(data.get(), type, count, {distribution, 7, 3});
      const auto got = read<unsigned char>(data.get(), count * size_of(type));
      HostArray expected(type, count);
      for (std::size_t i = 0; i < count; ++i) expected.set(i, generate(distribution, type, 7, 3, i));
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size()), 0) << name(type) << " " << static_cast<int>(distribution);
    }
  }
}

TEST_F(CudaDeviceTest, FillsNothingBeyondTheEnd) {
  constexpr std::size_t kCount = 1023;  // one less than whole blocks of threads
  for (DataType type : kArrayTypes) {
    for (Distribution distribution : {Distribution::normal, Distribution::uniform, Distribution::zeros}) {
      HostArray expected(type, kCount + 64);
      const std::size_t bytes = (kCount + 64) * size_of(type);
      std::memset(expected.data(), 0xff, bytes);
      for (std::size_t i = 0; i < kCount; ++i) expected.set(i, generate(distribution, type, 8, 4, i));
      const Memory data = device_->allocate(bytes);
      device_->poison(data.get(), bytes);
      device_->fill(data.get(), type, kCount, {distribution, 8, 4});
      const auto got = read<unsigned char>(data.get(), bytes);
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), bytes), 0) << name(type) << " " << static_cast<int>(distribution);
    }
  }
}

TEST_F(CudaDeviceTest, HashesAsTheHostDoes) {
  std::vector<unsigned char> bytes(5'000'003);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(random_bits(1, 2, i));
  const Memory data = write(bytes);
  for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{1001}, bytes.size() - 3}) {
    for (std::size_t offset : {0, 1, 3}) {
      EXPECT_EQ(device_->hash(static_cast<unsigned char*>(data.get()) + offset, count),
                hash_bytes(bytes.data() + offset, count))
          << count << " bytes from " << offset;
    }
  }
}

TEST_F(CudaDeviceTest, EnqueuesTheSameHashesOneAfterTheOther) {
  std::vector<unsigned char> bytes(3'000'003);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(random_bits(1, 3, i));
  const Memory data = write(bytes);
  const std::size_t counts[] = {0, 1, 8, 1001, bytes.size() - 3};
  std::vector<std::uint64_t> expected;
  const Memory results = write(std::vector<std::uint64_t>(15, 7));  // what was there before does not count
  for (const std::size_t count : counts) {
    for (const std::size_t offset : {0, 1, 3}) {
      device_->enqueue_hash(device_->stream(), static_cast<unsigned char*>(data.get()) + offset, count,
                            static_cast<std::uint64_t*>(results.get()) + expected.size());
      expected.push_back(hash_bytes(bytes.data() + offset, count));
    }
  }
  EXPECT_EQ(read<std::uint64_t>(results.get(), expected.size()), expected);
}

TEST_F(CudaDeviceTest, ComparesAndFindsTheOneWrongElement) {
  constexpr std::size_t kCount = kBeyondOneLaunch, kWrong = kCount - 7;
  for (DataType type : kFloatingTypes) {
    SCOPED_TRACE(name(type));
    HostArray x(type, kCount, 0), y(type, kCount, 1), out(type, kCount);
    for (std::size_t i = 0; i < kCount; ++i) out.set(i, 0.5 * x[i] - 3 * y[i] + 0.25);
    const Memory xs = write(x.storage), ys = write(y.storage);
    const auto worst_with = [&](double planted) {
      HostArray changed = out;
      changed.set(kWrong, planted);
      const Memory outs = write(changed.storage);
      return device_->compare_linear(type, outs.get(), kCount, 0.5, xs.get(), -3, ys.get(), 0.25);
    };
    EXPECT_LE(worst_with(out[kWrong]).worst, 2);
    const ElementwiseError wrong = worst_with(out[kWrong] + 64);
    EXPECT_GT(wrong.worst, 16);
    EXPECT_EQ(wrong.index, kWrong);
    const ElementwiseError nan = worst_with(kNaN);
    EXPECT_TRUE(std::isnan(nan.worst));
    EXPECT_EQ(nan.index, kWrong);
    if (type != DataType::fp8) {
      EXPECT_EQ(worst_with(-kInfinity).worst, kInfinity);
    }
  }
}

TEST_F(CudaDeviceTest, ComparesWithAConstantAndPrefersNaNAndTheFirst) {
  std::vector<float> values(1000, 1.5F);
  values[800] = static_cast<float>(kInfinity);
  const auto compared = [&](const Memory& data, std::size_t count) {
    return device_->compare_linear(DataType::fp32, data.get(), count, 0, nullptr, 0, nullptr, 1.5);
  };
  // Equal errors of different blocks, and of a block's threads in either order of their merging.
  for (std::size_t i : {700, 701, 702, 900}) values[i] = static_cast<float>(kNaN);
  const ElementwiseError first = compared(write(values), 1000);
  EXPECT_TRUE(std::isnan(first.worst));
  EXPECT_EQ(first.index, 700u);
  values[700] = 1.5F;
  EXPECT_EQ(compared(write(values), 1000).index, 701u);
  EXPECT_EQ(compared(write(values), 700).worst, 0);
}

TEST_F(CudaDeviceTest, ComparesWithAnExpectedValueAndAScaleForEachElement) {
  constexpr std::size_t kCount = kBeyondOneLaunch, kWrong = kCount - 7;
  HostArray out(DataType::bf16, kCount, 0);
  std::vector<double> expected(kCount);
  for (std::size_t i = 0; i < kCount; ++i) expected[i] = out[i];
  const Memory outs = write(out.storage), scales = write(std::vector<double>(kCount, 2));
  const auto worst_with = [&](double planted) {
    std::vector<double> changed = expected;
    changed[kWrong] = planted;
    const Memory changed_there = write(changed);
    return device_->compare(DataType::bf16, outs.get(), kCount, static_cast<const double*>(changed_there.get()),
                            static_cast<const double*>(scales.get()));
  };
  EXPECT_EQ(worst_with(expected[kWrong]).worst, 0);
  const ElementwiseError wrong = worst_with(expected[kWrong] + 6 * unit_roundoff(DataType::bf16));
  EXPECT_DOUBLE_EQ(wrong.worst, 3);
  EXPECT_EQ(wrong.index, kWrong);
  EXPECT_TRUE(std::isnan(worst_with(kNaN).worst));
}

TEST_F(CudaDeviceTest, ComparesIntegersExactly) {
  HostArray x(DataType::int8, 1000, 0);
  const Memory xs = write(x.storage);
  EXPECT_EQ(device_->compare_linear(DataType::int8, xs.get(), 1000, 1, xs.get(), 0, nullptr, 0).worst, 0);
  x.set(999, x[999] + (x[999] < 0 ? 1 : -1));
  const Memory changed = write(x.storage);
  const ElementwiseError error = device_->compare_linear(DataType::int8, changed.get(), 1000, 1, xs.get(), 0, nullptr, 0);
  EXPECT_EQ(error.worst, kInfinity);
  EXPECT_EQ(error.index, 999u);
}

TEST_F(CudaDeviceTest, SumsTerms) {
  constexpr std::size_t kCount = kBeyondOneLaunch;
  for (DataType type : kArrayTypes) {
    SCOPED_TRACE(name(type));
    HostArray x(type, kCount, 0), y(type, kCount, 1);
    const Memory xs = write(x.storage), ys = write(y.storage);
    double sum = 0, squares = 0, alone = 0, absolute = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      sum += x[i] * y[i];
      squares += x[i] * y[i] * x[i] * y[i];
      alone += x[i];
      absolute += std::abs(x[i] * y[i]) + std::abs(x[i]);
    }
    const TermSums both = device_->sum_terms(type, xs.get(), ys.get(), kCount);
    EXPECT_NEAR(both.sum, sum, 1e-12 * absolute);
    EXPECT_NEAR(both.squares, squares, 1e-11 * squares);
    EXPECT_NEAR(device_->sum_terms(type, xs.get(), nullptr, kCount).sum, alone, 1e-12 * absolute);
  }
  EXPECT_EQ(device_->sum_terms(DataType::fp32, nullptr, nullptr, 0).sum, 0);
}

/// rows x columns of a leading dimension 3 longer than need be, row-major or column-major.
struct HostMatrix {
  HostMatrix(DataType type, std::int64_t rows, std::int64_t columns, bool row_major)
      : elements(type, (row_major ? rows : columns) * ((row_major ? columns : rows) + 3), 5) {
    const std::int64_t leading = (row_major ? columns : rows) + 3;
    view = {nullptr, type, rows, columns, row_major ? leading : 1, row_major ? 1 : leading};
  }
  double at(std::int64_t r, std::int64_t c) const { return elements[r * view.row_stride + c * view.column_stride]; }
  HostArray elements;
  MatrixView view;
};

TEST_F(CudaDeviceTest, SumsBlocksWithSigns) {
  for (DataType type : kArrayTypes) {
    for (bool row_major : {true, false}) {
      for (auto [rows, columns, block] : {std::tuple{67, 301, 64}, {3, 1000, 7}, {1000, 5, 5}, {33, 33, 100}}) {
        SCOPED_TRACE(testing::Message() << name(type) << " " << rows << " x " << columns << " by " << block << " "
                                        << row_major);
        HostMatrix matrix(type, rows, columns, row_major);
        const Memory elements = write(matrix.elements.storage);
        matrix.view.data = elements.get();
        const int blocks = (columns + block - 1) / block;
        const Memory sums = device_->allocate(rows * blocks * sizeof(double));
        const Memory squares = device_->allocate(rows * blocks * sizeof(double));
        device_->poison(sums.get(), rows * blocks * sizeof(double));
        device_->signed_block_sums(matrix.view, block, 9, static_cast<double*>(sums.get()),
                                   static_cast<double*>(squares.get()));
        const auto got = read<double>(sums.get(), rows * blocks), got_squares = read<double>(squares.get(), rows * blocks);
        for (int r = 0; r < rows; ++r) {
          for (int b = 0; b < blocks; ++b) {
            double sum = 0, square = 0;
            for (int c = b * block; c < std::min((b + 1) * block, columns); ++c) {
              sum += matrix.at(r, c) * sign(9, c);
              square += matrix.at(r, c) * matrix.at(r, c);
            }
            ASSERT_NEAR(got[r * blocks + b], sum, 1e-12 * (square + 1)) << r << ", " << b;
            ASSERT_NEAR(got_squares[r * blocks + b], square, 1e-12 * square) << r << ", " << b;
          }
        }
        device_->poison(sums.get(), rows * blocks * sizeof(double));
        device_->signed_block_sums(matrix.view, block, 9, static_cast<double*>(sums.get()), nullptr);
        EXPECT_EQ(read<double>(sums.get(), rows * blocks), got);
      }
    }
  }
}

TEST_F(CudaDeviceTest, SumsFourthPowersOfRows) {
  for (DataType type : kArrayTypes) {
    for (bool row_major : {true, false}) {
      for (auto [rows, columns] : {std::pair{67, 301}, {3, 1000}, {1000, 5}}) {
        SCOPED_TRACE(testing::Message() << name(type) << " " << rows << " x " << columns << " " << row_major);
        HostMatrix matrix(type, rows, columns, row_major);
        const Memory elements = write(matrix.elements.storage);
        matrix.view.data = elements.get();
        const Memory sums = device_->allocate(rows * sizeof(double));
        device_->poison(sums.get(), rows * sizeof(double));
        device_->fourth_power_sums(matrix.view, static_cast<double*>(sums.get()));
        const auto got = read<double>(sums.get(), rows);
        for (int r = 0; r < rows; ++r) {
          double sum = 0;
          for (int c = 0; c < columns; ++c) sum += std::pow(matrix.at(r, c), 4);
          ASSERT_NEAR(got[r], sum, 1e-12 * sum) << r;
        }
      }
    }
  }
}

TEST_F(CudaDeviceTest, MultipliesInFp64) {
  for (DataType type : kArrayTypes) {
    for (bool row_major : {true, false}) {
      for (auto [rows, columns, n] : {std::tuple{70, 45, 67}, {1, 1000, 1}, {129, 16, 64}, {200, 3, 5}}) {
        SCOPED_TRACE(testing::Message() << name(type) << " " << rows << " x " << columns << " x " << n << " " << row_major);
        HostMatrix matrix(type, rows, columns, row_major);
        const Memory elements = write(matrix.elements.storage);
        matrix.view.data = elements.get();
        HostArray right(DataType::fp64, columns * n, 6);
        const Memory rights = write(right.storage);
        const Memory products = device_->allocate(rows * n * sizeof(double));
        device_->poison(products.get(), rows * n * sizeof(double));
        device_->multiply_fp64(matrix.view, static_cast<double*>(rights.get()), n, static_cast<double*>(products.get()));
        const auto got = read<double>(products.get(), rows * n);
        for (int r = 0; r < rows; ++r) {
          for (int j = 0; j < n; ++j) {
            double product = 0, absolute = 0;
            for (int c = 0; c < columns; ++c) {
              product += matrix.at(r, c) * right[c * n + j];
              absolute += std::abs(matrix.at(r, c) * right[c * n + j]);
            }
            ASSERT_NEAR(got[r * n + j], product, 1e-13 * absolute) << r << ", " << j;
          }
        }
      }
    }
  }
}

TEST_F(CudaDeviceTest, ObservesAClockThatItsSmCanHave) {
  const auto clock_hz = device_->observed_clock_hz(false);
  ASSERT_TRUE(clock_hz);
  EXPECT_GT(*clock_hz, 50e6);
  EXPECT_LE(*clock_hz, 1.05 * device_->info().highest_clock_hz.value());
}

TEST_F(CudaDeviceTest, StampsGiveTheClockBetweenThem) {
  const std::vector<ClockStamp> first = device_->clock_stamps();
  if (std::getenv("GPUMODEL_CLOCK_GATED")) {
    EXPECT_TRUE(first.empty()) << "the counters stand still in pauses";
    return;
  }
  const bool known = device_->info().name.find("model GPU") != std::string::npos;
  if (first.empty() && !known) GTEST_SKIP() << "the cycle counters of this GPU stand still while no kernel runs";
  std::optional<double> probed;
  for (int i = 0; i < 20; ++i) probed = device_->observed_clock_hz(false);  // 200 us each
  const auto mean = mean_clock_hz(first, device_->clock_stamps(), device_->info().highest_clock_hz);
  ASSERT_TRUE(mean && probed);
  EXPECT_THAT(*mean / *probed, testing::AllOf(Gt(0.5), testing::Lt(2)));
  std::set<std::uint32_t> sms;
  for (const ClockStamp& stamp : first) sms.insert(stamp.sm);
  EXPECT_GE(sms.size(), std::min<std::size_t>(2, device_->info().multiprocessors));
}

TEST_F(CudaDeviceTest, TelemetryIsPlausibleWhereItCanBeRead) {
  const Telemetry now = device_->telemetry_source()->read();
  EXPECT_THAT(now.sm_clock_hz.value_or(1), Gt(0));
  EXPECT_THAT(now.power_watts.value_or(1), Gt(0));
  EXPECT_THAT(now.temperature_celsius.value_or(20), testing::AllOf(Gt(0), testing::Lt(120)));
}

/// Batches whose launch writes its slot's element of an array, so that what ran can be read back.
class BatchTest : public CudaDeviceTest {
 protected:
  static constexpr int kMaxSlots = 64;

  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (IsSkipped()) return;
    if (device_->info().gpu.gate) GTEST_SKIP() << *device_->info().gpu.gate;
    marks_ = device_->allocate(kMaxSlots * sizeof(float));
  }

  Launch mark() {
    return [this](Stream stream, int slot) {
      cuda::fill(static_cast<float*>(marks_.get()) + slot, DataType::fp32, 1, {Distribution::normal, 1, 0}, stream);
    };
  }
  /// The slots that one run of the batch wrote.
  std::vector<int> slots_of_a_run(Batch& batch) {
    device_->zero(marks_.get(), kMaxSlots * sizeof(float));
    const Timing timing = batch.run();
    EXPECT_TRUE(timing.valid);
    EXPECT_GT(timing.seconds, 0);
    EXPECT_GT(timing.host_seconds, 0);
    const auto marks = read<float>(marks_.get(), kMaxSlots);
    std::vector<int> slots;
    for (int slot = 0; slot < kMaxSlots; ++slot) {
      if (marks[slot] != 0) slots.push_back(slot);
    }
    return slots;
  }

  Memory marks_;
};

// The first run makes launch 0 by itself, untimed.
TEST_F(BatchTest, SlotsRotateAcrossSamplesOnEveryPath) {
  for (Issue path : {Issue::stream, Issue::gate, Issue::graph}) {
    SCOPED_TRACE(static_cast<int>(path));
    const auto batch = device_->batch({.path = path, .launches = 2, .slots = 5}, mark());
    EXPECT_THAT(slots_of_a_run(*batch), ElementsAre(0, 1, 2));
    EXPECT_EQ(batch->path(), path);
    EXPECT_THAT(slots_of_a_run(*batch), ElementsAre(3, 4));
    EXPECT_THAT(slots_of_a_run(*batch), ElementsAre(0, 1));
    EXPECT_THAT(slots_of_a_run(*batch), ElementsAre(2, 3));
    EXPECT_THAT(slots_of_a_run(*batch), ElementsAre(0, 4));
    EXPECT_THAT(slots_of_a_run(*batch), ElementsAre(1, 2));
    EXPECT_EQ(batch->path(), path);
  }
}

TEST_F(BatchTest, TheHostTimesACallUntilItReturnsOrUntilTheDeviceHasFinished) {
  for (const Timed timed : {Timed::call, Timed::completion}) {
    const auto batch = device_->batch({.path = Issue::graph, .timed = timed, .launches = 2, .slots = 5}, mark());
    EXPECT_EQ(batch->path(), Issue::stream);
    EXPECT_THAT(slots_of_a_run(*batch), ElementsAre(0, 1, 2));
    const Timing timing = batch->run();
    EXPECT_EQ(timing.seconds == timing.host_seconds, timed == Timed::call);
    EXPECT_GE(timing.seconds, timing.host_seconds);
    EXPECT_EQ(timing.last_slot, 4);
  }
}

TEST_F(BatchTest, AutomaticIsGatedUpToItsLimitAndThenAGraph) {
  EXPECT_EQ(device_->batch({.path = Issue::automatic, .launches = 1}, mark())->path(), Issue::gate);
  EXPECT_EQ(device_->batch({.path = Issue::automatic, .launches = 128}, mark())->path(), Issue::gate);
  const auto graph = device_->batch({.path = Issue::automatic, .launches = 257}, mark());
  EXPECT_EQ(graph->path(), Issue::graph);
  EXPECT_TRUE(graph->run().valid);
  EXPECT_EQ(graph->path(), Issue::graph);
  EXPECT_EQ(device_->batch({.path = Issue::gate, .launches = 257}, mark())->path(), Issue::stream);
  EXPECT_EQ(device_->batch({.path = Issue::graph, .launches = 100, .slots = 1'000'003}, mark())->path(), Issue::gate);
}

TEST_F(BatchTest, WhatCannotBeCapturedIsGated) {
  const auto batch = device_->batch({.path = Issue::graph, .launches = 2, .slots = 3}, [&](Stream stream, int slot) {
    cudaStreamCaptureStatus status;
    check(cudaStreamIsCapturing(stream, &status));
    if (status != cudaStreamCaptureStatusNone) check(cudaStreamSynchronize(stream));
    mark()(stream, slot);
  });
  EXPECT_THAT(slots_of_a_run(*batch), ElementsAre(0, 1, 2));
  EXPECT_EQ(batch->path(), Issue::gate);
}

TEST_F(BatchTest, RestoresEverySlotBeforeEachSampleAndFlushes) {
  std::vector<int> restored;
  const auto batch = device_->batch({.path = Issue::gate,
                                     .launches = 2,
                                     .slots = 3,
                                     .flush_before = true,
                                     .restore = [&](int slot) { restored.push_back(slot); }},
                                    mark());
  batch->run();
  EXPECT_THAT(restored, ElementsAre(0, 1, 2, 0, 1, 2)) << "also before the untimed launch";
  EXPECT_TRUE(batch->run().valid);
  EXPECT_THAT(restored, ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2));
}

TEST_F(BatchTest, AGateHoldsWhileItsLaunchesAreEnqueued) {
  const auto batch = device_->batch({.path = Issue::gate, .launches = 2}, [&](Stream stream, int slot) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    mark()(stream, slot);
  });
  EXPECT_TRUE(batch->run().valid);
  EXPECT_TRUE(batch->run().valid);
  EXPECT_EQ(batch->path(), Issue::gate);
}

TEST_F(BatchTest, AGateThatOpensByItselfVoidsTheSampleAndIsGivenUpTheSecondTime) {
  bool slow = false;
  const auto batch = device_->batch({.path = Issue::gate}, [&](Stream stream, int slot) {
    if (slow) std::this_thread::sleep_for(std::chrono::nanoseconds(cuda::Gate::kLimitNanoseconds + 200'000'000));
    mark()(stream, slot);
  });
  EXPECT_TRUE(batch->run().valid);
  slow = true;
  EXPECT_FALSE(batch->run().valid);
  EXPECT_EQ(batch->path(), Issue::gate);
  slow = false;
  EXPECT_TRUE(batch->run().valid);
  slow = true;
  EXPECT_FALSE(batch->run().valid);
  EXPECT_FALSE(batch->run().valid);
  EXPECT_EQ(batch->path(), Issue::stream);
  slow = false;
  EXPECT_TRUE(batch->run().valid);
}

TEST_F(BatchTest, ALaunchThatThrowsLeavesTheDeviceUsable) {
  bool broken = false;
  const auto batch = device_->batch({.path = Issue::gate, .launches = 3}, [&](Stream stream, int slot) {
    if (broken) throw std::runtime_error("broken");
    mark()(stream, slot);
  });
  EXPECT_TRUE(batch->run().valid);
  broken = true;
  EXPECT_THROW(batch->run(), std::runtime_error);
  broken = false;
  EXPECT_TRUE(batch->run().valid);
}

TEST_F(BatchTest, RefusesABatchOfNothing) {
  EXPECT_THROW(device_->batch({.launches = 0}, mark()), std::invalid_argument);
  EXPECT_THROW(device_->batch({.slots = 0}, mark()), std::invalid_argument);
}

}  // namespace
}  // namespace roofmark
