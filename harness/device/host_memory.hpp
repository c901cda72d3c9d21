// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace roofmark {

/// pageable: from malloc; a GPU's copy engine cannot access it directly. pinned and write_combined: allocated by the driver
/// (write_combined is slow for the host to read). registered: pageable memory, pinned later. managed: its pages migrate to the
/// processor that touches them.
enum class HostMemoryKind { pageable, pinned, registered, write_combined, managed };

constexpr std::string_view name(HostMemoryKind kind) {
  constexpr std::string_view names[] = {"pageable", "pinned", "registered", "write_combined", "managed"};
  return names[static_cast<int>(kind)];
}

/// A request for host memory.
struct HostMemory {
  HostMemoryKind kind = HostMemoryKind::pageable;
  std::optional<int> node;  ///< NUMA node; absent: where the kernel places it
  bool huge_pages =
      false;  ///< transparent huge pages, of pageable and registered memory: the driver chooses those of the others
};

}  // namespace roofmark
