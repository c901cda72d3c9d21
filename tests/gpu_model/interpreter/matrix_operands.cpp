// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "matrix_operands.hpp"

#include "proxies.hpp"
#include "races.hpp"

namespace gpu_model {

u32 checked_offset(const Warp& w, const Instruction& i, u32 address) {
  const Launch& launch = *w.launch;
  if (address < launch.shared_base || address + 16 > launch.shared_base + launch.shared_bytes)
    fault(Fault::Kind::illegal_address, w, i, -1,
          "a matrix descriptor reaches shared address " + std::to_string(address) + ", outside the block's " +
              std::to_string(launch.shared_bytes) + " bytes from " + std::to_string(launch.shared_base));
  return address - static_cast<u32>(launch.shared_base);
}

void check_start(Warp& w, const Instruction& i, const MatrixDescriptor& descriptor) {
  if (descriptor.base_offset) warn_once(w, i, "base offset in a matrix descriptor is not zero");
  const u32 pattern_bytes = descriptor.span * 8;
  if (descriptor.span > 16 && !descriptor.base_offset && (descriptor.start & (pattern_bytes - 1) & ~127u))
    warn_once(w, i, "operand does not start at its swizzle pattern (base offset 0)");
}

void race_read(Warp& w, const Instruction& i, int lane, const SharedOperand& operand) {
  if (w.clocks.empty()) return;
  operand.for_each_piece(
      [&](u32 address, u32, u32) { race_access(w, i, lane, *w.block, checked_offset(w, i, address), 16, false); });
}

void check_proxy_fence(Warp& w, const Instruction& i, const SharedOperand& operand) {
  if (w.block->generic_writes.empty()) return;
  operand.for_each_piece([&](u32 address, u32, u32) { check_async_read(w, i, *w.block, checked_offset(w, i, address), 16); });
}

void read_operand(Warp& w, const Instruction& i, const SharedOperand& operand, double* out, u32 row_stride, u32 column_stride) {
  const int neighbours = static_cast<int>(elements_in(operand.element, 16));
  const int stride = static_cast<int>(operand.mn_major ? row_stride : column_stride);
  operand.for_each_piece([&](u32 address, u32 row, u32 column) {
    widen(operand.element, w.block->shared.data() + checked_offset(w, i, address), neighbours,
          out + row * row_stride + column * column_stride, stride);
  });
}

}  // namespace gpu_model
