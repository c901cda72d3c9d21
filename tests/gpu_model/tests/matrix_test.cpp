// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/base/element.hpp"
#include "tests/gpu_model/tests/compiled_kernels.hpp"

namespace gpu_model {
namespace {

using roofmark::DataType;
using roofmark::Element;

/// Runs `kernel`: C [16, 8] = A [16, k] B [k, 8] + C, and expects the exact sums to within `bound`.
template <DataType type, DataType accumulator>
void expect_product(const char* kernel, int k, double bound = 0) {
  DeviceArray<typename Element<type>::Storage> a(16 * k), b(8 * k);
  DeviceArray<typename Element<accumulator>::Storage> c(128);
  Quarters values;
  a.fill([&] { return Element<type>::rounded(static_cast<double>(values())); });
  b.fill([&] { return Element<type>::rounded(static_cast<double>(values())); });
  c.fill([&] { return Element<accumulator>::rounded(static_cast<double>(values())); });
  std::vector<double> expected(128);
  for (int i = 0; i < 128; ++i) {
    expected[i] = Element<accumulator>::value(c[i]);
    for (int j = 0; j < k; ++j) {
      expected[i] += Element<type>::value(a[i / 8 * k + j]) * Element<type>::value(b[j * 8 + i % 8]);
    }
  }
  const Counters counters = launch(kernel, {{1}, {32}}, a.data(), b.data(), c.data());
  EXPECT_EQ(counters.mma_flops, 2u * 16 * 8 * k);
  for (int i = 0; i < 128; ++i) EXPECT_NEAR(Element<accumulator>::value(c[i]), expected[i], bound) << kernel << " at " << i;
}

TEST(Mma, EveryTypeWithItsAccumulator) {
  expect_product<DataType::fp16, DataType::fp32>("mma_f16_f32", 16);
  expect_product<DataType::fp16, DataType::fp16>("mma_f16_f16", 16, 0.02);
  expect_product<DataType::bf16, DataType::fp32>("mma_bf16", 16);
  expect_product<DataType::tf32, DataType::fp32>("mma_tf32", 8);
  expect_product<DataType::fp8, DataType::fp32>("mma_e4m3", 32);
  expect_product<DataType::int8, DataType::int32>("mma_s8", 32);
  expect_product<DataType::fp64, DataType::fp64>("mma_f64", 16);
}

TEST(Mma, Int8TakesTheWholeRange) {
  DeviceArray<std::int8_t> a(16 * 32, -128), b(8 * 32, -128);
  DeviceArray<std::int32_t> c(128, 5);
  launch("mma_s8", {{1}, {32}}, a.data(), b.data(), c.data());
  for (std::int32_t element : c.values()) EXPECT_EQ(element, 5 + 32 * 128 * 128);
}

TEST(Ldmatrix, GivesTheFragmentsThatMmaTakes) { expect_product<DataType::fp16, DataType::fp32>("ldmatrix_mma", 16); }

TEST(Movmatrix, Transposes) {
  DeviceArray<std::uint16_t> matrix(64), transposed(64);
  std::iota(matrix.values().begin(), matrix.values().end(), std::uint16_t{0});
  launch("movmatrix", {{1}, {32}}, matrix.data(), transposed.data());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(transposed[i], i % 8 * 8 + i / 8);
}

}  // namespace
}  // namespace gpu_model
