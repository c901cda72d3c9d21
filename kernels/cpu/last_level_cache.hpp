// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace roofmark::cpu {

/// Bytes of last-level cache available to `threads` threads, one per core, from Linux's /sys; 32 MiB if it does not say.
std::size_t last_level_cache_bytes(int threads);

}  // namespace roofmark::cpu
