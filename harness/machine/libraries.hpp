// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/machine/json.hpp"

namespace roofmark {

/// The libraries that results depend on (CUDA's, the BLAS, MPI) and that this process has loaded until now, by name. `version`
/// is the library's own word; `path` is the file that its code came from, which is the program where it is linked statically.
Json loaded_libraries();

/// The names that they may have.
std::vector<std::string_view> library_names();

}  // namespace roofmark
