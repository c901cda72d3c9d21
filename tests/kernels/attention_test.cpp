// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/device/random.hpp"
#include "kernels/attention_reference.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

using testing::Each;
using testing::HasSubstr;

/// With all bits set, as poison has them.
constexpr float kNegativeNaN = std::bit_cast<float>(0xffffffffu);

/// Queries, keys and values of a problem in host memory, as they stand in the arrays.
struct AttentionOperands {
  AttentionProblem problem;
  std::vector<float> q, k, v;

  explicit AttentionOperands(const AttentionProblem& p) : problem(p) {
    q.resize(static_cast<std::size_t>(p.batch * p.queries * p.heads * p.head_dim));
    k.resize(static_cast<std::size_t>(p.batch * p.keys * p.kv_heads * p.head_dim));
    v.resize(k.size());
    const auto fill = [](std::vector<float>& to, std::uint64_t array) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = generate<DataType::fp32>(Distribution::normal, 7, array, i);
    };
    fill(q, 0);
    fill(k, 1);
    fill(v, 2);
  }

  AttentionArrays arrays(float* o = nullptr) const { return {q.data(), k.data(), v.data(), o}; }

  std::vector<float> run(const AttentionKernels& kernels) const {
    const std::unique_ptr<AttentionPlan> plan = kernels.plan(problem);
    // Kernels take workspace of 256-byte alignment.
    std::vector<float> workspace(plan->workspace_bytes() / sizeof(float) + 64), o(q.size(), kNegativeNaN);
    void* start = workspace.data();
    std::size_t space = workspace.size() * sizeof(float);
    std::align(256, plan->workspace_bytes(), start, space);
    plan->launch(arrays(o.data()), start, nullptr);
    return o;
  }

  struct Expected {
    std::vector<double> value, scale;
  };
  Expected reference(bool rounds_scores = false) const {
    Expected found = {std::vector<double>(q.size(), kNegativeNaN), std::vector<double>(q.size(), kNegativeNaN)};
    const std::int64_t row = problem.heads * problem.head_dim;
    for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
      // In two pieces, as a large problem is.
      const std::int64_t half = problem.queries / 2;
      for (auto [first, count] : {std::pair{std::int64_t{0}, half}, {half, problem.queries - half}}) {
        const std::int64_t at = (batch * problem.queries + first) * row;
        cpu::attention_reference.exact(problem, arrays(), rounds_scores, batch, first, count, found.value.data() + at,
                                       found.scale.data() + at, nullptr);
      }
    }
    return found;
  }
};

/// A query that scores ln(weight) with each key: q is all sqrt(d), keys hold the score in their first element.
AttentionOperands weighted(std::vector<double> weights, bool causal = false, std::int64_t queries = 1) {
  AttentionOperands made({1, 1, 1, queries, static_cast<std::int64_t>(weights.size()), 64, DataType::fp32, causal});
  std::fill(made.q.begin(), made.q.end(), 8.0F);
  std::fill(made.k.begin(), made.k.end(), 0.0F);
  for (std::size_t j = 0; j < weights.size(); ++j) made.k[64 * j] = static_cast<float>(std::log(weights[j]));
  return made;
}

TEST(AttentionReference, WeighsValuesByExponentialsOfScores) {
  AttentionOperands operands = weighted({1, 2, 5});
  operands.v[3] = 4;
  operands.v[64 + 3] = -2;
  operands.v[128 + 3] = 1;
  EXPECT_NEAR(operands.reference().value[3], (1 * 4 - 2 * 2 + 5 * 1) / 8.0, 1e-7);
}

TEST(AttentionReference, AveragesEqualScores) {
  AttentionOperands operands = weighted({3, 3, 3, 3});
  for (std::size_t j = 0; j < 4; ++j) operands.v[64 * j] = static_cast<float>(j);
  EXPECT_DOUBLE_EQ(operands.reference().value[0], 1.5);
}

TEST(AttentionReference, TakesTheGreatestOfScoresFarApart) {
  AttentionOperands operands = weighted({1, 1});
  operands.k[0] = 3e30F;
  operands.k[64] = -3e30F;
  EXPECT_DOUBLE_EQ(operands.reference().value[5], operands.v[5]);
}

TEST(AttentionReference, CausalQueriesSeeUpToTheirPlaceFromTheEnd) {
  AttentionOperands operands = weighted({1, 1, 1}, true, 2);
  for (std::size_t j = 0; j < 3; ++j) operands.v[64 * j] = static_cast<float>(j);
  const std::vector<double> value = operands.reference().value;
  EXPECT_DOUBLE_EQ(value[0], 0.5);
  EXPECT_DOUBLE_EQ(value[64], 1);
}

TEST(AttentionReference, RowThatSeesNothingIsZero) {
  AttentionOperands operands = weighted({1}, true, 3);
  const auto [value, scale] = operands.reference();
  EXPECT_THAT(std::vector(value.begin(), value.begin() + 128), Each(0));
  EXPECT_THAT(std::vector(scale.begin(), scale.begin() + 128), Each(0));
  EXPECT_DOUBLE_EQ(value[128], operands.v[0]);
}

TEST(AttentionReference, NaNReachesWhatSeesIt) {
  AttentionOperands operands({1, 1, 1, 4, 4, 64, DataType::fp32, true});
  operands.k[2 * 64] = kNegativeNaN;
  const std::vector<double> value = operands.reference().value;
  EXPECT_FALSE(std::isnan(value[64]));
  EXPECT_TRUE(std::isnan(value[2 * 64]));
  EXPECT_TRUE(std::isnan(value[3 * 64]));
}

TEST(AttentionReference, GroupedHeadsShareKeysInOrder) {
  const AttentionOperands grouped({1, 4, 2, 3, 5, 64, DataType::fp32, false});
  AttentionOperands spread({1, 4, 4, 3, 5, 64, DataType::fp32, false});
  spread.q = grouped.q;
  for (std::size_t j = 0; j < 5; ++j) {
    for (std::size_t head = 0; head < 4; ++head) {
      for (std::size_t c = 0; c < 64; ++c) {
        spread.k[(j * 4 + head) * 64 + c] = grouped.k[(j * 2 + head / 2) * 64 + c];
        spread.v[(j * 4 + head) * 64 + c] = grouped.v[(j * 2 + head / 2) * 64 + c];
      }
    }
  }
  EXPECT_EQ(grouped.reference().value, spread.reference().value);
}

// Two values of 1 and -1 with weights of 3/4 and 1/4: the squares of the terms are 9/16 and 1/16. Two keys: sqrt(2) roots.
TEST(AttentionReference, ScaleIsOfTheRoundings) {
  AttentionOperands operands = weighted({3, 1});
  operands.v[0] = 1;
  operands.v[64] = -1;
  const double root = std::sqrt(2.0), s = std::log(3.0);
  EXPECT_NEAR(operands.reference().scale[0], 0.5 + root * std::sqrt(10.0 / 16), 1e-6);
  EXPECT_NEAR(operands.reference(true).scale[0],
              0.5 * (1 + root * 0.75 * s) + root * std::sqrt(9.0 / 16 * (1 + s * s) + 1.0 / 16), 1e-6);
}

// Of many keys the scale is the root of the squares, not the sum, so that a block of keys left out is seen.
TEST(AttentionReference, ScaleOfManyKeysIsSmall) {
  const AttentionOperands operands({1, 1, 1, 1, 4096, 64, DataType::fp32, false});
  const auto [value, scale] = operands.reference();
  for (double s : scale) EXPECT_LT(s, 0.3);
}

class CpuAttention : public testing::TestWithParam<const AttentionKernels*> {
 protected:
  // In u(fp32) x scale.
  void expect_right(const AttentionProblem& problem) {
    const AttentionOperands operands(problem);
    const std::vector<float> got = operands.run(*GetParam());
    const auto [value, scale] = operands.reference();
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_LE(std::fabs(got[i] - value[i]), 0x1p-24 * 60 * scale[i])
          << problem.queries << " x " << problem.keys << ", d " << problem.head_dim << ", at " << i;
    }
  }
};

TEST_P(CpuAttention, EveryLengthAndMask) {
  for (bool causal : {false, true}) {
    for (std::int64_t length : {1, 2, 23, 24, 25, 63, 64, 65, 97, 127, 193}) {
      expect_right({1, 1, 1, length, length, 64, DataType::fp32, causal});
    }
    expect_right({1, 1, 1, 1000, 1000, 64, DataType::fp32, causal});
  }
}

TEST_P(CpuAttention, EveryHeadDimensionBatchAndGroup) {
  for (std::int64_t d : {8, 64, 128, 256}) {
    expect_right({2, 4, 2, 50, 70, d, DataType::fp32, true});
    expect_right({1, 3, 1, 50, 70, d, DataType::fp32, false});
  }
}

TEST_P(CpuAttention, MoreQueriesThanKeysLeaveRowsOfZeros) {
  for (std::int64_t keys : {1, 64, 65}) expect_right({1, 2, 1, 200, keys, 64, DataType::fp32, true});
  const AttentionOperands operands({1, 1, 1, 200, 65, 64, DataType::fp32, true});
  const std::vector<float> got = operands.run(*GetParam());
  EXPECT_THAT(std::vector(got.begin(), got.begin() + 135 * 64), Each(0));
}

TEST_P(CpuAttention, ScoresFarApart) {
  AttentionOperands operands({1, 1, 1, 40, 150, 64, DataType::fp32, false});
  for (float& x : operands.q) x *= 1e4F;
  for (float& x : operands.k) x *= 1e4F;
  const std::vector<float> got = operands.run(*GetParam());
  const auto [value, scale] = operands.reference();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], value[i], 1e-6 * std::fabs(value[i])) << i;
}

TEST_P(CpuAttention, NaNReachesWhatSeesItAndNoMore) {
  for (int array : {0, 1}) {
    AttentionOperands operands({1, 1, 1, 100, 100, 64, DataType::fp32, true});
    (array == 0 ? operands.q : operands.k)[70 * 64 + 9] = kNegativeNaN;
    const std::vector<float> got = operands.run(*GetParam());
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(std::isnan(got[i * 64]), array == 0 ? i == 70 : i >= 70) << i;
    }
  }
  AttentionOperands operands({1, 1, 1, 100, 100, 64, DataType::fp32, false});
  operands.v[70 * 64] = kNegativeNaN;
  const std::vector<float> got = operands.run(*GetParam());
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_FALSE(std::isnan(got[1]));
}

TEST_P(CpuAttention, RefusesOtherTypes) {
  try {
    GetParam()->plan({1, 1, 1, 1, 1, 64, DataType::bf16, false});
    FAIL();
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), HasSubstr("bf16"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CpuAttention, testing::Values(&cpu::attention_naive, &cpu::attention_tiled),
                         [](const auto& named) { return std::string(named.param->how); });

TEST(CpuAttentionWorkspace, IsTheMatrixOrATileAThread) {
  const auto bytes = [](const AttentionKernels& kernels, std::int64_t length) {
    const AttentionProblem problem = {1, 8, 8, length, length, 128, DataType::fp32, false};
    EXPECT_EQ(kernels.plan(problem)->workspace_bytes(), kernels.workspace_bytes(problem));
    return kernels.workspace_bytes(problem);
  };
  EXPECT_EQ(bytes(cpu::attention_naive, 512), 8 * 512 * 512 * 4);
  EXPECT_EQ(bytes(cpu::attention_naive, 1024), 8 * 1024 * 1024 * 4);
  EXPECT_EQ(bytes(cpu::attention_tiled, 512), bytes(cpu::attention_tiled, 65536));
}

}  // namespace
}  // namespace roofmark
