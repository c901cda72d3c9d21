// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/units.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace roofmark {
namespace {

TEST(Units, ThreeDigitsAndAPrefix) {
  EXPECT_EQ(format_rate(789.2e12, Unit::flop), "789 TFLOP/s");
  EXPECT_EQ(format_rate(1.979e15, Unit::op), "1.98 Pop/s");
  EXPECT_EQ(format_rate(450e3, Unit::launch), "450 k launches/s");
  EXPECT_EQ(format_rate(450, Unit::launch), "450 launches/s");
  EXPECT_EQ(format_amount(1, Unit::launch), "1 launch");
  EXPECT_EQ(format_amount(1, Unit::access), "1 access");
  EXPECT_EQ(format_amount(1, Unit::byte), "1 B");
  EXPECT_EQ(format_rate(4.131e12, Unit::byte), "4.13 TB/s");
  EXPECT_EQ(format_rate(999.6e9, Unit::byte), "1.00 TB/s");
  EXPECT_EQ(format_rate(0, Unit::byte), "0 B/s");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 us");
  EXPECT_EQ(format_seconds(0.9996e-3), "1.00 ms");
  EXPECT_EQ(format_seconds(2.5), "2.50 s");
  EXPECT_EQ(format_bytes(268435456), "268 MB");
  EXPECT_EQ(format_share(0.9414), "94.1 %");
  EXPECT_EQ(format_share(-0.0004), "0.0 %");
  EXPECT_EQ(format_share(-0.0006), "-0.1 %");
  EXPECT_EQ(format_share(std::nullopt), "-");
  EXPECT_EQ(format_duration(125), "2 min 05 s");
  EXPECT_EQ(format_duration(7325), "2 h 02 min");
  EXPECT_EQ(format_intensity(1 / 12.0), "0.0833");
  EXPECT_EQ(format_intensity(341.3), "341");
  EXPECT_EQ(format_intensity(12345), "12345");
  EXPECT_EQ(format_clock(1.98e9), "1980 MHz");
  EXPECT_EQ(format_power(699.6), "700 W");
  EXPECT_EQ(format_link_rate(50e9), "400 Gb/s");
  EXPECT_EQ(format_link_rate(7.05e9), "56.4 Gb/s");
  EXPECT_EQ(format_link_rate(200e9), "1600 Gb/s");
}

// A quotient of nothing is negative on x86: "-nan".
TEST(Units, WhatIsNoNumberIsNeverPrintedAsOne) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinite = std::numeric_limits<double>::infinity();
  for (const double none : {kNan, -kNan, kInfinite, -kInfinite}) {
    for (const Unit unit : {Unit::flop, Unit::byte, Unit::access, Unit::launch}) {
      EXPECT_EQ(format_amount(none, unit), "-");
      EXPECT_EQ(format_rate(none, unit), "-");
    }
    for (const auto format : {format_bytes, format_duration, format_intensity, format_clock, format_power, format_link_rate})
      EXPECT_EQ(format(none), "-");
    EXPECT_EQ(format_seconds(none), "-");
    EXPECT_EQ(format_share(none), "-");
    EXPECT_EQ(format_change(none), "-");
  }
  EXPECT_EQ(format_change(std::nullopt), "-");
  EXPECT_EQ(format_change(-0.0312), "-3.1 %");
  EXPECT_EQ(format_change(0.5), "+50.0 %");
  EXPECT_EQ(format_change(-0.0004), "+0.0 %");
}

TEST(Units, MoreDigitsOnRequest) {
  EXPECT_EQ(format_rate(1.0734e15, Unit::flop, 5), "1.0734 PFLOP/s");
  EXPECT_EQ(format_rate(1.0734e15, Unit::flop), "1.07 PFLOP/s");
  EXPECT_EQ(format_seconds(12.3456e-6, 5), "12.346 us");
  EXPECT_EQ(format_share(0.92851, 5), "92.851 %");
  EXPECT_EQ(format_share(-0.00001, 5), "-0.001 %");
  EXPECT_EQ(format_share(-0.00001), "0.0 %");
}

TEST(Units, AFigureOfDataMayBeNoNumber) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(format_figure(kNan), "NaN");
  EXPECT_EQ(format_figure(-kNan), "NaN");
  EXPECT_EQ(format_figure(kInfinite), "infinite");
  EXPECT_EQ(format_figure(-kInfinite), "-infinite");
  EXPECT_EQ(format_figure(0.0123456), "0.01235");
  EXPECT_EQ(format_figure(1234567, 3), "1.23e+06");
}

}  // namespace
}  // namespace roofmark
