// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "harness/device/random.hpp"
#include "kernels/base/block_scaled.hpp"

namespace roofmark::cpu {

// Arrays in host memory, by all threads.

void fill(void* data, DataType type, std::size_t count, const Fill& fill);
void fill(void* data, const BlockScaledLayout& layout, const Fill& fill);

/// Sets all bytes. Each thread writes an equal, contiguous share, so the pages that it touches first are near it. The first
/// touch of a page takes time: `between_parts` is called every fraction of a second.
void set_bytes(void* data, unsigned char value, std::size_t bytes, const std::function<void()>& between_parts = {});

}  // namespace roofmark::cpu
