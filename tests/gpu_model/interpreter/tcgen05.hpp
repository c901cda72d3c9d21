// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// tcgen05 by one block (.cta_group::1): dense products of K-major operands in shared memory, with m 128, and copies of their
// scales. They are performed when the commit that tracks them is, loads of the sums at tcgen05.wait::ld.
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// The block's. Throws a Fault where it has none.
TensorMemory& tensor_memory(const Warp&, const Instruction&);
/// Throws a Fault where a column is not allocated. An address is lane << 16 | column.
void check_columns(const Warp&, const Instruction&, int lane, u32 address, u32 columns);

/// How many columns a product or a copy writes, from TensorOperation::d on.
u32 columns_written(const TensorOperation&);
void perform(TensorMemory&, const TensorOperation&);
/// Performs what a tcgen05.commit tracks, and arrives on its mbarrier.
void perform_commit(const AsyncCopy&);

/// Warns of what a warp or a block that exits has left in flight or allocated.
void tensor_memory_exit(Warp&);

}  // namespace gpu_model
