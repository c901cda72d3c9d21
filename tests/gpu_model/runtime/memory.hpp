// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Memory of the devices and pinned memory. Device pointers are host pointers; each allocation is a mapping of its own.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

namespace gpu_model::runtime {

struct Allocation {
  char* base = nullptr;
  std::size_t bytes = 0;
  int device = -1;      ///< ordinal; -1: pinned host memory
  void* map = nullptr;  ///< the whole mapping, with the padding around the allocation
  std::size_t map_bytes = 0;
};

/// `device`: its ordinal, or -1 for pinned host memory.
cudaError_t allocate(void** to, std::size_t bytes, int device);
/// Ends an allocation at once, whatever still runs.
void give_back(const Allocation& allocation);

/// The allocation that holds the address.
std::optional<Allocation> find_allocation(const void* address);

enum class Place {
  pageable,
  pinned,
  device,
  broken,  ///< starts in an allocation and extends beyond it
};
/// Where a range lies. `device` receives the ordinal for device memory and -1 for pinned memory; otherwise it does not change.
Place place_of(const void* address, std::size_t bytes, int* device = nullptr);

}  // namespace gpu_model::runtime
