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
/// Under this, waking the other threads takes longer than the work.
constexpr std::size_t kLeastShared = std::size_t{128} << 10;

bool supports(DataType type) { return type == DataType::fp64 || type == DataType::fp32; }

/// Threads that a set of `bytes` is worth.
int threads_for(std::size_t bytes) { return bytes < kLeastShared ? 1 : omp_get_max_threads(); }

struct Range {
  std::size_t begin, end;
};

/// This thread's share of n elements; shares meet at multiples of a line's elements.
Range share_of(std::size_t n, std::size_t element_bytes) {
  const auto threads = static_cast<std::size_t>(omp_get_num_threads()), thread = static_cast<std::size_t>(omp_get_thread_num());
  const std::size_t step = kLine / element_bytes;
  const std::size_t share = ((n + threads - 1) / threads + step - 1) / step * step;
  const std::size_t begin = std::min(n, thread * share);
  return {begin, std::min(n, begin + share)};
}

/// A line for each thread's part of a sum.
std::size_t workspace_bytes(StreamOp op, std::size_t) {
  return is_reduction(op) ? static_cast<std::size_t>(omp_get_max_threads()) * kLine : 0;
}

template <class T>
void run(StreamOp op, void* to, const void* x_data, const void* y_data, std::size_t n, double s, void* workspace) {
  const TypedLoops<T>& loops = widest_loops<T>();
  const auto* x = static_cast<const T*>(x_data);
  const auto* y = static_cast<const T*>(y_data);
  const std::size_t bytes = static_cast<std::size_t>(array_count(op)) * n * sizeof(T);
  const int threads = threads_for(bytes);
  if (!is_reduction(op)) {
    const bool past_caches = bytes > last_level_cache_bytes(threads);
#pragma omp parallel num_threads(threads)
    {
      const auto [begin, end] = share_of(n, sizeof(T));
      loops.map(op, static_cast<T*>(to) + begin, x ? x + begin : nullptr, y ? y + begin : nullptr, end - begin,
                static_cast<T>(s), past_caches);
    }
    return;
  }
  constexpr std::size_t kApart = kLine / sizeof(double);
  auto* parts = static_cast<double*>(workspace);
  int worked = 1;
#pragma omp parallel num_threads(threads)
  {
    const auto [begin, end] = share_of(n, sizeof(T));
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    parts[thread * kApart] = loops.reduce(op, x + begin, y ? y + begin : nullptr, end - begin);
    if (thread == 0) worked = omp_get_num_threads();
  }
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
#pragma omp parallel num_threads(threads_for(2 * bytes))
  {
    const auto [begin, end] = share_of(bytes, 1);
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
  }
}

void library_fill(void* to, unsigned char value, std::size_t bytes, Stream) {
#pragma omp parallel num_threads(threads_for(bytes))
  {
    const auto [begin, end] = share_of(bytes, 1);
    std::memset(static_cast<char*>(to) + begin, value, end - begin);
  }
}

}  // namespace

const StreamKernels stream = {supports, launch, workspace_bytes, library_copy, library_fill};

}  // namespace roofmark::cpu
