// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/stream.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/last_level_cache.hpp"
#include "kernels/cpu/vector_loops.hpp"

namespace roofmark::cpu {
namespace {

constexpr std::size_t kLine = 64;
/// Below this, starting and joining other threads takes longer than they save.
constexpr std::size_t kLeastShared = std::size_t{384} << 10;

bool supports(DataType type) { return type == DataType::fp64 || type == DataType::fp32; }

/// Calls work(thread, begin, end) for shares of n elements that end at cache lines, on one thread or all, depending on `bytes`.
/// Returns the number of threads.
template <class Work>
int share_out(std::size_t n, std::size_t element_bytes, std::size_t bytes, Work work) {
  if (bytes < kLeastShared) {
    work(0, std::size_t{0}, n);
    return 1;
  }
  int worked = 1;
#pragma omp parallel
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const std::size_t step = kLine / element_bytes, steps = (n + step - 1) / step;
    const std::size_t share = (steps + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads) * step;
    const std::size_t begin = std::min(n, static_cast<std::size_t>(thread) * share);
    work(thread, begin, std::min(n, begin + share));
    if (thread == 0) worked = threads;
  }
  return worked;
}

/// One cache line per thread, for its part of a sum.
std::size_t workspace_bytes(StreamOp op, std::size_t) {
  return is_reduction(op) ? static_cast<std::size_t>(omp_get_max_threads()) * kLine : 0;
}

template <class T>
void run(StreamOp op, void* to, const void* x_data, const void* y_data, std::size_t n, double s, void* workspace) {
  const TypedLoops<T>& loops = best_loops<T>();
  const auto* x = static_cast<const T*>(x_data);
  const auto* y = static_cast<const T*>(y_data);
  const std::size_t bytes = static_cast<std::size_t>(array_count(op)) * n * sizeof(T);
  if (!is_reduction(op)) {
    const bool past_caches = bytes > last_level_cache_bytes(omp_get_max_threads());
    share_out(n, sizeof(T), bytes, [&](int, std::size_t begin, std::size_t end) {
      loops.map(op, static_cast<T*>(to) + begin, x ? x + begin : nullptr, y ? y + begin : nullptr, end - begin,
                static_cast<T>(s), past_caches);
    });
    return;
  }
  constexpr std::size_t kApart = kLine / sizeof(double);
  auto* parts = static_cast<double*>(workspace);
  const int worked = share_out(n, sizeof(T), bytes, [&](int thread, std::size_t begin, std::size_t end) {
    parts[static_cast<std::size_t>(thread) * kApart] = loops.reduce(op, x + begin, y ? y + begin : nullptr, end - begin);
  });
  double sum = 0;
  for (int thread = 0; thread < worked; ++thread) sum += parts[static_cast<std::size_t>(thread) * kApart];
  *static_cast<double*>(to) = sum;
}

void launch(StreamOp op, DataType type, void* to, const void* x, const void* y, std::size_t n, double s, void* workspace,
            Stream) {
  if (type == DataType::fp64) return run<double>(op, to, x, y, n, s, workspace);
  return run<float>(op, to, x, y, n, s, workspace);
}

void library_copy(void* to, const void* from, std::size_t bytes, Stream) {
  share_out(bytes, 1, 2 * bytes, [=](int, std::size_t begin, std::size_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
  });
}

void library_fill(void* to, unsigned char value, std::size_t bytes, Stream) {
  share_out(bytes, 1, bytes,
            [=](int, std::size_t begin, std::size_t end) { std::memset(static_cast<char*>(to) + begin, value, end - begin); });
}

}  // namespace

const StreamKernels stream = {supports, launch, workspace_bytes, library_copy, library_fill};

}  // namespace roofmark::cpu
