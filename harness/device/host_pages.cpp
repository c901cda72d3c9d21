// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/host_pages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "harness/machine/facts.hpp"
#include "harness/machine/huge_pages.hpp"
#include "harness/machine/numa.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/host_limits.hpp"

namespace roofmark {
namespace {

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

}  // namespace

std::size_t available_to(const HostMemory& wanted) {
  const std::size_t all = available_memory("/");
  return wanted.node ? std::min(all, available_memory_of_node(*wanted.node, "/").value_or(all)) : all;
}

void throw_out_of_host_memory(std::size_t bytes, const HostMemory& wanted) {
  const std::string limits = wanted.kind == HostMemoryKind::pageable ? "" : lock_limit_in_words();
  const std::string of = wanted.node ? fmt::format(" of NUMA node {}", *wanted.node) : "";
  throw OutOfMemory(bytes, available_to(wanted), fmt::format("{} host memory{}", name(wanted.kind), of), limits);
}

void require_host_memory(std::size_t bytes, const HostMemory& wanted) {
  if (bytes > available_to(wanted)) throw_out_of_host_memory(bytes, wanted);
}

Memory map_pages(std::size_t bytes, bool huge_pages, std::optional<int> node) {
  const std::size_t huge = huge_page_bytes("/");
  const int advice = huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
  // A small array would take a whole huge page, which has 512 MiB on a kernel with pages of 64 KiB.
  if (bytes < huge / 2) huge_pages = false;
  const std::size_t step = huge_pages ? huge : static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t length = round_up(std::max<std::size_t>(bytes, 1), step);
  void* mapped = mmap(nullptr, length + step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw_out_of_host_memory(bytes, {HostMemoryKind::pageable, node, huge_pages});
  auto* start = static_cast<unsigned char*>(mapped);
  auto* aligned = start + (round_up(reinterpret_cast<std::size_t>(start), step) - reinterpret_cast<std::size_t>(start));
  if (aligned != start) munmap(start, static_cast<std::size_t>(aligned - start));
  munmap(aligned + length, static_cast<std::size_t>(start + step - aligned));
  if (huge_pages || advice == MADV_NOHUGEPAGE) madvise(aligned, length, advice);
  if (node) bind_pages(aligned, length, *node);
  return Memory(aligned, [length](void* data) { munmap(data, length); });
}

Memory map_pages_on_node(std::size_t bytes, const HostMemory& wanted) {
  require_host_memory(bytes, wanted);
  const NodeScope on_node(wanted.node);
  Memory memory = map_pages(bytes, wanted.huge_pages, wanted.node);
  std::memset(memory.get(), 0, bytes);
  return memory;
}

}  // namespace roofmark
