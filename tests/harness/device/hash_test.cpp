// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace roofmark {
namespace {

std::vector<unsigned char> counting(std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  std::iota(data.begin(), data.end(), 1);
  return data;
}

std::uint64_t by_definition(const std::vector<unsigned char>& data) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; 8 * i < data.size(); ++i) sum += hash_of_word(hashed_word(data.data(), data.size(), i), i);
  return finished_hash(sum, data.size());
}

// Another device, and a later version of this program, must say the same.
TEST(Hash, GoldenValues) {
  EXPECT_EQ(hash_bytes(nullptr, 0), 0x0u);
  EXPECT_EQ(hash_bytes(counting(8).data(), 8), 0x8d1ed5890cbd1ff4u);
  EXPECT_EQ(hash_bytes(counting(1003).data(), 1003), 0x26ff6a4ddf6f5f60u);
}

TEST(Hash, IsTheSumOfItsMixedWordsAtEveryLengthAndAlignment) {
  for (std::size_t bytes = 0; bytes < 40; ++bytes) {
    const auto data = counting(bytes);
    EXPECT_EQ(hash_bytes(data.data(), bytes), by_definition(data)) << bytes;
    std::vector<unsigned char> shifted(1);
    shifted.insert(shifted.end(), data.begin(), data.end());
    EXPECT_EQ(hash_bytes(shifted.data() + 1, bytes), by_definition(data)) << bytes;
  }
}

TEST(Hash, EveryBitMatters) {
  auto data = counting(27);
  std::set<std::uint64_t> seen = {hash_bytes(data.data(), data.size())};
  for (auto& byte : data) {
    for (int bit = 0; bit < 8; ++bit) {
      byte ^= 1 << bit;
      seen.insert(hash_bytes(data.data(), data.size()));
      byte ^= 1 << bit;
    }
  }
  EXPECT_EQ(seen.size(), 1 + 27u * 8);
}

TEST(Hash, PlaceAndLengthMatter) {
  std::vector<std::uint64_t> words = {1, 2, 3, 4};
  const std::uint64_t before = hash_bytes(words.data(), 32);
  std::swap(words[0], words[3]);
  EXPECT_NE(hash_bytes(words.data(), 32), before);

  const std::vector<unsigned char> zeros(64);
  std::set<std::uint64_t> seen;
  for (std::size_t bytes = 0; bytes <= 64; ++bytes) seen.insert(hash_bytes(zeros.data(), bytes));
  EXPECT_EQ(seen.size(), 65u);
}

}  // namespace
}  // namespace roofmark
