// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "harness/device/device.hpp"

namespace roofmark {

/// Zeroed pages of the host that no thread has touched yet. With `huge_pages` whole huge ones, for which the kernel is asked,
/// where the bytes fill half of one. With `node` bound to it for good, unless the kernel refuses. Throws OutOfMemory.
Memory map_pages(std::size_t bytes, bool huge_pages, std::optional<int> node = {});
/// The same, touched by the calling thread on the node.
Memory map_pages_on_node(std::size_t bytes, const HostMemory& wanted);

/// Bytes that are free for it, on the machine and on the wanted node.
std::size_t available_to(const HostMemory& wanted);
/// Throws OutOfMemory where more is wanted than the host, or the wanted node, has: a page that it lacks would end some process.
void require_host_memory(std::size_t bytes, const HostMemory& wanted);
[[noreturn]] void throw_out_of_host_memory(std::size_t bytes, const HostMemory& wanted);

}  // namespace roofmark
