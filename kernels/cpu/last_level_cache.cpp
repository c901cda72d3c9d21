// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/last_level_cache.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace roofmark::cpu {
namespace {

/// The number of CPUs in a list such as "0-3,8-11"; 1 for what cannot be read.
int cpus_listed_in(const std::string& file) {
  std::ifstream in(file);
  int cpus = 0;
  for (std::string part; std::getline(in, part, ',');) {
    std::istringstream range(part);
    int first = 0, last = 0;
    char dash = ' ';
    if (!(range >> first)) continue;
    cpus += range >> dash >> last ? last - first + 1 : 1;
  }
  return std::max(cpus, 1);
}

struct Cache {
  std::size_t bytes = std::size_t{32} << 20;
  int cores = 1 << 20;  ///< that share one instance
};

Cache read_last_level() {
  const std::string cpu = "/sys/devices/system/cpu/cpu0/";
  Cache cache;
  for (int index = 0;; ++index) {
    const std::string folder = cpu + "cache/index" + std::to_string(index) + "/";
    std::ifstream in(folder + "size");
    std::size_t size = 0;
    char unit = ' ';
    if (!(in >> size >> unit)) return cache;
    const int threads_a_core = cpus_listed_in(cpu + "topology/thread_siblings_list");
    cache = {size << (unit == 'K' ? 10 : 20), std::max(1, cpus_listed_in(folder + "shared_cpu_list") / threads_a_core)};
  }
}

}  // namespace

std::size_t last_level_cache_bytes(int threads) {
  static const Cache cache = read_last_level();
  return cache.bytes * static_cast<std::size_t>((threads + cache.cores - 1) / cache.cores);
}

}  // namespace roofmark::cpu
