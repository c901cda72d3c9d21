// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/support/listing.hpp"
#include "kernels/memory_test.hpp"

namespace roofmark::memory_test {

/// A test of `bytes` of memory with one pattern: all passes. A multiple of 4 bytes.
Case memory_test_case(const DeviceInfo& device, MemoryPattern pattern, std::size_t bytes);

}  // namespace roofmark::memory_test
