// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/reference_check.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "harness/device/cpu_device.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;

// Rows of so many elements that two of them are a piece, all of which should be 1.
constexpr std::int64_t kWidth = 30'000, kRows = 5;

class ReferenceCheck : public testing::Test {
 protected:
  void SetUp() override { device_ = open_cpu_device(); }

  CheckedOutput checked(std::string_view name, std::vector<float>& values, double bound) {
    const auto ones = [this](std::int64_t first, std::int64_t count, double* expected, double* scale) {
      pieces_.emplace_back(first, count);
      std::fill_n(expected, count * kWidth, 1.0);
      std::fill_n(scale, count * kWidth, 2.0);
    };
    return {name, {values.data(), DataType::fp32, values.size()}, kWidth, bound, ones};
  }

  std::unique_ptr<Device> device_;
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces_;
};

TEST_F(ReferenceCheck, GoesThroughAllRowsInPieces) {
  std::vector<float> values(kRows * kWidth, 1);
  int told = 0;
  device_->on_progress([&] { ++told; });
  const Verification right = check_outputs(*device_, {checked("out", values, 0)});
  EXPECT_EQ(told, 3);
  EXPECT_EQ(right.status, Verification::Status::passed);
  EXPECT_THAT(pieces_, testing::ElementsAre(std::pair(0, 2), std::pair(2, 2), std::pair(4, 1)));

  for (const std::size_t at : {std::size_t{0}, std::size_t{3} * kWidth + 7, values.size() - 1}) {
    values[at] = 1 + 0x1p-20F;
    // 2^-20 in units of 2^-24 x 2.
    const ElementwiseError found = worst_error(*device_, checked("out", values, 0), 0, kRows);
    EXPECT_EQ(found.worst, 8);
    EXPECT_EQ(found.index, at);
    values[at] = 1;
  }
}

TEST_F(ReferenceCheck, TakesNoRowsButThoseAskedFor) {
  std::vector<float> values(kRows * kWidth, 1);
  values[kWidth] = 2;
  EXPECT_EQ(worst_error(*device_, checked("out", values, 0), 2, 3).worst, 0);
  EXPECT_EQ(worst_error(*device_, checked("out", values, 0), 0, 2).index, kWidth);
}

TEST_F(ReferenceCheck, ANaNIsWorseThanAnyNumber) {
  std::vector<float> values(kRows * kWidth, 1);
  values[0] = 100;
  values[2 * kWidth + 5] = std::numeric_limits<float>::quiet_NaN();
  values.back() = 200;
  const ElementwiseError found = worst_error(*device_, checked("out", values, 0), 0, kRows);
  EXPECT_TRUE(std::isnan(found.worst));
  EXPECT_EQ(found.index, 2 * kWidth + 5);
  EXPECT_EQ(check_outputs(*device_, {checked("out", values, 1e30)}).status, Verification::Status::failed);
}

TEST_F(ReferenceCheck, TellsOfTheOutputNearestToItsBoundAndOfAWrongOneFirst) {
  std::vector<float> near(kWidth, 1), far(kWidth, 1);
  near[3] = 1 + 0x1p-21F;  // 4 units
  far[4] = 1 + 0x1p-20F;   // 8 units
  const Verification passed = check_outputs(*device_, {checked("near", near, 5), checked("far", far, 80)});
  EXPECT_EQ(passed.status, Verification::Status::passed);
  EXPECT_EQ(passed.error, 4);
  EXPECT_EQ(passed.bound, 5);
  EXPECT_THAT(passed.detail, HasSubstr("near"));
  const Verification failed = check_outputs(*device_, {checked("near", near, 5), checked("far", far, 7)});
  EXPECT_EQ(failed.status, Verification::Status::failed);
  EXPECT_EQ(failed.error, 8);
  EXPECT_THAT(failed.detail, HasSubstr("far"));
}

}  // namespace
}  // namespace roofmark
