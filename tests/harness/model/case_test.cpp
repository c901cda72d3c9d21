// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace roofmark {
namespace {

Case gemm_of(const std::string& impl, const std::string& algo) {
  Case made;
  made.family = "gemm";
  made.type = DataType::bf16;
  made.shape = {{"m", "64"}, {"impl", impl}, {"algo", algo}};
  return made;
}

TEST(Compare, NamesTheKeyAndTheTwoValues) {
  const Comparison comparison = compare(gemm_of("own", "tuned"), gemm_of("cublaslt", "tuned"));
  EXPECT_EQ(comparison.key, "impl");
  EXPECT_EQ(comparison.name, "own against cublaslt");
  EXPECT_EQ(comparison.numerator.name(), "gemm/bf16/m:64/impl:own/algo:tuned");
  EXPECT_EQ(comparison.denominator.name(), "gemm/bf16/m:64/impl:cublaslt/algo:tuned");
}

TEST(Compare, TakesWhatTheAbsenceOfAKeyMeans) {
  Case plain = gemm_of("cublaslt", "tuned"), fused = plain, other = plain;
  plain.implied = fused.implied = {{"out", "bf16"}, {"epilogue", "none"}};
  fused.shape.insert(fused.shape.begin() + 1, {"epilogue", "bias"});
  EXPECT_EQ(compare(plain, fused).name, "none against bias");
  EXPECT_EQ(compare(fused, plain).name, "bias against none");
  EXPECT_EQ(compare(fused, plain).key, "epilogue");
  EXPECT_EQ(compare(fused, plain).numerator.name(), "gemm/bf16/m:64/epilogue:bias/impl:cublaslt/algo:tuned");
  EXPECT_THROW(compare(other, fused), std::invalid_argument) << "nothing is implied";
  fused.shape.insert(fused.shape.begin() + 1, {"out", "fp32"});
  EXPECT_THROW(compare(plain, fused), std::invalid_argument) << "two keys";
}

TEST(Compare, RatesAreOfTheWorkOfEach) {
  Case small = gemm_of("own", "tuned"), large = gemm_of("own", "default");
  small.work.phases = {{{resource::dram, 10}, {resource::l2, 7}}};
  large.work.phases = {{{resource::l2, 9}, {resource::dram, 15}}, {{resource::dram, 25}}};
  EXPECT_EQ(compare(small, large).work_ratio, 1);
  EXPECT_EQ(compare_rates(small, large).work_ratio, 0.25);
  EXPECT_EQ(compare_rates(small, large).name, "tuned against default");
}

TEST(Compare, RefusesCasesThatDoNotDifferInExactlyOneKey) {
  const Case one = gemm_of("own", "tuned");
  EXPECT_THROW(compare(one, one), std::invalid_argument);
  EXPECT_THROW(compare(one, gemm_of("cublaslt", "default")), std::invalid_argument);
  const auto changed = [&](auto change) {
    Case other = gemm_of("cublaslt", "tuned");
    change(other);
    return other;
  };
  EXPECT_THROW(compare(one, changed([](Case& c) { c.family = "gemv"; })), std::invalid_argument);
  EXPECT_THROW(compare(one, changed([](Case& c) { c.operation = "grouped"; })), std::invalid_argument);
  EXPECT_THROW(compare(one, changed([](Case& c) { c.type = DataType::fp16; })), std::invalid_argument);
  EXPECT_THROW(compare(one, changed([](Case& c) { c.shape.emplace_back("cache", "cold"); })), std::invalid_argument);
  EXPECT_THROW(compare(one, changed([](Case& c) { c.shape[0].first = "n"; })), std::invalid_argument);
}

}  // namespace
}  // namespace roofmark
