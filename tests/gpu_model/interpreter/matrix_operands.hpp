// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Operands in shared memory that wgmma and tcgen05.mma describe by 64 bits (PTX ISA, "Matrix Descriptor Format" and "Shared
// Memory Descriptor"): their layouts as CuTe states them for make_gmma_desc and make_umma_desc: shapes and strides of K- and
// MN-major.
#pragma once
#include "fragments.hpp"

namespace gpu_model {

/// Lengths in bytes.
struct MatrixDescriptor {
  u32 start = 0, leading_offset = 0, stride_offset = 0;
  u32 base_offset = 0;  // of the swizzle pattern: (address >> 7) & 7 of its start
  u32 span = 16;        // of a row within which 16-byte pieces are exchanged; 16: no swizzle

  u32 swizzled(u32 address) const {
    const u32 in_pattern = address - (base_offset << 7);
    return address ^ (in_pattern >> 3 & (span - 16));
  }
  /// Address of 16-byte piece `piece` (0, 1) along k of row `mn`, K-major.
  u32 k_major(u32 mn, u32 piece) const {
    if (span == 16) return start + mn % 8 * 16 + mn / 8 * stride_offset + piece * leading_offset;
    return swizzled(start + mn % 8 * span + mn / 8 * stride_offset + piece * 16);
  }
  /// Address of the 16-byte piece that holds elements 8 * mn8 .. 8 * mn8 + 7 of column k, MN-major; elements of 16 bits.
  u32 mn_major(u32 mn8, u32 k) const {
    if (span == 16) return start + mn8 * stride_offset + k % 8 * 16 + k / 8 * leading_offset;
    const u32 pieces_per_row = span / 16;
    return swizzled(start + mn8 % pieces_per_row * 16 + mn8 / pieces_per_row * leading_offset + k % 8 * span +
                    k / 8 * stride_offset);
  }
};

/// The addresses and offsets, which are where both formats have them.
inline MatrixDescriptor matrix_descriptor(u64 bits, u32 span) {
  const auto field = [bits](int shift) { return static_cast<u32>(bits >> shift & 0x3fff) << 4; };
  return {field(0), field(16), field(32), static_cast<u32>(bits >> 49 & 7), span};
}

/// One operand: rows [first, first + count) along m or n, all of k, which is 32 bytes.
struct SharedOperand {
  MatrixDescriptor descriptor;
  Element element{};
  bool mn_major = false;
  u32 first = 0, count = 0;

  u32 k() const { return elements_in(element, 32); }
  /// Calls use(address, row, column) for each 16-byte piece with the position of its first element, counted from `first`.
  template <class Use>
  void for_each_piece(Use use) const {
    if (mn_major) {
      for (u32 column = 0; column < k(); ++column)
        for (u32 row = 0; row < count; row += 8) use(descriptor.mn_major((first + row) / 8, column), row, column);
    } else {
      const u32 neighbours = elements_in(element, 16);
      for (u32 row = 0; row < count; ++row)
        for (u32 piece = 0; piece < 2; ++piece) use(descriptor.k_major(first + row, piece), row, piece * neighbours);
    }
  }
};

/// The offset in the block's shared memory of the 16 bytes at an address. Throws a Fault where they are outside of it.
u32 checked_offset(const Warp&, const Instruction&, u32 address);
/// Warns where the operand is not in the place of its swizzle pattern. Of the warp's block, as all of these.
void check_start(Warp&, const Instruction&, const MatrixDescriptor&);
/// For the race detector: the operand is read now.
void race_read(Warp&, const Instruction&, int lane, const SharedOperand&);
/// Warns of what st wrote without fence.proxy.async.
void check_proxy_fence(Warp&, const Instruction&, const SharedOperand&);
/// Element (row, column) to out[row * row_stride + column * column_stride].
void read_operand(Warp&, const Instruction&, const SharedOperand&, double* out, u32 row_stride, u32 column_stride);

}  // namespace gpu_model
