// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofmark {

/// A library that results depend on: CUDA's, the BLAS, MPI.
struct Library {
  std::string name;
  std::string version;      ///< in the library's own words; empty where it does not say
  std::string path;         ///< the file that its code came from: the program itself where it is linked statically
  std::string unsupported;  ///< why it cannot be used; then it has neither version nor path
};

/// Those that this process has loaded until now.
std::vector<Library> loaded_libraries();

/// The names that they may have.
std::vector<std::string_view> library_names();

}  // namespace roofmark
