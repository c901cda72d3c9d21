// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include "tests/gpu_model/tests/ptx.cuh"

// A [16, kK] and B [kK, 8], both row-major: a lane's elements, by the formulas of the PTX ISA. Elements of less than 32 bits
// share registers.
template <class T, int kK>
struct Operands {
  static constexpr int kPerRegister = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  union {
    T a[kK / 2];
    uint32_t a_bits[sizeof(T) * kK / 8];
  };
  union {
    T b[kK / 4];
    uint32_t b_bits[sizeof(T) * kK / 16];
  };

  __device__ Operands(const T* from_a, const T* from_b) {
    const int group = threadIdx.x / 4, lane = threadIdx.x % 4;
    const auto column = [&](int i, int part) { return lane * kPerRegister + i % kPerRegister + part * 4 * kPerRegister; };
    for (int i = 0; i < kK / 2; ++i) {
      const int part = i / kPerRegister;
      a[i] = from_a[(group + part % 2 * 8) * kK + column(i, part / 2)];
    }
    for (int i = 0; i < kK / 4; ++i) b[i] = from_b[column(i, i / kPerRegister) * 8 + group];
  }
};

/// Where element i of a lane's accumulator is in a row-major [16, 8].
__device__ int accumulator_index(int i) { return (threadIdx.x / 4 + i / 2 * 8) * 8 + threadIdx.x % 4 * 2 + i % 2; }

template <class T>
struct Accumulator {
  T d[4];
  __device__ explicit Accumulator(const T* c) {
    for (int i = 0; i < 4; ++i) d[i] = c[accumulator_index(i)];
  }
  __device__ void store(T* c) const {
    for (int i = 0; i < 4; ++i) c[accumulator_index(i)] = d[i];
  }
};

#define MMA_4_2_4(TYPES, CONSTRAINT)                                                              \
  asm volatile("mma.sync.aligned." TYPES " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : CONSTRAINT(c.d[0]), CONSTRAINT(c.d[1]), CONSTRAINT(c.d[2]), CONSTRAINT(c.d[3])   \
               : "r"(x.a_bits[0]), "r"(x.a_bits[1]), "r"(x.a_bits[2]), "r"(x.a_bits[3]), "r"(x.b_bits[0]), "r"(x.b_bits[1]))

extern "C" {

/// C = A B + C in every kernel here.
__global__ void mma_f16_f32(const __half* a, const __half* b, float* out) {
  const Operands<__half, 16> x(a, b);
  Accumulator<float> c(out);
  MMA_4_2_4("m16n8k16.row.col.f32.f16.f16.f32", "+f");
  c.store(out);
}

__global__ void mma_f16_f16(const __half* a, const __half* b, __half* out) {
  const Operands<__half, 16> x(a, b);
  union {
    Accumulator<__half> c;
    uint32_t bits[2];
  } d{Accumulator<__half>(out)};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
               : "+r"(d.bits[0]), "+r"(d.bits[1])
               : "r"(x.a_bits[0]), "r"(x.a_bits[1]), "r"(x.a_bits[2]), "r"(x.a_bits[3]), "r"(x.b_bits[0]), "r"(x.b_bits[1]));
  d.c.store(out);
}

__global__ void mma_bf16(const uint16_t* a, const uint16_t* b, float* out) {
  const Operands<uint16_t, 16> x(a, b);
  Accumulator<float> c(out);
  MMA_4_2_4("m16n8k16.row.col.f32.bf16.bf16.f32", "+f");
  c.store(out);
}

__global__ void mma_tf32(const float* a, const float* b, float* out) {
  const Operands<float, 8> x(a, b);
  Accumulator<float> c(out);
  MMA_4_2_4("m16n8k8.row.col.f32.tf32.tf32.f32", "+f");
  c.store(out);
}

__global__ void mma_e4m3(const uint8_t* a, const uint8_t* b, float* out) {
  const Operands<uint8_t, 32> x(a, b);
  Accumulator<float> c(out);
  MMA_4_2_4("m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f");
  c.store(out);
}

__global__ void mma_s8(const uint8_t* a, const uint8_t* b, int* out) {
  const Operands<uint8_t, 32> x(a, b);
  Accumulator<int> c(out);
  MMA_4_2_4("m16n8k32.row.col.s32.s8.s8.s32", "+r");
  c.store(out);
}

__global__ void mma_f64(const double* a, const double* b, double* out) {
  const Operands<double, 16> x(a, b);
  Accumulator<double> c(out);
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, "
      "{%0,%1,%2,%3};"
      : "+d"(c.d[0]), "+d"(c.d[1]), "+d"(c.d[2]), "+d"(c.d[3])
      : "d"(x.a[0]), "d"(x.a[1]), "d"(x.a[2]), "d"(x.a[3]), "d"(x.a[4]), "d"(x.a[5]), "d"(x.a[6]), "d"(x.a[7]), "d"(x.b[0]),
        "d"(x.b[1]), "d"(x.b[2]), "d"(x.b[3]));
  c.store(out);
}

/// The operands come from shared memory: A as it is, B by .trans.
__global__ void ldmatrix_mma(const __half* a, const __half* b, float* out) {
  __shared__ __align__(16) __half shared_a[16 * 16], shared_b[16 * 8];
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 256; i += 32) shared_a[i] = a[i];
  for (int i = lane; i < 128; i += 32) shared_b[i] = b[i];
  __syncwarp();
  struct {
    uint32_t a_bits[4], b_bits[2];
  } x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x.a_bits[0]), "=r"(x.a_bits[1]), "=r"(x.a_bits[2]), "=r"(x.a_bits[3])
               : "r"(shared_address(shared_a + lane % 16 * 16 + lane / 16 * 8)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(x.b_bits[0]), "=r"(x.b_bits[1])
               : "r"(shared_address(shared_b + lane % 16 * 8)));
  Accumulator<float> c(out);
  MMA_4_2_4("m16n8k16.row.col.f32.f16.f16.f32", "+f");
  c.store(out);
}

/// out = the transpose of an 8 x 8 matrix.
__global__ void movmatrix(const uint32_t* matrix, uint32_t* out) {
  uint32_t pair = matrix[threadIdx.x];
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(pair));
  out[threadIdx.x] = pair;
}

}  // extern "C"
