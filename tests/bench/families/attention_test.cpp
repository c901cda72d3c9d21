// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/bench/case_of.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark {

namespace attention {
std::optional<Case> make(const Listing&, const CaseRequest&);
}
namespace decode_attention {
std::optional<Case> make(const Listing&, const CaseRequest&);
}

namespace {

// After the formula, by hand: two dot products of d terms per query-key pair that the mask leaves, and one exponential.
TEST(AttentionCases, CountThePairsThatTheMaskLeaves) {
  struct Counts {
    int queries, keys;
    const char* mask;
    int pairs;  ///< per batch and query head
  };
  // Of more queries than keys the first see none, and need not be read.
  const Counts all[] = {{128, 256, "none", 128 * 256},
                        {128, 128, "causal", 128 * 129 / 2},
                        {128, 256, "causal", 128 * 128 + 128 * 129 / 2},
                        {256, 128, "causal", 128 * 129 / 2}};
  for (const auto& [queries, keys, mask, pairs] : all) {
    const std::string name =
        fmt::format("attention/bf16/batch:2/heads:8/kv_heads:2/queries:{}/keys:{}/d:64/mask:{}", queries, keys, mask);
    const Work work = case_of(attention::make, h200(), name).work;
    EXPECT_EQ(work.total(resource::bf16_tensor), 2 * 8 * 4 * 64 * pairs) << name;
    EXPECT_EQ(work.total(resource::exp), 2 * 8 * pairs) << name;
    const double q_and_o = 2 * 8 * 64 * (128.0 + queries), k_and_v = 2 * 2 * 64 * 2.0 * keys;
    EXPECT_EQ(work.total(resource::dram), 2 * (q_and_o + k_and_v)) << name;
  }
  const Work half = case_of(attention::make, h200(), "attention/fp16/heads:8/queries:64/keys:64/d:128/mask:none").work;
  EXPECT_EQ(half.total(resource::fp16_tensor), 8.0 * 4 * 128 * 64 * 64);
  const Work host = case_of(attention::make, two_cores(), "attention/fp32/heads:8/queries:64/keys:64/d:128/mask:none").work;
  EXPECT_EQ(host.total(resource::fp32_fma), 8.0 * 4 * 128 * 64 * 64);
  EXPECT_EQ(host.total(Unit::exp), 0);
}

TEST(AttentionCases, OfOneQueryReadEachKeyAndValueOnceForAllHeadsThatShareIt) {
  const Work work =
      case_of(decode_attention::make, h200(), "decode_attention/bf16/batch:4/heads:32/kv_heads:8/keys:1000/d:128").work;
  EXPECT_EQ(work.total(resource::bf16_tensor), 4.0 * 32 * 1000 * 4 * 128);
  EXPECT_EQ(work.total(resource::exp), 4.0 * 32 * 1000);
  EXPECT_EQ(work.total(resource::dram), 2 * (2 * 4 * 32 * 128 + 2 * 4.0 * 1000 * 8 * 128));
}

}  // namespace
}  // namespace roofmark
