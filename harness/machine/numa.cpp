// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/numa.hpp"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>

#include "harness/machine/facts.hpp"
#include "harness/machine/files.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

constexpr int kWordBits = 8 * sizeof(unsigned long);

/// The CPUs of a node that this thread may run on; absent where there is none.
std::optional<cpu_set_t> allowed_cpus_of(int node, const cpu_set_t& allowed) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus_of_node(node, "/")) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &set);
  }
  return CPU_COUNT(&set) > 0 ? std::optional(set) : std::nullopt;
}

}  // namespace

std::vector<int> nodes_with_memory(const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/node";
  for (const char* list : {"has_memory", "online"}) {
    if (const auto text = first_line(folder / list)) return parse_cpu_list(*text);
  }
  return {};
}

std::vector<int> cpus_of_node(int node, const fs::path& root) {
  const auto list = first_line(root / fmt::format("sys/devices/system/node/node{}/cpulist", node));
  return list ? parse_cpu_list(*list) : std::vector<int>();
}

std::optional<int> node_of_this_thread() {
  unsigned cpu = 0, node = 0;
  return syscall(SYS_getcpu, &cpu, &node, nullptr) == 0 ? std::optional(static_cast<int>(node)) : std::nullopt;
}

NodeScope::NodeScope(std::optional<int> node) {
  if (!node) return;
  constexpr unsigned long kMaskBits = kMaskWords * kWordBits;
  unsigned long wanted[kMaskWords] = {};
  std::string refusal = "no such node";
  if (*node >= 0 && static_cast<unsigned long>(*node) < kMaskBits) {
    wanted[*node / kWordBits] = 1UL << (*node % kWordBits);
    bound_ = syscall(SYS_get_mempolicy, &policy_, nodes_, kMaskBits, nullptr, 0) == 0 &&
             syscall(SYS_set_mempolicy, MPOL_BIND, wanted, kMaskBits) == 0;
    if (!bound_) refusal = std::strerror(errno);
  }
  cpu_set_t before;
  if (sched_getaffinity(0, sizeof(before), &before) == 0) {
    const auto its = allowed_cpus_of(*node, before);
    if (its && sched_setaffinity(0, sizeof(*its), &*its) == 0) cpus_ = before;
  }
  if (!bound_ && !cpus_) {
    throw Unsupported(
        fmt::format("memory cannot be placed on NUMA node {}: {}, and this process may use no CPU of it", *node, refusal));
  }
}

NodeScope::~NodeScope() {
  if (bound_) syscall(SYS_set_mempolicy, policy_, nodes_, kMaskWords * kWordBits);
  if (cpus_) sched_setaffinity(0, sizeof(*cpus_), &*cpus_);
}

std::optional<int> PagePlacement::only_node() const {
  return pages.size() == 1 ? std::optional(pages.begin()->first) : std::nullopt;
}

PagePlacement placement_of(const void* data, std::size_t bytes) {
  constexpr std::size_t kMostAsked = 4096;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(data) / page;
  PagePlacement placement;
  placement.total = bytes == 0 ? 0 : (reinterpret_cast<std::uintptr_t>(data) + bytes - 1) / page - first + 1;
  placement.asked = std::min(placement.total, kMostAsked);
  std::vector<void*> pages(placement.asked);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    pages[i] = reinterpret_cast<void*>((first + i * placement.total / placement.asked) * page);
  }
  std::vector<int> nodes(pages.size(), -ENOENT);
  // Without target nodes the call moves nothing.
  if (!pages.empty() && syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) {
    placement.error = std::strerror(errno);
    placement.unknown = placement.asked;
    return placement;
  }
  for (const int node : nodes) {
    if (node >= 0) {
      ++placement.pages[node];
    } else {
      ++placement.unknown;
    }
  }
  return placement;
}

std::string in_words(const PagePlacement& placement) {
  if (!placement.error.empty()) return "unknown: " + placement.error;
  if (placement.pages.empty()) return "unknown: the kernel tells of none of them";
  const std::string whole = fmt::format("{}{} pages", placement.asked < placement.total ? "a sample of " : "", placement.asked);
  if (placement.pages.size() == 1 && placement.unknown == 0) {
    return fmt::format("node {}, all of {}", placement.pages.begin()->first, whole);
  }
  std::string text;
  const auto add = [&](const std::string& where, std::size_t count) {
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", where,
                        100.0 * static_cast<double>(count) / static_cast<double>(placement.asked));
  };
  for (const auto& [node, count] : placement.pages) add(fmt::format("node {}", node), count);
  if (placement.unknown) add("unknown", placement.unknown);
  return text + " of " + whole;
}

std::optional<std::size_t> huge_page_bytes(const void* data, std::size_t bytes, const fs::path& root) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data), end = begin + bytes;
  std::ifstream in(root / "proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    std::uintptr_t from = 0, to = 0;
    char dash = ' ';
    if (std::istringstream words(line); line.find(':') > line.find('-') && words >> std::hex >> from >> dash >> to) {
      // A mapping that begins before the range, or ends far behind it, holds other arrays, too.
      constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
      inside = from == begin && to >= end && to - end < kHugePage;
    } else if (inside && line.starts_with("AnonHugePages:")) {
      const auto kibibytes = number(line.substr(line.find_first_of("0123456789")));
      return kibibytes ? std::optional(std::min(bytes, static_cast<std::size_t>(*kibibytes) * 1024)) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace roofmark
