// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "kernels/base/check.hpp"

namespace roofmark {

/// What an MPI function returns; a plain int has no namespace for finding describe_status.
struct MpiStatus {
  int code;
};

inline StatusText describe_status(MpiStatus status) {
  if (status.code == MPI_SUCCESS) return {true, false, {}};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status.code, text, &length);
  return {false, false, "MPI: " + std::string(text, static_cast<std::size_t>(length))};
}

inline void check_mpi(int code, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  check(MpiStatus{code}, file, line);
}

}  // namespace roofmark
