// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "communicator.hpp"

namespace gpu_model::nccl {

/// NCCL's log, as far as it goes by NCCL_DEBUG=INFO, NCCL_DEBUG_FILE (%h and %p stand for host and process) and
/// NCCL_DEBUG_SUBSYS: how ranks are connected (INIT) and how rank 0 chooses to do a collective (TUNING), in NCCL's own words.
/// The choices are made up.

/// The environment is read anew.
void reset_log();
void log_unique_id();
void log_connections(const Communicator& communicator);
void log_choice(const Communicator& communicator, const Call& call);

}  // namespace gpu_model::nccl
