// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/random.hpp"
#include "kernels/base/block_scaled.hpp"

namespace roofmark::cpu {

// Arrays in host memory, by all threads.

void fill(void* data, DataType type, std::size_t count, const Fill& fill);
void fill(void* data, const BlockScaledLayout& layout, const Fill& fill);

/// Sets all bytes. Each thread writes an equal, contiguous share, so the pages that it touches first are near it.
void set_bytes(void* data, unsigned char value, std::size_t bytes);

}  // namespace roofmark::cpu
