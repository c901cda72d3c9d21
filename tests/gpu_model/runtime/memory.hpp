// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Memory of the devices, and host memory that they reach. Device pointers are host pointers; each allocation is a mapping of
// its own.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

namespace gpu_model::runtime {

enum class Kind { device, pinned, registered, managed };

struct Allocation {
  char* base = nullptr;
  std::size_t bytes = 0;
  int device = -1;      ///< ordinal; -1: host memory
  void* map = nullptr;  ///< the whole mapping, with the padding around the allocation; null of registered memory
  std::size_t map_bytes = 0;
  Kind kind = Kind::device;
};

/// `device`: its ordinal, or -1 for host memory.
cudaError_t allocate(void** to, std::size_t bytes, int device, Kind kind);
/// Ends an allocation at once, whatever still runs.
void give_back(const Allocation& allocation);

/// The allocation that holds the address.
std::optional<Allocation> find_allocation(const void* address);

enum class Place {
  pageable,
  pinned,   ///< or registered
  managed,  ///< host memory to the host, device memory to a device
  device,
  broken,  ///< starts in an allocation and extends beyond it
};
/// Where a range lies. `device` receives the ordinal for device memory and -1 for host memory that devices reach; otherwise it
/// does not change.
Place place_of(const void* address, std::size_t bytes, int* device = nullptr);

}  // namespace gpu_model::runtime
