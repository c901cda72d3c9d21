// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels that start before the one in front of them has ended (programmatic dependent launch). sm_90. One function per PTX
// instruction.
namespace roofmark::cuda {

/// Waits until the kernels in front have ended and what they wrote is visible.
__device__ inline void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/// Lets the next kernel start, once all blocks have called it or ended.
__device__ inline void griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

}  // namespace roofmark::cuda
