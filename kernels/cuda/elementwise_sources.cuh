// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/convert.cuh"
#include "kernels/cuda/vector.cuh"

// The inputs of a kernel. load<kLanes>(i) loads packet i, of kLanes elements.
namespace roofmark::cuda::elementwise_sources {

inline constexpr int kThreads = 256;  ///< per block

template <class T_>
struct Array {
  using T = T_;
  const T* data;
  template <int kLanes>
  __device__ Stored<T, kLanes> load(std::size_t i) const {
    return load_once(reinterpret_cast<const Stored<T, kLanes>*>(data) + i);
  }
};

/// An array that the kernel also writes, each element in the thread that reads it.
struct InPlace {
  using T = float;
  const float* data;
  template <int kLanes>
  __device__ Stored<T, kLanes> load(std::size_t i) const {
    return load_cached(reinterpret_cast<const Stored<T, kLanes>*>(data) + i);
  }
};

/// The same row for all rows.
template <class T_>
struct EveryRow {
  using T = T_;
  const T* data;
  unsigned columns;
  template <int kLanes>
  __device__ Stored<T, kLanes> load(std::size_t i) const {
    return load_cached(reinterpret_cast<const Stored<T, kLanes>*>(data) + i % (columns / kLanes));
  }
};

/// Rows of a table, chosen by ids.
template <class T_>
struct Lookup {
  using T = T_;
  const T* table;
  const std::int32_t* ids;
  unsigned columns;
  template <int kLanes>
  __device__ Stored<T, kLanes> load(std::size_t i) const {
    const auto packet = static_cast<unsigned>(i), packets = columns / kLanes;
    const std::size_t row = static_cast<std::size_t>(ids[packet / packets]);
    return load_once(reinterpret_cast<const Stored<T, kLanes>*>(table) + row * packets + packet % packets);
  }
};

/// A thread's packets of an input: first, first + kThreads, ... below `end`. The constructor issues all loads.
template <class Source, int kLanes, int kPackets>
struct Loaded {
  Stored<typename Source::T, kLanes> packet[kPackets];

  __device__ Loaded(const Source& source, std::size_t first, std::size_t end) {
#pragma unroll
    for (int i = 0; i < kPackets; ++i) {
      const std::size_t at = first + static_cast<std::size_t>(i) * kThreads;
      if (at < end) packet[i] = source.template load<kLanes>(at);
    }
  }
};

template <int kLanes>
struct Lanes {
  float value[kLanes];
};
template <class Source, int kLanes, int kPackets>
__device__ Lanes<kLanes> lanes_of(const Loaded<Source, kLanes, kPackets>& loaded, int i) {
  Lanes<kLanes> lanes;
  widen<typename Source::T>(loaded.packet[i], lanes.value);
  return lanes;
}

/// Whether packets of `lanes` elements are aligned.
template <class T>
bool aligned(const T* data, int lanes) {
  return reinterpret_cast<std::uintptr_t>(data) % (sizeof(T) * static_cast<std::size_t>(lanes)) == 0;
}
template <class T>
bool in_packets(const Array<T>& array, int lanes) {
  return aligned(array.data, lanes);
}
inline bool in_packets(const InPlace& array, int lanes) { return aligned(array.data, lanes); }
template <class T>
bool in_packets(const EveryRow<T>& row, int lanes) {
  return aligned(row.data, lanes) && row.columns % static_cast<unsigned>(lanes) == 0;
}
template <class T>
bool in_packets(const Lookup<T>& lookup, int lanes) {
  return aligned(lookup.table, lanes) && lookup.columns % static_cast<unsigned>(lanes) == 0;
}

}  // namespace roofmark::cuda::elementwise_sources
