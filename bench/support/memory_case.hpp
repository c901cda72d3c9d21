// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "bench/support/listing.hpp"
#include "bench/support/slots.hpp"

namespace roofmark {

/// Bytes of a launch: those that it touches; what it must move, each time that the operation reads or writes a byte; and those
/// touched that it updates, which is to read and to write.
struct LaunchBytes {
  std::size_t touched = 0, moved = 0, updated = 0;
};

/// A case whose arrays are `layout`, with the demands on memory as its only phase and `cache` as the last key of its shape.
/// Where nothing else is given, a launch touches and moves all arrays once.
Case memory_case(const DeviceInfo& device, std::string family, std::string operation, DataType type, Shape shape, Cache cache,
                 const SlotLayout& layout, std::optional<LaunchBytes> bytes = {});

/// Inserts demands on other resources than the memory before those on it.
void demand_first(Case& c, const Phase& demands);

}  // namespace roofmark
