// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

/// One thread's input: two words, taken as whatever an operation needs.
struct Words {
  uint32_t x, y;
  __device__ uint64_t wide_x() const { return uint64_t{x} << 32 | y; }
  __device__ uint64_t wide_y() const { return uint64_t{y} << 29 ^ x; }
  /// From 2^-64 to 2^64, so that no result is infinite.
  __device__ float f() const { return __uint_as_float((x & 0x3fffffff) + 0x20000000); }
  __device__ float g() const { return __uint_as_float((y & 0x3fffffff) + 0x20000000); }
  __device__ float nan() const { return __uint_as_float(x | 0x7fc00000); }
  __device__ double d() const { return static_cast<double>(f()) * 1.000001; }
  __device__ double e() const { return static_cast<double>(g()) * 0.3333; }
};

/// Takes a thread's results in the order of the test's list, 32 places per thread.
struct Results {
  uint64_t* next;
  __device__ void operator()(uint64_t value) { *next++ = value; }
  __device__ void operator()(float value) { *next++ = __float_as_uint(value); }
  __device__ void operator()(double value) { *next++ = static_cast<uint64_t>(__double_as_longlong(value)); }
};

__device__ int thread_index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

extern "C" {

__global__ void integers(const uint32_t* a, const uint32_t* b, uint64_t* out, int n) {
  const int i = thread_index();
  if (i >= n) return;
  const Words w{a[i], b[i]};
  const uint32_t x = w.x, y = w.y;
  const auto sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
  const uint64_t wx = w.wide_x(), wy = w.wide_y();
  const auto swx = static_cast<int64_t>(wx), swy = static_cast<int64_t>(wy);
  Results put{out + i * 32};
  put(uint64_t{x / (y | 1)});
  put(uint64_t{x % (y | 1)});
  put(static_cast<uint64_t>(sx / (sy | 1)));
  put(static_cast<uint64_t>(sx % (sy | 1)));
  put(wx / (wy | 1));
  put(wx % (wy | 1));
  put(static_cast<uint64_t>(swx / (swy | 1)));
  put(static_cast<uint64_t>(swx % (swy | 1)));
  put(uint64_t{__umulhi(x, y)});
  put(uint64_t{static_cast<uint32_t>(__mulhi(sx, sy))});
  put(uint64_t{__umul64hi(wx, wy)});
  put(static_cast<uint64_t>(__mul64hi(swx, swy)));
  put(uint64_t{x} * y);
  put(static_cast<uint64_t>(int64_t{sx} * sy));
  put(static_cast<uint64_t>(__popc(x)));
  put(static_cast<uint64_t>(__clz(sx)));
  put(uint64_t{__brev(x)});
  put(static_cast<uint64_t>(__popcll(wx)));
  put(uint64_t{__funnelshift_l(x, y, y)});
  put(uint64_t{__funnelshift_r(x, y, x)});
  put(uint64_t{__byte_perm(x, y, x ^ y)});
  put(uint64_t{static_cast<uint32_t>(sx >> (y & 31))});
  put(uint64_t{x >> (y & 31)});
  put(uint64_t{x << (y & 31)});
  put(static_cast<uint64_t>(swx >> (y & 63)));
  put(static_cast<uint64_t>(static_cast<uint8_t>(x) + static_cast<int8_t>(y)));
  put(uint64_t{static_cast<uint16_t>(static_cast<int16_t>(x) * static_cast<int16_t>(y))});
  put(static_cast<uint64_t>(sx < sy ? 1 : 2));
  put(uint64_t{x < y});
  put(static_cast<uint64_t>(abs(sx)));
  put(uint64_t{(x & y) | ((~x & 0xff) ^ y)});
}

__global__ void floats(const uint32_t* a, const uint32_t* b, uint64_t* out, int n) {
  const int i = thread_index();
  if (i >= n) return;
  const Words w{a[i], b[i]};
  const float f = w.f(), g = w.g();
  const double d = w.d(), e = w.e();
  Results put{out + i * 32};
  put(__fadd_rn(f, g));
  put(__fmul_rn(f, g));
  put(__fmaf_rn(f, g, -f));
  put(f / g);
  put(sqrtf(f));
  put(__fmaf_rd(f, g, f));
  put(__fadd_rz(f, g));
  put(__fmul_ru(f, g));
  put(__dadd_rn(d, e));
  put(d / e);
  put(fma(d, e, d));
  put(sqrt(d));
  put(fmaxf(f, g));
  put(fminf(f, w.nan()));
  put(rintf(g));
  put(floorf(g));
  put(uint64_t{f < g});
  put(uint64_t{!(f >= g)});
  put(uint64_t{!(f >= w.nan())});
  put(uint64_t{f < w.nan()});
}

__global__ void conversions(const uint32_t* a, const uint32_t* b, uint64_t* out, int n) {
  const int i = thread_index();
  if (i >= n) return;
  const Words w{a[i], b[i]};
  const float f = w.f(), g = w.g();
  const auto sx = static_cast<int32_t>(w.x);
  Results put{out + i * 32};
  put(uint64_t{static_cast<uint32_t>(static_cast<int>(f))});
  put(static_cast<uint64_t>(static_cast<long long>(w.d())));
  put(static_cast<uint64_t>(__float2int_rn(g)));
  put(static_cast<float>(sx));
  put(static_cast<float>(w.wide_x()));
  put(static_cast<double>(static_cast<int64_t>(w.wide_x())));
  put(uint64_t{__half_as_ushort(__float2half_rn(f))});
  put(uint64_t{__bfloat16_as_ushort(__float2bfloat16_rn(f))});
  put(__half2float(__ushort_as_half(static_cast<uint16_t>(w.x & 0x7bff))));
  put(__bfloat162float(__ushort_as_bfloat16(static_cast<uint16_t>(w.x >> 16 & 0x7f7f))));
  put(uint64_t{__half_as_ushort(__double2half(w.d()))});
  put(static_cast<float>(w.d()));
  put(uint64_t{__nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3)});
  put(uint64_t{__half_as_ushort(__half(__nv_cvt_fp8_to_halfraw(static_cast<uint8_t>(w.y & 0x77), __NV_E4M3)))});
}

/// Each word is two halves, each made one of magnitude 1/8 to 2.
__global__ void packed_halves(const uint32_t* a, const uint32_t* b, uint64_t* out, int n) {
  const int i = thread_index();
  if (i >= n) return;
  Results put{out + i * 32};
  const auto half2 = [](uint32_t bits) { return *reinterpret_cast<const __half2*>(&bits); };
  const auto bf162 = [](uint32_t bits) { return *reinterpret_cast<const __nv_bfloat162*>(&bits); };
  const auto bits = [](auto pair) { return uint64_t{*reinterpret_cast<const uint32_t*>(&pair)}; };
  const __half2 x = half2(a[i] & 0x8fff8fff | 0x30003000), y = half2(b[i] & 0x8fff8fff | 0x30003000);
  put(bits(__hadd2_rn(x, y)));
  put(bits(__hmul2_rn(x, y)));
  put(bits(__hfma2(x, y, x)));
  const __nv_bfloat162 p = bf162(a[i] & 0x81ff81ff | 0x3e003e00), q = bf162(b[i] & 0x81ff81ff | 0x3e003e00);
  put(bits(__hadd2_rn(p, q)));
  put(bits(__hmul2_rn(p, q)));
  put(bits(__hfma2(p, q, p)));
}

/// Functions that a GPU has no more exact than to some bits.
__global__ void special_functions(const float* in, float* out, int n) {
  const int i = thread_index();
  if (i >= n) return;
  float* const to = out + i * 8;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(to[0]) : "f"(in[i]));
  asm("lg2.approx.f32 %0, %1;" : "=f"(to[1]) : "f"(in[i]));
  asm("rcp.approx.f32 %0, %1;" : "=f"(to[2]) : "f"(in[i]));
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(to[3]) : "f"(in[i]));
  asm("sin.approx.f32 %0, %1;" : "=f"(to[4]) : "f"(in[i]));
  asm("tanh.approx.f32 %0, %1;" : "=f"(to[5]) : "f"(in[i]));
}

}  // extern "C"
