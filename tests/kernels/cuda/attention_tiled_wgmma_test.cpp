// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/device/cuda_device.hpp"
#include "harness/device/random.hpp"
#include "kernels/attention.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/element.hpp"
#include "tests/constants.hpp"

namespace roofmark {
namespace {

const AttentionKernels& kKernels = cuda::attention_tiled_wgmma;

TEST(AttentionTiledWgmma, SaysWhatItIsAndWhereItRuns) {
  EXPECT_EQ(kKernels.how, "tiled_wgmma");
  EXPECT_THAT(kKernels.unsupported(90), testing::IsEmpty());
  for (int other : {0, 80, 89, 100, 120}) EXPECT_THAT(kKernels.unsupported(other), testing::HasSubstr("9.0")) << other;
}

/// One array on the host: its stored bytes, and its elements as float64.
struct HostArray {
  HostArray(DataType type, std::int64_t count, std::uint64_t array)
      : type(type), storage(static_cast<std::size_t>(count) * size_of(type)), values(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < values.size(); ++i) set(i, generate(Distribution::normal, type, 11, array, i));
  }
  void set(std::size_t i, double value) {
    store(type, storage.data(), i, value);
    values[i] = load_as_double(type, storage.data(), i);
  }
  DataType type;
  std::vector<unsigned char> storage;
  std::vector<double> values;
};

struct Arrays {
  explicit Arrays(const AttentionProblem& p)
      : q(p.type, p.batch * p.queries * p.heads * p.head_dim, 0),
        k(p.type, p.batch * p.keys * p.kv_heads * p.head_dim, 1),
        v(p.type, p.batch * p.keys * p.kv_heads * p.head_dim, 2) {}
  HostArray q, k, v;
};

/// Row (batch, position, head) of an array [batch, length, heads, dim] starts at this element.
std::size_t row_start(std::int64_t batch, std::int64_t position, std::int64_t head, std::int64_t length, std::int64_t heads,
                      std::int64_t dim) {
  return static_cast<std::size_t>(((batch * length + position) * heads + head) * dim);
}

/// A row of O in float64, and the sum of |terms| of each element.
struct Row {
  std::vector<double> expected, scale;
};
Row reference(const AttentionProblem& p, const Arrays& arrays, std::int64_t batch, std::int64_t query, std::int64_t head) {
  const auto dim = static_cast<std::size_t>(p.head_dim);
  const std::int64_t kv_head = head / (p.heads / p.kv_heads), seen = visible_keys(p, query);
  const double* q = &arrays.q.values[row_start(batch, query, head, p.queries, p.heads, p.head_dim)];
  const auto kv_start = [&](std::int64_t key) { return row_start(batch, key, kv_head, p.keys, p.kv_heads, p.head_dim); };
  std::vector<double> scores;
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t key = 0; key < seen; ++key) {
    double product = 0;
    for (std::size_t i = 0; i < dim; ++i) product += q[i] * arrays.k.values[kv_start(key) + i];
    scores.push_back(product / std::sqrt(static_cast<double>(p.head_dim)));
    top = std::isnan(scores.back()) ? kNaN : std::max(top, scores.back());
  }
  Row row{std::vector<double>(dim), std::vector<double>(dim)};
  for (double score : scores) sum += std::exp(score - top);
  for (std::int64_t key = 0; key < seen; ++key) {
    const double probability = std::exp(scores[static_cast<std::size_t>(key)] - top) / sum;
    for (std::size_t i = 0; i < dim; ++i) {
      row.expected[i] += probability * arrays.v.values[kv_start(key) + i];
      row.scale[i] += std::fabs(probability * arrays.v.values[kv_start(key) + i]);
    }
  }
  return row;
}

class AttentionTiledWgmmaTest : public testing::Test {
 protected:
  void SetUp() override {
    const CudaDevices devices = cuda_devices();
    if (devices.ordinals.empty()) GTEST_SKIP() << "no GPU: " << devices.reason;
    device_ = open_cuda_device(devices.ordinals.front());
    const std::string why = kKernels.unsupported(device_->info().compute_capability);
    if (!why.empty()) GTEST_SKIP() << why;
  }

  /// O as the kernel has it, with nothing written beside it.
  std::vector<double> launch(const AttentionProblem& p, const Arrays& arrays) {
    constexpr std::size_t kAround = 4096;
    const std::size_t bytes = arrays.q.storage.size();
    const Memory q = copy(arrays.q), k = copy(arrays.k), v = copy(arrays.v);
    const Memory o = device_->allocate(bytes + 2 * kAround);
    device_->poison(o.get(), bytes + 2 * kAround);
    const auto plan = kKernels.plan(p);
    EXPECT_EQ(plan->workspace_bytes(), 0);
    plan->launch({q.get(), k.get(), v.get(), static_cast<char*>(o.get()) + kAround}, nullptr, device_->stream());
    device_->synchronize();
    std::vector<unsigned char> all(bytes + 2 * kAround);
    device_->to_host(all.data(), o.get(), all.size());
    for (std::size_t i = 0; i < kAround; ++i) {
      EXPECT_TRUE(all[i] == 0xFF && all[kAround + bytes + i] == 0xFF) << "written " << i << " bytes beside O";
      if (HasFailure()) break;
    }
    std::vector<double> values(arrays.q.values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_as_double(p.type, all.data() + kAround, i);
    return values;
  }

  /// Every element: P and O are each rounded once to the type, 1 unit of u x scale each; the fp32 part adds little.
  void expect_matches(const AttentionProblem& p) {
    SCOPED_TRACE(describe(p));
    const Arrays arrays(p);
    const std::vector<double> o = launch(p, arrays);
    for_each_row(p, [&](std::int64_t batch, std::int64_t query, std::int64_t head, std::size_t start) {
      const Row row = reference(p, arrays, batch, query, head);
      for (std::size_t i = 0; i < row.expected.size(); ++i) {
        ASSERT_NEAR(o[start + i], row.expected[i], 2.5 * unit_roundoff(p.type) * row.scale[i])
            << "batch " << batch << ", query " << query << ", head " << head << ", element " << i;
      }
    });
  }

  template <class Function>
  static void for_each_row(const AttentionProblem& p, Function&& function) {
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      for (std::int64_t query = 0; query < p.queries; ++query) {
        for (std::int64_t head = 0; head < p.heads; ++head) {
          function(batch, query, head, row_start(batch, query, head, p.queries, p.heads, p.head_dim));
          if (HasFatalFailure()) return;
        }
      }
    }
  }

  static std::string describe(const AttentionProblem& p) {
    return std::string(name(p.type)) + " batch " + std::to_string(p.batch) + " heads " + std::to_string(p.heads) + "/" +
           std::to_string(p.kv_heads) + " queries " + std::to_string(p.queries) + " keys " + std::to_string(p.keys) + " d " +
           std::to_string(p.head_dim) + (p.causal ? " causal" : "");
  }

  Memory copy(const HostArray& array) {
    Memory data = device_->allocate(array.storage.size());
    device_->to_device(data.get(), array.storage.data(), array.storage.size());
    return data;
  }

  std::unique_ptr<Device> device_;
};

constexpr DataType kTypes[] = {DataType::fp16, DataType::bf16};
constexpr std::int64_t kDims[] = {64, 128, 256};

TEST_F(AttentionTiledWgmmaTest, MatchesFloat64AtAwkwardShapes) {
  for (DataType type : kTypes) {
    for (std::int64_t dim : kDims) {
      for (bool causal : {false, true}) {
        expect_matches({1, 1, 1, 1, 1, dim, type, causal});
        expect_matches({2, 3, 3, 127, 127, dim, type, causal});
        expect_matches({1, 4, 2, 257, 385, dim, type, causal});
        expect_matches({1, 2, 1, 1, 300, dim, type, causal});
        expect_matches({1, 1, 1, 600, 700, dim, type, causal});
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(AttentionTiledWgmmaTest, MoreTilesThanProcessors) {
  // Every block of the grid has several tiles, dealt in both directions; a head of a batch entry has two.
  const int kv_heads = std::max(2, device_->info().multiprocessors / 4);
  expect_matches({2, 3 * kv_heads, kv_heads, 260, 130, 64, DataType::bf16, true});
  expect_matches({2, 3 * kv_heads, kv_heads, 260, 130, 64, DataType::bf16, false});
}

TEST_F(AttentionTiledWgmmaTest, RowsThatSeeNoKeyAreZero) {
  // The first 230 queries see nothing: whole tiles and part of one.
  for (std::int64_t dim : kDims) expect_matches({1, 2, 2, 300, 70, dim, DataType::bf16, true});
}

TEST_F(AttentionTiledWgmmaTest, NaNReachesWhatSeesIt) {
  enum { in_q, in_k, in_v };
  for (std::int64_t dim : kDims) {
    for (bool causal : {false, true}) {
      for (int place : {in_q, in_k, in_v}) {
        const AttentionProblem p{1, 4, 2, 200, 210, dim, DataType::bf16, causal};
        SCOPED_TRACE(describe(p) + ", NaN in " + "qkv"[place]);
        Arrays arrays(p);
        constexpr std::int64_t kQuery = 150, kHead = 3, kKey = 100, kKvHead = 1;
        const std::size_t kv_element = row_start(0, kKey, kKvHead, p.keys, p.kv_heads, dim) + 9;
        if (place == in_q) arrays.q.set(row_start(0, kQuery, kHead, p.queries, p.heads, dim) + 5, kNaN);
        if (place == in_k) arrays.k.set(kv_element, kNaN);
        if (place == in_v) arrays.v.set(kv_element, kNaN);
        const std::vector<double> o = launch(p, arrays);
        for_each_row(p, [&](std::int64_t batch, std::int64_t query, std::int64_t head, std::size_t start) {
          const Row row = reference(p, arrays, batch, query, head);
          // A masked probability is 0, and 0 x NaN of a V in the same tile is NaN: rows just above the diagonal get it too.
          const bool spreads = place == in_v && causal && head / 2 == kKvHead;
          for (std::size_t i = 0; i < row.expected.size(); ++i) {
            if (std::isnan(row.expected[i])) {
              ASSERT_TRUE(std::isnan(o[start + i])) << "query " << query << ", head " << head << ", element " << i;
            } else if (!(spreads && i == 9)) {
              ASSERT_NEAR(o[start + i], row.expected[i], 2.5 * unit_roundoff(p.type) * row.scale[i])
                  << "query " << query << ", head " << head << ", element " << i;
            }
          }
        });
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(AttentionTiledWgmmaTest, LargeScoresDoNotOverflow) {
  const AttentionProblem p{1, 1, 1, 200, 400, 128, DataType::fp16, false};
  // Scores of thousands, falling or growing along the keys: in one of the two the maximum rises in every block.
  for (double slope : {-0.125, 0.125}) {
    Arrays arrays(p);
    for (std::size_t i = 0; i < arrays.q.values.size(); ++i) arrays.q.set(i, 30);
    for (std::size_t i = 0; i < arrays.k.values.size(); ++i) {
      const std::size_t key = i / 128;
      arrays.k.set(i, slope * static_cast<double>(key));
    }
    const std::vector<double> o = launch(p, arrays);
    const Row row = reference(p, arrays, 0, 0, 0);
    for (std::size_t i = 0; i < o.size(); ++i) {
      ASSERT_NEAR(o[i], row.expected[i % 128], 2.5 * unit_roundoff(p.type) * row.scale[i % 128]) << i;
    }
  }
}

TEST_F(AttentionTiledWgmmaTest, RefusesWhatItHasNoKernelFor) {
  const auto plan = [](const AttentionProblem& p) { return kKernels.plan(p); };
  EXPECT_THROW(plan({1, 1, 1, 8, 8, 96, DataType::bf16, false}), Unsupported);
  EXPECT_THROW(plan({1, 1, 1, 8, 8, 64, DataType::fp32, false}), Unsupported);
  EXPECT_THROW(plan({1, 3, 2, 8, 8, 64, DataType::bf16, false}), Unsupported);
  EXPECT_THROW(plan({1, 1, 1, 8, std::int64_t{1} << 31, 64, DataType::bf16, false}), Unsupported);
}

}  // namespace
}  // namespace roofmark
