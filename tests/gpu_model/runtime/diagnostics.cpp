// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "diagnostics.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace gpu_model::runtime {

void say(const char* format, ...) {
  char line[4096];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  // One call of write(), so that lines of several threads and ranks do not mix.
  const std::string text = "gpumodel: " + std::string(line, std::clamp<int>(length, 0, sizeof line - 1)) + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace gpu_model::runtime
