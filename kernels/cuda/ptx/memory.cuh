// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Loads and stores with cache hints and widths that CUDA C++ does not offer. One function per PTX instruction.
namespace roofmark::cuda {

/// An address in shared memory as PTX instructions take it.
__device__ inline std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

/// Loads through the read-only path without allocating in L1. 8 words: sm_100.
__device__ inline void ld_global_nc_l1_no_allocate(std::uint32_t (&w)[4], const void* from) {
  asm("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
      : "l"(from));
}
__device__ inline void ld_global_nc_l1_no_allocate(std::uint32_t (&w)[8], const void* from) {
  asm("ld.global.nc.L1::no_allocate.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
      : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7])
      : "l"(from));
}

/// Stores 8 words. sm_100.
__device__ inline void st_global(void* to, const std::uint32_t (&w)[8]) {
  asm volatile("st.global.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]),
               "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
               : "memory");
}
/// The same, and the lines are the first to be evicted from L2 (cache streaming). sm_100.
__device__ inline void st_global_cs(void* to, const std::uint32_t (&w)[8]) {
  asm volatile("st.global.cs.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]),
               "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
               : "memory");
}

/// Four loads of 16 bytes, kStride bytes apart, from L2 (not cached in L1). One statement, so that all four are in flight
/// before the first result is used.
template <int kStride>
__device__ void ld_global_cg_x4(ulonglong2 (&to)[4], const void* from) {
  asm volatile(
      "ld.global.cg.v2.u64 {%0, %1}, [%8];\n"
      "ld.global.cg.v2.u64 {%2, %3}, [%8 + %9];\n"
      "ld.global.cg.v2.u64 {%4, %5}, [%8 + %10];\n"
      "ld.global.cg.v2.u64 {%6, %7}, [%8 + %11];"
      : "=&l"(to[0].x), "=&l"(to[0].y), "=&l"(to[1].x), "=&l"(to[1].y), "=&l"(to[2].x), "=&l"(to[2].y), "=&l"(to[3].x),
        "=&l"(to[3].y)
      : "l"(from), "n"(kStride), "n"(2 * kStride), "n"(3 * kStride));
}

/// The same through L1 and L2 (.ca, the default).
template <int kStride>
__device__ void ld_global_x4(ulonglong2 (&to)[4], const void* from) {
  asm volatile(
      "ld.global.v2.u64 {%0, %1}, [%8];\n"
      "ld.global.v2.u64 {%2, %3}, [%8 + %9];\n"
      "ld.global.v2.u64 {%4, %5}, [%8 + %10];\n"
      "ld.global.v2.u64 {%6, %7}, [%8 + %11];"
      : "=&l"(to[0].x), "=&l"(to[0].y), "=&l"(to[1].x), "=&l"(to[1].y), "=&l"(to[2].x), "=&l"(to[2].y), "=&l"(to[3].x),
        "=&l"(to[3].y)
      : "l"(from), "n"(kStride), "n"(2 * kStride), "n"(3 * kStride));
}

/// Loads 16 bytes from L2 at every call (not cached in L1).
__device__ inline ulonglong2 ld_global_cg(const void* from) {
  ulonglong2 words;
  asm volatile("ld.global.cg.v2.u64 {%0, %1}, [%2];" : "=l"(words.x), "=l"(words.y) : "l"(from));
  return words;
}

/// Stores 16 bytes to L2 at every call (not cached in L1), even if the next one overwrites them.
__device__ inline void st_global_cg(void* to, ulonglong2 words) {
  asm volatile("st.global.cg.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(words.x), "l"(words.y) : "memory");
}

/// Loads 16 bytes of shared memory at every call, even if nothing has written them since the last.
__device__ inline ulonglong2 ld_volatile_shared(std::uint32_t address) {
  ulonglong2 words;
  asm volatile("ld.volatile.shared.v2.u64 {%0, %1}, [%2];" : "=l"(words.x), "=l"(words.y) : "r"(address));
  return words;
}

/// Loads 8 bytes through L1 and L2 (.ca, the default), at every call. With .ca written out, ptxas makes it a strong load of the
/// SM's scope, which other code does not use.
__device__ inline std::uint64_t ld_global_u64(std::uint64_t from) {
  std::uint64_t word;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(word) : "l"(from));
  return word;
}
/// Loads 8 bytes from L2 (not cached in L1), at every call.
__device__ inline std::uint64_t ld_global_cg_u64(std::uint64_t from) {
  std::uint64_t word;
  asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(word) : "l"(from));
  return word;
}

/// Loads 4 bytes of shared memory at every call, even if nothing has written them since the last.
__device__ inline std::uint32_t ld_volatile_shared_u32(std::uint32_t address) {
  std::uint32_t word;
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

/// Stores 4 or 8 bytes to shared memory.
__device__ inline void st_shared_u32(std::uint32_t address, std::uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
__device__ inline void st_shared_v2(std::uint32_t address, std::uint32_t first, std::uint32_t second) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(first), "r"(second) : "memory");
}
/// Loads 16 bytes of shared memory that other threads may have written before.
__device__ inline uint4 ld_shared_v4(std::uint32_t address) {
  uint4 words;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(address)
               : "memory");
  return words;
}

/// Loads 4 bytes of shared memory, at every call.
__device__ inline std::uint32_t ld_shared_u32(std::uint32_t address) {
  std::uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

}  // namespace roofmark::cuda
