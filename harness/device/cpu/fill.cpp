// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cpu/fill.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "harness/device/block_scaled_data.hpp"

namespace roofmark::cpu {
namespace {

// An attribute that other processors do not know. Eight 64-bit products at a time make normal numbers seven times as fast.
#if defined(__x86_64__)
#define ROOFMARK_WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "default")))
#else
#define ROOFMARK_WIDEST_VECTORS
#endif

template <DataType kType, Distribution kDistribution>
ROOFMARK_WIDEST_VECTORS void fill_all(typename Element<kType>::Storage* to, std::uint64_t seed, std::uint64_t array,
                                      std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) to[i] = generate<kType>(kDistribution, seed, array, static_cast<std::uint64_t>(i));
}

void fill_range(void* data, DataType type, std::int64_t begin, std::int64_t end, const Fill& fill) {
  with_type(type, [&]<DataType kType>() {
    auto* to = static_cast<typename Element<kType>::Storage*>(data);
    switch (fill.distribution) {
      case Distribution::normal:
        return fill_all<kType, Distribution::normal>(to, fill.seed, fill.array, begin, end);
      case Distribution::uniform:
        return fill_all<kType, Distribution::uniform>(to, fill.seed, fill.array, begin, end);
      case Distribution::zeros:
        return fill_all<kType, Distribution::zeros>(to, fill.seed, fill.array, begin, end);
    }
  });
}

}  // namespace

void fill(void* data, DataType type, std::size_t count, const Fill& fill) {
  constexpr std::int64_t kPiece = 1 << 16;
  const auto n = static_cast<std::int64_t>(count);
#pragma omp parallel for
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    fill_range(data, type, begin, std::min(n, begin + kPiece), fill);
  }
}

void fill(void* data, const BlockScaledLayout& layout, const Fill& fill) {
  set_bytes(static_cast<std::byte*>(data) + layout.scales_offset(), 0, static_cast<std::size_t>(layout.scale_bytes()));
  with_block_scaled_type(layout.type, [&]<DataType kType>() {
#pragma omp parallel for
    for (std::int64_t i = 0; i < layout.blocks(); ++i) fill_block<kType>(data, layout, i, fill);
  });
}

void set_bytes(void* data, unsigned char value, std::size_t bytes, const std::function<void()>& between_parts) {
  constexpr std::size_t kPage = 4096, kPart = std::size_t{1} << 26;
  auto* to = static_cast<unsigned char*>(data);
  bool more = true;
  for (std::size_t done = 0; more; done += kPart) {
    if (done > 0 && between_parts) between_parts();
    more = false;
#pragma omp parallel reduction(|| : more)
    {
      const auto threads = static_cast<std::size_t>(omp_get_num_threads());
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      const std::size_t share = ((bytes + threads - 1) / threads + kPage - 1) / kPage * kPage;
      const std::size_t share_end = std::min(bytes, (thread + 1) * share);
      const std::size_t begin = std::min(share_end, thread * share + done), end = std::min(share_end, begin + kPart);
      std::memset(to + begin, value, end - begin);
      more = end < share_end;
    }
  }
}

}  // namespace roofmark::cpu
