// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// Performs a copy of the async proxy and completes its bytes on its mbarrier.
void perform(Cluster&, const AsyncCopy&);

}  // namespace gpu_model
