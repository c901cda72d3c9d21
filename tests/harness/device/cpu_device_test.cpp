// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: the contract of Device, function by function.
#include "harness/device/cpu_device.hpp"

#include <gmock/gmock.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cmath>

#include "harness/device/hash.hpp"
#include "kernels/base/check.hpp"
#include "tests/constants.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;

class CpuDeviceTest : public testing::Test {
 protected:
  /// An array of `count` elements, filled.
  Memory filled(DataType type, std::size_t count, std::uint64_t array = 0) {
    Memory memory = device->allocate(count * size_of(type));
    device->fill(memory.get(), type, count, {Distribution::normal, 7, array});
    return memory;
  }

  std::unique_ptr<Device> device = open_cpu_device();
};

TEST_F(CpuDeviceTest, SaysWhatItIs) {
  const DeviceInfo& info = device->info();
  EXPECT_EQ(info.id, "cpu");
  EXPECT_EQ(info.backend, Backend::cpu);
  EXPECT_EQ(info.compute_capability, 0);
  EXPECT_THAT(info.multiprocessors, Ge(1));
  EXPECT_THAT(info.multiprocessors, Le(omp_get_max_threads()));
  EXPECT_GT(info.memory_bytes, info.free_bytes);
  EXPECT_GT(info.free_bytes, 0u);
  for (std::size_t i = 1; i < info.caches.size(); ++i) {
    EXPECT_GT(info.caches[i].instance_bytes, info.caches[i - 1].instance_bytes);
  }
  EXPECT_EQ(device->stream(), nullptr);
}

TEST_F(CpuDeviceTest, GivesAlignedMemoryAndZeroes) {
  for (std::size_t bytes : {0ul, 1ul, 4097ul, (1ul << 20) + 1, (3ul << 20) + 5}) {
    const Memory memory = device->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % (bytes > 1 << 20 ? 2 << 20 : 256), 0u);
    device->poison(memory.get(), bytes);
    const auto* data = static_cast<const unsigned char*>(memory.get());
    EXPECT_EQ(std::count(data, data + bytes, 0xFF), static_cast<std::ptrdiff_t>(bytes));
    device->zero(memory.get(), bytes);
    EXPECT_EQ(std::count(data, data + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
  }
}

// The first touch of 20 GB took 20 s.
TEST_F(CpuDeviceTest, TellsItsProgressWhileItTouchesMemory) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  int told = 0;
  device->on_progress([&] { ++told; });
  const std::size_t bytes = (std::size_t{128} << 20) + 1;
  const Memory memory = device->allocate(bytes);
  EXPECT_EQ(told, 2);
  device->poison(memory.get(), bytes - 1);
  EXPECT_EQ(told, 3);
  omp_set_num_threads(threads);
  const auto* const all = static_cast<const unsigned char*>(memory.get());
  EXPECT_TRUE(std::all_of(all, all + bytes - 1, [](unsigned char byte) { return byte == 0xFF; }));
  EXPECT_EQ(all[bytes - 1], 0);
}

TEST_F(CpuDeviceTest, ZeroesNoMoreThanItWasAskedTo) {
  const Memory memory = device->allocate(100'000);
  device->poison(memory.get(), 100'000);
  auto* data = static_cast<unsigned char*>(memory.get());
  device->zero(data + 1, 99'998);
  EXPECT_EQ(data[0], 0xFF);
  EXPECT_EQ(data[99'999], 0xFF);
  EXPECT_EQ(std::count(data, data + 100'000, 0), 99'998);
}

TEST_F(CpuDeviceTest, MoreThanThereIsIsOutOfMemory) {
  const std::size_t wanted = device->info().memory_bytes + 1;
  try {
    device->allocate(wanted);
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.wanted_bytes, wanted);
    EXPECT_GT(error.free_bytes, 0u);
    EXPECT_LT(error.free_bytes, device->info().memory_bytes);
  }
}

TEST_F(CpuDeviceTest, HostMemoryIsItsOwn) {
  constexpr std::size_t kBytes = (std::size_t{4} << 20) + 7;
  const std::size_t before = device->allocated_bytes();
  for (const bool huge_pages : {false, true}) {
    const Memory memory = device->allocate_host(kBytes, {HostMemoryKind::pageable, {}, huge_pages});
    EXPECT_EQ(device->allocated_bytes() - before, kBytes);
    const auto* data = static_cast<const unsigned char*>(memory.get());
    EXPECT_EQ(std::count(data, data + kBytes, 0), static_cast<std::ptrdiff_t>(kBytes));
  }
  EXPECT_EQ(device->allocated_bytes(), before);
  EXPECT_THROW(device->allocate_host(kBytes, {HostMemoryKind::pinned, {}, false}), Unsupported);
  EXPECT_THROW(device->allocate_host(kBytes, {HostMemoryKind::pageable, 1000, false}), Unsupported);
  EXPECT_THROW(device->allocate_host(device->info().memory_bytes + 1, {}), OutOfMemory);
}

TEST_F(CpuDeviceTest, CopiesBothWays) {
  const Memory memory = device->allocate(3 * sizeof(int));
  const int given[] = {1, 2, 3};
  int back[3] = {};
  device->to_device(memory.get(), given, sizeof(given));
  device->to_host(back, memory.get(), sizeof(back));
  EXPECT_THAT(back, ElementsAre(1, 2, 3));
}

TEST_F(CpuDeviceTest, FillsAreTheGenerators) {
  constexpr std::size_t kCount = 150'001;
  for (DataType type : kArrayTypes) {
    for (Distribution distribution : {Distribution::normal, Distribution::uniform, Distribution::zeros}) {
      const Memory memory = device->allocate(kCount * size_of(type));
      device->poison(memory.get(), kCount * size_of(type));
      device->fill(memory.get(), type, kCount, {distribution, 3, 5});
      std::size_t different = 0;
      for (std::size_t i = 0; i < kCount; ++i) {
        different += load_as_double(type, memory.get(), i) != generate(distribution, type, 3, 5, i);
      }
      EXPECT_EQ(different, 0u) << name(type);
    }
  }
}

TEST_F(CpuDeviceTest, HashIsTheOneOfAllDevices) {
  const Memory memory = filled(DataType::fp32, 100'003);
  EXPECT_EQ(device->hash(memory.get(), 400'012), hash_bytes(memory.get(), 400'012));
  EXPECT_NE(device->hash(memory.get(), 400'012), device->hash(memory.get(), 400'008));
}

TEST_F(CpuDeviceTest, CompareLinearFindsTheWorstElement) {
  constexpr std::size_t kCount = 200'003;
  for (DataType type : {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16}) {
    const Memory x = filled(type, kCount, 0), y = filled(type, kCount, 1), out = device->allocate(kCount * size_of(type));
    ElementwiseError expected;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double ax = 0.75 * load_as_double(type, x.get(), i), by = -1.25 * load_as_double(type, y.get(), i);
      store(type, out.get(), i, ax + by + 0.5);
      const double difference = std::abs(load_as_double(type, out.get(), i) - (ax + by + 0.5));
      const double error = difference / (std::abs(ax) + std::abs(by) + 0.5) / unit_roundoff(type);
      if (error > expected.worst) expected = {error, i};
    }
    ElementwiseError found = device->compare_linear(type, out.get(), kCount, 0.75, x.get(), -1.25, y.get(), 0.5);
    EXPECT_DOUBLE_EQ(found.worst, expected.worst) << name(type);
    EXPECT_EQ(found.index, expected.index) << name(type);
    EXPECT_LT(found.worst, 1.001);

    for (std::size_t planted : {std::size_t{0}, std::size_t{65'536}, kCount - 1}) {
      const double right = load_as_double(type, out.get(), planted);
      store(type, out.get(), planted, right + 8 * unit_roundoff(type) * (std::abs(right) + 1));
      found = device->compare_linear(type, out.get(), kCount, 0.75, x.get(), -1.25, y.get(), 0.5);
      EXPECT_EQ(found.index, planted) << name(type);
      EXPECT_GT(found.worst, 1.001) << name(type);
      store(type, out.get(), planted, right);
    }
  }
}

TEST_F(CpuDeviceTest, CompareLinearTakesNoInputs) {
  const Memory out = device->allocate(1000 * sizeof(float));
  auto* data = static_cast<float*>(out.get());
  std::fill(data, data + 1000, 0.25F);
  EXPECT_EQ(device->compare_linear(DataType::fp32, data, 1000, 1, nullptr, 1, nullptr, 0.25).worst, 0);
  data[999] = 0.5F;
  const ElementwiseError found = device->compare_linear(DataType::fp32, data, 1000, 1, nullptr, 1, nullptr, 0.25);
  EXPECT_EQ(found.worst, 0x1p24);
  EXPECT_EQ(found.index, 999u);
  EXPECT_EQ(device->compare_linear(DataType::fp32, data, 0, 1, nullptr, 1, nullptr, 0.25).worst, 0);
}

TEST_F(CpuDeviceTest, CompareLinearPutsNaNAboveInfinityAboveAll) {
  constexpr std::size_t kCount = 100'000;
  const Memory x = filled(DataType::fp64, kCount), out = filled(DataType::fp64, kCount);
  auto* data = static_cast<double*>(out.get());
  const auto compare = [&] { return device->compare_linear(DataType::fp64, data, kCount, 1, x.get(), 0, nullptr, 0); };
  EXPECT_EQ(compare().worst, 0);
  data[10] = 1e200;
  data[90'000] = -kInfinity;
  EXPECT_EQ(compare().worst, kInfinity);
  EXPECT_EQ(compare().index, 90'000u);
  data[50'000] = kNaN;
  data[60'000] = kNaN;
  EXPECT_TRUE(std::isnan(compare().worst));
  EXPECT_EQ(compare().index, 50'000u);
}

TEST_F(CpuDeviceTest, CompareLinearTellsIntegersApart) {
  const Memory x = filled(DataType::int8, 1000), out = filled(DataType::int8, 1000);
  EXPECT_EQ(device->compare_linear(DataType::int8, out.get(), 1000, 1, x.get(), 0, nullptr, 0).worst, 0);
  static_cast<std::int8_t*>(out.get())[17] ^= 1;
  const ElementwiseError found = device->compare_linear(DataType::int8, out.get(), 1000, 1, x.get(), 0, nullptr, 0);
  EXPECT_EQ(found.worst, kInfinity);
  EXPECT_EQ(found.index, 17u);
}

TEST_F(CpuDeviceTest, CompareTakesAnExpectedValueAndAScaleForEachElement) {
  constexpr std::size_t kCount = 200'003;
  const Memory out = filled(DataType::bf16, kCount), expected = device->allocate(kCount * sizeof(double));
  const Memory scale = device->allocate(kCount * sizeof(double));
  auto* values = static_cast<double*>(expected.get());
  auto* scales = static_cast<double*>(scale.get());
  for (std::size_t i = 0; i < kCount; ++i) {
    values[i] = load_as_double(DataType::bf16, out.get(), i);
    scales[i] = 2;
  }
  const auto compare = [&] { return device->compare(DataType::bf16, out.get(), kCount, values, scales); };
  EXPECT_EQ(compare().worst, 0);
  for (std::size_t planted : {std::size_t{0}, std::size_t{65'536}, kCount - 1}) {
    const double right = values[planted];
    values[planted] = right + 6 * unit_roundoff(DataType::bf16);
    EXPECT_DOUBLE_EQ(compare().worst, 3);
    EXPECT_EQ(compare().index, planted);
    values[planted] = kNaN;
    EXPECT_TRUE(std::isnan(compare().worst));
    values[planted] = right;
  }
}

TEST_F(CpuDeviceTest, CountsWhatIsAllocated) {
  const std::size_t before = device->allocated_bytes();
  {
    const Memory first = device->allocate(1000), second = device->allocate(1 << 20);
    EXPECT_EQ(device->allocated_bytes() - before, 1000U + (1 << 20));
  }
  EXPECT_EQ(device->allocated_bytes(), before);
}

/// The ways a matrix of 70 x 150 may lie in an array of 20'000 elements: by rows, by columns, padded, every other one.
std::vector<MatrixView> views(const void* data, DataType type) {
  return {{data, type, 70, 150, 150, 1},
          {data, type, 70, 150, 1, 70},
          {data, type, 70, 150, 1, 100},
          {data, type, 70, 130, 260, 2}};
}

double element(const MatrixView& view, std::int64_t r, std::int64_t c) {
  return load_as_double(view.type, view.data, static_cast<std::size_t>(r * view.row_stride + c * view.column_stride));
}

TEST_F(CpuDeviceTest, SignedBlockSums) {
  constexpr std::int64_t kBlock = 64;
  for (DataType type : {DataType::fp64, DataType::bf16, DataType::int32}) {
    const Memory data = filled(type, 20'000);
    for (const MatrixView& view : views(data.get(), type)) {
      const std::int64_t blocks = (view.columns + kBlock - 1) / kBlock;
      const std::size_t bytes = static_cast<std::size_t>(view.rows * blocks) * sizeof(double);
      const Memory sums = device->allocate(bytes), squares = device->allocate(bytes), alone = device->allocate(bytes);
      for (void* output : {sums.get(), squares.get(), alone.get()}) device->poison(output, bytes);
      device->signed_block_sums(view, kBlock, 11, static_cast<double*>(sums.get()), static_cast<double*>(squares.get()));
      device->signed_block_sums(view, kBlock, 11, static_cast<double*>(alone.get()), nullptr);
      EXPECT_EQ(device->hash(alone.get(), bytes), device->hash(sums.get(), bytes));
      for (std::int64_t r = 0; r < view.rows; ++r) {
        for (std::int64_t b = 0; b < blocks; ++b) {
          double sum = 0, square = 0;
          for (std::int64_t c = b * kBlock; c < std::min(view.columns, (b + 1) * kBlock); ++c) {
            sum += element(view, r, c) * sign(11, static_cast<std::uint64_t>(c));
            square += element(view, r, c) * element(view, r, c);
          }
          EXPECT_NEAR(static_cast<double*>(sums.get())[r * blocks + b], sum, 1e-9);
          EXPECT_NEAR(static_cast<double*>(squares.get())[r * blocks + b], square, 1e-9 * square);
        }
      }
    }
  }
}

TEST_F(CpuDeviceTest, SignedBlockSumsShowOneWrongElement) {
  const Memory data = filled(DataType::fp32, 20'000), sums = device->allocate(70 * 3 * sizeof(double));
  for (MatrixView view : views(data.get(), DataType::fp32)) {
    const auto hash = [&] {
      device->signed_block_sums(view, 64, 1, static_cast<double*>(sums.get()), nullptr);
      return device->hash(sums.get(), 70 * 3 * sizeof(double));
    };
    const std::uint64_t before = hash();
    float& wrong = static_cast<float*>(data.get())[69 * view.row_stride + 129 * view.column_stride];
    const float right = wrong;
    const std::size_t touched = 69 * ((view.columns + 63) / 64) + 129 / 64;
    for (float value : {right + 0.001F, static_cast<float>(kInfinity), static_cast<float>(kNaN)}) {
      wrong = value;
      EXPECT_NE(hash(), before);
      EXPECT_EQ(std::isfinite(static_cast<double*>(sums.get())[touched]), std::isfinite(value));
    }
    wrong = right;
    EXPECT_EQ(hash(), before);
  }
}

TEST_F(CpuDeviceTest, SumsFourthPowersOfRows) {
  for (DataType type : {DataType::fp64, DataType::bf16, DataType::int8}) {
    const Memory data = filled(type, 20'000);
    for (const MatrixView& view : views(data.get(), type)) {
      const Memory sums = device->allocate(70 * sizeof(double));
      device->poison(sums.get(), 70 * sizeof(double));
      device->fourth_power_sums(view, static_cast<double*>(sums.get()));
      for (std::int64_t r = 0; r < view.rows; ++r) {
        double sum = 0;
        for (std::int64_t c = 0; c < view.columns; ++c) sum += std::pow(element(view, r, c), 4);
        EXPECT_NEAR(static_cast<double*>(sums.get())[r], sum, 1e-12 * sum);
      }
    }
  }
}

TEST_F(CpuDeviceTest, MultipliesInFp64) {
  for (DataType type : {DataType::fp64, DataType::fp16, DataType::int8}) {
    const Memory data = filled(type, 20'000);
    for (std::int64_t n : {1, 3}) {
      for (const MatrixView& view : views(data.get(), type)) {
        const Memory right = filled(DataType::fp64, static_cast<std::size_t>(view.columns * n), 2);
        const std::size_t bytes = static_cast<std::size_t>(view.rows * n) * sizeof(double);
        const Memory products = device->allocate(bytes);
        device->poison(products.get(), bytes);
        device->multiply_fp64(view, static_cast<double*>(right.get()), n, static_cast<double*>(products.get()));
        for (std::int64_t r = 0; r < view.rows; ++r) {
          for (std::int64_t j = 0; j < n; ++j) {
            double expected = 0;
            for (std::int64_t c = 0; c < view.columns; ++c) {
              expected += element(view, r, c) * static_cast<double*>(right.get())[c * n + j];
            }
            EXPECT_NEAR(static_cast<double*>(products.get())[r * n + j], expected, 1e-8);
          }
        }
      }
    }
  }
}

TEST_F(CpuDeviceTest, SumsOfTerms) {
  constexpr std::size_t kCount = 140'001;
  for (DataType type : {DataType::fp64, DataType::fp32, DataType::fp16}) {
    const Memory x = filled(type, kCount, 0), y = filled(type, kCount, 1);
    for (const void* second : {static_cast<const void*>(nullptr), static_cast<const void*>(y.get())}) {
      TermSums expected;
      for (std::size_t i = 0; i < kCount; ++i) {
        const double term = load_as_double(type, x.get(), i) * (second ? load_as_double(type, second, i) : 1);
        expected.sum += term;
        expected.squares += term * term;
      }
      const TermSums found = device->sum_terms(type, x.get(), second, kCount);
      EXPECT_NEAR(found.sum, expected.sum, 1e-8) << name(type);
      EXPECT_NEAR(found.squares, expected.squares, 1e-8 * expected.squares) << name(type);
    }
  }
}

TEST_F(CpuDeviceTest, ABatchLaunchesInTurnOnEverySlotAcrossSamples) {
  std::vector<int> slots;
  const auto batch = device->batch({.path = Issue::graph, .launches = 4, .slots = 3}, [&](Stream stream, int slot) {
    EXPECT_EQ(stream, nullptr);
    slots.push_back(slot);
  });
  EXPECT_EQ(batch->path(), Issue::stream);
  const Timing first = batch->run();
  EXPECT_THAT(slots, ElementsAre(0, 1, 2, 0));
  const Timing second = batch->run();
  EXPECT_THAT(slots, ElementsAre(0, 1, 2, 0, 1, 2, 0, 1));
  EXPECT_TRUE(first.valid);
  EXPECT_GT(first.seconds, 0);
  EXPECT_EQ(first.seconds, first.host_seconds);
  EXPECT_GE(second.start_seconds, first.start_seconds + first.seconds);
}

TEST_F(CpuDeviceTest, ABatchRestoresEverySlotBeforeASample) {
  std::vector<int> seen;
  BatchPlan plan{.launches = 1, .slots = 2, .flush_before = true};
  plan.restore = [&](int slot) { seen.push_back(-1 - slot); };
  const auto batch = device->batch(plan, [&](Stream, int slot) { seen.push_back(slot); });
  EXPECT_THAT(seen, IsEmpty());
  batch->run();
  batch->run();
  EXPECT_THAT(seen, ElementsAre(-1, -2, 0, -1, -2, 1));
}

TEST_F(CpuDeviceTest, WhatALaunchThrowsComesOut) {
  const auto batch = device->batch({}, [](Stream, int) { throw DeviceError("broken", true); });
  EXPECT_THROW(batch->run(), DeviceError);
}

TEST_F(CpuDeviceTest, ObservesAClock) {
  const auto clock = device->observed_clock_hz(false);
  ASSERT_TRUE(clock);
  EXPECT_THAT(*clock, Ge(1e8));
  EXPECT_THAT(*clock, Le(1e10));
}

TEST_F(CpuDeviceTest, TelemetryIsPlausibleWhereThereIsAny) {
  const Telemetry now = device->telemetry_source()->read();
  EXPECT_THAT(now.sm_clock_hz.value_or(1e9), Ge(1e8));
  EXPECT_THAT(now.temperature_celsius.value_or(50), Ge(-50));
  EXPECT_FALSE(now.throttle_reasons);
}

cpu_set_t affinity_of_thread(int wanted) {
  cpu_set_t set;
#pragma omp parallel
  if (omp_get_thread_num() == wanted) sched_getaffinity(0, sizeof(set), &set);
  return set;
}

TEST(CpuPool, HoldsItsThreadsWhileTheDeviceIsOpen) {
  if (std::getenv("OMP_PROC_BIND") || std::getenv("OMP_PLACES") || std::getenv("GOMP_CPU_AFFINITY")) {
    GTEST_SKIP() << "the environment places the threads";
  }
  cpu_set_t everywhere;
  sched_getaffinity(0, sizeof(everywhere), &everywhere);
  auto device = open_cpu_device();
  const int threads = omp_get_max_threads();
  if (threads < 2 || device->info().multiprocessors < threads) GTEST_SKIP() << "needs two cores, and no more threads";
  const cpu_set_t caller = affinity_of_thread(0);
  EXPECT_TRUE(CPU_EQUAL(&caller, &everywhere)) << "what the caller starts would inherit its place";
  for (int thread = 1; thread < threads; ++thread) {
    const cpu_set_t held = affinity_of_thread(thread);
    EXPECT_EQ(CPU_COUNT(&held), 1);
  }
  device.reset();
  const cpu_set_t released = affinity_of_thread(1);
  EXPECT_TRUE(CPU_EQUAL(&released, &everywhere));
}

}  // namespace
}  // namespace roofmark
