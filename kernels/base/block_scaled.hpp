// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/element.hpp"

namespace roofmark {

/// A matrix of a block-scaled type as the tensor cores of compute capability 10.0 and newer multiply it, and as cuBLASLt takes
/// it. It has `lines` of `terms` elements each: of D = A B the lines are A's rows or B's columns, and the terms run along k.
/// Every block of consecutive terms of a line shares a scale, and a value is its element times that scale:
///   mxfp8  elements fp8 (e4m3), blocks of 32, scales ue8m0: 2^(bits - 127) (OCP Microscaling Formats (MX) Specification 1.0)
///   nvfp4  elements fp4 (e2m1), two in a byte, the first in its lower half; blocks of 16, scales fp8 (e4m3) that are positive
///          (PTX ISA, block scaling of mma and tcgen05.mma)
/// In memory the elements come first, line after line without padding. The scales follow at the next multiple of 256 bytes, one
/// byte each, in tiles of 128 lines x 4 blocks, which follow one another along the blocks first; zeros fill the last tiles. In
/// a tile line l and block b are at byte 16 (l mod 32) + 4 (l div 32) + b (cuBLAS documentation, 1D block scaling factors
/// layout).
struct BlockScaledLayout {
  DataType type = DataType::mxfp8;
  std::int64_t lines = 0;
  std::int64_t terms = 0;  ///< a multiple of block()

  ROOFMARK_HOST_DEVICE constexpr int block() const { return type == DataType::nvfp4 ? 16 : 32; }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t blocks_per_line() const { return terms / block(); }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t element_bytes() const {
    return type == DataType::nvfp4 ? lines * terms / 2 : lines * terms;
  }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t scales_offset() const { return (element_bytes() + 255) / 256 * 256; }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t tiles_per_line() const {
    return (blocks_per_line() + kTileBlocks - 1) / kTileBlocks;
  }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t scale_bytes() const {
    return (lines + kTileLines - 1) / kTileLines * tiles_per_line() * kTileLines * kTileBlocks;
  }
  /// With the padding, and without.
  constexpr std::size_t bytes() const { return static_cast<std::size_t>(scales_offset() + scale_bytes()); }
  constexpr std::size_t data_bytes() const { return static_cast<std::size_t>(element_bytes() + lines * blocks_per_line()); }

  /// The byte of a scale behind the first scale.
  ROOFMARK_HOST_DEVICE constexpr std::int64_t scale_index(std::int64_t line, std::int64_t block) const {
    const std::int64_t tile = line / kTileLines * tiles_per_line() + block / kTileBlocks;
    return tile * kTileLines * kTileBlocks + line % 32 * 16 + line % kTileLines / 32 * 4 + block % kTileBlocks;
  }

 private:
  static constexpr std::int64_t kTileLines = 128, kTileBlocks = 4;
};

/// The value of a scale's bits. Exact.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline float scale_value(std::uint8_t bits) {
  static_assert(is_block_scaled(kType));
  if constexpr (kType == DataType::nvfp4) return widened<4, 3, Special::nan>(bits);
  if (bits == 0xff) return same_bits<float>(0x7fc00000u);
  return same_bits<float>(bits == 0 ? 0x00400000u : static_cast<std::uint32_t>(bits) << 23);
}

/// The value of element `index` without its scale, from its byte. Exact.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline float unscaled_value(std::uint8_t byte, std::int64_t index) {
  static_assert(is_block_scaled(kType));
  if constexpr (kType == DataType::mxfp8) return widened<4, 3, Special::nan>(byte);
  return widened<2, 1, Special::none>(index % 2 == 0 ? byte & 0xfu : byte >> 4);
}

/// A value of a matrix at `data`. Exact.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline double block_scaled_value(const void* data, const BlockScaledLayout& layout, std::int64_t line,
                                                      std::int64_t term) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  const std::int64_t index = line * layout.terms + term;
  const std::uint8_t scale = bytes[layout.scales_offset() + layout.scale_index(line, term / layout.block())];
  const float element = unscaled_value<kType>(bytes[kType == DataType::nvfp4 ? index / 2 : index], index);
  return static_cast<double>(element) * static_cast<double>(scale_value<kType>(scale));
}

/// Calls function.template operator()<type>() for a block-scaled type known at run time.
template <class Function>
ROOFMARK_HOST_DEVICE inline decltype(auto) with_block_scaled_type(DataType type, Function&& function) {
  if (type == DataType::nvfp4) return function.template operator()<DataType::nvfp4>();
  return function.template operator()<DataType::mxfp8>();
}

}  // namespace roofmark
