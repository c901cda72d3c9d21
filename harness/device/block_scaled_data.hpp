// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/device/random.hpp"
#include "kernels/base/block_scaled.hpp"

namespace roofmark {

/// A block of a block-scaled matrix as it is stored, or of one of several lines a line's part of it.
template <DataType kType>
struct ScaledBlock {
  static constexpr int kTerms = BlockScaledLayout{kType}.block();
  static constexpr int kBytes = kType == DataType::nvfp4 ? kTerms / 2 : kTerms;

  BlockScale<kType> scale = 0;
  int terms = kTerms;  ///< fewer where the line ends; further elements are 0
  std::uint8_t elements[kBytes] = {};

  /// Exact.
  ROOFMARK_HOST_DEVICE double value(int term) const {
    const float element = unscaled_value<kType>(elements[kType == DataType::nvfp4 ? term / 2 : term], term);
    return static_cast<double>(element) * static_cast<double>(scale_value<kType>(scale));
  }
};

/// The fp32 value that is quantised.
ROOFMARK_HOST_DEVICE inline float unquantised(const Fill& fill, const BlockScaledLayout& layout, std::int64_t line,
                                              std::int64_t term) {
  return generate<DataType::fp32>(fill.distribution, fill.seed, fill.array,
                                  static_cast<std::uint64_t>(line * layout.terms + term));
}

/// The scale of block `block` of a line. The values are the fp32 numbers that generate() gives the elements, line after line,
/// quantised as the users of the type do it. With the greatest magnitude a of the block the scale is
/// - mxfp8: 2^(floor(log2 a) - 8). a comes to lie below twice 2^8, the greatest power of two in e4m3, and above 448
///   it saturates (OCP Microscaling Formats (MX) Specification 1.0, 6.3).
/// - nvfp4: a / 6 rounded to e4m3. a becomes the greatest number of e2m1.
/// - fp8_vec128, fp8_blk128: a / 448 in fp32. a becomes the greatest number of e4m3.
/// A block of zeros has the scale 0, or 2^-127.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline BlockScale<kType> generate_scale(const Fill& fill, const BlockScaledLayout& layout,
                                                             std::int64_t line, std::int64_t block) {
  const std::int64_t first_line = line / layout.block_lines() * layout.block_lines(), first_term = block * layout.block();
  std::uint32_t greatest = 0;  // magnitudes are in the order of their bits
  for (std::int64_t l = first_line; l < layout.lines && l < first_line + layout.block_lines(); ++l) {
    for (std::int64_t t = first_term; t < layout.terms && t < first_term + layout.block(); ++t) {
      const std::uint32_t magnitude = same_bits<std::uint32_t>(unquantised(fill, layout, l, t)) & 0x7fffffffu;
      greatest = magnitude > greatest ? magnitude : greatest;
    }
  }
  if constexpr (kType == DataType::mxfp8) {
    const std::uint32_t exponent = greatest >> 23;
    return static_cast<std::uint8_t>(exponent > 8 ? exponent - 8 : 0);
  } else {
    constexpr float kGreatest = kType == DataType::nvfp4 ? 6 : 448;
    return stored_scale<kType>(same_bits<float>(greatest) / kGreatest);
  }
}

/// Block `block` of a line, with the scale that it has: its values divided by the scale, rounded to nearest even.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline ScaledBlock<kType> generate_block(const Fill& fill, const BlockScaledLayout& layout,
                                                              std::int64_t line, std::int64_t block, BlockScale<kType> stored) {
  using Block = ScaledBlock<kType>;
  const std::int64_t first = block * Block::kTerms;
  Block made;
  made.scale = stored;
  if (layout.terms - first < Block::kTerms) made.terms = static_cast<int>(layout.terms - first);
  const float scale = scale_value<kType>(stored);
  for (int i = 0; i < made.terms; ++i) {
    const float element = scale == 0 ? 0 : unquantised(fill, layout, line, first + i) / scale;
    if constexpr (kType == DataType::nvfp4) {
      made.elements[i / 2] = static_cast<std::uint8_t>(made.elements[i / 2] | fp4_bits(element) << (i % 2 * 4));
    } else {
      made.elements[i] = fp8_bits(element);
    }
  }
  return made;
}

/// Calls take(value) with each value of a line, in order.
template <DataType kType, class Take>
ROOFMARK_HOST_DEVICE inline void generate_line(const Fill& fill, const BlockScaledLayout& layout, std::int64_t line,
                                               Take&& take) {
  for (std::int64_t block = 0; block < layout.blocks_per_line(); ++block) {
    const auto made = generate_block<kType>(fill, layout, line, block, generate_scale<kType>(fill, layout, line, block));
    for (int i = 0; i < made.terms; ++i) take(made.value(i));
  }
}

/// Writes block `index` of layout.blocks(), counted along the terms first, into the matrix at `data`. The scales' padding stays
/// as it is.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline void fill_block(void* data, const BlockScaledLayout& layout, std::int64_t index, const Fill& fill) {
  using Block = ScaledBlock<kType>;
  auto* bytes = static_cast<std::uint8_t*>(data);
  auto* scales = reinterpret_cast<BlockScale<kType>*>(bytes + layout.scales_offset());
  const std::int64_t first_line = index / layout.blocks_per_line() * layout.block_lines(),
                     block = index % layout.blocks_per_line();
  const BlockScale<kType> scale = generate_scale<kType>(fill, layout, first_line, block);
  scales[layout.scale_index(first_line, block)] = scale;
  for (std::int64_t line = first_line; line < layout.lines && line < first_line + layout.block_lines(); ++line) {
    const Block made = generate_block<kType>(fill, layout, line, block, scale);
    const std::int64_t to = (line * layout.terms + block * Block::kTerms) * Block::kBytes / Block::kTerms;
    for (int i = 0; i < made.terms * Block::kBytes / Block::kTerms; ++i) bytes[to + i] = made.elements[i];
  }
}

}  // namespace roofmark
