// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/elementwise_error.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/constants.hpp"

namespace roofmark {
namespace {

TEST(ElementwiseError, CountsUnitRoundoffsOfTheScale) {
  EXPECT_EQ(elementwise_error(DataType::fp32, 1 + 0x1p-23, 1, 1), 2);
  EXPECT_EQ(elementwise_error(DataType::bf16, 3, 4, 8), 32);
  EXPECT_EQ(elementwise_error(DataType::fp64, -1, -1 - 0x1p-52, 1), 2);
}

TEST(ElementwiseError, ScaleIsAtLeastTheSmallestNormal) {
  EXPECT_EQ(elementwise_error(DataType::fp16, 0x1p-24, 0, 0), 2);
  EXPECT_EQ(elementwise_error(DataType::fp64, 0x1p-1074, 0, 0), 2);
}

TEST(ElementwiseError, NaNAndInfinityAreErrorsUnlessExpected) {
  EXPECT_TRUE(std::isnan(elementwise_error(DataType::fp32, kNaN, 1, 1)));
  EXPECT_TRUE(std::isnan(elementwise_error(DataType::fp32, 1, kNaN, 1)));
  EXPECT_EQ(elementwise_error(DataType::fp32, kNaN, kNaN, 1), 0);
  EXPECT_EQ(elementwise_error(DataType::fp32, kInfinity, 1, 1), kInfinity);
  EXPECT_EQ(elementwise_error(DataType::fp32, -kInfinity, kInfinity, 1), kInfinity);
  EXPECT_EQ(elementwise_error(DataType::fp32, kInfinity, kInfinity, kInfinity), 0);
}

TEST(ElementwiseError, IntegersAreRightOrWrong) {
  EXPECT_EQ(elementwise_error(DataType::int32, 5, 5, 100), 0);
  EXPECT_EQ(elementwise_error(DataType::int32, 5, 6, 100), kInfinity);
  EXPECT_EQ(elementwise_error(DataType::int8, 0, 1, 0), kInfinity);
}

}  // namespace
}  // namespace roofmark
