// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "../interpreter/interpreter.hpp"
#include "graphs.hpp"
#include "operations.hpp"
#include "state.hpp"

namespace gpu_model::runtime {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr int host = -1;          // instead of a device's ordinal
constexpr int fresh_byte = 0xA5;  // what device memory holds before anything is written

/// Device memory that an allocation takes up.
std::size_t charged_bytes(std::size_t bytes) {
  const std::size_t grain = bytes >= (std::size_t{1} << 20) ? std::size_t{2} << 20 : 512;
  return (bytes + grain - 1) / grain * grain;
}

/// Takes the bytes from the device's memory; returns false if it has too little. Call it with the state's mutex held.
bool charge(Device& device, std::size_t bytes) {
  const std::size_t limit = settings().memory_bytes, planted = settings().out_of_memory_after;
  const std::size_t used = device.used_bytes + charged_bytes(bytes);
  if (bytes > limit || used > limit || (planted && used > planted)) {
    GPUMODEL_TRACE("cudaMalloc of %zu bytes: out of memory (%zu of %zu in use)", bytes, device.used_bytes, limit);
    return false;
  }
  device.used_bytes = used;
  return true;
}

/// Whether this much more host memory can be pinned. Call it with the state's mutex held.
bool can_pin(std::size_t bytes) {
  std::size_t pinned = bytes;
  for (const auto& [base, allocation] : state().allocations) {
    if (allocation.kind == Kind::pinned || allocation.kind == Kind::registered) pinned += allocation.bytes;
  }
  return !settings().pinned_bytes || pinned <= settings().pinned_bytes;
}

}  // namespace

cudaError_t allocate(void** to, std::size_t bytes, int device, Kind kind) {
  if (!to) return fail(cudaErrorInvalidValue);
  *to = nullptr;
  if (bytes == 0) return cudaSuccess;
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    GPUMODEL_CHECK(refuse_during_captures());
    if (device != host && !charge(device_at(device), bytes)) return fail(cudaErrorMemoryAllocation);
    if (kind == Kind::pinned && !can_pin(bytes)) return fail(cudaErrorMemoryAllocation);
  }
  // Device memory is aligned to 256 bytes, as documented, and no better. The inaccessible page after it catches overruns.
  const std::size_t shift = device == host ? 0 : 256;
  const std::size_t map_bytes = (bytes + shift + page_bytes - 1) / page_bytes * page_bytes + page_bytes;
  void* map = mmap(nullptr, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return fail(cudaErrorMemoryAllocation);
  mprotect(static_cast<char*>(map) + map_bytes - page_bytes, page_bytes, PROT_NONE);
  if (device != host) std::memset(map, fresh_byte, map_bytes - page_bytes);
  char* const base = static_cast<char*>(map) + shift;
  {
    const std::lock_guard lock(s.mutex);
    s.allocations[base] = {base, bytes, device, map, map_bytes, kind};
  }
  allow_range(base, bytes, device == host ? everyone : device);
  *to = base;
  return cudaSuccess;
}

void give_back(const Allocation& allocation) {
  forbid_range(allocation.base);
  {
    const std::lock_guard lock(state().mutex);
    if (allocation.device != host) device_at(allocation.device).used_bytes -= charged_bytes(allocation.bytes);
    state().allocations.erase(allocation.base);
  }
  if (allocation.map) munmap(allocation.map, allocation.map_bytes);
}

namespace {

/// Of memory that `function` frees.
cudaError_t release(void* pointer, std::initializer_list<Kind> kinds, const char* function) {
  if (!pointer) return cudaSuccess;
  State& s = state();
  Allocation found;
  {
    const std::lock_guard lock(s.mutex);
    const auto at = s.allocations.find(static_cast<char*>(pointer));
    if (at == s.allocations.end() || std::find(kinds.begin(), kinds.end(), at->second.kind) == kinds.end()) {
      return fail(cudaErrorInvalidValue, std::string(function) + " of a pointer that its counterpart did not return");
    }
    GPUMODEL_CHECK(refuse_during_captures());
    found = at->second;
  }
  for (const auto& device : s.devices) {
    if (found.device == host || device->ordinal() == found.device) synchronize(*device);
  }
  give_back(found);
  return cudaSuccess;
}

bool is_registered(const void* pointer) {
  const auto found = find_allocation(pointer);
  return found && found->base == pointer && found->kind == Kind::registered;
}

}  // namespace

std::optional<Allocation> find_allocation(const void* address) {
  const auto* at = static_cast<const char*>(address);
  const std::lock_guard lock(state().mutex);
  const auto& all = state().allocations;
  const auto next = all.upper_bound(at);
  if (next == all.begin()) return std::nullopt;
  const Allocation& before = std::prev(next)->second;
  if (at >= before.base + before.bytes) return std::nullopt;
  return before;
}

Place place_of(const void* address, std::size_t bytes, int* device) {
  const auto found = find_allocation(address);
  if (!found) return Place::pageable;
  if (static_cast<const char*>(address) + bytes > found->base + found->bytes) return Place::broken;
  if (device) *device = found->device;
  if (found->kind == Kind::managed) return Place::managed;
  return found->device == host ? Place::pinned : Place::device;
}

}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  GPUMODEL_CHECK(enter());
  return allocate(pointer, bytes, current_device().ordinal(), Kind::device);
}
cudaError_t cudaFree(void* pointer) {
  GPUMODEL_CHECK(enter());
  GPUMODEL_CHECK(release(pointer, {Kind::device, Kind::managed}, "cudaFree"));
  return enter();
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  GPUMODEL_CHECK(enter());
  if (flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) return fail(cudaErrorInvalidValue);
  return allocate(pointer, bytes, host, Kind::pinned);
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }
cudaError_t cudaFreeHost(void* pointer) {
  GPUMODEL_CHECK(enter());
  return release(pointer, {Kind::pinned}, "cudaFreeHost");
}
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  GPUMODEL_CHECK(enter());
  if (!pointer || bytes == 0) return fail(cudaErrorInvalidValue);
  if (flags & ~(cudaHostRegisterPortable | cudaHostRegisterMapped)) return fail(cudaErrorNotSupported);
  auto* const base = static_cast<char*>(pointer);
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    for (const auto& [other, allocation] : s.allocations) {
      if (other < base + bytes && base < other + allocation.bytes) return fail(cudaErrorHostMemoryAlreadyRegistered);
    }
    if (!can_pin(bytes)) return fail(cudaErrorMemoryAllocation);
    s.allocations[base] = {base, bytes, host, nullptr, 0, Kind::registered};
  }
  gpu_model::allow_range(base, bytes);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* pointer) {
  GPUMODEL_CHECK(enter());
  if (!pointer) return fail(cudaErrorInvalidValue);
  if (!is_registered(pointer)) return fail(cudaErrorHostMemoryNotRegistered);
  return release(pointer, {Kind::registered}, "cudaHostUnregister");
}
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  GPUMODEL_CHECK(enter());
  if (bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) return fail(cudaErrorInvalidValue);
  return allocate(pointer, bytes, host, Kind::managed);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* pointer, unsigned flags) {
  GPUMODEL_CHECK(enter());
  if (!device || flags != 0) return fail(cudaErrorInvalidValue);
  if (place_of(pointer, 1) != Place::pinned) {
    return fail(cudaErrorInvalidValue, "cudaHostGetDevicePointer of memory that is not pinned");
  }
  *device = pointer;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  GPUMODEL_CHECK(enter());
  if (!free || !total) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(state().mutex);
  *total = settings().memory_bytes;
  *free = settings().memory_bytes - current_device().used_bytes;
  return cudaSuccess;
}

}  // extern "C"
