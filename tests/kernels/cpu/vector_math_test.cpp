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

TEST(VectorExp, IsWithinTwoRoundoffs) {
  double worst = 0;
  for (float x = -87.3F; x <= 88; x += 0.0013F) {
    const double right = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(vector_exp(x)) - right) / right);
  }
  EXPECT_LE(worst, 2 * 0x1p-24);
}

TEST(VectorExp, EndsAsItShould) {
  EXPECT_EQ(vector_exp(0), 1);
  EXPECT_EQ(vector_exp(-kInfinity), 0);
  EXPECT_EQ(vector_exp(-1e30F), 0);
  EXPECT_NEAR(vector_exp(-100), std::exp(-100.0), 0x1p-148);
  EXPECT_EQ(vector_exp(kInfinity), vector_exp(88));
  EXPECT_TRUE(std::isnan(vector_exp(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(vector_exp(-std::numeric_limits<float>::quiet_NaN())));
}

TEST(VectorFp8, GivesTheBitsOfFp8) {
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1009) {
    const auto x = same_bits<float>(static_cast<std::uint32_t>(bits));
    ASSERT_EQ(vector_fp8(x), fp8_bits(static_cast<double>(x))) << x;
  }
}

}  // namespace
}  // namespace roofmark::cpu
