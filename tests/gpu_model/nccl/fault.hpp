// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpu_model::nccl {

/// A fault that is planted in one rank's calls. GPUMODEL_NCCL_FAULT describes it, in words of the form key=value:
///   rank     in the communicator
///   call     all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, messages (the sends and
///            receives of a group, or one alone), or init; without it any call but init
///   bytes    of count elements, or of all messages of a group; without it any size
///   from     the first of these calls to break, from 1; all later ones are broken too
///   do       hang   the rank never enters the call
///            kill   raises SIGKILL once all ranks have entered
///            flip   changes byte `byte` of what the rank gets, where it is so long
///            error  the call is done, but the communicator then reports that a peer is gone
enum class Fault { hang, kill, flip, error };

/// The fault of this call, if there is one; counts the call.
std::optional<Fault> planted_fault(int rank, std::string_view call, std::size_t bytes);
/// Byte that Fault::flip changes.
std::size_t flipped_byte();

}  // namespace gpu_model::nccl
