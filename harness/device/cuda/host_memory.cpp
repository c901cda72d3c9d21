// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/host_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/device/host_pages.hpp"
#include "harness/machine/numa.hpp"
#include "kernels/base/cuda.hpp"

namespace roofmark::cuda {
namespace {

/// False where there is too little memory.
bool allocated(cudaError_t status) {
  if (status != cudaErrorMemoryAllocation) check(status);
  if (status == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

void require(int ordinal, cudaDeviceAttr attribute, HostMemoryKind kind) {
  int has = 0;
  check(cudaDeviceGetAttribute(&has, attribute, ordinal));
  if (!has) throw Unsupported(fmt::format("the device has no {} memory", name(kind)));
}

/// A byte of each page, where memset would write all of them.
void touch_pages(void* data, std::size_t bytes) {
  constexpr std::size_t kSmallestPage = 4096;
  auto* const touched = static_cast<volatile unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; i += kSmallestPage) touched[i] = 0;
}

/// Memory that the driver allocates. Its pages lie where the calling thread is, which touches them here: the driver may leave
/// that for later.
template <class Allocate>
Memory from_driver(std::size_t bytes, const HostMemory& wanted, cudaError_t (*free)(void*), const Allocate& allocate) {
  const NodeScope on_node(wanted.node);
  const auto touched = [&](std::size_t size) {
    require_host_memory(size, wanted);
    void* data = nullptr;
    if (!allocated(allocate(&data, std::max<std::size_t>(size, 1)))) throw_out_of_host_memory(size, wanted);
    Memory memory(data, [free](void* given) { free(given); });
    touch_pages(data, size);
    return memory;
  };
  if (!wanted.node) return touched(bytes);
  return allocate_where_wanted(bytes, touched, [&](const void* data) {
    return !placement_of(data, std::max<std::size_t>(bytes, 1)).has_others_than(*wanted.node);
  });
}

Memory registered(std::size_t bytes, const HostMemory& wanted) {
  Memory pages = map_pages_on_node(bytes, wanted);
  if (!allocated(cudaHostRegister(pages.get(), bytes, cudaHostRegisterPortable | cudaHostRegisterMapped))) {
    throw_out_of_host_memory(bytes, wanted);
  }
  void* const data = pages.get();
  return Memory(data, [pages = std::make_shared<Memory>(std::move(pages))](void* given) {
    cudaHostUnregister(given);
    pages->reset();
  });
}

}  // namespace

Memory allocate_where_wanted(std::size_t bytes, const std::function<Memory(std::size_t bytes)>& allocate,
                             const std::function<bool(const void* data)>& lies_there) {
  constexpr std::size_t kFirst = std::size_t{2} << 20, kLast = std::size_t{64} << 20;
  std::vector<Memory> attempts;  // kept, or the driver would return the same memory again
  attempts.push_back(allocate(bytes));
  for (std::size_t size = std::max(2 * bytes, kFirst); size <= kLast && !lies_there(attempts.back().get()); size *= 2) {
    try {
      attempts.push_back(allocate(size));
    } catch (const OutOfMemory&) {
      break;
    }
  }
  return std::move(lies_there(attempts.back().get()) ? attempts.back() : attempts.front());
}

Memory allocate_host(int ordinal, std::size_t bytes, const HostMemory& wanted) {
  constexpr unsigned kEverywhere = cudaHostAllocPortable | cudaHostAllocMapped;
  const auto pinned = [](unsigned flags) {
    return [flags](void** data, std::size_t bytes) { return cudaHostAlloc(data, bytes, flags); };
  };
  switch (wanted.kind) {
    case HostMemoryKind::pageable:
      return map_pages_on_node(bytes, wanted);
    case HostMemoryKind::pinned:
      return from_driver(bytes, wanted, cudaFreeHost, pinned(kEverywhere));
    case HostMemoryKind::write_combined:
      return from_driver(bytes, wanted, cudaFreeHost, pinned(kEverywhere | cudaHostAllocWriteCombined));
    case HostMemoryKind::registered:
      require(ordinal, cudaDevAttrHostRegisterSupported, wanted.kind);
      return registered(bytes, wanted);
    case HostMemoryKind::managed:
      break;
  }
  require(ordinal, cudaDevAttrManagedMemory, wanted.kind);
  return from_driver(bytes, wanted, cudaFree,
                     [](void** data, std::size_t bytes) { return cudaMallocManaged(data, bytes, cudaMemAttachGlobal); });
}

}  // namespace roofmark::cuda
