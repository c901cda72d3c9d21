// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ceilings.hpp"

#include "kernels/cpu/vector_loops.hpp"

namespace roofmark::cpu {
namespace {

std::size_t chains_a_core(DataType type) {
  if (type == DataType::fp64) return best_loops<double>().fma_chains;
  if (type == DataType::fp32) return best_loops<float>().fma_chains;
  return 0;
}

ChainLayout fma_layout(DataType type, ProbeTarget target) {
  // Twelve vectors in flight at one or two per clock, or 24 at four.
  return {chains_a_core(type) * static_cast<std::size_t>(target.processors), 1.0 / 8};
}

template <class T>
void fma_on_cores(DataType type, T* sink, std::size_t steps, int cores) {
  const TypedLoops<T>& loops = best_loops<T>();
  const T multiplier = static_cast<T>(fma_multiplier(type));
#pragma omp parallel for num_threads(cores)
  for (int core = 0; core < cores; ++core) {
    const std::size_t first = static_cast<std::size_t>(core) * loops.fma_chains;
    for (std::size_t c = first; c < first + loops.fma_chains; ++c) sink[c] = static_cast<T>(fma_start(c));
    loops.fma(sink + first, steps, multiplier);
  }
}

void fma(DataType type, void* sink, std::size_t steps, ProbeTarget target, Stream) {
  if (type == DataType::fp64) return fma_on_cores(type, static_cast<double*>(sink), steps, target.processors);
  return fma_on_cores(type, static_cast<float*>(sink), steps, target.processors);
}

std::size_t cache_read_sinks(ProbeTarget target) { return static_cast<std::size_t>(target.processors); }

/// Calls use(core, first, part) on every core at once, for its part of an array of `bytes`: from word `first` on, `part` bytes.
template <class Use>
void on_parts(std::size_t bytes, ProbeTarget target, Use use) {
  const std::size_t part = bytes / static_cast<std::size_t>(target.processors), words = part / sizeof(std::uint64_t);
#pragma omp parallel for num_threads(target.processors)
  for (int core = 0; core < target.processors; ++core) use(core, static_cast<std::size_t>(core) * words, part);
}

void cache_read(std::uint64_t* sink, const void* data, std::size_t bytes, std::size_t repeats, ProbeTarget target, Stream) {
  on_parts(bytes, target, [&](int core, std::size_t first, std::size_t part) {
    sink[core] = vector_loops().front().sum_words(static_cast<const std::uint64_t*>(data) + first, part, repeats);
  });
}

void cache_write(std::uint64_t* to, std::size_t bytes, std::size_t repeats, ProbeTarget target, Stream) {
  on_parts(bytes, target, [&](int, std::size_t first, std::size_t part) {
    vector_loops().front().write_words(to + first, part, repeats, first);
  });
}

void cache_copy(std::uint64_t* to, const std::uint64_t* from, std::size_t bytes, std::size_t repeats, ProbeTarget target,
                Stream) {
  on_parts(bytes / 2, target, [&](int, std::size_t first, std::size_t part) {
    vector_loops().front().copy_words(to + first, from + first, part, repeats);
  });
}

}  // namespace

// A core has no unit of its own for exp, no tensor instructions that are measured here, no shared memory and no launches.
const CeilingKernels ceilings = {.fma_layout = fma_layout,
                                 .fma = fma,
                                 .exp2_layout = nullptr,
                                 .exp2 = nullptr,
                                 .tensor_layout = nullptr,
                                 .tensor = nullptr,
                                 .cache_read_sinks = cache_read_sinks,
                                 .cache_read = cache_read,
                                 .l1_read = nullptr,
                                 .cache_write = cache_write,
                                 .cache_copy = cache_copy,
                                 .shared_read_bytes = nullptr,
                                 .shared_read_sinks = nullptr,
                                 .shared_read = nullptr,
                                 .empty = nullptr};

}  // namespace roofmark::cpu
