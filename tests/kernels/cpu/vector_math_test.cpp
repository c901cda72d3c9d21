// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/vector_math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace roofmark::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <bool kFused>
void expect_exp() {
  double worst = 0;
  for (float x = -87.33F; x <= 88.72F; x += 0.0013F) {
    const double right = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(vector_exp<kFused>(x)) - right) / right);
  }
  EXPECT_LE(worst, 2 * 0x1p-24);
  EXPECT_EQ(vector_exp<kFused>(0), 1);
  for (const float x : {-kInfinity, -1e30F, -87.34F, -100.0F}) EXPECT_EQ(vector_exp<kFused>(x), 0) << x;
  for (const float x : {kInfinity, 1e30F, 88.73F, 100.0F}) EXPECT_EQ(vector_exp<kFused>(x), kInfinity) << x;
  // Whatever its bits: those of poison are all set.
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0xffffffffu, 0x7fffffffu, 0x7fc001ffu}) {
    EXPECT_TRUE(std::isnan(vector_exp<kFused>(same_bits<float>(bits)))) << bits;
  }
}

TEST(VectorExp, IsWithinTwoRoundoffsAndEndsAsItShould) {
  expect_exp<false>();
  expect_exp<true>();
}

template <DataType kType>
void expect_narrowed() {
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1009) {
    const auto x = same_bits<float>(static_cast<std::uint32_t>(bits));
    ASSERT_EQ(narrowed<kType>(x), Element<kType>::rounded(static_cast<double>(x))) << x;
  }
}
template <DataType kType>
void expect_widened(std::uint32_t count) {
  for (std::uint32_t bits = 0; bits < count; ++bits) {
    const auto stored = static_cast<Stored<kType>>(bits);
    const double right = Element<kType>::value(stored);
    const auto got = static_cast<double>(widened<kType>(stored));
    ASSERT_TRUE(got == right || (std::isnan(got) && std::isnan(right))) << bits;
  }
}

TEST(VectorConversions, AreThoseOfTheTypes) {
  expect_narrowed<DataType::fp8>();
  expect_widened<DataType::fp8>(1 << 8);
  expect_widened<DataType::fp16>(1 << 16);
  expect_widened<DataType::bf16>(1 << 16);
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1009) {
    const auto x = same_bits<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(widened<DataType::bf16>(narrowed<DataType::bf16>(x)))) << bits;
      ASSERT_TRUE(std::isnan(widened<DataType::fp16>(narrowed<DataType::fp16>(x)))) << bits;
      continue;
    }
    ASSERT_EQ(narrowed<DataType::fp16>(x), fp16_bits(static_cast<double>(x))) << x;
    if (std::abs(x) < 3.38e38F) {
      ASSERT_EQ(narrowed<DataType::bf16>(x), bf16_bits(static_cast<double>(x))) << x;
    }
  }
  // Its greatest, what is nearer to it than to what would come next, and what is not.
  for (const float x : {65504.0F, 65519.0F, 65520.0F, 1e30F, -1e30F, kInfinity, -kInfinity, 6e-8F, 2.9e-8F, 6.1e-5F}) {
    EXPECT_EQ(narrowed<DataType::fp16>(x), fp16_bits(static_cast<double>(x))) << x;
  }
}

}  // namespace
}  // namespace roofmark::cpu
