// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/transfer.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace roofmark::cpu {
namespace {

constexpr std::size_t kLine = 64;
/// Below this, starting and joining other threads takes longer than they save.
constexpr std::size_t kLeastShared = std::size_t{192} << 10;

void copy(const CopyRange& range, std::size_t begin, std::size_t end) {
  std::memcpy(static_cast<char*>(range.to) + begin, static_cast<const char*>(range.from) + begin, end - begin);
}

void by_threads(const CopyRange& range, const std::vector<int>& threads) {
  const std::size_t count = threads.size();
  if (range.bytes < kLeastShared && threads.front() == 0) return copy(range, 0, range.bytes);
  const std::size_t share = (range.bytes / count / kLine + 1) * kLine;
#pragma omp parallel
  {
    const auto place = std::find(threads.begin(), threads.end(), omp_get_thread_num());
    if (place != threads.end()) {
      const std::size_t begin = std::min(range.bytes, static_cast<std::size_t>(place - threads.begin()) * share);
      copy(range, begin, std::min(range.bytes, begin + share));
    }
  }
}

std::vector<int> threads_on(const std::vector<int>& cpus) {
  std::vector<int> places(static_cast<std::size_t>(omp_get_max_threads()), -1), threads;
#pragma omp parallel
  places[static_cast<std::size_t>(omp_get_thread_num())] = sched_getcpu();
  for (std::size_t thread = 0; thread < places.size(); ++thread) {
    if (std::find(cpus.begin(), cpus.end(), places[thread]) != cpus.end()) threads.push_back(static_cast<int>(thread));
  }
  if (threads.empty()) {
    threads.resize(places.size());
    std::iota(threads.begin(), threads.end(), 0);
  }
  return threads;
}

}  // namespace

const TransferKernels transfer = {.by_threads = by_threads, .threads_on = threads_on};

}  // namespace roofmark::cpu
