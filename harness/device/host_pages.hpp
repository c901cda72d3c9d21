// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/device/device.hpp"

namespace roofmark {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// Zeroed pages of the host that no thread has touched yet; with `huge_pages` whole ones, for which the kernel is asked.
/// Throws OutOfMemory.
Memory map_pages(std::size_t bytes, bool huge_pages);
/// The same, touched by the calling thread on the node.
Memory map_pages_on_node(std::size_t bytes, const HostMemory& wanted);

/// Throws OutOfMemory where more is wanted than the host has: a pinned page that it lacks would end some process.
void require_host_memory(std::size_t bytes, HostMemoryKind kind);
[[noreturn]] void throw_out_of_host_memory(std::size_t bytes, HostMemoryKind kind);

}  // namespace roofmark
