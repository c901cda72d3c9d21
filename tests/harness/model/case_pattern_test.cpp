// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case_pattern.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names(const std::string& pattern) {
  std::vector<std::string> all;
  for (const CaseName& name : names_of_pattern(pattern)) all.push_back(name.name());
  return all;
}

std::string why_refused(const std::string& pattern) {
  try {
    names_of_pattern(pattern);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(CasePattern, ANameStandsForItself) {
  EXPECT_THAT(names("gemm/bf16/m:1/n:2/k:3/impl:cublaslt/layout:tn/algo:tuned/cache:cold"),
              ElementsAre("gemm/bf16/m:1/n:2/k:3/impl:cublaslt/layout:tn/algo:tuned/cache:cold"));
  EXPECT_THAT(names("stream/triad/fp64/bytes:65536"), ElementsAre("stream/triad/fp64/bytes:65536"));
  EXPECT_THAT(names("argmax/bf16"), ElementsAre("argmax/bf16"));
  EXPECT_THAT(names("transfer/one_to_all/int8/bytes:64/from:0/others:1+2"),
              ElementsAre("transfer/one_to_all/int8/bytes:64/from:0/others:1+2"));
}

TEST(CasePattern, ListsStandForEachOfTheirWordsTheLastVaryingFastest) {
  EXPECT_THAT(names("stream/copy,triad/fp32,fp64/bytes:8,16"),
              ElementsAre("stream/copy/fp32/bytes:8", "stream/copy/fp32/bytes:16", "stream/copy/fp64/bytes:8",
                          "stream/copy/fp64/bytes:16", "stream/triad/fp32/bytes:8", "stream/triad/fp32/bytes:16",
                          "stream/triad/fp64/bytes:8", "stream/triad/fp64/bytes:16"));
}

TEST(CasePattern, RangesMultiplyOrAdd) {
  EXPECT_THAT(names("all_reduce/fp32/bytes:8..64"), ElementsAre("all_reduce/fp32/bytes:8", "all_reduce/fp32/bytes:16",
                                                                "all_reduce/fp32/bytes:32", "all_reduce/fp32/bytes:64"));
  EXPECT_THAT(names("all_reduce/fp32/bytes:3..30*3"),
              ElementsAre("all_reduce/fp32/bytes:3", "all_reduce/fp32/bytes:9", "all_reduce/fp32/bytes:27"));
  EXPECT_THAT(names("all_reduce/fp32/bytes:0..5+2,7"), ElementsAre("all_reduce/fp32/bytes:0", "all_reduce/fp32/bytes:2",
                                                                   "all_reduce/fp32/bytes:4", "all_reduce/fp32/bytes:7"));
  EXPECT_THAT(names("all_reduce/fp32/bytes:5..5"), ElementsAre("all_reduce/fp32/bytes:5"));
  // Up to the largest number, without passing it.
  EXPECT_EQ(names("all_reduce/fp32/bytes:1..18446744073709551615").size(), 64U);
  EXPECT_EQ(names("all_reduce/fp32/bytes:18446744073709551614..18446744073709551615+1").size(), 2U);
}

TEST(CasePattern, LettersArePowersOf1024) {
  EXPECT_THAT(names("stream/copy/fp64/bytes:4K,3M,1G,2T"),
              ElementsAre("stream/copy/fp64/bytes:4096", "stream/copy/fp64/bytes:3145728", "stream/copy/fp64/bytes:1073741824",
                          "stream/copy/fp64/bytes:2199023255552"));
  EXPECT_THAT(names("stream/copy/fp64/bytes:1K..4K"),
              ElementsAre("stream/copy/fp64/bytes:1024", "stream/copy/fp64/bytes:2048", "stream/copy/fp64/bytes:4096"));
  // Words, and numbers that are too large, stay what they are: the family refuses them.
  EXPECT_THAT(names("elementwise/cast/bf16/to:fp32,99999999999T"),
              ElementsAre("elementwise/cast/bf16/to:fp32", "elementwise/cast/bf16/to:99999999999T"));
}

TEST(CasePattern, SeveralKeysMayShareTheirValue) {
  EXPECT_THAT(names("gemm/bf16/m=n=k:64,128/cache:warm"),
              ElementsAre("gemm/bf16/m:64/n:64/k:64/cache:warm", "gemm/bf16/m:128/n:128/k:128/cache:warm"));
}

TEST(CasePattern, WhatIsNoPatternIsNamed) {
  EXPECT_THAT(why_refused("gemm"), HasSubstr("'gemm' is not the name of a case"));
  EXPECT_THAT(why_refused("gemm/fp99/m:8"), HasSubstr("'gemm/fp99/m:8' has no data type before its keys (fp64, fp32"));
  EXPECT_EQ(why_refused(""), "'' lacks a value");
  EXPECT_EQ(why_refused("gemm/bf16/m:"), "'' lacks a value");
  EXPECT_EQ(why_refused("gemm/bf16/m:1,,2"), "'1,,2' lacks a value");
  EXPECT_EQ(why_refused("gemm/bf16/m:1/m:2"), "the key 'm' stands twice");
  EXPECT_EQ(why_refused("gemm/bf16/:1"), "a value has no key");
  EXPECT_EQ(why_refused("gemm/bf16/m:1.."), "'1..' is no range such as 8..1G*2 or 64..512+64");
  EXPECT_EQ(why_refused("gemm/bf16/m:x..8"), "'x..8' is no range such as 8..1G*2 or 64..512+64");
  EXPECT_EQ(why_refused("gemm/bf16/m:1..8*"), "'1..8*' is no range such as 8..1G*2 or 64..512+64");
  EXPECT_EQ(why_refused("gemm/bf16/m:9..8"), "the range '9..8' ends before it begins");
  for (const char* endless : {"0..8*2", "1..8*1", "1..8*0", "1..8+0"}) {
    EXPECT_EQ(why_refused(std::string("gemm/bf16/m:") + endless), fmt::format("the range '{}' never reaches its end", endless));
  }
  EXPECT_EQ(why_refused("gemm/bf16/m:0..8"),
            "the range '0..8' never reaches its end: numbers double, unless it ends in a step such as +1");
  EXPECT_THAT(why_refused("gemm/bf16/m:1..1000+1/n:1..1000+1"), HasSubstr("more than 10000 cases"));
  EXPECT_THAT(why_refused("gemm/bf16/m:1..1000000000+1"), HasSubstr("more than 10000 cases"));
}

}  // namespace
}  // namespace roofmark
