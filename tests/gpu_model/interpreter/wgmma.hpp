// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Registers of wgmma.mma_async: in flight until wgmma.wait_group, and written by others only before a wgmma.fence.
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// Warns where another instruction uses a register that a wgmma in flight still needs.
void check_in_flight(Warp&, const Instruction&);

/// Notes the registers that another instruction than wgmma has written.
void note_written(Warp&, const Instruction&);

}  // namespace gpu_model
