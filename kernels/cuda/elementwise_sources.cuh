// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/convert.cuh"
#include "kernels/cuda/vector.cuh"

// The inputs of a kernel. from<kLanes>(begin) returns a function of i that loads packet begin + i, of kLanes elements. All
// threads of a block have the same `begin`, and i is less than a tile.
namespace roofmark::cuda::elementwise_sources {

inline constexpr int kThreads = 256;  ///< per block

/// A thread's packets, of kLanes_ elements: begin + threadIdx.x, kThreads apart, below `end`. kWhole: there are kPackets_.
template <int kLanes_, int kPackets_, bool kWhole>
struct Part {
  static constexpr int kLanes = kLanes_, kPackets = kPackets_;
  std::size_t begin, end;

  __device__ static unsigned offset(int i) { return threadIdx.x + static_cast<unsigned>(i) * kThreads; }
  __device__ bool has(int i) const { return kWhole || begin + offset(i) < end; }
  template <class T>
  __device__ Stored<T, kLanes>* at(T* data, int i) const {
    return reinterpret_cast<Stored<T, kLanes>*>(data) + begin + offset(i);
  }
};

/// Calls use(part) for this block's tile of an array of n elements, and for the elements after the last whole packet. Whole
/// tiles need no bounds checks, with which ptxas moves loads behind the first store.
template <int kLanes, int kPackets, class Use>
__device__ void for_each_part(std::size_t n, Use use) {
  constexpr std::size_t kTile = kThreads * kPackets;
  const std::size_t packets = n / kLanes, begin = blockIdx.x * kTile, rest = packets * kLanes;
  if (packets - begin >= kTile) {
    use(Part<kLanes, kPackets, true>{begin, packets});
  } else {
    use(Part<kLanes, kPackets, false>{begin, packets});
  }
  if constexpr (kLanes > 1) {
    if (blockIdx.x == 0 && threadIdx.x < n - rest) use(Part<1, 1, true>{rest, n});
  }
}

template <class T_>
struct Array {
  using T = T_;
  const T* data;
  template <int kLanes>
  __device__ auto from(std::size_t begin) const {
    return [first = reinterpret_cast<const Stored<T, kLanes>*>(data) + begin](unsigned i) { return load_once(first + i); };
  }
};

/// An array that the kernel also writes, each element in the thread that reads it.
struct InPlace {
  using T = float;
  const float* data;
  template <int kLanes>
  __device__ auto from(std::size_t begin) const {
    return [first = reinterpret_cast<const Stored<T, kLanes>*>(data) + begin](unsigned i) { return load_cached(first + i); };
  }
};

/// The same row for all rows.
template <class T_>
struct EveryRow {
  using T = T_;
  const T* data;
  unsigned columns;
  template <int kLanes>
  __device__ auto from(std::size_t begin) const {
    const auto* const row = reinterpret_cast<const Stored<T, kLanes>*>(data);
    const unsigned packets = columns / kLanes, first = begin % packets;
    return [=](unsigned i) { return load_cached(row + (first + i) % packets); };
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
  __device__ auto from(std::size_t begin) const {
    const auto* const rows = reinterpret_cast<const Stored<T, kLanes>*>(table);
    const unsigned packets = columns / kLanes, first = begin % packets;
    const std::int32_t* const row_of = ids + begin / packets;
    return [=](unsigned i) {
      const auto row = static_cast<std::size_t>(row_of[(first + i) / packets]);
      return load_once(rows + row * packets + (first + i) % packets);
    };
  }
};

/// A thread's packets of an input. The constructor issues all loads.
template <class Source, class Part>
struct Loaded {
  Stored<typename Source::T, Part::kLanes> packet[Part::kPackets];

  __device__ Loaded(const Source& source, const Part& part) {
    const auto load = source.template from<Part::kLanes>(part.begin);
#pragma unroll
    for (int i = 0; i < Part::kPackets; ++i) {
      if (part.has(i)) packet[i] = load(Part::offset(i));
    }
  }
};

template <int kLanes>
struct Lanes {
  float value[kLanes];
};
template <class Source, class Part>
__device__ Lanes<Part::kLanes> lanes_of(const Loaded<Source, Part>& loaded, int i) {
  Lanes<Part::kLanes> lanes;
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
