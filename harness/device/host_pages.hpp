// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "harness/device/device.hpp"

namespace roofmark {

/// Zeroed, untouched host pages. `huge_pages`: requests whole huge pages if the bytes fill half of one. `node`: binds the pages
/// to it permanently, unless the kernel refuses. Throws OutOfMemory.
Memory map_pages(std::size_t bytes, bool huge_pages, std::optional<int> node = {});
/// The same, touched by the calling thread on the node.
Memory map_pages_on_node(std::size_t bytes, const HostMemory& wanted);

/// Free bytes for it, on the machine and on the requested node.
std::size_t available_to(const HostMemory& wanted);
/// Throws OutOfMemory if the host or the requested node has less: the kernel would kill a process for a missing page.
void require_host_memory(std::size_t bytes, const HostMemory& wanted);
[[noreturn]] void throw_out_of_host_memory(std::size_t bytes, const HostMemory& wanted);

}  // namespace roofmark
