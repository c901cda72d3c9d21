// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ceilings.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "harness/device/random.hpp"

namespace roofmark {
namespace {

template <class T>
void expect_chains(DataType type, int processors) {
  const ProbeTarget target{0, processors};
  const ChainLayout layout = cpu::ceilings.fma_layout(type, target);
  ASSERT_EQ(layout.chains % static_cast<std::size_t>(processors), 0u);
  if (layout.chains == 0) GTEST_SKIP() << "this processor has no fused multiply-add";
  std::vector<T> sink(layout.chains + 1, T{42});
  cpu::ceilings.fma(type, sink.data(), kStepMultiple, target, nullptr);
  for (std::size_t c = 0; c < layout.chains; ++c) {
    T x = static_cast<T>(fma_start(c));
    for (std::size_t step = 0; step < kStepMultiple; ++step) x = std::fma(x, static_cast<T>(fma_multiplier(type)), T{1});
    ASSERT_EQ(sink[c], x) << c;
  }
  EXPECT_EQ(sink.back(), T{42});
}

TEST(CpuCeilings, FmaChainsOnOneCoreAndMore) {
  for (int processors : {1, 2, 5}) {
    expect_chains<double>(DataType::fp64, processors);
    expect_chains<float>(DataType::fp32, processors);
  }
}

TEST(CpuCeilings, OtherTypesHaveNoChains) {
  for (DataType type : {DataType::fp16, DataType::bf16, DataType::int8}) {
    EXPECT_EQ(cpu::ceilings.fma_layout(type, {0, 1}).chains, 0u) << name(type);
  }
}

TEST(CpuCeilings, EveryProcessorReadsItsPart) {
  constexpr std::size_t kPart = 16384, kWords = kPart / 8;
  for (int processors : {1, 3}) {
    const ProbeTarget target{0, processors};
    const std::size_t words = kWords * static_cast<std::size_t>(processors);
    std::vector<std::uint64_t> memory(words + 8);
    void* at = memory.data();
    std::size_t room = memory.size() * sizeof(memory[0]);
    auto* data = static_cast<std::uint64_t*>(std::align(64, words * sizeof(memory[0]), at, room));
    for (std::size_t i = 0; i < words; ++i) data[i] = mix(i);
    std::vector<std::uint64_t> sinks(cpu::ceilings.cache_read_sinks(target), ~0ull);
    ASSERT_EQ(sinks.size(), static_cast<std::size_t>(processors));
    cpu::ceilings.cache_read(sinks.data(), data, 8 * words, 7, target, nullptr);
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      const std::uint64_t* part = data + i * kWords;
      EXPECT_EQ(sinks[i], 7 * std::accumulate(part, part + kWords, std::uint64_t{0}));
    }
  }
}

TEST(CpuCeilings, EveryProcessorStoresItsPart) {
  for (int processors : {1, 3}) {
    const ProbeTarget target{0, processors};
    const std::size_t words = kCacheGranule / 8 * static_cast<std::size_t>(processors);
    std::vector<std::uint64_t> memory(2 * words + 16);
    void* at = memory.data();
    std::size_t room = memory.size() * sizeof(memory[0]);
    auto* to = static_cast<std::uint64_t*>(std::align(64, 2 * words * sizeof(memory[0]), at, room));
    std::uint64_t* const from = to + words;
    cpu::ceilings.cache_write(to, 8 * words, 5, target, nullptr);
    for (std::size_t w = 0; w < words; ++w) ASSERT_EQ(to[w], w + 4) << w;
    for (std::size_t w = 0; w < words; ++w) from[w] = mix(w);
    std::fill(to, to + words, 42);
    cpu::ceilings.cache_copy(to, from, 8 * words, 5, target, nullptr);  // both arrays: half of the words each
    for (std::size_t w = 0; w < words / 2; ++w) ASSERT_EQ(to[w], from[w] + 4) << w;
    for (std::size_t w = words / 2; w < words; ++w) ASSERT_EQ(to[w], 42U) << w;
  }
}

TEST(CpuCeilings, WhatACoreHasNotIsNull) {
  EXPECT_EQ(cpu::ceilings.tensor, nullptr);
  EXPECT_EQ(cpu::ceilings.shared_read, nullptr);
  EXPECT_EQ(cpu::ceilings.empty, nullptr);
}

}  // namespace
}  // namespace roofmark
