// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_model/tests/ptx.cuh"

extern "C" {

/// Loops and branches that lanes leave at different times, shuffles and a ballot under masks, a switch.
__global__ void divergent(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  int s = 0;
  for (int k = 0; k < t % 7; ++k) {
    if ((k + t) & 1) {
      s += k;
    } else {
      s -= 3;
    }
    if (s > 40) break;
  }
  if (t & 1) {
    s += __shfl_xor_sync(0xaaaaaaaa, t, 2);
  } else {
    s += 1000 * __shfl_up_sync(0x55555555, t, 4);
  }
  const unsigned ballot = __ballot_sync(~0u, s > 10);
  if (t % 3 == 0 && t % 2 == 0) {
    s += __popc(ballot);
  } else if (t % 5 == 2) {
    s ^= static_cast<int>(ballot);
  }
  switch (t % 6) {
    case 0:
      s += 5;
      break;
    case 1:
      s *= 3;
      break;
    case 2:
      s -= 9;
      break;
    case 3:
      s ^= 0x55;
      break;
    case 4:
      s = -s;
      break;
    default:
      s += s >> 2;
  }
  out[t] = s;
}

/// Special registers of each thread: block, thread, lane and warp in one number.
__global__ void indices(int* out) {
  unsigned lane, warp;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      static_cast<int>(block * 1000000 + thread * 1000 + warp * 100 + lane);
}

/// Two halves of a block meet at named barriers of their own, in different order, and swap words within each half.
__global__ void named_barriers(int* out) {
  __shared__ int words[128];
  const unsigned t = threadIdx.x, half = t / 64;
  for (int round = 0; round < 3; ++round) {
    words[t] = static_cast<int>(t * 10 + round);
    asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
    const int other = words[half * 64 + (63 - t % 64)];
    asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
    out[round * 128 + t] = other;
  }
}

/// Warp `exiting` leaves before the barrier. Each of the others reads a word of the next one that stays.
__global__ void exit_before_barrier(int* out, int exiting) {
  __shared__ int words[128];
  const int t = static_cast<int>(threadIdx.x);
  if (t / 32 == exiting) return;
  words[t] = t;
  __syncthreads();
  const int next = (t + 32) % 128;
  out[t] = words[next / 32 == exiting ? (next + 32) % 128 : next];
}

/// The first warp waits for an arrival that never comes, the second for the first.
__global__ void deadlock(int* out) {
  __shared__ __align__(8) uint64_t barrier;
  if (threadIdx.x == 0) mbarrier_init(shared_address(&barrier), 2);
  __syncthreads();
  if (threadIdx.x < 32) mbarrier_wait(shared_address(&barrier), 0);
  __syncthreads();
  out[0] = 1;
}

/// One warp waits at a barrier for more threads than the block has.
__global__ void barrier_without_partner(int* out) {
  asm volatile("bar.sync 3, 64;" ::: "memory");
  out[0] = 1;
}

__global__ void endless_loop(volatile int* flag) {
  while (*flag == 0) {
  }
}

__global__ void trap() { asm volatile("trap;"); }

__global__ void fma_loop(float* out, int n) {
  float a = static_cast<float>(threadIdx.x), b = 0.5f;
  for (int i = 0; i < n; ++i) {
    a = fmaf(a, 0.5f, b);
    b = fmaf(b, 0.25f, a);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
}

__global__ void clocks(unsigned long long* out) {
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(out[0]));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out[1]));
  float x = static_cast<float>(out[0]);
  for (int i = 0; i < 1000; ++i) x = fmaf(x, 0.5f, 1.0f);
  out[4] = static_cast<unsigned long long>(x);
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(out[2])::"memory");
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out[3])::"memory");
}

}  // extern "C"
