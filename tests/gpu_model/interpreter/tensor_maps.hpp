// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Tiles of a tensor, as TMA copies them (CUDA driver API, "Tensor Map Object Management"; PTX ISA, "Tensors").
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// The tensor map at a generic address. Throws a Fault where there is none.
const TensorMap& read_tensor_map(Warp&, const Instruction&, int lane, u64 address);

/// Bytes that one copy writes, parts outside the tensor included: what the mbarrier's tx-count is lowered by.
/// 0 where the model lacks the map's type or layout.
u64 tile_bytes(const TensorMap&);

/// Copies a tile into the block's shared memory, from address `destination` on, swizzled.
void load_tile(const AsyncCopy&, Block& to, u32 destination);

}  // namespace gpu_model
