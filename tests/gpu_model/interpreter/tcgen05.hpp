// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// Performs the products that a tcgen05.commit tracks, and arrives on its mbarrier.
void perform_products(const AsyncCopy&);

/// Warns of what a warp or a block that exits has left in flight or allocated.
void tensor_memory_exit(Warp&);

}  // namespace gpu_model
