// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "settings.hpp"

namespace gpu_model::runtime {

/// Writes one line to stderr that starts with "gpumodel: ".
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace gpu_model::runtime

/// say() with GPUMODEL_TRACE=1. A macro, so that the arguments are evaluated only then.
#define GPUMODEL_TRACE(...)                                                         \
  do {                                                                              \
    if (gpu_model::runtime::settings().trace) gpu_model::runtime::say(__VA_ARGS__); \
  } while (0)
