// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strings.h>

#include <string>

namespace roofmark {

/// Whether a value of NCCL_DEBUG asks for more than warnings: NCCL's log is then the user's, and roofmark cannot read it. NCCL
/// ignores case, and words that it does not know.
inline bool asks_for_nccl_log(const std::string& level) {
  for (const char* more : {"INFO", "ABORT", "TRACE"}) {
    if (strcasecmp(level.c_str(), more) == 0) return true;
  }
  return false;
}

}  // namespace roofmark
