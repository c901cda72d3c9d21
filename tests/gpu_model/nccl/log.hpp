// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "communicator.hpp"

namespace gpu_model::nccl {

/// Two kinds of lines of NCCL's log, in NCCL's own words: how ranks are connected (subsystem INIT), and which algorithm rank 0
/// chooses for a collective (TUNING). The choices are made up. Written with NCCL_DEBUG=INFO to NCCL_DEBUG_FILE or stdout, for
/// the subsystems in NCCL_DEBUG_SUBSYS.

/// Reads the environment again before the next line.
void reset_log();
void log_unique_id();
void log_connections(const Communicator& communicator);
void log_choice(const Communicator& communicator, const Call& call);

}  // namespace gpu_model::nccl
