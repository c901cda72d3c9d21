// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/random.hpp"

namespace roofmark {

/// Elements [begin, end) of an array in host memory, by the calling thread.
void fill_range(void* data, DataType type, std::int64_t begin, std::int64_t end, const Fill& fill);

}  // namespace roofmark
