// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/hash.hpp"

#include <cstring>

namespace roofmark {

std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  const auto whole = static_cast<std::int64_t>(bytes / 8);
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::int64_t i = 0; i < whole; ++i) {
    std::uint64_t word;
    std::memcpy(&word, static_cast<const unsigned char*>(data) + 8 * i, sizeof(word));
    sum += hash_of_word(word, i);
  }
  if (bytes % 8) sum += hash_of_word(hashed_word(data, bytes, whole), whole);
  return finished_hash(sum, bytes);
}

}  // namespace roofmark
