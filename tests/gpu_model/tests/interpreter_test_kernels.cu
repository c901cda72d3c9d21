// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of core_test.cpp. Layouts are written out from the PTX ISA's sections (per element index, not as the core has them).
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#define K extern "C" __global__
__device__ __forceinline__ uint32_t sm(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

K void vec_add(const float* a, const float* b, float* c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}

__device__ unsigned int ticket;
__device__ double table[4] = {1.5, -2.25, 3.0, 0.125};
__constant__ int ctable[5] = {7, -3, 11, 0, 2};
K void reduce_last_block(const float* x, double* part, double* out, int n) {
  __shared__ double s[32];
  double v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  __shared__ bool last;
  if (threadIdx.x == 0) {
    double t = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) t += s[i];
    part[blockIdx.x] = t;
    __threadfence();
    last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    double t = 0;
    for (int i = 0; i < gridDim.x; ++i) t += ((volatile double*)part)[i];
    *out = t;
  }
}
K void tables(double* d, int* i) {
  if (threadIdx.x < 4) d[threadIdx.x] = table[threadIdx.x];
  if (threadIdx.x < 5) i[threadIdx.x] = ctable[threadIdx.x];
}

K void divergent(int* out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, s = 0;
  for (int k = 0; k < t % 7; ++k) {
    if ((k + t) & 1)
      s += k;
    else
      s -= 3;
    if (s > 40) break;
  }
  if (t & 1)
    s += __shfl_xor_sync(0xaaaaaaaa, t, 2);
  else
    s += 1000 * __shfl_up_sync(0x55555555, t, 4);
  unsigned b = __ballot_sync(~0u, s > 10);
  if (t % 3 == 0 && t % 2 == 0) {
    s += __popc(b);
  } else if (t % 5 == 2)
    s ^= b;
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
  if (t < n) out[t] = s;
}
// many operations on two words; host computes the same
K void ops(const uint32_t* a, const uint32_t* b, uint64_t* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t x = a[i], y = b[i];
  int sx = x, sy = y;
  uint64_t X = ((uint64_t)x << 32) | y, Y = ((uint64_t)y << 29) ^ x;
  float f = __uint_as_float((x & 0x3fffffff) + 0x20000000), g = __uint_as_float((y & 0x3fffffff) + 0x20000000);
  double D = (double)f * 1.000001, E = (double)g * 0.3333;
  uint64_t* o = out + (size_t)i * 64;
  int k = 0;
  o[k++] = x / (y | 1);
  o[k++] = x % (y | 1);
  o[k++] = (uint64_t)(sx / (sy | 1));
  o[k++] = (uint64_t)(sx % (sy | 1));
  o[k++] = X / (Y | 1);
  o[k++] = X % (Y | 1);
  o[k++] = (uint64_t)((int64_t)X / (int64_t)(Y | 1));
  o[k++] = (uint64_t)((int64_t)X % (int64_t)(Y | 1));
  o[k++] = __umulhi(x, y);
  o[k++] = (uint32_t)__mulhi(sx, sy);
  o[k++] = __umul64hi(X, Y);
  o[k++] = (uint64_t)__mul64hi((int64_t)X, (int64_t)Y);
  o[k++] = (uint64_t)x * y;
  o[k++] = (uint64_t)((int64_t)sx * sy);
  o[k++] = __popc(x);
  o[k++] = __clz(x);
  o[k++] = __brev(x);
  o[k++] = __popcll(X);
  o[k++] = __funnelshift_l(x, y, y & 63);
  o[k++] = __funnelshift_r(x, y, x & 31);
  o[k++] = __byte_perm(x, y, x ^ y);
  o[k++] = (uint32_t)(sx >> (y & 31));
  o[k++] = x >> (y & 31);
  o[k++] = x << (y & 31);
  o[k++] = (uint64_t)((int64_t)X >> (y & 63));
  o[k++] = __float_as_uint(f + g);
  o[k++] = __float_as_uint(f * g);
  o[k++] = __float_as_uint(__fmaf_rn(f, g, -f));
  o[k++] = __float_as_uint(f / g);
  o[k++] = __float_as_uint(sqrtf(f));
  o[k++] = __float_as_uint(__fmaf_rd(f, g, f));
  o[k++] = __float_as_uint(__fadd_rz(f, g));
  o[k++] = __float_as_uint(__fmul_ru(f, g));
  o[k++] = __double_as_longlong(D + E);
  o[k++] = __double_as_longlong(D / E);
  o[k++] = __double_as_longlong(fma(D, E, D));
  o[k++] = __double_as_longlong(sqrt(D));
  o[k++] = (uint32_t)(int)fminf(fmaxf(f, -1e9f), 1e9f);
  o[k++] = (uint64_t)(long long)D;
  o[k++] = __float_as_uint((float)sx);
  o[k++] = __float_as_uint((float)X);
  o[k++] = __double_as_longlong((double)(int64_t)X);
  o[k++] = __half_as_ushort(__float2half_rn(f));
  o[k++] = __bfloat16_as_ushort(__float2bfloat16_rn(f));
  o[k++] = __float_as_uint(__half2float(__ushort_as_half(x & 0x7bff)));
  o[k++] = __half_as_ushort(__double2half(D));
  o[k++] = __float_as_uint((float)D);
  o[k++] = (uint8_t)x + (int8_t)y;
  o[k++] = (uint16_t)((int16_t)x * (int16_t)y);
  o[k++] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3);
  o[k++] = __float_as_uint(fmaxf(f, g));
  o[k++] = __float_as_uint(rintf(g));
  o[k++] = __float_as_uint(floorf(g));
  o[k++] = sx < sy ? 1 : 2;
  o[k++] = x < y;
  o[k++] = f < g;
  o[k++] = !(f >= g);
  o[k++] = __float2int_rn(fminf(g, 1e9f));
  o[k++] = abs(sx);
  o[k++] = (x & y) | (~x & 0xff) ^ y;
}

// ---- mma: fragments loaded element by element after the ISA's row/col formulas ----
K void mma_f16(const __half* A, const __half* B, float* C, __half* C16) {  // A 16x16 row, B 16x8 row (k, n)
  int lane = threadIdx.x, g = lane >> 2, t = lane % 4;
  union {
    __half h[8];
    uint32_t r[4];
  } a;
  union {
    __half h[4];
    uint32_t r[2];
  } b;
  for (int i = 0; i < 8; ++i) {
    int row = (i < 2 || (i >= 4 && i < 6)) ? g : g + 8, col = t * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    a.h[i] = A[row * 16 + col];
  }
  for (int i = 0; i < 4; ++i) {
    int row = t * 2 + (i & 1) + (i >= 2 ? 8 : 0), col = g;
    b.h[i] = B[row * 8 + col];
  }
  float c[4];
  for (int i = 0; i < 4; ++i) c[i] = C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]));
  for (int i = 0; i < 4; ++i) C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = c[i];
  union {
    __half h[4];
    uint32_t r[2];
  } d;
  for (int i = 0; i < 4; ++i) d.h[i] = C16[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
               : "+r"(d.r[0]), "+r"(d.r[1])
               : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]));
  for (int i = 0; i < 4; ++i) C16[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = d.h[i];
}
K void mma_tf32(const float* A, const float* B, float* C) {  // 16x8, 8x8
  int lane = threadIdx.x, g = lane >> 2, t = lane % 4;
  float a[4], b[2], c[4];
  for (int i = 0; i < 4; ++i) a[i] = A[(i == 0 || i == 2 ? g : g + 8) * 8 + (i < 2 ? t : t + 4)];
  for (int i = 0; i < 2; ++i) b[i] = B[(i ? t + 4 : t) * 8 + g];
  for (int i = 0; i < 4; ++i) c[i] = C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)];
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
                 "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
  for (int i = 0; i < 4; ++i) C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = c[i];
}
template <bool FP8>
__device__ void mma8(const uint8_t* A, const uint8_t* B, void* C_) {  // 16x32, 32x8
  int lane = threadIdx.x, g = lane >> 2, t = lane % 4;
  union {
    uint8_t h[16];
    uint32_t r[4];
  } a;
  union {
    uint8_t h[8];
    uint32_t r[2];
  } b;
  for (int i = 0; i < 16; ++i) {
    int row = (i < 4 || (i >= 8 && i < 12)) ? g : g + 8, col = t * 4 + (i & 3) + (i >= 8 ? 16 : 0);
    a.h[i] = A[row * 32 + col];
  }
  for (int i = 0; i < 8; ++i) {
    int row = t * 4 + (i & 3) + (i >= 4 ? 16 : 0);
    b.h[i] = B[row * 8 + g];
  }
  if constexpr (FP8) {
    float* C = (float*)C_;
    float c[4];
    for (int i = 0; i < 4; ++i) c[i] = C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]));
    for (int i = 0; i < 4; ++i) C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = c[i];
  } else {
    int* C = (int*)C_;
    int c[4];
    for (int i = 0; i < 4; ++i) c[i] = C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]));
    for (int i = 0; i < 4; ++i) C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = c[i];
  }
}
K void mma_e4m3(const uint8_t* A, const uint8_t* B, float* C) { mma8<true>(A, B, C); }
K void mma_s8(const uint8_t* A, const uint8_t* B, int* C) { mma8<false>(A, B, C); }
K void mma_f64(const double* A, const double* B, double* C) {  // 16x16, 16x8
  int lane = threadIdx.x, g = lane >> 2, t = lane % 4;
  double a[8], b[4], c[4];
  for (int i = 0; i < 8; ++i) a[i] = A[(i % 2 == 0 ? g : g + 8) * 16 + (i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t)];
  for (int i = 0; i < 4; ++i) b[i] = B[(t + i * 4) * 8 + g];
  for (int i = 0; i < 4; ++i) c[i] = C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)];
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, "
      "{%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]),
        "d"(b[3]));
  for (int i = 0; i < 4; ++i) C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = c[i];
}
// ldmatrix of A (row-major) and of B by .trans (stored k x n), then mma; and movmatrix
K void ldmatrix_gemm(const __half* A, const __half* B, float* C, const __half* X, __half* XT) {
  __shared__ __align__(16) __half as[16 * 16], bs[16 * 8];
  int lane = threadIdx.x, g = lane >> 2, t = lane % 4;
  for (int i = lane; i < 256; i += 32) as[i] = A[i];
  for (int i = lane; i < 128; i += 32) bs[i] = B[i];
  __syncwarp();
  uint32_t a[4], b[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(sm(as + (lane % 16) * 16 + lane / 16 * 8)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(sm(bs + (lane % 16) * 8)));
  float c[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) C[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = c[i];
  union {
    __half h[2];
    uint32_t r;
  } x;
  x.h[0] = X[g * 8 + 2 * t];
  x.h[1] = X[g * 8 + 2 * t + 1];
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x.r));
  XT[g * 8 + 2 * t] = x.h[0];
  XT[g * 8 + 2 * t + 1] = x.h[1];
}

// cp.async: three stages; `skip_wait` leaves the wait out (must give wrong results when copies come late)
K void cp_pipeline(const float4* x, float* out, int tiles, int skip_wait) {
  __shared__ __align__(16) float4 buf[3][64];
  int t = threadIdx.x;
  float s = 0;
  auto load = [&](int k) {
    if (k < tiles)
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(sm(&buf[k % 3][t])), "l"(x + k * 64 + t),
                   "r"(16));
    asm volatile("cp.async.commit_group;");
  };
  load(0);
  load(1);
  for (int k = 0; k < tiles; ++k) {
    if (!skip_wait) asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    float4 v = buf[k % 3][63 - t];
    s += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    load(k + 2);
  }
  out[t] = s;
}

// ---- Hopper ----
__device__ __forceinline__ void mbar_wait(uint32_t bar, uint32_t parity) {
  asm volatile(
      "{ .reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again; }" ::"r"(bar),
      "r"(parity)
      : "memory");
}
// mbarrier phases between one producer warp and consumers, named barrier among the consumers
K void mbar_phases(int* out, int rounds, int early) {
  __shared__ __align__(8) uint64_t full, empty;
  __shared__ int slot, acc[64];
  int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sm(&full)), "r"(1));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sm(&empty)), "r"(64));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  if (t < 32) {
    if (t == 0)
      for (int k = 0; k < rounds; ++k) {
        mbar_wait(sm(&empty), (k & 1) ^ 1);
        *(volatile int*)&slot = k * k + 1;
        asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(sm(&full)) : "memory");
      }
  } else {
    int s = 0;
    for (int k = 0; k < rounds; ++k) {
      mbar_wait(sm(&full), k & 1);
      if (early) asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(sm(&empty)) : "memory");
      s = s * 3 + *(volatile int*)&slot;
      if (!early) asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(sm(&empty)) : "memory");
    }
    acc[t - 32] = s + t;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t - 32] = acc[(t - 32) ^ 63];
  }
}

// D (64 x 128, f32) = A (64 x 64) * B: A by TMA, K-major; B K-major (128 x 64) or MN-major (64 x 128). swizzle 1 = 128 B, 2 =
// 64 B, 3 = 32 B. mistake: 1 no wait for the second half of the loads; 2 reads D before wait_group; 3 overwrites A before
// wait_group
#define ACC64                                                                                                                \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%" \
  "32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%" \
  "62,%63}"
#define F4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F16(d, i) F4(d, i), F4(d, i + 4), F4(d, i + 8), F4(d, i + 12)
template <int TB>
__device__ __forceinline__ void wgmma128(float (&d)[64], uint64_t a, uint64_t b, int scale) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " ACC64
               ", %64, %65, p, 1, 1, 0, %67; }\n"
               : F16(d, 0), F16(d, 16), F16(d, 32), F16(d, 48)
               : "l"(a), "l"(b), "r"(scale), "n"(TB));
}
template <int TB>
__device__ __forceinline__ void wgmma128_rs(float (&d)[64], const uint32_t (&a)[4], uint64_t b, int scale) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " ACC64
               ", {%64,%65,%66,%67}, %68, p, 1, 1, %70; }\n"
               : F16(d, 0), F16(d, 16), F16(d, 32), F16(d, 48)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(scale), "n"(TB));
}
__device__ __forceinline__ void tma2(uint32_t dst, const CUtensorMap* m, int x, int y, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(dst),
      "l"(m), "r"(x), "r"(y), "r"(bar)
      : "memory");
}
__device__ __forceinline__ uint64_t desc(uint32_t addr, uint32_t lbo, uint32_t sbo, uint32_t mode) {
  return (uint64_t)((addr & 0x3ffff) >> 4) | (uint64_t)(lbo >> 4) << 16 | (uint64_t)(sbo >> 4) << 32 | (uint64_t)mode << 62;
}
template <int MODE, int TB, bool RS>
__device__ __forceinline__ void wgmma_test(const CUtensorMap* ma, const CUtensorMap* mb, const __half* A, float* D,
                                           int mistake) {
  extern __shared__ __align__(1024) unsigned char dyn[];
  unsigned char* base = (unsigned char*)(((uintptr_t)dyn + 1023) / 1024 * 1024);
  constexpr int span = MODE == 1 ? 128 : MODE == 2 ? 64 : 32, atoms = 128 / span, width = span / 2;  // halves a row
  uint32_t as = sm(base), bs = sm(base + 8192);
  __shared__ __align__(8) uint64_t bar;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sm(&bar)), "r"(1));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sm(&bar)), "r"(8192 + 16384) : "memory");
    // A: atoms of 64 rows x span bytes, one behind the other
    for (int k = 0; k < atoms; ++k) tma2(as + k * 64 * span, ma, k * width, 0, sm(&bar));
    if (TB)
      for (int k = 0; k < 128 / width; ++k)
        tma2(bs + k * 64 * span, mb, k * width, 0, sm(&bar));  // (k, n): 64 rows of k, span bytes of n
    else
      for (int k = 0; k < atoms; ++k) tma2(bs + k * 128 * span, mb, k * width, 0, sm(&bar));  // (n, k)
  }
  if (mistake != 1) mbar_wait(sm(&bar), 0);
  float d[64];
  uint32_t ar[4][4];
  int lane = threadIdx.x % 32, w = threadIdx.x / 32, g = lane >> 2, t = lane % 4;
  if (RS)
    for (int k = 0; k < 4; ++k)
      for (int r = 0; r < 4; ++r)
        ar[k][r] = *(const uint32_t*)(A + (w * 16 + g + (r & 1) * 8) * 64 + k * 16 + t * 2 + (r >> 1) * 8);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < 4; ++k) {  // 16 of K at a time
    int byte = k * 32;
    uint64_t a = desc(as + byte / span * (64 * span) + byte % span, 16, 8 * span, MODE);
    uint64_t b = TB ? desc(bs + k * 16 * span, 64 * span, 8 * span, MODE)
                    : desc(bs + byte / span * (128 * span) + byte % span, 16, 8 * span, MODE);
    if (RS)
      wgmma128_rs<TB>(d, ar[k], b, k > 0);
    else
      wgmma128<TB>(d, a, b, k > 0);
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  if (mistake == 3) {
    ((float4*)base)[threadIdx.x] = float4{9, 9, 9, 9};
    __syncthreads();
  }
  if (mistake != 2) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 64; ++i) D[(w * 16 + g + (i >> 1 & 1) * 8) * 128 + (i >> 2) * 8 + t * 2 + (i & 1)] = d[i];
}
#define WG(NAME, MODE, TB, RS)                                                                                       \
  K __launch_bounds__(128) void NAME(const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, \
                                     const __half* A, float* D, int mistake) {                                       \
    wgmma_test<MODE, TB, RS>(&ma, &mb, A, D, mistake);                                                               \
  }
WG(wgmma_128_k, 1, 0, false)
WG(wgmma_128_mn, 1, 1, false) WG(wgmma_64_k, 2, 0, false) WG(wgmma_64_mn, 2, 1, false) WG(wgmma_32_k, 3, 0, false)
    WG(wgmma_32_mn, 3, 1, false) WG(wgmma_128_mn_rs, 1, 1, true) WG(wgmma_128_k_rs, 1, 0, true)

    // no swizzle, operands written by st: core matrices of 8 rows x 16 bytes. `fence` 0: without fence.proxy.async
    K __launch_bounds__(128) void wgmma_plain(const __half* A, const __half* B, float* D, int fence) {
  __shared__ __align__(128) __half as[64 * 64], bs[128 * 64];
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {
    int r = i / 64, k = i % 64;
    as[(r / 8) * 64 + (k / 8) * 512 + r % 8 * 8 + k % 8] = A[i];
  }
  for (int i = threadIdx.x; i < 128 * 64; i += 128) {
    int r = i / 64, k = i % 64;
    bs[(r / 8) * 512 + (k / 8) * 64 + r % 8 * 8 + k % 8] = B[i];
  }
  if (fence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[64];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < 4; ++k)
    wgmma128<0>(d, desc(sm(as) + k * 2 * 1024, 1024, 128, 0), desc(sm(bs) + k * 2 * 128, 128, 1024, 0), k > 0);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  int lane = threadIdx.x % 32, w = threadIdx.x / 32, g = lane >> 2, t = lane % 4;
  for (int i = 0; i < 64; ++i) D[(w * 16 + g + (i >> 1 & 1) * 8) * 128 + (i >> 2) * 8 + t * 2 + (i & 1)] = d[i];
}

// a tile of a 4-dimensional tensor, partly outside
K void tma_4d(const __grid_constant__ CUtensorMap m, float* out, int x, int y, int z, int u) {
  __shared__ __align__(128) float tile[8 * 3 * 2 * 2];
  __shared__ __align__(8) uint64_t bar;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sm(&bar)));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sm(&bar)), "r"(384) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
        "[%6];" ::"r"(sm(tile)),
        "l"(&m), "r"(x), "r"(y), "r"(z), "r"(u), "r"(sm(&bar))
        : "memory");
  }
  __syncthreads();
  mbar_wait(sm(&bar), 0);
  for (int i = threadIdx.x; i < 96; i += blockDim.x) out[i] = tile[i];
}

// all blocks of a cluster send to all; sums come in by st.async
K void cluster_sum(const float* x, float* out) {
  __shared__ __align__(8) float in[8];
  __shared__ __align__(8) uint64_t bar;
  uint32_t rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sm(&bar)));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sm(&bar)), "r"(4 * size) : "memory");
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;");
  asm volatile("barrier.cluster.wait.acquire.aligned;");
  float v = x[blockIdx.x * 32 + threadIdx.x];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if (threadIdx.x == 0)
    for (uint32_t r = 0; r < size; ++r) {
      uint32_t a, b;
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(sm(&in[rank])), "r"(r));
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(b) : "r"(sm(&bar)), "r"(r));
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(a),
                   "r"(__float_as_uint(v)), "r"(b)
                   : "memory");
    }
  mbar_wait(sm(&bar), 0);
  if (threadIdx.x == 0) {
    float s = 0;
    for (uint32_t r = 0; r < size; ++r) s += in[r];
    out[blockIdx.x] = s;
  }
}

// ---- faults ----
K void bad_read(const float* x, float* y, int i) { y[0] = x[i]; }
K void bad_shared(float* y, int i) {
  __shared__ float s[8];
  s[threadIdx.x] = 1;
  __syncthreads();
  y[0] = s[i];
}
K void hang(int* y) {
  __shared__ __align__(8) uint64_t bar;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(sm(&bar)));
  __syncthreads();
  if (threadIdx.x < 32) mbar_wait(sm(&bar), 0);
  __syncthreads();
  y[0] = 1;
}
K void local_array(int* y, int n) {
  int a[16];
  for (int i = 0; i < 16; ++i) a[i] = i * threadIdx.x;
  for (int i = 0; i < n; ++i) a[(i * 7 + threadIdx.x) & 15] += i;
  int s = 0;
  for (int i = 0; i < 16; ++i) s = s * 5 + a[i];
  y[threadIdx.x] = s;
}
K void fma_loop(float* y, int n) {
  float a = threadIdx.x, b = 1.0001f, c = 0.5f, d = 2;
  for (int i = 0; i < n; ++i) {
    a = fmaf(a, b, c);
    d = fmaf(d, b, a);
    c = fmaf(c, b, d);
    b = b - 1e-9f;
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = a + c + d;
}
// the second warp does not see a barrier between; GPUMODEL_RACE=1 must tell
K void racy(int* y) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = s[threadIdx.x ^ 32];
}

// a ring of two stages filled by TMA; `early`: the consumers hand a stage back before wgmma.wait_group
K __launch_bounds__(160) void tma_ring(const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, float* D,
                                       int rounds, int early) {
  extern __shared__ __align__(1024) unsigned char dyn[];
  unsigned char* base = (unsigned char*)(((uintptr_t)dyn + 1023) / 1024 * 1024);
  __shared__ __align__(8) uint64_t full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int k = 0; k < 2; ++k) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sm(&full[k])), "r"(1));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sm(&empty[k])), "r"(4));
    }
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128)
      for (int k = 0; k < rounds; ++k) {
        int s = k & 1;
        mbar_wait(sm(&empty[s]), ((k >> 1) & 1) ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sm(&full[s])), "r"(8192 + 16384)
                     : "memory");
        tma2(sm(base + s * 24576), &ma, 0, k * 64, sm(&full[s]));
        tma2(sm(base + s * 24576 + 8192), &mb, 0, k * 128, sm(&full[s]));
      }
    return;
  }
  float d[64];
  for (int i = 0; i < 64; ++i) d[i] = 0;
  for (int k = 0; k < rounds; ++k) {
    int s = k & 1;
    mbar_wait(sm(&full[s]), (k >> 1) & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int j = 0; j < 4; ++j)
      wgmma128<0>(d, desc(sm(base + s * 24576) + j * 32, 16, 1024, 1), desc(sm(base + s * 24576 + 8192) + j * 32, 16, 1024, 1),
                  1);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (early && threadIdx.x % 32 == 0)
      asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(sm(&empty[s])) : "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (!early && threadIdx.x % 32 == 0)
      asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(sm(&empty[s])) : "memory");
  }
  int lane = threadIdx.x % 32, w = threadIdx.x / 32, g = lane >> 2, t = lane % 4;
  for (int i = 0; i < 64; ++i) D[(w * 16 + g + (i >> 1 & 1) * 8) * 128 + (i >> 2) * 8 + t * 2 + (i & 1)] = d[i];
}

// other types, A (64 x 32 bytes) and B (8 x 32 bytes) K-major without swizzle, N = 8
template <int WHAT>
__device__ void wgmma_small(const uint4* A, const uint4* B, float* D) {
  __shared__ __align__(128) uint4 as[128], bs[16];
  for (int i = threadIdx.x; i < 128; i += 128)
    as[(i / 2 / 8) * 16 + (i % 2) * 8 + i / 2 % 8] = A[i];  // row i / 2, piece i % 2: LBO 128, SBO 256
  if (threadIdx.x < 16) bs[threadIdx.x % 2 * 8 + threadIdx.x / 2] = B[threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  uint64_t a = desc(sm(as), 128, 256, 0), b = desc(sm(bs), 128, 256, 0);
  float d[4] = {0, 0, 0, 0};
  int e[4] = {0, 0, 0, 0};
  uint32_t h[2] = {0, 0};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  if constexpr (WHAT == 0)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
  if constexpr (WHAT == 1)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0,%1,%2,%3}, %4, %5, 1, 1, 1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
  if constexpr (WHAT == 2)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0,%1,%2,%3}, %4, %5, 1, 1, -1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
  if constexpr (WHAT == 3)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0,%1,%2,%3}, %4, %5, 1;"
                 : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3])
                 : "l"(a), "l"(b));
  if constexpr (WHAT == 4)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0,%1}, %2, %3, 1, 1, 1, 0, 0;"
                 : "+r"(h[0]), "+r"(h[1])
                 : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  int lane = threadIdx.x % 32, w = threadIdx.x / 32, g = lane >> 2, t = lane % 4;
  for (int i = 0; i < 4; ++i)
    D[(w * 16 + g + (i >> 1) * 8) * 8 + t * 2 + (i & 1)] =
        WHAT == 3   ? (float)e[i]
        : WHAT == 4 ? __half2float(__ushort_as_half((unsigned short)(h[i >> 1] >> (i & 1) * 16)))
                    : d[i];
}
K __launch_bounds__(128) void wgmma_bf16(const uint4* A, const uint4* B, float* D) { wgmma_small<0>(A, B, D); }
K __launch_bounds__(128) void wgmma_tf32(const uint4* A, const uint4* B, float* D) { wgmma_small<1>(A, B, D); }
K __launch_bounds__(128) void wgmma_e4m3(const uint4* A, const uint4* B, float* D) { wgmma_small<2>(A, B, D); }
K __launch_bounds__(128) void wgmma_s8(const uint4* A, const uint4* B, float* D) { wgmma_small<3>(A, B, D); }
K __launch_bounds__(128) void wgmma_f16acc(const uint4* A, const uint4* B, float* D) { wgmma_small<4>(A, B, D); }
