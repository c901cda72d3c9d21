// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// Runs clusters of one launch, whose warps take turns, until their blocks have exited. Throws a Fault of kind deadlock where
/// none can go on, or where they execute `spin_limit` warp instructions without any effect (not with Time::wall: the host may
/// end the wait).
void run_together(const std::vector<Cluster*>&, u64 spin_limit);

}  // namespace gpu_model
