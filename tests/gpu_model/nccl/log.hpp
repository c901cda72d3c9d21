// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "communicator.hpp"

namespace gpu_model::nccl {

/// Three kinds of lines of NCCL's log, in NCCL's own words: how ranks are connected (subsystem INIT), which algorithm rank 0
/// chooses for a collective (TUNING), and a warning. The choices are made up. Written to NCCL_DEBUG_FILE or stdout: with
/// NCCL_DEBUG=INFO, for the subsystems in NCCL_DEBUG_SUBSYS; the warning with WARN too. GPUMODEL_NCCL_TRANSPORT is what ranks
/// are said to be connected by: P2P/CUMEM without it, "NET/Socket/0", "NET/IB/0/GDRDMA".

/// Reads the environment again before the next line.
void reset_log();
void log_unique_id();
void log_connections(const Communicator& communicator);
void log_choice(const Communicator& communicator, const Call& call);
/// To the next rank.
void log_lost_connection(const Communicator& communicator);

}  // namespace gpu_model::nccl
