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
  std::string version;      ///< as reported by the library; empty if it reports none
  std::string path;         ///< the file with its code: the program if linked statically
  std::string unsupported;  ///< why it cannot be used; then it has neither version nor path
};

/// The libraries loaded by this process so far.
std::vector<Library> loaded_libraries();

/// All possible names.
std::vector<std::string_view> library_names();

}  // namespace roofmark
