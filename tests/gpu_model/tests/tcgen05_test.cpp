// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/element.hpp"
#include "tests/gpu_model/tests/compiled_kernels.hpp"
#include "tests/gpu_model/tests/tcgen05_mistake.hpp"

namespace gpu_model {
namespace {

using roofmark::DataType;
using roofmark::Element;
using ::testing::HasSubstr;

constexpr std::size_t rows = 128, columns = 32;

/// The instruction descriptor; sums: 0 in fp16, 1 in fp32, 2 in int32.
constexpr std::uint32_t form_of(std::uint32_t sums, std::uint32_t operands) {
  return sums << 4 | operands << 7 | operands << 10 | std::uint32_t{columns / 8} << 17 | std::uint32_t{rows / 16} << 24;
}
constexpr std::uint32_t fp16_form = form_of(1, 0);

/// D [128, 32] = A B over 128 bytes of k.
template <DataType type>
class Product {
 public:
  using Storage = typename Element<type>::Storage;
  static constexpr std::size_t depth = 128 / sizeof(Storage);

  Product() : a_(rows * depth), b_(columns * depth), d_(rows * columns), expected_(rows * columns) {
    Quarters values;
    // Integers take the whole range.
    const auto element = [&] {
      return Element<type>::rounded(static_cast<double>(values()) * (type == DataType::int8 ? 64 : 1));
    };
    a_.fill(element);
    b_.fill(element);
    for (std::size_t i = 0; i < rows * columns; ++i) {
      for (std::size_t k = 0; k < depth; ++k) {
        expected_[i] += static_cast<float>(Element<type>::value(a_[i / columns * depth + k]) *
                                           Element<type>::value(b_[i % columns * depth + k]));
      }
    }
  }

  Counters run(const char* kernel, std::uint32_t form, Mistake mistake = none, bool accumulates = false) {
    d_.values().assign(rows * columns, -1);
    return launch(kernel, {{1}, {128}}, a_.data(), b_.data(), d_.data(), form, int{accumulates}, static_cast<int>(mistake));
  }
  /// Whether D is `times` the product within `error`.
  bool right(float times = 1, float error = 0) {
    for (std::size_t i = 0; i < rows * columns; ++i) {
      if (!(std::abs(d_[i] - times * expected_[i]) <= error)) return false;
    }
    return true;
  }

 private:
  DeviceArray<Storage> a_, b_;
  DeviceArray<float> d_;
  std::vector<float> expected_;
};

template <DataType type>
void expect_product(const char* kernel, std::uint32_t form) {
  SCOPED_TRACE(kernel);
  Product<type> product;
  const Counters counters = product.run(kernel, form);
  EXPECT_TRUE(product.right());
  EXPECT_EQ(counters.warnings, 0U);
  EXPECT_EQ(counters.mma_flops, 2 * rows * columns * Product<type>::depth);
  product.run(kernel, form, none, true);
  EXPECT_TRUE(product.right(2)) << "accumulated twice";
}

TEST(Tcgen05, EveryTypeWithItsSums) {
  expect_product<DataType::fp16>("tcgen05_f16", fp16_form);
  expect_product<DataType::bf16>("tcgen05_f16", form_of(1, 1));
  expect_product<DataType::tf32>("tcgen05_tf32", form_of(1, 2));
  expect_product<DataType::fp8>("tcgen05_f8f6f4", form_of(1, 0));
  expect_product<DataType::int8>("tcgen05_i8", form_of(2, 1));
}

TEST(Tcgen05, SumsInFp16AreInTheLowerHalves) {
  Product<DataType::fp16> product;
  EXPECT_EQ(product.run("tcgen05_f16_f16", form_of(0, 0)).warnings, 0U);
  // Up to 64 are rounded to 1/32, four times.
  EXPECT_TRUE(product.right(1, 4 * 0x1p-6F));
}

TEST(Tcgen05, AMistakeShows) {
  const Setting quiet("GPUMODEL_QUIET", "1");
  Product<DataType::fp16> product;
  const auto warnings = [&](Mistake mistake) { return product.run("tcgen05_f16", fp16_form, mistake).warnings; };
  EXPECT_GT(warnings(no_wait), 0U);
  EXPECT_FALSE(product.right());
  warnings(overwrites_operand);
  EXPECT_FALSE(product.right());
  EXPECT_GT(warnings(no_wait_ld), 0U);
  EXPECT_FALSE(product.right());
  for (const Mistake mistake : {no_proxy_fence, no_fence_after_sync, no_dealloc}) {
    EXPECT_GT(warnings(mistake), 0U) << mistake;
    EXPECT_TRUE(product.right()) << mistake << ": only hardware would show it";
  }
}

TEST(Tcgen05, WhatIsIllegalFaults) {
  const Setting quiet("GPUMODEL_QUIET", "1");
  Product<DataType::fp16> product;
  const auto fault = [&](Fault::Kind kind, std::uint32_t form, Mistake mistake = none) {
    return text_of_fault(kind, [&] { product.run("tcgen05_f16", form, mistake); });
  };
  using enum Fault::Kind;
  EXPECT_THAT(fault(illegal_address, fp16_form, reads_lanes_of_another_warp), HasSubstr("16 lanes from 32 by warp 0"));
  EXPECT_THAT(fault(illegal_address, fp16_form, reads_beyond_allocation), HasSubstr("column 32 is not allocated"));
  EXPECT_THAT(fault(illegal_instruction, fp16_form, no_constant_bits), HasSubstr("constant bits"));
  EXPECT_THAT(fault(illegal_address, fp16_form + (2 << 17)), HasSubstr("is not allocated")) << "n 48";
  EXPECT_THAT(fault(illegal_instruction, fp16_form - (1 << 17)), HasSubstr("n 24"));
  for (const std::uint32_t form :
       {fp16_form | 1 << 2, fp16_form | 1 << 15, fp16_form - (4 << 24), form_of(0, 1), form_of(1, 2), form_of(2, 0)}) {
    EXPECT_THAT(fault(unsupported, form), HasSubstr("instruction descriptor"));
  }
}

TEST(Tcgen05, Allocations) {
  const auto allocate = [](int first, int second, bool relinquishes) {
    return launch("tcgen05_allocations", {{1}, {32}}, first, second, int{relinquishes}).warnings;
  };
  EXPECT_EQ(allocate(256, 256, false), 0U);
  EXPECT_EQ(allocate(32, 256, false), 0U);
  const auto fault = [&](int first, int second, bool relinquishes = false) {
    return text_of_fault(Fault::Kind::illegal_instruction, [&] { allocate(first, second, relinquishes); });
  };
  EXPECT_THAT(fault(512, 32), HasSubstr("only its own block could free"));
  EXPECT_THAT(fault(32, 48), HasSubstr("another number of columns"));
  EXPECT_THAT(fault(32, 16), HasSubstr("another number of columns"));
  EXPECT_THAT(fault(32, 32, true), HasSubstr("relinquish"));
}

TEST(Tcgen05, ACopyOfScalesStaysInTheAllocation) {
  const auto copy = [](int column) { return launch("tcgen05_copy", {{1}, {32}}, column).warnings; };
  EXPECT_EQ(copy(28), 0U);
  EXPECT_THAT(text_of_fault(Fault::Kind::illegal_address, [&] { copy(29); }), HasSubstr("column 32 is not allocated"));
}

TEST(Tcgen05, EarlyOrRandomCompletionChangesNothingInACorrectKernel) {
  const Setting race("GPUMODEL_RACE", "1");
  Product<DataType::fp16> product;
  for (const char* completion : {"early", "random"}) {
    const Setting async("GPUMODEL_ASYNC", completion);
    for (int seed = 1; seed < 5; ++seed) {
      const Setting setting("GPUMODEL_SEED", std::to_string(seed));
      const Counters counters = product.run("tcgen05_f16", fp16_form);
      EXPECT_TRUE(product.right()) << completion << ' ' << seed;
      EXPECT_EQ(counters.warnings + counters.races, 0U);
    }
  }
}

TEST(Tcgen05, AnOperandOverwrittenBeforeTheWaitIsARace) {
  const Setting quiet("GPUMODEL_QUIET", "1"), race("GPUMODEL_RACE", "1");
  Product<DataType::fp16> product;
  EXPECT_GT(product.run("tcgen05_f16", fp16_form, overwrites_operand).races, 0U);
}

}  // namespace
}  // namespace gpu_model
