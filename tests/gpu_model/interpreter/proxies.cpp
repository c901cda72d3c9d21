// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "proxies.hpp"

namespace gpu_model {
namespace {

u32 fold(u32 epoch) { return epoch & ((1u << 26) - 1); }  // to the width of GenericWrite::epoch

/// The 16-byte pieces that [offset, offset + bytes) touches: [first, past).
std::pair<u32, u32> pieces(u32 offset, u32 bytes) { return {offset / 16, (offset + bytes + 15) / 16}; }

}  // namespace

void note_generic_write(const Warp& writer, Block& block, u32 offset, u32 bytes) {
  if (block.generic_writes.empty()) return;
  const auto [first, past] = pieces(offset, bytes);
  for (u32 piece = first; piece < past; ++piece)
    block.generic_writes[piece] = {.writer = (writer.id + 1) & 63, .epoch = fold(writer.proxy_epoch)};
}

void note_async_write(Block& block, u32 offset, u32 bytes) {
  if (block.generic_writes.empty()) return;
  const auto [first, past] = pieces(offset, bytes);
  for (u32 piece = first; piece < past; ++piece) block.generic_writes[piece] = {};
}

void check_async_read(Warp& reader, const Instruction& i, const Block& block, u32 offset, u32 bytes) {
  if (block.generic_writes.empty()) return;
  const auto [first, past] = pieces(offset, bytes);
  for (u32 piece = first; piece < past; ++piece) {
    const GenericWrite& last = block.generic_writes[piece];
    if (last.writer == 0 || fold(block.warps[last.writer - 1]->proxy_epoch) != last.epoch) continue;
    if (reader.launch->counters->unfenced_async_reads++ == 0)
      warn_once(reader, i, "async proxy reads shared memory that st wrote, without fence.proxy.async");
  }
}

}  // namespace gpu_model
