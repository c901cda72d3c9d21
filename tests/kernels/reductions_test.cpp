// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reductions.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "harness/device/elementwise_error.hpp"
#include "kernels/reductions_reference.hpp"
#include "tests/constants.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

constexpr DataType kReductionTypes[] = {DataType::fp32, DataType::fp16, DataType::bf16};

using Values = std::vector<double>;

// A matcher for each element would take longer than the kernels on the model GPU.
bool all_nan(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

/// The arrays of an operation, each `offset` elements after an aligned address.
class Arrays {
 public:
  Arrays(Device& device, ReductionOp op, DataType type, std::int64_t rows, std::int64_t columns, std::size_t offset) {
    const auto made = [&](bool wanted, DataType of, std::int64_t count) {
      return wanted ? std::make_unique<Array>(device, of, count, offset) : nullptr;
    };
    const auto data = [](const std::unique_ptr<Array>& array) { return array ? array->data() : nullptr; };
    const std::int64_t elements = rows * columns;
    const bool adds = op == ReductionOp::residual_rms_norm;
    x = made(true, type, elements);
    residual = made(adds, type, elements);
    sum = made(adds, type, elements);
    weight = made(has_weight(op), type, columns);
    bias = made(op == ReductionOp::layer_norm, type, columns);
    target = made(op == ReductionOp::cross_entropy, DataType::int32, rows);
    scale = made(op == ReductionOp::quantise, DataType::fp32, rows);
    out = made(true, output_type(op, type), gives_one_number(op) ? rows : elements);
    arrays_ = {data(x),
               data(residual),
               data(weight),
               data(bias),
               static_cast<const std::int32_t*>(data(target)),
               data(out),
               data(sum),
               static_cast<float*>(data(scale))};
  }

  const ReductionArrays& get() const { return arrays_; }

  void fill() const {
    std::uint64_t number = 0;
    for (const auto* array : {&x, &residual, &weight, &bias}) {
      if (*array) (*array)->fill(number);
      ++number;
    }
    if (!target) return;
    Values targets(target->count());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets[i] = static_cast<double>(i * 7919 % (x->count() / targets.size()));
    }
    target->set(targets);
  }
  /// The arrays that a launch writes, with the output that each is.
  std::vector<std::pair<ReductionOutput, const Array*>> written() const {
    std::vector<std::pair<ReductionOutput, const Array*>> all = {{ReductionOutput::out, out.get()}};
    if (sum) all.emplace_back(ReductionOutput::sum, sum.get());
    if (scale) all.emplace_back(ReductionOutput::scale, scale.get());
    return all;
  }

  std::unique_ptr<Array> x, residual, weight, bias, target, out, sum, scale;  ///< null where the operation has none

 private:
  ReductionArrays arrays_;
};

// A tolerance for rows whose terms may all round alike: kReductionChunk roundings one after another, and those of merging.
double tolerance(DataType type) { return 1 + (kReductionChunk + 64) * unit_roundoff(DataType::fp32) / unit_roundoff(type); }

class Reductions : public KernelTest<ReductionKernels> {
 protected:
  Reductions() : KernelTest(&cuda::reductions, &cpu::reductions) {}

  void launch(ReductionOp op, DataType type, const Arrays& arrays, std::int64_t rows, std::int64_t columns) {
    kernels_->launch(op, type, arrays.get(), rows, columns, device_->stream());
    device_->synchronize();
  }

  struct Reference {
    Values expected, scale;
  };
  Reference reference(ReductionOp op, DataType type, const Arrays& arrays, ReductionOutput which, std::int64_t rows,
                      std::int64_t columns) {
    const auto count = static_cast<std::size_t>(rows * reduction_output_columns(op, which, columns));
    const Memory expected = device_->allocate(count * sizeof(double)), scale = device_->allocate(count * sizeof(double));
    kernels_->reference(op, type, arrays.get(), which, 0, rows, columns, static_cast<double*>(expected.get()),
                        static_cast<double*>(scale.get()), device_->stream());
    device_->synchronize();
    Reference found = {Values(count), Values(count)};
    device_->to_host(found.expected.data(), expected.get(), count * sizeof(double));
    device_->to_host(found.scale.data(), scale.get(), count * sizeof(double));
    return found;
  }

  /// The one row of an operation on x, by the reference and by the kernel.
  struct Row {
    Values expected, got;
  };
  Row row(ReductionOp op, const Values& x, DataType type = DataType::fp32, const std::function<void(Arrays&)>& more = {}) {
    const auto columns = static_cast<std::int64_t>(x.size());
    Arrays arrays(*device_, op, type, 1, columns, 0);
    arrays.x->set(x);
    if (has_weight(op)) arrays.weight->set(Values(x.size(), 1));
    if (op == ReductionOp::layer_norm) arrays.bias->set(Values(x.size(), 0));
    if (more) more(arrays);
    launch(op, type, arrays, 1, columns);
    return {reference(op, type, arrays, ReductionOutput::out, 1, columns).expected, arrays.out->values()};
  }

  struct Shape {
    std::int64_t rows, columns;
  };
  /// Every output of one launch is within tolerance(), and nothing else is written.
  void expect_right(ReductionOp op, DataType type, const Shape& shape, std::size_t offset) {
    if (!kernels_->supports(op, type)) return;
    const auto& [rows, columns] = shape;
    SCOPED_TRACE(testing::Message() << name(op) << " " << name(type) << " " << rows << " x " << columns << " at " << offset);
    Arrays arrays(*device_, op, type, rows, columns, offset);
    arrays.fill();
    launch(op, type, arrays, rows, columns);
    for (const auto& [which, array] : arrays.written()) {
      EXPECT_TRUE(array->untouched_around());
      const auto bytes = array->count() * sizeof(double);
      const Memory expected = device_->allocate(bytes), scale = device_->allocate(bytes);
      auto* const values = static_cast<double*>(expected.get());
      auto* const scales = static_cast<double*>(scale.get());
      kernels_->reference(op, type, arrays.get(), which, 0, rows, columns, values, scales, device_->stream());
      const ElementwiseError error = device_->compare(array->type(), array->data(), array->count(), values, scales);
      EXPECT_LE(error.worst, tolerance(array->type())) << "output " << static_cast<int>(which) << " at " << error.index;
    }
  }

  /// Rows of equal, very large and very small values, and of one value that outweighs all others.
  void expect_right_out_of_the_ordinary(const std::vector<std::int64_t>& lengths) {
    struct Kind {
      const char* name;
      std::function<double(std::size_t)> value;
    };
    const Kind kinds[] = {{"equal", [](std::size_t) { return 0.1; }},
                          {"large", [](std::size_t i) { return i % 2 ? 3e4 : 2e4; }},
                          {"small", [](std::size_t i) { return i % 2 ? 1e-4 : -3e-5; }},
                          {"one", [](std::size_t i) { return i == 5 ? 1000.0 : 0.001; }},
                          {"masked", [](std::size_t i) { return i % 3 ? -kInfinity : static_cast<double>(i % 7); }}};
    for (const DataType type : kReductionTypes) {
      for (const ReductionOp op : kReductionOps) {
        if (!kernels_->supports(op, type)) continue;
        for (const Kind& kind : kinds) {
          const bool masks = op == ReductionOp::softmax || op == ReductionOp::cross_entropy;
          if (!masks && kind.value(1) == -kInfinity) continue;
          for (const std::int64_t columns : lengths) {
            SCOPED_TRACE(testing::Message() << name(op) << " " << name(type) << " " << kind.name << " " << columns);
            Arrays arrays(*device_, op, type, 1, columns, 0);
            arrays.fill();
            Values x(static_cast<std::size_t>(columns));
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = kind.value(i);
            arrays.x->set(x);
            launch(op, type, arrays, 1, columns);
            const Reference right = reference(op, type, arrays, ReductionOutput::out, 1, columns);
            const Values got = arrays.out->values();
            const DataType out = output_type(op, type);
            // The scale of a sum is made for errors that are independent, which these rows' are not.
            const double terms = op == ReductionOp::row_sum ? std::sqrt(static_cast<double>(columns)) : 1;
            for (std::size_t i = 0; i < got.size(); ++i) {
              ASSERT_LE(elementwise_error(out, got[i], right.expected[i], right.scale[i] * terms), tolerance(out)) << i;
            }
          }
        }
      }
    }
  }

  /// One NaN at the beginning, in the middle or at the end of a row.
  void expect_nan_to_spread(const std::vector<std::size_t>& lengths) {
    for (const DataType type : kReductionTypes) {
      for (const ReductionOp op : kReductionOps) {
        if (!kernels_->supports(op, type)) continue;
        for (const std::size_t columns : lengths) {
          for (const std::size_t at : {std::size_t{0}, columns / 2, columns - 1}) {
            SCOPED_TRACE(testing::Message() << name(op) << " " << name(type) << " " << columns << " at " << at);
            Values x(columns, 0.5);
            x[at] = kNaN;
            const Row found = row(op, x, type, [&](Arrays& arrays) {
              if (op == ReductionOp::residual_rms_norm) arrays.residual->set(Values(columns, 1));
              if (op == ReductionOp::cross_entropy) arrays.target->set({0});
            });
            EXPECT_TRUE(all_nan(found.expected));
            EXPECT_TRUE(all_nan(found.got));
          }
        }
      }
    }
  }
};

TEST_P(Reductions, TheReferenceIsWhatIsWorkedOutByHand) {
  const auto expect = [](const Values& got, const Values& right) {
    ASSERT_EQ(got.size(), right.size());
    for (std::size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(got[i], right[i], 1e-12 * (1 + std::abs(right[i]))) << i;
  };
  const double e = std::exp(1.0);
  expect(row(ReductionOp::softmax, {1, 2, 3}).expected, {1 / (1 + e + e * e), e / (1 + e + e * e), e * e / (1 + e + e * e)});
  expect(row(ReductionOp::softmax, {5, 5, 5, 5}).expected, {0.25, 0.25, 0.25, 0.25});
  expect(row(ReductionOp::cross_entropy, {1, 2, 3}, DataType::fp32, [](Arrays& a) { a.target->set({1}); }).expected,
         {std::log(e + e * e + e * e * e) - 2});
  // Mean 2.5, variance 1.25 over all four.
  const double sigma = std::sqrt(1.25 + static_cast<double>(kNormEpsilon));
  expect(row(ReductionOp::layer_norm, {1, 2, 3, 4}, DataType::fp32,
             [](Arrays& a) {
               a.weight->set({1, 1, 2, 2});
               a.bias->set({0, 0, 0, 10});
             })
             .expected,
         {-1.5 / sigma, -0.5 / sigma, 2 * 0.5 / sigma, 2 * 1.5 / sigma + 10});
  const double root = std::sqrt(12.5 + static_cast<double>(kNormEpsilon));
  expect(row(ReductionOp::rms_norm, {3, 4}, DataType::fp32,
             [](Arrays& a) {
               a.weight->set({1, 0.5});
             })
             .expected,
         {3 / root, 2 / root});
  expect(row(ReductionOp::residual_rms_norm, {1, 5}, DataType::fp32,
             [](Arrays& a) {
               a.residual->set({2, -1});
             })
             .expected,
         {3 / root, 4 / root});
  expect(row(ReductionOp::row_sum, {1, 2, 3.5}).expected, {6.5});
  // The greatest, 896, takes a scale of 2.
  expect(row(ReductionOp::quantise, {896, -8, 3}).expected, {448, -4, 1.5});
}

// Far from the greatest the exponent's roundoffs count in fp32; a result that is rounded to 16 bits is held to that rounding.
TEST_P(Reductions, ScaleOfASoftmaxIsOfItsRoundings) {
  for (const DataType type : kReductionTypes) {
    Arrays arrays(*device_, ReductionOp::softmax, type, 1, 2, 0);
    arrays.x->set({0, -8});
    const auto [expected, scale] = reference(ReductionOp::softmax, type, arrays, ReductionOutput::out, 1, 2);
    EXPECT_NEAR(scale[0], expected[0], 1e-12);
    EXPECT_NEAR(scale[1] / expected[1], type == DataType::fp32 ? 9 : type == DataType::fp16 ? 1 + 0x1p-8 : 1 + 0x1p-11, 1e-12);
  }
}

TEST_P(Reductions, QuantisedRowsHaveTheirScale) {
  const auto scale_of = [&](const Values& x) {
    Arrays arrays(*device_, ReductionOp::quantise, DataType::fp32, 1, static_cast<std::int64_t>(x.size()), 0);
    arrays.x->set(x);
    launch(ReductionOp::quantise, DataType::fp32, arrays, 1, static_cast<std::int64_t>(x.size()));
    EXPECT_EQ(
        reference(ReductionOp::quantise, DataType::fp32, arrays, ReductionOutput::scale, 1, static_cast<std::int64_t>(x.size()))
            .expected,
        arrays.scale->values());
    return std::pair(arrays.scale->values().front(), arrays.out->values());
  };
  EXPECT_EQ(scale_of({896, -8, 3}), std::pair(2.0, Values({448, -4, 1.5})));
  EXPECT_EQ(scale_of({0, 0}), std::pair(0x1p-126, Values({0, 0})));
  EXPECT_EQ(scale_of({0x1p-140, 0}).first, 0x1p-126);
}

TEST_P(Reductions, AreRightForEveryShapeAndAlignment) {
  // For a warp, a block, clusters of 2, 4 and 8 blocks, more elements a thread, more threads, and what none of them holds.
  std::vector<Shape> shapes = {{1, 1}, {3, 31}, {19, 512}, {9, 1000}, {17, 1024}, {3, 1032}, {2, 5001}, {2, 8192}};
  if (on_gpu()) {
    for (const std::int64_t columns : {16384, 16392, 20001, 40000, 65536, 100003, 131080, 262144, 262151, 262160}) {
      shapes.push_back({columns > 20001 ? 1 : 2, columns});
    }
  }
  for (const DataType type : kReductionTypes) {
    for (const ReductionOp op : kReductionOps) {
      for (const Shape& shape : shapes) {
        // The longest rows, which take most of the time, have one alignment each.
        const bool longest = shape.columns > 65536;
        for (const std::size_t offset : {0, 1}) {
          if (!longest || offset == static_cast<std::size_t>(shape.columns % 8 != 0)) expect_right(op, type, shape, offset);
        }
      }
    }
  }
}

// The shortest rows of a block and of clusters of 2, 4 and 8; without clusters, rows that no block holds.
TEST_P(Reductions, AreRightForRowsOfABlockAndOfSeveral) {
  for (const DataType type : {DataType::fp32, DataType::bf16}) {
    for (const ReductionOp op : kReductionOps) {
      for (const Shape& shape : {Shape{2, 1500}, {2, 8197}, {1, 16392}, {1, 17001}, {1, 33000}, {1, 33001}}) {
        expect_right(op, type, shape, 0);
      }
    }
  }
}

TEST_P(Reductions, AreRightForRowsOutOfTheOrdinary) { expect_right_out_of_the_ordinary({37, 1500}); }

TEST_P(Reductions, AreRightForLongRowsOutOfTheOrdinary) {
  if (!on_gpu()) GTEST_SKIP() << "the CPU makes no difference of long rows";
  expect_right_out_of_the_ordinary({20000, 140000, 300001});
}

TEST_P(Reductions, NothingButMinusInfinityHasNoSoftmax) {
  for (const std::size_t columns : {1, 33, 2000}) {
    const Row all = row(ReductionOp::softmax, Values(columns, -kInfinity));
    EXPECT_TRUE(all_nan(all.expected));
    EXPECT_TRUE(all_nan(all.got));
  }
}

TEST_P(Reductions, NaNMakesItsWholeRowNaN) { expect_nan_to_spread({1, 40, 1500}); }

TEST_P(Reductions, NaNMakesItsWholeLongRowNaN) {
  if (!on_gpu()) GTEST_SKIP() << "the CPU makes no difference of long rows";
  expect_nan_to_spread({20000, 262144, 300001});
}

INSTANTIATE_TEST_SUITE_P(Devices, Reductions, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
