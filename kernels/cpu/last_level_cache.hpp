// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace roofmark::cpu {

/// The last-level cache that `threads` threads have between them, one a core, by Linux's /sys; 32 MiB where it does not say.
std::size_t last_level_cache_bytes(int threads);

}  // namespace roofmark::cpu
