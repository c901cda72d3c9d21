// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark {

/// y [tokens, outputs] = x [tokens, inputs] W^T, row-major, W [outputs, inputs].
struct Projection {
  std::string what;
  std::int64_t outputs = 0, inputs = 0;
};

/// Sizes of a transformer, from its published configuration.
struct Transformer {
  std::string_view name;
  std::int64_t hidden, heads, kv_heads, feed_forward, vocabulary, head_dim;

  /// Gate and up projections are one product.
  Projection gate_and_up() const { return {std::string(name) + ", gate and up", 2 * feed_forward, hidden}; }
  /// The projections of one layer.
  std::vector<Projection> projections() const {
    const std::string model(name);
    return {{model + ", query, key and value", (heads + 2 * kv_heads) * head_dim, hidden},
            {model + ", attention output", hidden, heads * head_dim},
            gate_and_up(),
            {model + ", down", hidden, feed_forward}};
  }
  Projection output() const { return {std::string(name) + ", output over the vocabulary", vocabulary, hidden}; }
};

/// Sizes of the experts of a layer in a mixture of experts, from the model's published configuration.
struct Mixture {
  std::string_view name;
  std::int64_t hidden, feed_forward, experts;

  /// Of each expert.
  std::vector<Projection> projections() const {
    const std::string model = std::string(name) + ", " + std::to_string(experts) + " experts";
    return {{model + ", gate and up", 2 * feed_forward, hidden}, {model + ", down", hidden, feed_forward}};
  }
};

/// Of a layer of DeepSeek-V3 with experts, of which these are one's, from its published configuration: latent attention with
/// 128 heads of 128 (and 64 with rotary embedding) over ranks of 1536 (query) and 512 (key and value).
inline std::vector<Projection> deepseek_v3_projections() {
  constexpr std::int64_t kHidden = 7168, kHeads = 128, kHead = 128, kRotary = 64, kQueryRank = 1536, kRank = 512,
                         kExpert = 2048;
  return {{"DeepSeek-V3, query, key and value down", kQueryRank + kRank + kRotary, kHidden},
          {"DeepSeek-V3, query up", kHeads * (kHead + kRotary), kQueryRank},
          {"DeepSeek-V3, key and value up", kHeads * 2 * kHead, kRank},
          {"DeepSeek-V3, attention output", kHidden, kHeads * kHead},
          {"DeepSeek-V3, one expert, gate and up", 2 * kExpert, kHidden},
          {"DeepSeek-V3, one expert, down", kHidden, kExpert}};
}

inline constexpr Mixture kMixtral8x7b = {"Mixtral 8x7B", 4096, 14336, 8};
inline constexpr Mixture kQwen3_30b = {"Qwen3 30B-A3B", 2048, 768, 128};

/// Of a layer with a bias and a GELU behind it: 12288 x 4 outputs (Brown et al.: Language Models are Few-Shot Learners, 2020).
inline Projection gpt3_175b_up() { return {"GPT-3 175B, up", 49152, 12288}; }

inline constexpr Transformer kLlama3_8b = {"Llama 3 8B", 4096, 32, 8, 14336, 128256, 128};
inline constexpr Transformer kLlama3_70b = {"Llama 3 70B", 8192, 64, 8, 28672, 128256, 128};

}  // namespace roofmark
