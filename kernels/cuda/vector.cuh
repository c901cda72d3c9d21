// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/ptx/memory.cuh"

namespace roofmark::cuda {

/// The widest access of a thread to global memory: 32 bytes from compute capability 10.0 and CUDA 12.9 (PTX ISA 8.8) on,
/// else 16.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1209
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
/// The alignment that accesses of kVectorBytes need on any device.
inline constexpr int kVectorAlignment = 32;

/// Adjacent elements of an array, in registers. Packets of 16 and 32 bytes are loaded and stored by one instruction. T may be a
/// pair (__half2, __nv_bfloat162), which keeps two 16-bit elements in one register.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Packet {
  T element[kCount];
};

/// For elements that are read once and that nothing writes while the kernel runs. They are not kept in L1.
template <class T, int kCount>
__device__ Packet<T, kCount> load_once(const Packet<T, kCount>* from) {
  Packet<T, kCount> packet;
  if constexpr (sizeof(packet) == 32) {
    ld_global_nc_l1_no_allocate(*reinterpret_cast<unsigned(*)[8]>(&packet), from);
  } else if constexpr (sizeof(packet) == 16) {
    ld_global_nc_l1_no_allocate(*reinterpret_cast<unsigned(*)[4]>(&packet), from);
  } else {
    packet = *from;
  }
  return packet;
}

/// Through L1, for elements that other threads read too or that the kernel has written.
template <class T, int kCount>
__device__ Packet<T, kCount> load_cached(const Packet<T, kCount>* from) {
  Packet<T, kCount> packet;
  if constexpr (sizeof(packet) == 16) {
    const uint4 words = *reinterpret_cast<const uint4*>(from);
    memcpy(&packet, &words, sizeof(packet));
  } else {
    packet = *from;
  }
  return packet;
}

/// kEvictFirst: the lines are the first to be evicted from L2, for data that is not read again while it would be cached.
template <bool kEvictFirst, class T, int kCount>
__device__ void store(Packet<T, kCount>* to, const Packet<T, kCount>& packet) {
  const auto* w = reinterpret_cast<const unsigned*>(&packet);
  if constexpr (sizeof(packet) == 32 && kEvictFirst) {
    st_global_cs(to, *reinterpret_cast<const unsigned(*)[8]>(&packet));
  } else if constexpr (sizeof(packet) == 32) {
    st_global(to, *reinterpret_cast<const unsigned(*)[8]>(&packet));
  } else if constexpr (sizeof(packet) == 16 && kEvictFirst) {
    __stcs(reinterpret_cast<uint4*>(to), make_uint4(w[0], w[1], w[2], w[3]));
  } else if constexpr (sizeof(packet) == 16) {
    *reinterpret_cast<uint4*>(to) = make_uint4(w[0], w[1], w[2], w[3]);
  } else {
    *to = packet;
  }
}

}  // namespace roofmark::cuda
