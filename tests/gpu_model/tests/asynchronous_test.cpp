// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "tests/gpu_model/tests/compiled_kernels.hpp"
#include "tests/gpu_model/tests/tensor_map.hpp"

namespace gpu_model {
namespace {

class Pipeline : public testing::Test {
 protected:
  Pipeline() : x_(tiles * 256), out_(64), expected_(64) {
    x_.fill(Quarters());
    for (std::size_t t = 0; t < 64; ++t) {
      for (std::size_t tile = 0; tile < tiles; ++tile) {
        for (std::size_t j = 0; j < 4; ++j) expected_[t] += static_cast<float>(j + 1) * x_[tile * 256 + (63 - t) * 4 + j];
      }
    }
  }
  void run(bool waits) { launch("cp_async_pipeline", {{1}, {64}}, x_.data(), out_.data(), int{tiles}, int{waits}); }

  static constexpr int tiles = 9;
  DeviceArray<float> x_, out_;
  std::vector<float> expected_;
};

TEST_F(Pipeline, CopiesArriveBeforeTheWaitEnds) {
  for (const char* completion : {"late", "early", "random"}) {
    const Setting setting("GPUMODEL_ASYNC", completion);
    run(true);
    EXPECT_EQ(out_.values(), expected_) << completion;
  }
}

TEST_F(Pipeline, AMissingWaitShowsWhereCopiesAreLate) {
  const Setting quiet("GPUMODEL_QUIET", "1");
  run(false);
  EXPECT_NE(out_.values(), expected_);
  const Setting early("GPUMODEL_ASYNC", "early");
  run(false);
  EXPECT_EQ(out_.values(), expected_);
}

TEST(CpAsync, AWaitLeavesTheNewestGroupsInFlight) {
  DeviceArray<int> x(64), out(96);
  std::iota(x.values().begin(), x.values().end(), 1);
  const auto expect = [&](const char* completion, bool newest_has_arrived) {
    const Setting setting("GPUMODEL_ASYNC", completion);
    launch("cp_async_two_groups", {{1}, {32}}, x.data(), out.data());
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(out[i], x[i]) << completion;
      EXPECT_EQ(out[32 + i], newest_has_arrived ? x[32 + i] : -1) << completion;
      EXPECT_EQ(out[64 + i], x[32 + i]) << completion;
    }
  };
  expect("late", false);
  expect("early", true);
}

TEST(CpAsync, WhatIsNotCopiedBecomesZero) {
  DeviceArray<float> x(128), out(128);
  std::iota(x.values().begin(), x.values().end(), 1.0f);
  for (int bytes : {0, 4, 12, 16}) {
    launch("cp_async_partial", {{1}, {32}}, x.data(), out.data(), bytes);
    for (int i = 0; i < 128; ++i) EXPECT_EQ(out[i], i % 4 < bytes / 4 ? x[i] : 0.0f) << bytes;
  }
  text_of_fault(Fault::Kind::illegal_instruction, [&] { launch("cp_async_partial", {{1}, {32}}, x.data(), out.data(), 17); });
}

TEST(Tma, ElementsOutsideOfTheTensorAreZero) {
  // 10 x 5 x 4 x 3 with rows of 12.
  constexpr int width = 10, height = 5, depth = 4, count = 3, pitch = 12;
  DeviceArray<float> tensor(pitch * height * depth * count, -1), out(96);
  for (int row = 0; row < height * depth * count; ++row) {
    for (int i = 0; i < width; ++i) tensor[row * pitch + i] = static_cast<float>(row * width + i + 1);
  }
  const TensorMap map = tensor_map(tensor.data(), CU_TENSOR_MAP_DATA_TYPE_FLOAT32, {width, height, depth, count},
                                   {48, 240, 960}, {8, 3, 2, 2}, CU_TENSOR_MAP_SWIZZLE_NONE);
  for (const auto& [x0, y0, z0, u0] : {std::array{0, 0, 0, 0}, {4, 3, 3, 1}, {-2, -1, 2, 2}, {9, 4, 3, 2}}) {
    const Counters counters = launch("tma_load_4d", {{1}, {32}}, map, out.data(), x0, y0, z0, u0);
    EXPECT_EQ(counters.tma_bytes, 384u);
    for (int i = 0; i < 96; ++i) {
      const int x = x0 + i % 8, y = y0 + i / 8 % 3, z = z0 + i / 24 % 2, u = u0 + i / 48;
      const bool inside = x >= 0 && x < width && y >= 0 && y < height && z >= 0 && z < depth && u < count;
      EXPECT_EQ(out[i], inside ? static_cast<float>(((u * depth + z) * height + y) * width + x + 1) : 0.0f);
    }
  }
}

TEST(Tma, WhatIsNoTensorMapIsRefused) {
  DeviceArray<float> out(96);
  TensorMap map{};
  map.magic = 0;
  text_of_fault(Fault::Kind::illegal_instruction, [&] { launch("tma_load_4d", {{1}, {32}}, map, out.data(), 0, 0, 0, 0); });
}

TEST(Cluster, StoresToOtherBlocksCompleteTheirBarriers) {
  DeviceArray<float> x(8 * 32), out(8);
  x.fill(Quarters());
  for (const char* completion : {"late", "early", "random"}) {
    const Setting setting("GPUMODEL_ASYNC", completion);
    launch("cluster_sum", {{8}, {32}, 0, {4}}, x.data(), out.data());
    for (int block = 0; block < 8; ++block) {
      const auto first = x.values().begin() + block / 4 * 128;
      EXPECT_EQ(out[block], std::accumulate(first, first + 128, 0.0f)) << completion;
    }
  }
}

TEST(Bulk, CopiesArriveBeforeTheWaitEnds) {
  DeviceArray<int> x(64), out(64);
  std::iota(x.values().begin(), x.values().end(), 1);
  for (const char* completion : {"late", "early", "random"}) {
    const Setting setting("GPUMODEL_ASYNC", completion);
    for (const int bytes : {64, 256}) {
      launch("bulk_copies", {{1}, {64}}, x.data(), out.data(), 16, int{bytes}, 1);
      for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], i < bytes / 4 ? i + 1 : -1) << completion << ", " << i;
    }
  }
}

TEST(Bulk, AMissingWaitShowsWhereCopiesAreLate) {
  const Setting quiet("GPUMODEL_QUIET", "1");
  DeviceArray<int> x(64), out(64);
  launch("bulk_copies", {{1}, {64}}, x.data(), out.data(), 16, 256, 0);
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(out[63], -1);
}

TEST(Clusters, ABlockReadsTheSharedMemoryOfTheNext) {
  DeviceArray<int> x(256), out(256);
  std::iota(x.values().begin(), x.values().end(), 0);
  launch("next_of_cluster", {{8}, {32}, 0, {4}}, x.data(), out.data());
  for (int i = 0; i < 256; ++i) EXPECT_EQ(out[i], i / 128 * 128 + (i + 32) % 128) << i;
}

}  // namespace
}  // namespace gpu_model
