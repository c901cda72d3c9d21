// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace roofmark {

/// pageable: as malloc gives it. A GPU's copy engine reaches only the others by itself: pinned and write_combined memory, which
/// the driver allocates (write_combined is slow for the host to read); registered, which was pageable; managed, whose pages
/// move to whoever touches them.
enum class HostMemoryKind { pageable, pinned, registered, write_combined, managed };

constexpr std::string_view name(HostMemoryKind kind) {
  constexpr std::string_view names[] = {"pageable", "pinned", "registered", "write_combined", "managed"};
  return names[static_cast<int>(kind)];
}

/// What host memory is asked for.
struct HostMemory {
  HostMemoryKind kind = HostMemoryKind::pageable;
  std::optional<int> node;  ///< NUMA node; absent: where the kernel places it
  bool huge_pages =
      false;  ///< transparent huge pages, of pageable and registered memory: the driver chooses those of the others
};

}  // namespace roofmark
