// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>

#include "kernels/collectives.hpp"

namespace roofmark::mpi {

/// "Open MPI v4.1.4": the first words of the library's version text.
std::string library();

/// The ranks of `parent` with this colour, in their order there, over host buffers; null for a negative colour. Called by all
/// ranks of `parent` together. Reduces fp64, fp32 and int32 by sum and max; a call of more than 2^31 - 1 elements throws
/// Unsupported. broadcast is in place only.
std::shared_ptr<Communicator> communicator(MPI_Comm parent, int colour);

}  // namespace roofmark::mpi
