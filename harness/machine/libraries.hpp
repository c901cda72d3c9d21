// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/machine/json.hpp"

namespace roofmark {

/// The libraries that results depend on (CUDA's, the BLAS, MPI) and that this process has loaded until now, by name. `version`
/// is the library's own word; `path` is the file that its code came from, which is the program where it is linked statically.
Json loaded_libraries();

}  // namespace roofmark
