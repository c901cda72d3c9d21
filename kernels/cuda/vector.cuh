// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

namespace roofmark::cuda {

/// The widest access a thread has to global memory: 32 bytes from compute capability 10.0, else 16.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
/// What every access of kVectorBytes is aligned by, on any device.
inline constexpr int kVectorAlignment = 32;

/// Neighbouring elements of an array in registers, moved by one instruction when they take kVectorBytes. T may be a pair
/// (__half2, __nv_bfloat162), which keeps two 16-bit elements in one register.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Packet {
  T element[kCount];
};

/// Elements that nothing writes while the kernel runs, each read once: they take no room in L1.
template <class T, int kCount>
__device__ Packet<T, kCount> load_once(const Packet<T, kCount>* from) {
  Packet<T, kCount> packet;
  auto* w = reinterpret_cast<unsigned*>(&packet);
  if constexpr (sizeof(packet) == 32) {
    asm("ld.global.nc.L1::no_allocate.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
        : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7])
        : "l"(from));
  } else if constexpr (sizeof(packet) == 16) {
    asm("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
        : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
        : "l"(from));
  } else {
    packet = *from;
  }
  return packet;
}

/// In one instruction, by way of the caches: for what others read too, or what the kernel writes.
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

/// kEvictFirst: the lines are the first to leave L2, for what is not read again before they would leave it anyway.
template <bool kEvictFirst, class T, int kCount>
__device__ void store(Packet<T, kCount>* to, const Packet<T, kCount>& packet) {
  const auto* w = reinterpret_cast<const unsigned*>(&packet);
  if constexpr (sizeof(packet) == 32 && kEvictFirst) {
    asm volatile("st.global.cs.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                 "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
                 : "memory");
  } else if constexpr (sizeof(packet) == 32) {
    asm volatile("st.global.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                 "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
                 : "memory");
  } else if constexpr (sizeof(packet) == 16 && kEvictFirst) {
    __stcs(reinterpret_cast<uint4*>(to), make_uint4(w[0], w[1], w[2], w[3]));
  } else if constexpr (sizeof(packet) == 16) {
    *reinterpret_cast<uint4*>(to) = make_uint4(w[0], w[1], w[2], w[3]);
  } else {
    *to = packet;
  }
}

}  // namespace roofmark::cuda
