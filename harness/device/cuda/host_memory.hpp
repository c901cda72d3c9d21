// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "harness/device/device.hpp"

namespace roofmark::cuda {

/// Of at least `bytes`, and larger as long as what is allocated does not lie where it should: the driver cuts small memory out
/// of a chunk that it has already, wherever that lies. Where there is no memory for more, or a chunk of its own lies elsewhere
/// too, the first attempt is returned all the same. Throws what that throws.
Memory allocate_where_wanted(std::size_t bytes, const std::function<Memory(std::size_t bytes)>& allocate,
                             const std::function<bool(const void* data)>& lies_there);

/// Device::allocate_host. The device `ordinal` is the current one.
Memory allocate_host(int ordinal, std::size_t bytes, const HostMemory& wanted);

}  // namespace roofmark::cuda
