// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/device/device.hpp"

namespace roofmark::cuda {

/// Device::allocate_host. The device `ordinal` is the current one.
Memory allocate_host(int ordinal, std::size_t bytes, const HostMemory& wanted);

}  // namespace roofmark::cuda
