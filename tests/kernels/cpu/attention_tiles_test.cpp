// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention_tiles.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include "harness/device/random.hpp"
#include "kernels/attention_reference.hpp"

namespace roofmark::cpu {
namespace {

using Floats = std::unique_ptr<float, decltype(&std::free)>;
Floats aligned_floats(std::size_t count) {
  return {static_cast<float*>(std::aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64)), std::free};
}

// One head with keys that are `pad` floats apart beyond their own, by every set of instructions that this CPU has.
void expect_right(std::int64_t queries, std::int64_t keys, std::int64_t d, bool causal, std::int64_t pad) {
  const std::int64_t stride = d + pad;
  const auto filled = [&](std::int64_t rows, std::uint64_t array) {
    std::vector<float> all(static_cast<std::size_t>(rows * stride), std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t i = 0; i < rows * stride; ++i) {
      if (i % stride < d) all[static_cast<std::size_t>(i)] = generate<DataType::fp32>(Distribution::normal, 3, array, i);
    }
    return all;
  };
  const std::vector<float> q = filled(queries, 0), k = filled(keys, 1), v = filled(keys, 2);
  // The reference takes arrays without padding.
  const auto packed = [&](const std::vector<float>& from, std::int64_t rows) {
    std::vector<float> all;
    for (std::int64_t r = 0; r < rows; ++r) all.insert(all.end(), from.data() + r * stride, from.data() + r * stride + d);
    return all;
  };
  const std::vector<float> packed_q = packed(q, queries), packed_k = packed(k, keys), packed_v = packed(v, keys);
  std::vector<double> value(packed_q.size()), scale(packed_q.size());
  attention_reference.exact({1, 1, 1, queries, keys, d, DataType::fp32, causal},
                            {packed_q.data(), packed_k.data(), packed_v.data(), nullptr}, false, 0, 0, queries, value.data(),
                            scale.data(), nullptr);

  for (const AttentionTiles& tiles : attention_tiles()) {
    ASSERT_LE(queries, tiles.most_queries);
    std::vector<float> o(q.size(), std::numeric_limits<float>::quiet_NaN());
    const Floats scratch = aligned_floats(tiles.scratch_floats(d));
    AttentionBlock block;
    block.q = q.data();
    block.k = k.data();
    block.v = v.data();
    block.o = o.data();
    block.query_stride = block.key_stride = stride;
    block.queries = queries;
    block.head_dim = d;
    block.visible = causal ? 1 + keys - queries : keys;
    block.visible_step = causal ? 1 : 0;
    block.keys = keys;
    block.scale = static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(d)));
    block.scratch = scratch.get();
    tiles.attend(block);
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t c = 0; c < stride; ++c) {
        const float got = o[static_cast<std::size_t>(i * stride + c)];
        if (c >= d) {
          ASSERT_TRUE(std::isnan(got)) << tiles.instructions << " wrote between rows";
        } else {
          const auto at = static_cast<std::size_t>(i * d + c);
          ASSERT_LE(std::fabs(got - value[at]), 0x1p-24 * 60 * scale[at]) << tiles.instructions << " at " << i << ", " << c;
        }
      }
    }
  }
}

TEST(AttentionTiles, EverySetOfInstructions) {
  for (bool causal : {false, true}) {
    for (std::int64_t d : {64, 128}) {
      for (std::int64_t queries : {1, 11, 12, 13, 48}) {
        for (std::int64_t keys : {1, 5, 64, 66, 200}) expect_right(queries, keys, d, causal, 24);
      }
    }
  }
}

}  // namespace
}  // namespace roofmark::cpu
