// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <vector>

#include "harness/device/elementwise_error.hpp"
#include "kernels/elementwise_reference.hpp"
#include "tests/constants.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

using Op = ElementwiseOp;
using Values = std::vector<double>;

constexpr Op kActivations[] = {Op::relu, Op::gelu_tanh, Op::gelu_erf, Op::silu};

class Elementwise : public KernelTest<ElementwiseKernels> {
 protected:
  Elementwise() : KernelTest(&cuda::elementwise, &cpu::elementwise) {}

  void launch(const ElementwiseProblem& problem, const ElementwiseArrays& arrays) {
    kernels_->launch(problem, arrays, device_->stream());
    device_->synchronize();
  }

  /// The error of an array that a launch wrote, in u(type) x scale.
  double error_of(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, ElementwiseOutput which,
                  const Array& written) {
    const Memory expected = device_->allocate(written.count() * sizeof(double));
    const Memory scale = device_->allocate(written.count() * sizeof(double));
    auto* const values = static_cast<double*>(expected.get());
    auto* const scales = static_cast<double*>(scale.get());
    kernels_->reference(problem, arrays, which, 0, static_cast<std::int64_t>(written.count()), values, scales,
                        device_->stream());
    return device_->compare(written.type(), written.data(), written.count(), values, scales).worst;
  }

  /// What the reference gives, and what the kernel, for an operation on x (and y) of one row.
  struct Found {
    Values expected, got;
  };
  Found found(Op op, DataType type, const Values& x, const Values& y = {}) {
    const auto n = static_cast<std::int64_t>(x.size());
    const ElementwiseProblem problem = {.op = op, .type = type, .rows = 1, .columns = n};
    const Array in(*device_, type, n, 0), second(*device_, type, n, 0), out(*device_, output_type(problem), n, 0);
    in.set(x);
    if (!y.empty()) second.set(y);
    ElementwiseArrays arrays;
    arrays.x = in.data();
    arrays.y = second.data();
    arrays.out = out.data();
    launch(problem, arrays);
    const Memory expected = device_->allocate(x.size() * sizeof(double)), scale = device_->allocate(x.size() * sizeof(double));
    kernels_->reference(problem, arrays, ElementwiseOutput::out, 0, n, static_cast<double*>(expected.get()),
                        static_cast<double*>(scale.get()), device_->stream());
    device_->synchronize();
    Found both = {Values(x.size()), out.values()};
    device_->to_host(both.expected.data(), expected.get(), x.size() * sizeof(double));
    return both;
  }
};

TEST_P(Elementwise, TheReferenceIsWhatTheFormulasSay) {
  Values x;
  for (double value = -6; value <= 6; value += 0.125) x.push_back(value);
  const auto expect = [&](Op op, const std::function<double(double)>& formula) {
    const Values expected = found(op, DataType::fp32, x).expected;
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(expected[i], formula(x[i]), 1e-14) << name(op) << " of " << x[i];
  };
  expect(Op::relu, [](double v) { return v > 0 ? v : 0; });
  expect(Op::gelu_erf, [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); });
  expect(Op::gelu_tanh,
         [](double v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v))); });
  expect(Op::silu, [](double v) { return v / (1 + std::exp(-v)); });
  // silu(1) = 0.7310585786300049, by hand times 3; and sums.
  EXPECT_NEAR(found(Op::swiglu, DataType::fp32, {1}, {3}).expected[0], 3 * 0.7310585786300049, 1e-15);
  EXPECT_EQ(found(Op::add, DataType::fp32, {1, -2}, {0.5, 4}).expected, Values({1.5, 2}));
}

TEST_P(Elementwise, AQuarterTurnSwapsTheHalves) {
  const ElementwiseProblem problem = {.op = Op::rope, .type = DataType::fp32, .rows = 2, .columns = 8, .head = 4};
  const Array x(*device_, DataType::fp32, 16, 0), out(*device_, DataType::fp32, 16, 0);
  const Array cosines(*device_, DataType::fp32, 4, 0), sines(*device_, DataType::fp32, 4, 0);
  x.set({1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8});
  // The first token's pairs are not turned and turned by a quarter; the second's by a half and by 3-4-5's angle.
  cosines.set({1, 0, -1, 0.75});
  sines.set({0, 1, 0, 0.5});
  ElementwiseArrays arrays;
  arrays.x = x.data();
  arrays.out = out.data();
  arrays.cosines = cosines.as<float>();
  arrays.sines = sines.as<float>();
  launch(problem, arrays);
  EXPECT_EQ(out.values(), Values({1, -4, 3, 2, 5, -8, 7, 6, -1, 1.5 - 2, -3, 3 + 1, -5, 4.5 - 4, -7, 6 + 3}));
  EXPECT_EQ(error_of(problem, arrays, ElementwiseOutput::out, out), 0);
}

TEST_P(Elementwise, EmbeddingTakesRowsOfTheTable) {
  const ElementwiseProblem problem = {.op = Op::embedding, .type = DataType::fp32, .rows = 3, .columns = 2, .vocabulary = 4};
  const Array table(*device_, DataType::fp32, 8, 0), ids(*device_, DataType::int32, 3, 0), out(*device_, DataType::fp32, 6, 0);
  table.set({0, 1, 10, 11, 20, 21, 30, 31});
  ids.set({3, 0, 2});
  ElementwiseArrays arrays;
  arrays.x = table.data();
  arrays.ids = ids.as<std::int32_t>();
  arrays.out = out.data();
  launch(problem, arrays);
  EXPECT_EQ(out.values(), Values({30, 31, 0, 1, 20, 21}));
  EXPECT_EQ(error_of(problem, arrays, ElementwiseOutput::out, out), 0);
}

TEST_P(Elementwise, AdamWStepsAsOneAndInSteps) {
  const double p = 0.5, m = 0.02, v = 4e-4, g = -0.3;
  const double next_m = 0.9 * m + 0.1 * g, next_v = 0.999 * v + 0.001 * g * g;
  const double first = next_m / (1 - std::pow(0.9, 100)), second = next_v / (1 - std::pow(0.999, 100));
  const double next_p = p * (1 - 1e-3 * 0.01) - 1e-3 * first / (std::sqrt(second) + 1e-8);
  const AdamWScaled all = adamw_reference(Op::adamw, p, m, v, g);
  EXPECT_NEAR(all.p.value, next_p, 1e-8);
  EXPECT_NEAR(all.m.value, next_m, 1e-8);
  EXPECT_NEAR(all.v.value, next_v, 1e-10);
  const double decayed = adamw_reference(Op::adamw_decay, p, m, v, g).p.value;
  const double moved = adamw_reference(Op::adamw_first, p, m, v, g).m.value;
  const double squared = adamw_reference(Op::adamw_second, p, m, v, g).v.value;
  EXPECT_EQ(adamw_reference(Op::adamw_update, decayed, moved, squared, g).p.value, all.p.value);
}

// An allowance for the roundings of fp32 in all but the erf of narrow types, whose tail is within 1.1e-5.
double tolerance(Op op, DataType type) {
  const double in_fp32 = op == Op::gelu_erf && type != DataType::fp32 ? 220 : 32;
  return 1 + in_fp32 * unit_roundoff(DataType::fp32) / unit_roundoff(type);
}

TEST_P(Elementwise, IsRightAtEveryLengthAndAlignment) {
  struct Shape {
    std::int64_t rows, columns, head;
  };
  for (const DataType type : {DataType::fp32, DataType::fp16, DataType::bf16}) {
    for (int number = 0; number <= static_cast<int>(Op::adamw_update); ++number) {
      const auto op = static_cast<Op>(number);
      std::vector<Shape> shapes = {{1, 1, 0}, {1, 1001, 0}, {1, 4093, 0}, {3, 4096, 0}, {33, 515, 0}};
      if (op == Op::rope) shapes = {{1, 2, 2}, {3, 18, 6}, {9, 1024, 128}, {17, 512, 64}};
      for (const DataType to : {DataType::fp32, DataType::fp16, DataType::bf16, DataType::fp8}) {
        if (op != Op::cast && to != DataType::fp32) continue;
        for (const auto& [rows, columns, head] : shapes) {
          const ElementwiseProblem problem = {
              .op = op, .type = type, .to = to, .rows = rows, .columns = columns, .head = head, .vocabulary = 150};
          if (!kernels_->supports(problem)) continue;
          for (const std::size_t offset : {0, 1}) {
            SCOPED_TRACE(testing::Message() << name(op) << " " << name(type) << " to " << name(output_type(problem)) << " "
                                            << rows << " x " << columns << " at " << offset);
            const std::int64_t n = problem.elements(), table = op == Op::embedding ? 150 * columns : n;
            const std::int64_t state = is_adamw(op) ? n : 1;
            const DataType fp32 = DataType::fp32, type_of_y = op == Op::residual_add ? fp32 : type;
            const Array x(*device_, type, table, offset), y(*device_, type_of_y, n, offset);
            const Array bias(*device_, type, columns, offset), ids(*device_, DataType::int32, rows, offset);
            const Array cosines(*device_, fp32, rows * (head / 2) + 1, offset),
                sines(*device_, fp32, rows * (head / 2) + 1, offset);
            const Array out(*device_, output_type(problem), n, offset);
            const Array p(*device_, fp32, state, offset), m(*device_, fp32, state, offset), v(*device_, fp32, state, offset);
            const Array p0(*device_, fp32, state, 0), m0(*device_, fp32, state, 0), v0(*device_, fp32, state, 0);
            std::uint64_t array = 0;
            for (const Array* one : {&x, &y, &bias, &cosines, &sines, &p, &m}) one->fill(array++);
            Values rows_of_table(static_cast<std::size_t>(rows));
            for (std::size_t i = 0; i < rows_of_table.size(); ++i) rows_of_table[i] = static_cast<double>(i * 37 % 150);
            ids.set(rows_of_table);
            Values squares(static_cast<std::size_t>(state));
            for (std::size_t i = 0; i < squares.size(); ++i) squares[i] = static_cast<double>(i % 11) * 0.01;
            v.set(squares);
            p0.set(p.values());
            m0.set(m.values());
            v0.set(squares);
            const ElementwiseArrays arrays = {
                x.data(),      y.data(),      bias.data(),   cosines.as<float>(), sines.as<float>(), ids.as<std::int32_t>(),
                out.data(),    p.as<float>(), m.as<float>(), v.as<float>(),       p0.as<float>(),    m0.as<float>(),
                v0.as<float>()};
            launch(problem, arrays);
            const std::pair<ElementwiseOutput, const Array*> all[] = {{ElementwiseOutput::out, &out},
                                                                      {ElementwiseOutput::p, &p},
                                                                      {ElementwiseOutput::m, &m},
                                                                      {ElementwiseOutput::v, &v}};
            for (const auto& [which, written] : all) {
              EXPECT_TRUE(written->untouched_around());
              if ((which == ElementwiseOutput::out) == is_adamw(op)) continue;
              EXPECT_LE(error_of(problem, arrays, which, *written), tolerance(op, written->type()))
                  << "output " << static_cast<int>(which);
            }
          }
        }
      }
    }
  }
}

TEST_P(Elementwise, ActivationsEndAsTheyShould) {
  for (const DataType type : {DataType::fp32, DataType::fp16, DataType::bf16}) {
    for (const Op op : kActivations) {
      if (!kernels_->supports({.op = op, .type = type})) continue;
      SCOPED_TRACE(testing::Message() << name(op) << " " << name(type));
      const Found all = found(op, type, {0, 100, -100, 30000, -30000, 1e-4, -1e-4, 9, -9, kNaN});
      EXPECT_TRUE(std::isnan(all.expected.back()));
      EXPECT_TRUE(std::isnan(all.got.back()));
      EXPECT_EQ(all.got[0], 0);
      for (std::size_t i = 0; i + 1 < all.got.size(); ++i) {
        const double scale = std::max(std::abs(all.expected[i]), op == Op::relu ? 0 : 100 * 0x1p-126 / unit_roundoff(type));
        // Far from 0 the exponent's roundoff counts x^2 times.
        EXPECT_LE(elementwise_error(type, all.got[i], all.expected[i], scale), 100 * tolerance(op, type)) << i;
      }
    }
  }
}

TEST_P(Elementwise, NaNGoesThroughCastsAndSums) {
  for (const DataType to : {DataType::fp32, DataType::fp16, DataType::bf16, DataType::fp8}) {
    for (const DataType type : {DataType::fp32, DataType::bf16}) {
      const ElementwiseProblem problem = {.op = Op::cast, .type = type, .to = to, .rows = 1, .columns = 3};
      if (!kernels_->supports(problem)) continue;
      const Array x(*device_, type, 3, 0), out(*device_, to, 3, 0);
      x.set({kNaN, -1.5, 448});
      ElementwiseArrays arrays;
      arrays.x = x.data();
      arrays.out = out.data();
      launch(problem, arrays);
      EXPECT_TRUE(std::isnan(out.values()[0])) << name(to);
      EXPECT_EQ(out.values()[1], -1.5);
      EXPECT_EQ(out.values()[2], 448);
    }
  }
  EXPECT_TRUE(std::isnan(found(Op::add, DataType::fp32, {kNaN}, {1}).got[0]));
  EXPECT_TRUE(std::isnan(found(Op::swiglu, DataType::fp32, {1}, {kNaN}).got[0]));
}

INSTANTIATE_TEST_SUITE_P(Devices, Elementwise, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
