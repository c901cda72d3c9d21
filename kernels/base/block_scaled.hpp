// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/base/element.hpp"

namespace roofmark {

/// The scales are fp32, as the kernel applies them to sums of a block's terms; else a byte each, for the tensor cores.
constexpr bool has_fp32_scales(DataType type) { return type == DataType::fp8_vec128 || type == DataType::fp8_blk128; }

/// How a scale of a block-scaled type is stored.
template <DataType kType>
using BlockScale = std::conditional_t<has_fp32_scales(kType), float, std::uint8_t>;

/// A matrix of a block-scaled type as cuBLASLt takes it. It has `lines` of `terms` elements each: of D = A B the lines are A's
/// rows or B's columns, and the terms run along k. Every block shares a scale, and a value is its element times that scale:
///   mxfp8       elements fp8 (e4m3), blocks of 32 consecutive terms of a line, scales ue8m0: 2^(bits - 127) (OCP Microscaling
///               Formats (MX) Specification 1.0)
///   nvfp4       elements fp4 (e2m1), two in a byte, the first in its lower half; blocks of 16 consecutive terms of a line,
///               scales fp8 (e4m3) that are positive (PTX ISA, block scaling of mma and tcgen05.mma)
///   fp8_vec128  elements fp8 (e4m3), blocks of 128 consecutive terms of a line, scales fp32
///   fp8_blk128  elements fp8 (e4m3), blocks of 128 lines x 128 terms, scales fp32 (both: DeepSeek-V3 Technical Report, 3.3.2)
/// Tensor cores of compute capability 10.0 and newer multiply the first two; the others are for 9.0.
///
/// In memory the elements come first, line after line without padding. The scales follow at the next multiple of 256 bytes
/// (cuBLAS documentation 13, 1D block scaling factors layout; 128-element 1D and 128x128 2D block scaling for FP8 data types):
/// - mxfp8, nvfp4: in tiles of 128 lines x 4 blocks, which follow one another along the blocks first; zeros fill
///   the last tiles. In a tile line l and block b are at byte 16 (l mod 32) + 4 (l div 32) + b.
/// - fp8_vec128: those of all lines for the first block, then for the next: "M-major for A with shape M x L [...],
///   N-major for B with shape N x L", L the number of blocks along k. M and N "must be multiples of 4": zeros fill
///   the lines up to the next one, as Transformer Engine does.
/// - fp8_blk128: those of the first 128 lines, block after block, then of the next 128: "K-major and the stride
///   between the consecutive columns must be a multiple of 4": zeros fill the blocks up to the next one.
struct BlockScaledLayout {
  DataType type = DataType::mxfp8;
  std::int64_t lines = 0;
  std::int64_t terms = 0;  ///< of mxfp8 and nvfp4 a multiple of block(); elsewhere the last block may be shorter

  /// Terms and lines that share a scale.
  ROOFMARK_HOST_DEVICE constexpr int block() const { return has_fp32_scales(type) ? 128 : type == DataType::nvfp4 ? 16 : 32; }
  ROOFMARK_HOST_DEVICE constexpr int block_lines() const { return type == DataType::fp8_blk128 ? 128 : 1; }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t blocks_per_line() const { return (terms + block() - 1) / block(); }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t blocks() const {
    return (lines + block_lines() - 1) / block_lines() * blocks_per_line();
  }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t element_bytes() const {
    return type == DataType::nvfp4 ? lines * terms / 2 : lines * terms;
  }
  ROOFMARK_HOST_DEVICE constexpr int bytes_per_scale() const { return has_fp32_scales(type) ? 4 : 1; }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t scales_offset() const { return (element_bytes() + 255) / 256 * 256; }
  ROOFMARK_HOST_DEVICE constexpr std::int64_t scale_bytes() const {
    const std::int64_t along_lines = (lines + kTileLines - 1) / kTileLines;
    switch (type) {
      case DataType::fp8_vec128:
        return 4 * blocks_per_line() * in_fours(lines);
      case DataType::fp8_blk128:
        return 4 * along_lines * in_fours(blocks_per_line());
      default:
        return along_lines * in_fours(blocks_per_line()) * kTileLines;
    }
  }
  /// With the padding, and without.
  constexpr std::size_t bytes() const { return static_cast<std::size_t>(scales_offset() + scale_bytes()); }
  constexpr std::size_t data_bytes() const { return static_cast<std::size_t>(element_bytes() + blocks() * bytes_per_scale()); }

  /// The scale of a line's block, counted from the first scale.
  ROOFMARK_HOST_DEVICE constexpr std::int64_t scale_index(std::int64_t line, std::int64_t block) const {
    switch (type) {
      case DataType::fp8_vec128:
        return block * in_fours(lines) + line;
      case DataType::fp8_blk128:
        return line / 128 * in_fours(blocks_per_line()) + block;
      default:
        const std::int64_t tile = line / kTileLines * (in_fours(blocks_per_line()) / 4) + block / 4;
        return tile * kTileLines * 4 + line % 32 * 16 + line % kTileLines / 32 * 4 + block % 4;
    }
  }

 private:
  static constexpr std::int64_t kTileLines = 128;
  ROOFMARK_HOST_DEVICE static constexpr std::int64_t in_fours(std::int64_t count) { return (count + 3) / 4 * 4; }
};

/// The value of a scale. Exact.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline float scale_value(BlockScale<kType> stored) {
  static_assert(is_block_scaled(kType));
  if constexpr (has_fp32_scales(kType)) {
    return stored;
  } else {
    if constexpr (kType == DataType::nvfp4) return widened<4, 3, Special::nan>(stored);
    if (stored == 0xff) return same_bits<float>(0x7fc00000u);
    return same_bits<float>(stored == 0 ? 0x00400000u : static_cast<std::uint32_t>(stored) << 23);
  }
}

/// The scale for a positive number: of mxfp8 a power of two, of nvfp4 rounded to nearest.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline BlockScale<kType> stored_scale(float value) {
  static_assert(is_block_scaled(kType));
  if constexpr (has_fp32_scales(kType)) return value;
  if constexpr (kType == DataType::nvfp4) return fp8_bits(value);
  return static_cast<std::uint8_t>(same_bits<std::uint32_t>(value) >> 23);
}

/// The value of element `index` without its scale, from its byte. Exact.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline float unscaled_value(std::uint8_t byte, std::int64_t index) {
  static_assert(is_block_scaled(kType));
  if constexpr (kType != DataType::nvfp4) return widened<4, 3, Special::nan>(byte);
  return widened<2, 1, Special::none>(index % 2 == 0 ? byte & 0xfu : byte >> 4);
}

/// A value of a matrix at `data`. Exact.
template <DataType kType>
ROOFMARK_HOST_DEVICE inline double block_scaled_value(const void* data, const BlockScaledLayout& layout, std::int64_t line,
                                                      std::int64_t term) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  const std::int64_t index = line * layout.terms + term;
  const auto* scales = reinterpret_cast<const BlockScale<kType>*>(bytes + layout.scales_offset());
  const float element = unscaled_value<kType>(bytes[kType == DataType::nvfp4 ? index / 2 : index], index);
  return static_cast<double>(element) *
         static_cast<double>(scale_value<kType>(scales[layout.scale_index(line, term / layout.block())]));
}

/// Calls function.template operator()<type>() for a block-scaled type known at run time.
template <class Function>
ROOFMARK_HOST_DEVICE inline decltype(auto) with_block_scaled_type(DataType type, Function&& function) {
  switch (type) {
    case DataType::nvfp4:
      return function.template operator()<DataType::nvfp4>();
    case DataType::fp8_vec128:
      return function.template operator()<DataType::fp8_vec128>();
    case DataType::fp8_blk128:
      return function.template operator()<DataType::fp8_blk128>();
    default:
      return function.template operator()<DataType::mxfp8>();
  }
}

}  // namespace roofmark
