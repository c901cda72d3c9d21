// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/standard_output.hpp"

#include <cerrno>
#include <cstdio>

namespace roofmark {

bool print_out(const std::string& text) {
  // A text that fills the buffer is written at once; a second call would find nothing left that could fail.
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return true;
  return errno != ENOSPC && errno != EDQUOT && errno != EFBIG;
}

}  // namespace roofmark
