// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "harness/device/device.hpp"
#include "kernels/attention_reference.hpp"
#include "kernels/base/check.hpp"
#include "tests/on_a_gpu.hpp"

namespace roofmark {
namespace {

/// Our own.
const AttentionKernels* const kWays[] = {&cuda::attention_naive, &cuda::attention_unfused, &cuda::attention_tiled_mma,
                                         &cuda::attention_tiled_wgmma};

class CudaAttention : public OnAGpu {
 protected:
  /// Operands of a problem on the device.
  struct Operands {
    AttentionProblem problem;
    Memory q, k, v;
    std::size_t q_count, k_count;
    AttentionArrays arrays(void* o = nullptr) const { return {q.get(), k.get(), v.get(), o}; }
  };
  Operands make(const AttentionProblem& p) {
    Operands made;
    made.problem = p;
    made.q_count = static_cast<std::size_t>(p.batch * p.queries * p.heads * p.head_dim);
    made.k_count = static_cast<std::size_t>(p.batch * p.keys * p.kv_heads * p.head_dim);
    std::uint64_t array = 0;
    for (auto [memory, count] : {std::pair{&made.q, made.q_count}, {&made.k, made.k_count}, {&made.v, made.k_count}}) {
      *memory = device_->allocate(count * size_of(p.type));
      device_->fill(memory->get(), p.type, count, {Distribution::normal, 7, array++});
    }
    return made;
  }
  void set(const Memory& array, DataType type, std::size_t element, double value) {
    std::uint16_t bits = 0;
    store(type, &bits, 0, value);
    device_->to_device(static_cast<std::byte*>(array.get()) + element * sizeof(bits), &bits, sizeof(bits));
  }

  std::vector<double> run(const AttentionKernels& kernels, const Operands& operands) {
    const std::unique_ptr<AttentionPlan> plan = kernels.plan(operands.problem);
    const std::size_t bytes = operands.q_count * sizeof(std::uint16_t);
    const Memory o = device_->allocate(bytes), workspace = device_->allocate(plan->workspace_bytes());
    device_->poison(o.get(), bytes);
    plan->launch(operands.arrays(o.get()), workspace.get(), device_->stream());
    device_->synchronize();
    std::vector<std::uint16_t> stored(operands.q_count);
    device_->to_host(stored.data(), o.get(), bytes);
    std::vector<double> values(operands.q_count);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_as_double(operands.problem.type, stored.data(), i);
    return values;
  }

  struct Expected {
    std::vector<double> value, scale;
  };
  Expected reference(AttentionReference::Queries queries, const Operands& operands, bool rounds_scores) {
    const AttentionProblem& p = operands.problem;
    Expected found = {std::vector<double>(operands.q_count), std::vector<double>(operands.q_count)};
    const std::size_t count = operands.q_count / static_cast<std::size_t>(p.batch), bytes = count * sizeof(double);
    const Memory value = device_->allocate(bytes), scale = device_->allocate(bytes);
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      queries(p, operands.arrays(), rounds_scores, batch, 0, p.queries, static_cast<double*>(value.get()),
              static_cast<double*>(scale.get()), device_->stream());
      device_->synchronize();
      device_->to_host(&found.value[static_cast<std::size_t>(batch) * count], value.get(), bytes);
      device_->to_host(&found.scale[static_cast<std::size_t>(batch) * count], scale.get(), bytes);
    }
    return found;
  }
  /// In float64 on the host, where the reference is held to plain numbers elsewhere.
  Expected host_reference(const Operands& operands, bool rounds_scores) {
    const AttentionProblem& p = operands.problem;
    std::vector<std::uint16_t> q(operands.q_count), k(operands.k_count), v(operands.k_count);
    device_->to_host(q.data(), operands.q.get(), 2 * q.size());
    device_->to_host(k.data(), operands.k.get(), 2 * k.size());
    device_->to_host(v.data(), operands.v.get(), 2 * v.size());
    Expected found = {std::vector<double>(q.size()), std::vector<double>(q.size())};
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      const std::int64_t at = batch * p.queries * p.heads * p.head_dim;
      cpu::attention_reference.exact(p, {q.data(), k.data(), v.data(), nullptr}, rounds_scores, batch, 0, p.queries,
                                     found.value.data() + at, found.scale.data() + at, nullptr);
    }
    return found;
  }

  template <class Check>
  void for_each_way(Check check) {
    for (const AttentionKernels* kernels : kWays) {
      if (!kernels || !kernels->unsupported(device_->info().compute_capability).empty()) continue;
      SCOPED_TRACE(kernels->how);
      check(*kernels);
    }
  }
};

const AttentionProblem kProblems[] = {{2, 4, 2, 70, 130, 64, DataType::bf16, true},
                                      {1, 3, 1, 130, 70, 128, DataType::fp16, true},
                                      {1, 2, 2, 65, 1, 256, DataType::bf16, false},
                                      {1, 1, 1, 100, 1000, 128, DataType::fp16, false}};

TEST_F(CudaAttention, ReferencesAgreeWithTheHosts) {
  for (const AttentionProblem& p : kProblems) {
    const Operands operands = make(p);
    for (bool rounds_scores : {false, true}) {
      const Expected host = host_reference(operands, rounds_scores);
      const Expected exact = reference(cuda::attention_reference.exact, operands, rounds_scores);
      const Expected fast = reference(cuda::attention_reference.fast, operands, rounds_scores);
      for (std::size_t i = 0; i < operands.q_count; ++i) {
        ASSERT_NEAR(exact.value[i], host.value[i], 1e-13 * host.scale[i]) << i;
        ASSERT_NEAR(exact.scale[i], host.scale[i], 1e-13 * host.scale[i]) << i;
        ASSERT_NEAR(fast.value[i], host.value[i], 3e-5 * host.scale[i]) << i;
        ASSERT_NEAR(fast.scale[i], host.scale[i], 3e-5 * host.scale[i]) << i;
      }
    }
  }
}

class CudaAttentionWay : public CudaAttention, public testing::WithParamInterface<const AttentionKernels*> {
 protected:
  void SetUp() override {
    CudaAttention::SetUp();
    if (IsSkipped()) return;
    if (const std::string why = GetParam()->unsupported(device_->info().compute_capability); !why.empty()) GTEST_SKIP() << why;
  }

  void expect_right(const AttentionProblem& p) {
    SCOPED_TRACE(std::to_string(p.queries) + " x " + std::to_string(p.keys) + ", d " + std::to_string(p.head_dim));
    const Operands operands = make(p);
    const std::vector<double> got = run(*GetParam(), operands);
    const auto [value, scale] = host_reference(operands, GetParam()->plan(p)->rounds_scores());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_LE(std::fabs(got[i] - value[i]), 1.1 * unit_roundoff(p.type) * scale[i]) << i;
    }
  }
};

TEST_P(CudaAttentionWay, IsRightAtAwkwardShapes) {
  for (const AttentionProblem& p : kProblems) expect_right(p);
  expect_right({1, 2, 1, 300, 300, 64, DataType::fp16, true});
  expect_right({1, 1, 1, 140, 200, 256, DataType::fp16, true});
}

// A length for each of the softmax kernels of the unfused way.
TEST_P(CudaAttentionWay, IsRightAtEveryLengthOfRow) {
  for (const std::int64_t keys : {512, 513, 2049, 8193, 16385}) expect_right({1, 1, 1, 3, keys, 64, DataType::bf16, true});
}

INSTANTIATE_TEST_SUITE_P(Ways, CudaAttentionWay, testing::ValuesIn(kWays),
                         [](const auto& named) { return std::string(named.param->how); });

TEST_F(CudaAttention, RowsThatSeeNothingAreZero) {
  const AttentionProblem p = {1, 2, 1, 200, 65, 64, DataType::bf16, true};
  const Operands operands = make(p);
  for_each_way([&](const AttentionKernels& kernels) {
    const std::vector<double> got = run(kernels, operands);
    for (std::size_t i = 0; i < 135 * 2 * 64; ++i) ASSERT_EQ(got[i], 0) << i;
    EXPECT_NE(got[135 * 2 * 64], 0);
  });
}

// Scores of thousands: the softmax is of the greatest alone, and no exponential overflows on the way.
TEST_F(CudaAttention, ScoresFarApart) {
  const AttentionProblem p = {1, 1, 1, 40, 150, 64, DataType::bf16, false};
  Operands operands = make(p);
  for (std::size_t i = 0; i < operands.q_count; ++i) set(operands.q, p.type, i, 1);
  for (std::size_t i = 0; i < operands.k_count; ++i) {
    const std::size_t key = i / 64;
    set(operands.k, p.type, i, 64 * (static_cast<double>(key) - 100) * (key < 140 ? 1 : -1));
  }
  const std::vector<double> expected = reference(cuda::attention_reference.exact, operands, false).value;
  for_each_way([&](const AttentionKernels& kernels) {
    const std::vector<double> got = run(kernels, operands);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << i;
  });
}

// Equal weights of 1 and -1 cancel exactly; a score that is off by its last bit shows at 100.
TEST_F(CudaAttention, EqualScoresWeighEqually) {
  for (const DataType type : {DataType::bf16, DataType::fp16}) {
    Operands operands = make({1, 1, 1, 40, 150, 64, type, false});
    for (std::size_t i = 0; i < operands.q_count; ++i) set(operands.q, type, i, 1);
    for (std::size_t i = 0; i < operands.k_count; ++i) {
      set(operands.k, type, i, 12.5);
      set(operands.v, type, i, i / 64 % 2 == 0 ? 1 : -1);
    }
    for_each_way([&](const AttentionKernels& kernels) {
      const std::vector<double> got = run(kernels, operands);
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 0) << i;
    });
  }
}

TEST_F(CudaAttention, NaNReachesWhatSeesItAndNoMore) {
  const AttentionProblem p = {1, 1, 1, 100, 100, 64, DataType::bf16, true};
  for (bool in_key : {false, true}) {
    Operands operands = make(p);
    set(in_key ? operands.k : operands.q, p.type, 70 * 64 + 9, std::numeric_limits<double>::quiet_NaN());
    for_each_way([&](const AttentionKernels& kernels) {
      const std::vector<double> got = run(kernels, operands);
      for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(std::isnan(got[i * 64]), in_key ? i >= 70 : i == 70) << i;
    });
  }
  Operands operands = make(p);
  set(operands.v, p.type, 70 * 64, std::numeric_limits<double>::quiet_NaN());
  for_each_way([&](const AttentionKernels& kernels) {
    const std::vector<double> got = run(kernels, operands);
    EXPECT_TRUE(std::isnan(got[70 * 64]));
    EXPECT_TRUE(std::isnan(got[99 * 64]));
    EXPECT_FALSE(std::isnan(got[99 * 64 + 1]));
  });
}

TEST_F(CudaAttention, WorkspaceIsTheMatrixOrNothing) {
  const auto bytes = [](const AttentionKernels& kernels, std::int64_t length) {
    return kernels.plan({1, 8, 8, length, length, 128, DataType::bf16, false})->workspace_bytes();
  };
  for_each_way([&](const AttentionKernels& kernels) {
    const bool matrix = kernels.how == "naive" || kernels.how == "unfused";
    const std::size_t more = bytes(kernels, 2048) - bytes(kernels, 1024), of_scores = kernels.how == "naive" ? 4 : 2;
    if (matrix) {
      EXPECT_EQ(more, 8 * of_scores * (2048 * 2048 - 1024 * 1024));
    } else {
      EXPECT_LE(more, 8 * 1024 * 128 * sizeof(float));
    }
  });
}

}  // namespace
}  // namespace roofmark
