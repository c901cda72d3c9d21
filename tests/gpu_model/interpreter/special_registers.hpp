// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// Writes the special registers that the body reads into the warp's constants: those that are the same for all blocks of the
/// launch, or those that its block determines.
void set_launch_registers(Warp&);
void set_block_registers(Warp&);

}  // namespace gpu_model
