// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace roofmark::cpu {

/// Consecutive queries of one head, and all keys and values that they may see. Strides are in floats.
struct AttentionBlock {
  const float* q = nullptr;  ///< the first query; query and output rows are query_stride apart
  const float* k = nullptr;
  const float* v = nullptr;
  float* o = nullptr;
  std::int64_t query_stride = 0, key_stride = 0;
  std::int64_t queries = 0, head_dim = 0;
  /// The number of keys that the first query sees, and how many more each further query sees (0 or 1); clamped to [1, keys].
  std::int64_t visible = 0, visible_step = 0, keys = 0;
  float scale = 1;           ///< of a score, log2(e) included
  float* scratch = nullptr;  ///< scratch_floats(head_dim), aligned to 64 bytes
};

/// Attention of a block with online softmax, compiled for one vector instruction set.
struct AttentionTiles {
  std::string_view instructions;
  std::int64_t most_queries;  ///< of a block
  std::size_t (*scratch_floats)(std::int64_t head_dim);
  void (*attend)(const AttentionBlock& block);
};

/// The implementations that this CPU can run, the fastest first.
const std::vector<AttentionTiles>& attention_tiles();

}  // namespace roofmark::cpu
