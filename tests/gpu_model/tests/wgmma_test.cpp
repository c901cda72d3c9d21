// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/base/element.hpp"
#include "tests/gpu_model/tests/compiled_kernels.hpp"
#include "tests/gpu_model/tests/tensor_map.hpp"

namespace gpu_model {
namespace {

using roofmark::DataType;
using roofmark::Element;
using Fp16 = Element<DataType::fp16>;

/// As the kernels number them.
enum Mistake { none, no_wait_for_loads, no_wait_group, overwrites_operand, no_wgmma_fence };

constexpr std::uint32_t rows = 64, columns = 128, depth = 64;
constexpr std::size_t operand_bytes = 2 * (rows + columns) * depth;

/// D [64, 128] = A [64, 64] B [64, 128] in fp16 with fp32 sums. B is stored [128, 64] and, transposed, [64, 128].
class Wgmma : public testing::Test {
 protected:
  Wgmma()
      : a_(rows * depth), b_(columns * depth), b_transposed_(columns * depth), d_(rows * columns), expected_(rows * columns) {
    Quarters values;
    const auto element = [&] { return Fp16::rounded(static_cast<double>(values())); };
    a_.fill(element);
    for (std::uint32_t n = 0; n < columns; ++n) {
      for (std::uint32_t k = 0; k < depth; ++k) b_[n * depth + k] = b_transposed_[k * columns + n] = element();
    }
    for (std::uint32_t i = 0; i < rows * columns; ++i) {
      for (std::uint32_t k = 0; k < depth; ++k) {
        expected_[i] += static_cast<float>(Fp16::value(a_[i / columns * depth + k]) * Fp16::value(b_[i % columns * depth + k]));
      }
    }
  }

  /// Whether the kernel's result is exact.
  bool right(const char* kernel, CUtensorMapSwizzle swizzle, bool transposed, Mistake mistake = none) {
    const std::uint32_t width = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 64 : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 32 : 16;
    const auto map = [&](void* data, std::uint32_t contiguous, std::uint32_t other) {
      return tensor_map(data, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, {contiguous, other}, {2 * contiguous}, {width, other}, swizzle);
    };
    d_.values().assign(rows * columns, -1);
    counters_ = launch(kernel, {{1}, {128}, operand_bytes}, map(a_.data(), depth, rows),
                       transposed ? map(b_transposed_.data(), columns, depth) : map(b_.data(), depth, columns), a_.data(),
                       d_.data(), static_cast<int>(mistake));
    return d_.values() == expected_;
  }

  DeviceArray<std::uint16_t> a_, b_, b_transposed_;
  DeviceArray<float> d_;
  std::vector<float> expected_;
  Counters counters_;
};

TEST_F(Wgmma, EverySwizzleAndBothOrdersOfB) {
  EXPECT_TRUE(right("wgmma_128", CU_TENSOR_MAP_SWIZZLE_128B, false));
  EXPECT_EQ(counters_.mma_flops, 2u * rows * columns * depth);
  EXPECT_EQ(counters_.tma_bytes, operand_bytes);
  EXPECT_EQ(counters_.warnings, 0u);
  EXPECT_TRUE(right("wgmma_128_transposed", CU_TENSOR_MAP_SWIZZLE_128B, true));
  EXPECT_TRUE(right("wgmma_64", CU_TENSOR_MAP_SWIZZLE_64B, false));
  EXPECT_TRUE(right("wgmma_64_transposed", CU_TENSOR_MAP_SWIZZLE_64B, true));
  EXPECT_TRUE(right("wgmma_32", CU_TENSOR_MAP_SWIZZLE_32B, false));
  EXPECT_TRUE(right("wgmma_32_transposed", CU_TENSOR_MAP_SWIZZLE_32B, true));
}

TEST_F(Wgmma, AnotherSwizzleThanTheTensorMapsIsWrong) {
  const auto map = [](void* data, std::uint32_t other) {
    return tensor_map(data, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, {depth, other}, {2 * depth}, {64, other},
                      CU_TENSOR_MAP_SWIZZLE_NONE);
  };
  launch("wgmma_128", {{1}, {128}, operand_bytes}, map(a_.data(), rows), map(b_.data(), columns), a_.data(), d_.data(), 0);
  EXPECT_NE(d_.values(), expected_);
}

TEST_F(Wgmma, AFromRegisters) {
  EXPECT_TRUE(right("wgmma_registers", CU_TENSOR_MAP_SWIZZLE_128B, false));
  EXPECT_TRUE(right("wgmma_registers_transposed", CU_TENSOR_MAP_SWIZZLE_128B, true));
  EXPECT_EQ(counters_.warnings, 0u);
}

TEST_F(Wgmma, AMissingFenceBeforeRegistersAreReadIsCounted) {
  const Setting quiet("GPUMODEL_QUIET", "1");
  right("wgmma_registers", CU_TENSOR_MAP_SWIZZLE_128B, false, no_wgmma_fence);
  EXPECT_GT(counters_.warnings, 0u);
}

TEST_F(Wgmma, AMissingWaitShows) {
  const Setting quiet("GPUMODEL_QUIET", "1");
  EXPECT_FALSE(right("wgmma_128", CU_TENSOR_MAP_SWIZZLE_128B, false, no_wait_for_loads));
  EXPECT_FALSE(right("wgmma_128", CU_TENSOR_MAP_SWIZZLE_128B, false, no_wait_group));
  EXPECT_GT(counters_.warnings, 0u);
  EXPECT_FALSE(right("wgmma_128", CU_TENSOR_MAP_SWIZZLE_128B, false, overwrites_operand));
}

TEST_F(Wgmma, ReadingAnAccumulatorInFlightIsCounted) {
  const Setting quiet("GPUMODEL_QUIET", "1");
  const auto warnings = [&](int in_flight, int read) {
    return launch("wgmma_two_groups", {{1}, {128}}, a_.data(), b_.data(), d_.data(), in_flight, read).warnings;
  };
  for (int read : {0, 1}) {
    EXPECT_EQ(warnings(2, read), 1u) << read;
    EXPECT_EQ(warnings(0, read), 0u) << read;
  }
  EXPECT_EQ(warnings(1, 0), 0u) << "the older group is complete";
  EXPECT_EQ(warnings(1, 1), 1u) << "the newer one is not";
}

TEST_F(Wgmma, EarlyOrRandomCompletionChangesNothingInACorrectKernel) {
  for (const char* completion : {"early", "random"}) {
    const Setting async("GPUMODEL_ASYNC", completion), wgmma("GPUMODEL_WGMMA", completion);
    for (int seed = 0; seed < 10; ++seed) {
      const Setting setting("GPUMODEL_SEED", std::to_string(seed));
      EXPECT_TRUE(right("wgmma_128_transposed", CU_TENSOR_MAP_SWIZZLE_128B, true)) << completion << ' ' << seed;
    }
  }
}

TEST_F(Wgmma, AMissingProxyFenceIsCounted) {
  const Setting quiet("GPUMODEL_QUIET", "1");
  const auto unfenced = [&](int fences) {
    return launch("wgmma_unswizzled", {{1}, {128}}, a_.data(), b_.data(), d_.data(), fences).unfenced_async_reads;
  };
  EXPECT_EQ(unfenced(1), 0u);
  EXPECT_EQ(d_.values(), expected_);
  EXPECT_GT(unfenced(0), 0u);
}

TEST_F(Wgmma, AMisplacedBaseShowsWhoReliesOnAlignment) {
  const Setting base("GPUMODEL_SHARED_BASE", "1040"), quiet("GPUMODEL_QUIET", "1");
  EXPECT_TRUE(right("wgmma_128", CU_TENSOR_MAP_SWIZZLE_128B, false)) << "its array is aligned to 1024 bytes";
}

/// D [64, 8] from A [64, K] and B [8, K] of 32 bytes of K.
template <DataType type>
void expect_small_product(const char* kernel, double sign = 1, double bound = 0) {
  using Storage = typename Element<type>::Storage;
  constexpr int k = 32 / sizeof(Storage);
  Quarters values;
  // Integers take the whole range.
  const auto element = [&] {
    return Element<type>::rounded(static_cast<double>(values()) * (type == DataType::int8 ? 64 : 1));
  };
  DeviceArray<Storage> a(64 * k), b(8 * k);
  a.fill(element);
  b.fill(element);
  DeviceArray<float> d(64 * 8);
  EXPECT_EQ(launch(kernel, {{1}, {128}}, a.data(), b.data(), d.data()).warnings, 0u) << kernel;
  for (int i = 0; i < 64 * 8; ++i) {
    double expected = 0;
    for (int j = 0; j < k; ++j)
      expected += sign * Element<type>::value(a[i / 8 * k + j]) * Element<type>::value(b[i % 8 * k + j]);
    EXPECT_NEAR(static_cast<double>(d[i]), expected, bound) << kernel << " at " << i;
  }
}

TEST(WgmmaTypes, EveryTypeWithItsAccumulator) {
  expect_small_product<DataType::bf16>("wgmma_bf16");
  expect_small_product<DataType::tf32>("wgmma_tf32");
  expect_small_product<DataType::fp8>("wgmma_e4m3_negated", -1);
  expect_small_product<DataType::int8>("wgmma_s8");
  expect_small_product<DataType::fp16>("wgmma_f16_f16", 1, 0.02);
}

}  // namespace
}  // namespace gpu_model
