// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

__device__ unsigned ticket;
__device__ double table[4] = {1.5, -2.25, 3.0, 0.125};
__constant__ int constant_table[5] = {7, -3, 11, 0, 2};

__device__ int thread_index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
__device__ int thread_count() { return static_cast<int>(gridDim.x * blockDim.x); }

extern "C" {

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  for (int i = thread_index(); i < n; i += thread_count()) c[i] = a[i] + b[i];
}

__global__ void vector_copy(const float4* from, float4* to) { to[thread_index()] = from[thread_index()]; }

/// out[0] = sum of x. Each block stores its part; the last one to finish adds them.
__global__ void reduce_in_last_block(const float* x, double* parts, double* out, int n) {
  __shared__ double warps[32];
  __shared__ bool last;
  double sum = 0;
  for (int i = thread_index(); i < n; i += thread_count()) sum += x[i];
  for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double part = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) part += warps[i];
    parts[blockIdx.x] = part;
    __threadfence();
    last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    double total = 0;
    for (int i = 0; i < gridDim.x; ++i) total += static_cast<volatile double*>(parts)[i];
    *out = total;
  }
}

/// Every thread takes part in each; `old` counts how often each value of the exchanged word was seen.
__global__ void atomics(int* words, float* sum, double* wide_sum, unsigned long long* wide, int* old) {
  __shared__ int shared_sum;
  if (threadIdx.x == 0) shared_sum = 0;
  __syncthreads();
  const int i = thread_index();
  atomicAdd(&words[0], i);
  atomicMax(&words[1], i);
  atomicMin(&words[2], -i);
  atomicOr(&words[3], 1 << i % 32);
  atomicXor(&words[4], i);
  atomicAnd(&words[5], ~(1 << i % 8));
  atomicAdd(&old[atomicAdd(&words[6], 1)], 1);
  for (int seen = words[7];;) {
    const int before = atomicCAS(&words[7], seen, seen * 3 + 1);
    if (before == seen) break;
    seen = before;
  }
  atomicAdd(sum, 0.25f);
  atomicAdd(wide_sum, 0.125);
  atomicMax(wide, static_cast<unsigned long long>(i) << 40);
  atomicAdd(&shared_sum, 2);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&words[8], atomicExch(&shared_sum, 0));
}

__global__ void read_tables(double* doubles, int* ints) {
  if (threadIdx.x < 4) doubles[threadIdx.x] = table[threadIdx.x];
  if (threadIdx.x < 5) ints[threadIdx.x] = constant_table[threadIdx.x];
}

__global__ void local_array(int* y, int n) {
  int a[16];
  for (int i = 0; i < 16; ++i) a[i] = i * static_cast<int>(threadIdx.x);
  for (int i = 0; i < n; ++i) a[(i * 7 + threadIdx.x) & 15] += i;
  int sum = 0;
  for (int i = 0; i < 16; ++i) sum = sum * 5 + a[i];
  y[threadIdx.x] = sum;
}

__global__ void access_local(int* y, int written, int read) {
  volatile int a[16];
  for (int i = 0; i < 16; ++i) a[i] = i;
  a[written] = 100;
  y[0] = a[read];
}

__global__ void read_global(const float* x, float* y, int i) { y[0] = x[i]; }
__global__ void write_global(float* y, int i) { y[i] = 1; }
__global__ void read_shared(float* y, int i) {
  __shared__ float s[8];
  s[threadIdx.x] = 1;
  __syncthreads();
  y[0] = s[i];
}
__global__ void read_dynamic_shared(float* y, int i) {
  extern __shared__ float dynamic[];
  if (threadIdx.x == 0) dynamic[i] = 3;
  __syncthreads();
  y[0] = dynamic[i];
}

}  // extern "C"
