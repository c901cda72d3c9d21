// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// What fence.proxy.async is for: shared memory that the generic proxy (st) wrote and the async proxy (wgmma) reads needs a
// fence by the writer in between. Offsets count from the start of the block's shared memory, in bytes.
#pragma once
#include "machine.hpp"

namespace gpu_model {

void note_generic_write(const Warp& writer, Block&, u32 offset, u32 bytes);
void note_async_write(Block&, u32 offset, u32 bytes);
/// Warns of a read by the async proxy that the writer has not fenced.
void check_async_read(Warp& reader, const Instruction&, const Block&, u32 offset, u32 bytes);

}  // namespace gpu_model
