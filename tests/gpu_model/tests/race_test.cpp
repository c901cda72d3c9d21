// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/base/element.hpp"
#include "tests/gpu_model/tests/compiled_kernels.hpp"
#include "tests/gpu_model/tests/tensor_map.hpp"

namespace gpu_model {
namespace {

using Fp16 = roofmark::Element<roofmark::DataType::fp16>;

class RaceDetector : public testing::Test {
  const Setting race_{"GPUMODEL_RACE", "1"}, quiet_{"GPUMODEL_QUIET", "1"};
};

TEST_F(RaceDetector, SeesAMissingBarrier) {
  DeviceArray<int> out(64);
  EXPECT_EQ(launch("exchange", {{1}, {64}}, out.data(), 1).races, 0u);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], t ^ 32);
  EXPECT_GT(launch("exchange", {{1}, {64}}, out.data(), 0).races, 0u);
}

TEST_F(RaceDetector, TakesAtomicsForOrderedAmongThemselvesAlone) {
  DeviceArray<int> out(1);
  EXPECT_EQ(launch("count_together", {{1}, {64}}, out.data(), 1, 0).races, 0u);
  EXPECT_EQ(out[0], 64);
  EXPECT_GT(launch("count_together", {{1}, {64}}, out.data(), 0, 0).races, 0u);
  EXPECT_GT(launch("count_together", {{1}, {64}}, out.data(), 1, 1).races, 0u);
}

TEST_F(RaceDetector, SeesABlockExitWhileAnotherNeedsItsSharedMemory) {
  DeviceArray<int> out(32);
  const auto races = [&](int how) { return launch("read_first_of_cluster", {{2}, {32}, 0, {2}}, out.data(), how).races; };
  EXPECT_EQ(races(0), 0u);
  EXPECT_EQ(out[31], 7);
  EXPECT_GT(races(1), 0u) << "no barrier at the end";
  EXPECT_EQ(races(2), 0u) << "an mbarrier that the block waits for";
  EXPECT_GT(races(3), 0u) << "one that it does not wait for";
}

TEST_F(RaceDetector, IsSilentUnlessAskedFor) {
  const Setting off("GPUMODEL_RACE", "0");
  DeviceArray<int> out(64);
  EXPECT_EQ(launch("exchange", {{1}, {64}}, out.data(), 0).races, 0u);
}

TEST_F(RaceDetector, TakesPhasesOfAnMbarrierAsOrder) {
  constexpr int rounds = 7;
  DeviceArray<int> out(64);
  EXPECT_EQ(launch("producer_and_consumers", {{1}, {96}}, out.data(), rounds, 0).races, 0u);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) sum = sum * 3 + round * round + 1;
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], sum + (t ^ 63) + 32);
  EXPECT_GT(launch("producer_and_consumers", {{1}, {96}}, out.data(), rounds, 1).races, 0u);
}

TEST_F(RaceDetector, SeesAStageGivenBackBeforeWgmmaHasReadIt) {
  constexpr std::uint32_t rounds = 4, rows = 64, columns = 128, depth = 64;
  Quarters values;
  DeviceArray<std::uint16_t> a(rounds * rows * depth), b(rounds * columns * depth);
  for (auto* operand : {&a, &b}) operand->fill([&] { return Fp16::rounded(static_cast<double>(values())); });
  std::vector<float> expected(rows * columns);
  for (std::uint32_t i = 0; i < rows * columns; ++i) {
    for (std::uint32_t k = 0; k < rounds * depth; ++k) {
      const std::uint32_t round = k / depth, row = round * rows + i / columns, column = round * columns + i % columns;
      expected[i] += static_cast<float>(Fp16::value(a[row * depth + k % depth]) * Fp16::value(b[column * depth + k % depth]));
    }
  }
  const auto map = [&](void* data, std::uint32_t height) {
    return tensor_map(data, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, {depth, rounds * height}, {2 * depth}, {depth, height},
                      CU_TENSOR_MAP_SWIZZLE_128B);
  };
  DeviceArray<float> d(rows * columns);
  const auto run_ring = [&](int early) {
    return launch("tma_ring", {{1}, {160}, 2 * 2 * (rows + columns) * depth}, map(a.data(), rows), map(b.data(), columns),
                  d.data(), int{rounds}, early);
  };
  const Counters right = run_ring(0);
  EXPECT_EQ(d.values(), expected);
  EXPECT_EQ(right.races, 0u);
  EXPECT_EQ(right.warnings, 0u);
  EXPECT_GT(run_ring(1).races, 0u);
}

}  // namespace
}  // namespace gpu_model
