// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case_name.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace roofmark {
namespace {

const CaseName kProduct{"gemm", "", DataType::bf16, {{"m", "64"}, {"impl", "cublaslt"}, {"algo", "tuned"}}};
const CaseName kTriad{"stream", "triad", DataType::fp64, {{"bytes", "24"}, {"impl", "own"}}};
const CaseName kLaunch{"launch", "", DataType::fp32, {}};

TEST(CaseName, HasTheFamilyTheOperationTheTypeAndTheKeysInOrder) {
  EXPECT_EQ(kProduct.name(), "gemm/bf16/m:64/impl:cublaslt/algo:tuned");
  EXPECT_EQ(kTriad.name(), "stream/triad/fp64/bytes:24/impl:own");
  EXPECT_EQ(kLaunch.name(), "launch/fp32");
}

TEST(CaseName, IsReadAsItWasWritten) {
  // A value may hold a colon, and be a data type.
  const CaseName copy{"transfer", "peer", DataType::int8, {{"to", "gpu:1"}, {"as", "fp32"}, {"how", ""}}};
  for (const CaseName& name : {kProduct, kTriad, kLaunch, copy})
    EXPECT_TRUE(parse_case_name(name.name()) == name) << name.name();
}

TEST(CaseName, ATextThatIsNoNameIsRefused) {
  for (const char* text : {"", "gemm", "gemm/", "gemm/blas", "gemm/blas/", "/gemm", "gemm/a/b/fp32", "gemm/fp32/",
                           "gemm/fp32/m", "gemm/fp32/m:1/", "fp32"}) {
    EXPECT_THROW(parse_case_name(text), std::invalid_argument) << text;
  }
}

TEST(CaseName, ValuesAreFoundByKey) {
  EXPECT_EQ(value_of(kProduct.shape, "impl"), "cublaslt");
  EXPECT_EQ(value_of(kProduct.shape, "layout"), "");
}

TEST(CaseName, ASeriesLacksTheKeysInWhichItsCasesDiffer) {
  EXPECT_EQ(name_without(kProduct, {"m", "algo", "n"}).name(), "gemm/bf16/impl:cublaslt");
  EXPECT_TRUE(name_without(kTriad, {}) == kTriad);
}

}  // namespace
}  // namespace roofmark
