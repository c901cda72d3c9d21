// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cpu/pool.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdlib>

#include "harness/machine/facts.hpp"

namespace roofmark::cpu {
namespace {

constexpr int kNone = -1;
thread_local int core_of_this_thread = kNone;

bool placed_by_environment() {
  return std::getenv("OMP_PROC_BIND") || std::getenv("OMP_PLACES") || std::getenv("GOMP_CPU_AFFINITY");
}

cpu_set_t set_of(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return set;
}

}  // namespace

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> members(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, members.data());
    cpus.insert(cpus.end(), members.begin(), members.end());
  }
  if (cpus.empty()) cpus = allowed_cpus();
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

Pool::Pool(const std::vector<int>& cores, int threads) : cores_(cores), threads_(threads), places_(!placed_by_environment()) {
  sched_getaffinity(0, sizeof(everywhere_), &everywhere_);
  make_ready();
}

Pool::~Pool() {
#pragma omp parallel num_threads(threads_)
  if (core_of_this_thread != kNone) {
    sched_setaffinity(0, sizeof(everywhere_), &everywhere_);
    core_of_this_thread = kNone;
  }
}

void Pool::make_ready() {
#pragma omp parallel num_threads(threads_)
  if (places_) {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const int core = cores_[thread % cores_.size()];
    const cpu_set_t set = set_of(core);
    if (thread == 0 && sched_getcpu() != core) {
      sched_setaffinity(0, sizeof(set), &set);
      sched_setaffinity(0, sizeof(everywhere_), &everywhere_);
    } else if (thread != 0 && core_of_this_thread != core) {
      sched_setaffinity(0, sizeof(set), &set);
      core_of_this_thread = core;
    }
  }
}

}  // namespace roofmark::cpu
