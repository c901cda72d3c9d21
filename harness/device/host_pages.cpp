// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/host_pages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "harness/machine/facts.hpp"
#include "harness/machine/numa.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

constexpr std::size_t kSmallPageBytes = 4096;

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

}  // namespace

void throw_out_of_host_memory(std::size_t bytes, HostMemoryKind kind) {
  std::string limits;
  if (rlimit locked{};
      kind != HostMemoryKind::pageable && getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY) {
    limits = fmt::format("; this process may lock {} bytes (ulimit -l)", locked.rlim_cur);
  }
  throw OutOfMemory(bytes, available_memory("/"), fmt::format("{} host memory", name(kind)), limits);
}

void require_host_memory(std::size_t bytes, HostMemoryKind kind) {
  if (bytes > available_memory("/")) throw_out_of_host_memory(bytes, kind);
}

Memory map_pages(std::size_t bytes, bool huge_pages) {
  const std::size_t step = huge_pages ? kHugePageBytes : kSmallPageBytes;
  const std::size_t length = round_up(std::max<std::size_t>(bytes, 1), step);
  void* mapped = mmap(nullptr, length + step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw_out_of_host_memory(bytes, HostMemoryKind::pageable);
  auto* start = static_cast<unsigned char*>(mapped);
  auto* aligned = start + (round_up(reinterpret_cast<std::size_t>(start), step) - reinterpret_cast<std::size_t>(start));
  if (aligned != start) munmap(start, static_cast<std::size_t>(aligned - start));
  munmap(aligned + length, static_cast<std::size_t>(start + step - aligned));
  if (huge_pages) madvise(aligned, length, MADV_HUGEPAGE);
  return Memory(aligned, [length](void* data) { munmap(data, length); });
}

Memory map_pages_on_node(std::size_t bytes, const HostMemory& wanted) {
  require_host_memory(bytes, wanted.kind);
  const NodeScope on_node(wanted.node);
  Memory memory = map_pages(bytes, wanted.huge_pages);
  std::memset(memory.get(), 0, bytes);
  return memory;
}

}  // namespace roofmark
