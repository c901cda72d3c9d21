// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/units.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

TEST(Units, ThreeDigitsAndAPrefix) {
  EXPECT_EQ(format_rate(789.2e12, Unit::flop), "789 TFLOP/s");
  EXPECT_EQ(format_rate(1.979e15, Unit::op), "1.98 Pop/s");
  EXPECT_EQ(format_rate(450e3, Unit::launch), "450 k launches/s");
  EXPECT_EQ(format_rate(450, Unit::launch), "450 launches/s");
  EXPECT_EQ(format_amount(1, Unit::byte), "1 B");
  EXPECT_EQ(format_rate(4.131e12, Unit::byte), "4.13 TB/s");
  EXPECT_EQ(format_rate(999.6e9, Unit::byte), "1.00 TB/s");
  EXPECT_EQ(format_rate(0, Unit::byte), "0 B/s");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 us");
  EXPECT_EQ(format_seconds(0.9996e-3), "1.00 ms");
  EXPECT_EQ(format_seconds(2.5), "2.50 s");
  EXPECT_EQ(format_bytes(268435456), "268 MB");
  EXPECT_EQ(format_share(0.9414), "94.1 %");
  EXPECT_EQ(format_share(std::nullopt), "-");
  EXPECT_EQ(format_duration(125), "2 m 05 s");
}

}  // namespace
}  // namespace roofmark
