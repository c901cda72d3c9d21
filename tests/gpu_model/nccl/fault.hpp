// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpu_model::nccl {

/// A fault that is planted in one rank's calls. GPUMODEL_NCCL_FAULT describes it, as words of the form key=value:
///   rank     in the communicator
///   call     all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, messages (sends and
///            receives, a group of them counts once), or init (hang only); default: all but init
///   bytes    size of `count` elements, or of all messages of the group; default: any size
///   from     number of the first call to break, counted from 1 among those that match; all later ones are broken too
///   do       hang   the rank never enters the call
///            warn   as hang, and NCCL's log warns of a connection first
///            lose   as warn, and the communicator reports the error while the call hangs
///            kill   the process raises SIGKILL; in a collective, once all ranks have entered
///            flip   flips a bit in byte `byte` (default 0) of what the rank receives
///            error  the call completes, then NCCL's log warns, and the communicator reports that a peer is gone
enum class Fault { hang, warn, lose, kill, flip, error };

/// The fault of this call, if there is one; counts the call.
std::optional<Fault> planted_fault(int rank, std::string_view call, std::size_t bytes);
/// Byte that Fault::flip changes.
std::size_t flipped_byte();

}  // namespace gpu_model::nccl
