// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/argmax.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "tests/constants.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

using testing::Each;
using testing::ElementsAre;

using Values = std::vector<double>;

/// Columns that one vector, one thread's vectors in flight, a warp, a block and a second pass of a block begin or end with, and
/// the last one; for elements of 2 and 4 bytes, with and without vectors.
std::vector<std::size_t> places(std::size_t columns) {
  std::vector<std::size_t> found;
  for (const std::size_t edge : {0, 4, 8, 32, 128, 256, 512, 1024, 2048, 4096, 6144, 8192, 16384}) {
    for (const std::size_t place : {edge - 1, edge, edge + 1}) {
      if (place < columns) found.push_back(place);
    }
  }
  found.push_back(columns - 1);
  return found;
}

class Argmax : public KernelTest<ArgmaxKernels> {
 protected:
  Argmax() : KernelTest(&cuda::argmax, &cpu::argmax) {}

  std::vector<DataType> types() const {
    if (on_gpu()) return {DataType::fp32, DataType::fp16, DataType::bf16};
    return {DataType::fp32};
  }

  /// What the kernel writes; the poison around x is NaN, which would be a row's maximum.
  Values launch(const Array& x, std::size_t columns) {
    const auto rows = static_cast<std::int64_t>(x.count() / columns);
    const Array out(*device_, DataType::int32, rows, 0);
    kernels_->launch(x.type(), out.as<std::int32_t>(), x.data(), rows, static_cast<std::int64_t>(columns), device_->stream());
    device_->synchronize();
    EXPECT_TRUE(out.untouched_around());
    EXPECT_TRUE(x.untouched_around());
    return out.values();
  }

  Values reference(const Array& x, std::size_t columns, std::size_t first, std::size_t count) {
    const Array expected(*device_, DataType::fp64, static_cast<std::int64_t>(count), 0);
    kernels_->reference(x.type(), x.data(), static_cast<std::int64_t>(first), static_cast<std::int64_t>(count),
                        static_cast<std::int64_t>(columns), expected.as<double>(), device_->stream());
    device_->synchronize();
    EXPECT_TRUE(expected.untouched_around());
    return expected.values();
  }

  /// Rows of `fill`; in row r, values[i] stands in column at[r][i], and `right[r]` is the index of the maximum.
  void expect_right(std::size_t columns, double fill, const Values& values, const std::vector<std::vector<std::size_t>>& at,
                    const Values& right) {
    Values x(at.size() * columns, fill);
    for (std::size_t r = 0; r < at.size(); ++r) {
      for (std::size_t i = 0; i < values.size(); ++i) x[r * columns + at[r][i]] = values[i];
    }
    for (const DataType type : types()) {
      SCOPED_TRACE(testing::Message() << name(type) << ", " << columns << " columns of " << fill);
      const Array array(*device_, type, static_cast<std::int64_t>(x.size()), 0);
      array.set(x);
      EXPECT_EQ(launch(array, columns), right);
    }
  }

  /// The maximum is in one place of each row.
  void expect_found_everywhere(std::size_t columns, double fill, double maximum) {
    std::vector<std::vector<std::size_t>> at;
    Values right;
    for (const std::size_t place : places(columns)) {
      at.push_back({place});
      right.push_back(static_cast<double>(place));
    }
    expect_right(columns, fill, {maximum}, at, right);
  }

  /// Two values that are equal are in two places of each row, in either order.
  void expect_first_of(double one, double other, double fill) {
    for (const std::size_t columns : {2049, 16400}) {
      const std::vector<std::size_t> all = places(columns);
      std::vector<std::vector<std::size_t>> at;
      Values right;
      for (const std::size_t distance : {1, 2, 5, 11}) {
        for (std::size_t i = 0; i + distance < all.size(); ++i) {
          const std::size_t first = all[i], second = all[i + distance];
          if (first == second) continue;
          at.push_back({first, second});
          at.push_back({second, first});
          right.insert(right.end(), 2, static_cast<double>(first));
        }
      }
      expect_right(columns, fill, {one, other}, at, right);
    }
  }
};

TEST_P(Argmax, IsWhatIsWorkedOutByHand) {
  const Values x = {3,          1,          2,     //
                    -3,         -1,         -2,    //
                    1,          2,          2,     //
                    -1,         -0.0,       0,     //
                    -1,         0,          -0.0,  //
                    1,          kNaN,       kNaN,  //
                    kInfinity,  5,          7,     //
                    -kInfinity, -kInfinity, -kInfinity};
  const Values right = {0, 1, 1, 1, 1, 1, 0, 0};
  for (const DataType type : types()) {
    const Array array(*device_, type, static_cast<std::int64_t>(x.size()), 0);
    array.set(x);
    EXPECT_EQ(launch(array, 3), right);
    EXPECT_EQ(reference(array, 3, 0, 8), right);
    EXPECT_THAT(reference(array, 3, 1, 2), ElementsAre(1, 1));
    EXPECT_EQ(launch(array, 1), Values(x.size(), 0));
    EXPECT_EQ(reference(array, 1, 0, x.size()), Values(x.size(), 0));
  }
}

TEST_P(Argmax, IsRightForEveryShapeAndAlignment) {
  struct Shape {
    std::size_t rows, columns;
  };
  for (const DataType type : types()) {
    for (const Shape& shape : {Shape{1, 2}, {67, 129}, {40, 256}, {9, 1000}, {5, 1031}, {5, 1032}, {3, 8199}, {2, 20480}}) {
      for (const std::size_t offset : {0, 1}) {
        SCOPED_TRACE(testing::Message() << name(type) << " " << shape.rows << " x " << shape.columns << " at " << offset);
        const Array x(*device_, type, static_cast<std::int64_t>(shape.rows * shape.columns), offset);
        x.fill(0);
        const Values values = x.values();
        Values right(shape.rows);
        for (std::size_t r = 0; r < shape.rows; ++r) {
          const auto row = values.begin() + static_cast<std::ptrdiff_t>(r * shape.columns);
          right[r] = static_cast<double>(std::max_element(row, row + static_cast<std::ptrdiff_t>(shape.columns)) - row);
        }
        EXPECT_EQ(launch(x, shape.columns), right);
        EXPECT_EQ(reference(x, shape.columns, 0, shape.rows), right);
      }
    }
  }
}

TEST_P(Argmax, FindsTheMaximumInEveryColumn) {
  for (const std::size_t columns : {37, 264}) {
    std::vector<std::vector<std::size_t>> at;
    Values right;
    for (std::size_t c = 0; c < columns; ++c) {
      at.push_back({c});
      right.push_back(static_cast<double>(c));
    }
    expect_right(columns, -2, {-1}, at, right);
  }
}

TEST_P(Argmax, FindsTheMaximumOfLongRows) {
  for (const std::size_t columns : {16400, 20001}) {
    expect_found_everywhere(columns, -2, -1);
    expect_found_everywhere(columns, 1, 1.0078125);
    expect_found_everywhere(columns, 60000, kInfinity);
  }
}

TEST_P(Argmax, TakesTheFirstOfEqualMaxima) {
  expect_first_of(3, 3, 1);
  expect_first_of(-3, -3, -4);
}

TEST_P(Argmax, MinusZeroEqualsZero) { expect_first_of(-0.0, 0, -1); }

TEST_P(Argmax, TheFirstElementOfRowsOfOneValue) {
  for (const double value : {-kInfinity, kInfinity, kNaN, 0.0, -1.0}) {
    for (const std::size_t columns : {1, 2, 255, 4096, 16400}) expect_right(columns, value, {}, {{}, {}}, {0, 0});
  }
}

TEST_P(Argmax, AnyNumberIsAboveMinusInfinity) {
  for (const std::size_t columns : {2049, 16400}) expect_found_everywhere(columns, -kInfinity, -60000);
}

TEST_P(Argmax, NaNIsAboveAllNumbers) {
  for (const std::size_t columns : {2049, 16400}) {
    expect_found_everywhere(columns, kInfinity, kNaN);
    expect_found_everywhere(columns, -kInfinity, -kNaN);
  }
  expect_first_of(kNaN, -kNaN, kInfinity);
}

TEST_P(Argmax, OfNoRowsWritesNothing) {
  const Array x(*device_, DataType::fp32, 5, 0), out(*device_, DataType::int32, 0, 0), expected(*device_, DataType::fp64, 0, 0);
  kernels_->launch(DataType::fp32, out.as<std::int32_t>(), x.data(), 0, 5, device_->stream());
  kernels_->reference(DataType::fp32, x.data(), 0, 0, 5, expected.as<double>(), device_->stream());
  device_->synchronize();
  EXPECT_TRUE(out.untouched_around());
  EXPECT_TRUE(expected.untouched_around());
}

TEST_P(Argmax, RefusesOtherTypes) {
  std::int32_t out = 0;
  for (const DataType type : {DataType::fp64, DataType::fp8, DataType::int8}) {
    EXPECT_THROW(kernels_->launch(type, &out, &out, 1, 1, device_->stream()), Unsupported) << name(type);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Argmax, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
