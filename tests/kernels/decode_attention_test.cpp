// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode_attention.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "harness/device/random.hpp"
#include "kernels/attention_reference.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Queries, keys and values in host memory.
struct DecodeOperands {
  AttentionProblem problem;
  Bytes q, k, v;

  explicit DecodeOperands(const AttentionProblem& p) : problem(p) {
    const auto filled = [&](std::int64_t count, std::uint64_t array) {
      Bytes bytes(static_cast<std::size_t>(count) * size_of(p.type));
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        store(p.type, bytes.data(), i, generate(Distribution::normal, p.type, 5, array, i));
      }
      return bytes;
    };
    q = filled(p.batch * p.heads * p.head_dim, 0);
    k = filled(p.batch * p.keys * p.kv_heads * p.head_dim, 1);
    v = filled(p.batch * p.keys * p.kv_heads * p.head_dim, 2);
  }

  std::size_t count() const { return q.size() / size_of(problem.type); }

  struct Expected {
    std::vector<double> value, scale;
  };
  Expected expected() const {
    Expected found = {std::vector<double>(count()), std::vector<double>(count())};
    for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
      const std::int64_t at = batch * problem.heads * problem.head_dim;
      cpu::attention_reference.exact(problem, {q.data(), k.data(), v.data(), nullptr}, false, batch, 0, 1,
                                     found.value.data() + at, found.scale.data() + at, nullptr);
    }
    return found;
  }
};

class DecodeAttentionTest : public KernelTest<DecodeAttentionKernels> {
 protected:
  DecodeAttentionTest() : KernelTest(&cuda::decode_attention, &cpu::decode_attention) {}

  std::vector<DataType> types() const {
    if (on_gpu()) return {DataType::bf16, DataType::fp16};
    return {DataType::fp32};
  }
  DataType type() const { return types().front(); }

  /// O after each of `times` launches that share a workspace.
  std::vector<std::vector<double>> run(const DecodeOperands& operands, int times = 1) {
    const auto copied = [&](const Bytes& bytes) {
      Memory memory = device_->allocate(bytes.size());
      device_->to_device(memory.get(), bytes.data(), bytes.size());
      return memory;
    };
    const AttentionProblem& p = operands.problem;
    const Memory q = copied(operands.q), k = copied(operands.k), v = copied(operands.v), o = copied(operands.q);
    const std::size_t workspace_bytes = kernels_->workspace_bytes(p);
    const Memory workspace = device_->allocate(workspace_bytes);
    device_->zero(workspace.get(), workspace_bytes);
    std::vector<std::vector<double>> all;
    for (int i = 0; i < times; ++i) {
      device_->poison(o.get(), operands.q.size());
      kernels_->launch(p, {q.get(), k.get(), v.get(), o.get()}, workspace.get(), device_->stream());
      device_->synchronize();
      Bytes bytes(operands.q.size());
      device_->to_host(bytes.data(), o.get(), bytes.size());
      std::vector<double> got(operands.count());
      for (std::size_t j = 0; j < got.size(); ++j) got[j] = load_as_double(p.type, bytes.data(), j);
      all.push_back(std::move(got));
    }
    return all;
  }

  void expect_right(const DecodeOperands& operands) {
    const AttentionProblem& p = operands.problem;
    const std::vector<double> got = run(operands).front();
    const auto [value, scale] = operands.expected();
    // In fp32 its own roundings count.
    const double bound = p.type == DataType::fp32 ? 60 : 1.1;
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_LE(std::fabs(got[i] - value[i]), bound * unit_roundoff(p.type) * scale[i])
          << name(p.type) << ", batch " << p.batch << ", heads " << p.heads << " of " << p.kv_heads << ", " << p.keys
          << " keys, d " << p.head_dim << ", at " << i;
    }
  }
};

TEST_P(DecodeAttentionTest, EveryLength) {
  for (const DataType type : types()) {
    for (const std::int64_t keys : {1, 2, 15, 16, 17, 63, 64, 65, 127, 129, 300, 2049, 20000}) {
      expect_right(DecodeOperands({1, 8, 1, 1, keys, 128, type, false}));
    }
  }
}

TEST_P(DecodeAttentionTest, EveryHeadDimensionBatchAndGroup) {
  for (const DataType type : types()) {
    for (const std::int64_t d : {64, 128, 256}) {
      expect_right(DecodeOperands({3, 4, 4, 1, 333, d, type, false}));
      expect_right(DecodeOperands({2, 24, 2, 1, 333, d, type, false}));
      expect_right(DecodeOperands({1, 3, 1, 1, 333, d, type, false}));
      expect_right(DecodeOperands({1, 9, 1, 1, 333, d, type, false}));
    }
  }
}

TEST_P(DecodeAttentionTest, ScoresFarApart) {
  DecodeOperands operands({1, 8, 2, 1, 700, 64, type(), false});
  const double factor = type() == DataType::fp32 ? 1e4 : 64;
  for (std::size_t i = 0; i < operands.count(); ++i) {
    store(type(), operands.q.data(), i, factor * load_as_double(type(), operands.q.data(), i));
  }
  const std::vector<double> got = run(operands).front();
  const std::vector<double> value = operands.expected().value;
  // A weight is off by as much of itself as its score in all.
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], value[i], 0.02 * (1 + std::fabs(value[i]))) << i;
}

TEST_P(DecodeAttentionTest, NaNReachesTheHeadsThatSeeIt) {
  const std::int64_t d = 64;
  DecodeOperands operands({1, 8, 2, 1, 500, d, type(), false});
  store(type(), operands.k.data(), (499 * 2 + 1) * 64 + 5, std::nan(""));
  std::vector<double> got = run(operands).front();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i >= 4 * 64) << i;

  operands = DecodeOperands({1, 8, 2, 1, 500, d, type(), false});
  store(type(), operands.q.data(), 3 * 64 + 5, std::nan(""));
  got = run(operands).front();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i / 64 == 3) << i;

  operands = DecodeOperands({1, 8, 2, 1, 500, d, type(), false});
  store(type(), operands.v.data(), (250 * 2 + 1) * 64 + 5, std::nan(""));
  got = run(operands).front();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i >= 4 * 64 && i % 64 == 5) << i;
}

TEST_P(DecodeAttentionTest, HasTheSameBitsEveryTimeInAWorkspaceLeftAsItWas) {
  const std::vector<std::vector<double>> all = run(DecodeOperands({2, 16, 2, 1, 5000, 128, type(), false}), 5);
  for (const std::vector<double>& got : all) EXPECT_EQ(got, all.front());
}

TEST_P(DecodeAttentionTest, SaysWhatItSupports) {
  EXPECT_TRUE(kernels_->supports({1, 8, 8, 1, 100, 128, type(), false}));
  EXPECT_FALSE(kernels_->supports({1, 8, 8, 2, 100, 128, type(), false}));
  EXPECT_FALSE(kernels_->supports({1, 8, 8, 1, 100, 100, type(), false}));
  EXPECT_FALSE(kernels_->supports({1, 8, 8, 1, 100, 128, DataType::int8, false}));
}

INSTANTIATE_TEST_SUITE_P(Devices, DecodeAttentionTest, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
