// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/device/random.hpp"
#include "kernels/base/block_scaled.hpp"

namespace roofmark {

/// A block of a block-scaled matrix as it is stored.
template <DataType kType>
struct ScaledBlock {
  static constexpr int kTerms = BlockScaledLayout{kType}.block();
  static constexpr int kBytes = kType == DataType::nvfp4 ? kTerms / 2 : kTerms;

  std::uint8_t scale = 0;
  std::uint8_t elements[kBytes] = {};

  /// Exact.
  ROOFMARK_HOST_DEVICE double value(int term) const {
    const float element = unscaled_value<kType>(elements[kType == DataType::nvfp4 ? term / 2 : term], term);
    return static_cast<double>(element) * static_cast<double>(scale_value<kType>(scale));
  }
};

/// The block whose first element is element `first` of its matrix, line after line: the fp32 values that generate() gives these
/// elements, quantised as the users of the type do it. With the greatest magnitude a of the block the scale is
///   mxfp8  2^(floor(log2 a) - 8): a comes to lie below twice 2^8, the greatest power of two in e4m3, and above 448 it
///   saturates
///          (OCP Microscaling Formats (MX) Specification 1.0, 6.3)
///   nvfp4  a / 6 rounded to e4m3: a becomes the greatest number of e2m1
/// and the elements are the values divided by it, rounded to nearest even. A block of zeros has the scale 0, or 2^-127.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline ScaledBlock<kType> generate_block(const Fill& fill, std::int64_t first) {
  using Block = ScaledBlock<kType>;
  float values[Block::kTerms];
  std::uint32_t greatest = 0;  // magnitudes are in the order of their bits
  for (int i = 0; i < Block::kTerms; ++i) {
    values[i] = generate<DataType::fp32>(fill.distribution, fill.seed, fill.array, static_cast<std::uint64_t>(first + i));
    const std::uint32_t magnitude = same_bits<std::uint32_t>(values[i]) & 0x7fffffffu;
    greatest = magnitude > greatest ? magnitude : greatest;
  }
  Block block;
  if constexpr (kType == DataType::nvfp4) {
    block.scale = fp8_bits(same_bits<float>(greatest) / 6.0F);
  } else {
    const std::uint32_t exponent = greatest >> 23;
    block.scale = static_cast<std::uint8_t>(exponent > 8 ? exponent - 8 : 0);
  }
  const float scale = scale_value<kType>(block.scale);
  for (int i = 0; i < Block::kTerms; ++i) {
    const float element = scale == 0 ? 0 : values[i] / scale;
    if constexpr (kType == DataType::nvfp4) {
      block.elements[i / 2] = static_cast<std::uint8_t>(block.elements[i / 2] | fp4_bits(element) << (i % 2 * 4));
    } else {
      block.elements[i] = fp8_bits(element);
    }
  }
  return block;
}

/// Writes block `index`, counted line after line, into the matrix at `data`. The scales' padding stays as it is.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline void fill_block(void* data, const BlockScaledLayout& layout, std::int64_t index, const Fill& fill) {
  using Block = ScaledBlock<kType>;
  const Block block = generate_block<kType>(fill, index * Block::kTerms);
  auto* bytes = static_cast<std::uint8_t*>(data);
  for (int i = 0; i < Block::kBytes; ++i) bytes[index * Block::kBytes + i] = block.elements[i];
  const std::int64_t line = index / layout.blocks_per_line();
  bytes[layout.scales_offset() + layout.scale_index(line, index % layout.blocks_per_line())] = block.scale;
}

}  // namespace roofmark
