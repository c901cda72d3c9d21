// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemv.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "harness/device/random.hpp"
#include "kernels/gemv_reference.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::NanSensitiveDoubleEq;
using testing::Pointwise;

using Bytes = std::vector<std::uint8_t>;

Bytes stored(DataType type, const std::vector<double>& values) {
  Bytes bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) store(type, bytes.data(), i, values[i]);
  return bytes;
}

Bytes filled(DataType type, std::size_t count, std::uint64_t array) {
  Bytes bytes(count * size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    store(type, bytes.data(), i, generate(Distribution::normal, type, 3, array, i));
  }
  return bytes;
}

/// A problem with its operands in host memory.
struct GemvOperands {
  GemvProblem problem;
  Bytes w, scales, x;

  struct Expected {
    std::vector<double> value, scale;
  };
  Expected expected(double spread = 0) const {
    Expected found = {std::vector<double>(static_cast<std::size_t>(problem.m)),
                      std::vector<double>(static_cast<std::size_t>(problem.m))};
    cpu::gemv_reference.compute(problem, {w.data(), scales.data(), x.data(), nullptr}, spread, found.value.data(),
                                found.scale.data(), nullptr);
    return found;
  }
};

GemvOperands random_operands(const GemvProblem& p) {
  const DataType types[] = {p.type, DataType::fp8, DataType::int8, DataType::int8};
  const DataType weights = types[static_cast<int>(p.weights)];
  return {p, filled(weights, gemv_weight_bytes(p) / size_of(weights), 0), filled(p.type, gemv_scale_count(p), 1),
          filled(p.type, static_cast<std::size_t>(p.k), 2)};
}

TEST(GemvReference, AddsUpEachRow) {
  const GemvOperands operands = {{2, 3, DataType::fp32, GemvWeights::plain},
                                 stored(DataType::fp32, {1, 2, 3, -4, 5, 6}),
                                 {},
                                 stored(DataType::fp32, {10, 100, -1})};
  const auto [value, scale] = operands.expected(2);
  EXPECT_THAT(value, ElementsAre(207, 454));
  EXPECT_THAT(scale, ElementsAre(DoubleEq(207 + 2 * std::sqrt(100.0 + 40000 + 9)),
                                 DoubleEq(454 + 2 * std::sqrt(1600.0 + 250000 + 36))));
}

TEST(GemvReference, ScalesEachGroupOfARow) {
  for (const GemvWeights weights : {GemvWeights::fp8, GemvWeights::int8}) {
    GemvOperands operands = {{2, 256, DataType::bf16, weights}, Bytes(512), stored(DataType::bf16, {2, 3, 5, -7}), {}};
    operands.x = stored(DataType::bf16, std::vector<double>(256, 1));
    const DataType type = weights == GemvWeights::fp8 ? DataType::fp8 : DataType::int8;
    store(type, operands.w.data(), 127, 1);
    store(type, operands.w.data(), 128, 10);
    store(type, operands.w.data(), 256 + 127, 1);
    store(type, operands.w.data(), 256 + 128, 10);
    EXPECT_THAT(operands.expected().value, ElementsAre(2 * 1 + 3 * 10, 5 * 1 - 7 * 10));
  }
}

TEST(GemvReference, TakesTheLowerFourBitsOfAByteFirst) {
  GemvOperands operands = {{1, 128, DataType::fp16, GemvWeights::int4}, Bytes(64), stored(DataType::fp16, {0.5}), {}};
  std::vector<double> x(128);
  x[0] = 1;
  x[1] = 100;
  operands.x = stored(DataType::fp16, x);
  operands.w[0] = 0x73;
  EXPECT_THAT(operands.expected().value, ElementsAre(0.5 * (3 + 700)));
  operands.w[0] = 0x8f;
  EXPECT_THAT(operands.expected().value, ElementsAre(0.5 * (-1 - 800)));
}

class GemvTest : public KernelTest<GemvKernels> {
 protected:
  GemvTest() : KernelTest(&cuda::gemv, &cpu::gemv) {}

  std::vector<DataType> types() const {
    if (on_gpu()) return {DataType::bf16, DataType::fp16};
    return {DataType::bf16, DataType::fp16, DataType::fp32};
  }

  /// y by the kernel, w and x that many bytes past an aligned address.
  std::vector<double> run(const GemvOperands& operands, std::size_t offset = 0) {
    const GemvProblem& p = operands.problem;
    const auto count = static_cast<std::size_t>(p.m);
    const Memory w = device_->allocate(operands.w.size() + offset), scales = device_->allocate(operands.scales.size() + 1),
                 x = device_->allocate(operands.x.size() + offset), y = device_->allocate((count + 1) * size_of(p.type));
    const auto shifted = [=](const Memory& memory) { return static_cast<char*>(memory.get()) + offset; };
    device_->to_device(shifted(w), operands.w.data(), operands.w.size());
    device_->to_device(scales.get(), operands.scales.data(), operands.scales.size());
    device_->to_device(shifted(x), operands.x.data(), operands.x.size());
    device_->poison(y.get(), (count + 1) * size_of(p.type));
    kernels_->launch(p, {shifted(w), scales.get(), shifted(x), y.get()}, device_->stream());
    device_->synchronize();
    Bytes bytes((count + 1) * size_of(p.type));
    device_->to_host(bytes.data(), y.get(), bytes.size());
    EXPECT_TRUE(std::isnan(load_as_double(p.type, bytes.data(), count))) << "writes past the end";
    std::vector<double> got(count);
    for (std::size_t i = 0; i < count; ++i) got[i] = load_as_double(p.type, bytes.data(), i);
    return got;
  }

  void expect_right(const GemvOperands& operands, std::size_t offset = 0) {
    const GemvProblem& p = operands.problem;
    const std::vector<double> got = run(operands, offset);
    // Far over the roundings of fp32, far under one term of the sum.
    const auto [value, scale] = operands.expected(2e-5 / unit_roundoff(p.type));
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_LE(std::fabs(got[i] - value[i]), 1.01 * unit_roundoff(p.type) * scale[i])
          << name(p.weights, p.type) << " x " << name(p.type) << ", " << p.m << " x " << p.k << ", row " << i;
    }
  }
};

TEST_P(GemvTest, IsRightAtEverySize) {
  for (const DataType type : types()) {
    for (const std::int64_t m : {1, 16, 17, 33}) {
      for (const std::int64_t k : {1, 7, 8, 72, 1001, 4104}) {
        expect_right(random_operands({m, k, type, GemvWeights::plain}));
      }
      for (const std::int64_t k : {128, 1152, 4096}) {
        for (const GemvWeights weights : kGemvWeights) expect_right(random_operands({m, k, type, weights}));
      }
    }
  }
}

// So many rows that a block takes several tiles.
TEST_P(GemvTest, IsRightWithManyRows) {
  for (const GemvWeights weights : kGemvWeights) expect_right(random_operands({60001, 128, DataType::bf16, weights}));
}

TEST_P(GemvTest, IsRightOffAlignment) {
  for (const DataType type : types()) {
    expect_right(random_operands({33, 1024, type, GemvWeights::plain}), size_of(type));
  }
}

// A row for each byte that a weight can be stored as, at places of a group that differ in every way, alone against a vector of
// one 1.
TEST_P(GemvTest, WidensEveryStoredWeightWhereverItStands) {
  for (const DataType type : {DataType::bf16, DataType::fp16}) {
    for (const GemvWeights weights : {GemvWeights::fp8, GemvWeights::int8, GemvWeights::int4}) {
      for (std::size_t place = 0; place < kGemvGroup; place += place < 32 ? 1 : 13) {
        GemvOperands operands = {{256, kGemvGroup, type, weights}, {}, stored(type, std::vector<double>(256, 1)), {}};
        const std::size_t row_bytes = gemv_weight_bytes(operands.problem) / 256;
        operands.w.resize(256 * row_bytes);
        for (std::size_t byte = 0; byte < 256; ++byte) {
          operands.w[byte * row_bytes + (weights == GemvWeights::int4 ? place / 2 : place)] = static_cast<std::uint8_t>(byte);
        }
        std::vector<double> x(kGemvGroup);
        x[place] = 1;
        operands.x = stored(type, x);
        ASSERT_THAT(run(operands), Pointwise(NanSensitiveDoubleEq(), operands.expected().value))
            << name(weights, type) << " at " << place;
      }
    }
  }
}

TEST_P(GemvTest, NaNReachesItsRowAndNoOther) {
  for (const DataType type : types()) {
    GemvOperands operands = random_operands({40, 1000, type, GemvWeights::plain});
    store(type, operands.w.data(), 21 * 1000 + 999, std::nan(""));
    std::vector<double> got = run(operands);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i == 21) << i;
    store(type, operands.x.data(), 0, std::nan(""));
    for (const double y : run(operands)) EXPECT_TRUE(std::isnan(y));

    operands = random_operands({40, 256, type, GemvWeights::int4});
    store(type, operands.scales.data(), 21 * 2 + 1, std::nan(""));
    got = run(operands);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i == 21) << i;
  }
}

// Past a row's end a load finds the next row, whose NaN no 0 of x takes away.
TEST_P(GemvTest, RowEndsBeforeTheNextOnesNaN) {
  for (std::int64_t k = 8; k <= 264; k += 8) {
    GemvOperands operands = random_operands({17, k, DataType::bf16, GemvWeights::plain});
    store(DataType::bf16, operands.w.data(), static_cast<std::size_t>(9 * k), std::nan(""));
    const std::vector<double> got = run(operands);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i == 9) << k << ", row " << i;
  }
}

TEST_P(GemvTest, HasTheSameBitsEveryTime) {
  const GemvOperands operands = random_operands({500, 4096, DataType::bf16, GemvWeights::int4});
  const std::vector<double> first = run(operands);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run(operands), first);
}

TEST_P(GemvTest, SaysWhatItSupports) {
  EXPECT_TRUE(kernels_->supports({1, 1, DataType::bf16, GemvWeights::plain}));
  EXPECT_FALSE(kernels_->supports({1, 100, DataType::bf16, GemvWeights::int8}));
  EXPECT_FALSE(kernels_->supports({1, 128, DataType::int8, GemvWeights::plain}));
}

INSTANTIATE_TEST_SUITE_P(Devices, GemvTest, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
