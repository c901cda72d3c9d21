// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// Throws a Fault where no mbarrier is initialised at `pointer`, in shared memory.
void check_mbarrier(const Warp&, const Instruction&, int lane, const u8* pointer);

/// mbarrier complete-tx: lowers the tx-count by `bytes` that an asynchronous copy has written. `issued` are the clocks of its
/// issue.
void mbarrier_complete_tx(Warp&, const Instruction&, u8* pointer, u32 bytes, const Clocks& issued);

/// One arrival by an asynchronous operation.
void mbarrier_complete_arrival(Warp&, const Instruction&, u8* pointer, const Clocks& issued);

}  // namespace gpu_model
