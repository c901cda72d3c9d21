// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/device/random.hpp"

namespace roofmark {

// The hash of an array of bytes is a sum, so that any number of threads may add their words in any order, of 8-byte
// little-endian words (the last one padded with zeros), each mixed with its place, so that no two words may change places:
//   hash = mix(mix(bytes) + sum over i of hash_of_word(word i, i)), modulo 2^64.

ROOFMARK_HOST_DEVICE inline std::uint64_t hash_of_word(std::uint64_t word, std::uint64_t i) {
  return mix(word ^ mix(i + kGoldenGamma));
}

ROOFMARK_HOST_DEVICE inline std::uint64_t finished_hash(std::uint64_t sum, std::uint64_t bytes) {
  return mix(mix(bytes) + sum);
}

/// Word i of an array of `bytes` bytes, which need not be aligned.
ROOFMARK_HOST_DEVICE inline std::uint64_t hashed_word(const void* data, std::uint64_t bytes, std::uint64_t i) {
  const auto* from = static_cast<const unsigned char*>(data) + 8 * i;
  std::uint64_t word = 0;
  for (std::uint64_t b = 0; b < 8 && 8 * i + b < bytes; ++b) word |= static_cast<std::uint64_t>(from[b]) << (8 * b);
  return word;
}

/// The hash of an array in host memory, on all cores.
std::uint64_t hash_bytes(const void* data, std::size_t bytes);

}  // namespace roofmark
