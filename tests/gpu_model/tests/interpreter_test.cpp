// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Own kernels of which the right answers are known: core_test FILE.ptx
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "../interpreter/machine.hpp"
using namespace gpu_model;

static Module* module;
static int failures = 0;
static Counters counters;
template <class T>
struct Buf {
  std::vector<T> v;
  explicit Buf(std::size_t n, T x = T{}) : v(n, x) { allow_range(v.data(), n * sizeof(T), true); }
  ~Buf() { forbid_range(v.data()); }
  T* p() { return v.data(); }
};
template <class... A>
void launch(const char* name, Dim3 grid, Dim3 block, std::size_t dyn, Dim3 cluster, A... args) {
  const Function* f = module->find(name);
  if (!f) {
    std::printf("no kernel %s\n", name);
    std::exit(2);
  }
  void* params[] = {static_cast<void*>(&args)...};
  Time t;
  counters = Counters{};
  run(f, grid, block, cluster, dyn, params, t, counters);
}
static void check(const std::string& what, bool ok) {
  std::printf("%-50s %s\n", what.c_str(), ok ? "ok" : "FAILED");
  if (!ok) ++failures;
}
static bool faults(Fault::Kind k, const std::function<void()>& f, std::string* text = nullptr) {
  try {
    f();
  } catch (const Fault& e) {
    if (text) *text = e.what();
    if (e.kind != k) std::printf("  other fault: %s\n", e.what());
    return e.kind == k;
  }
  return false;
}
static std::mt19937 rng(7);
static float rnd() { return static_cast<float>(static_cast<int>(rng() % 17) - 8) * 0.25f; }
static u16 h(float f) { return float_to_half(f); }
static TensorMap map(const void* a, u8 type, std::vector<u64> dims, std::vector<u64> strides, std::vector<u32> box,
                     u8 swizzle) {
  TensorMap m;
  m.type = type;
  m.rank = static_cast<u8>(dims.size());
  m.swizzle = swizzle;
  m.address = reinterpret_cast<u64>(a);
  for (std::size_t k = 0; k < dims.size(); ++k) {
    m.dims[k] = dims[k];
    m.box[k] = box[k];
    m.element_strides[k] = 1;
    if (k) m.strides[k - 1] = strides[k - 1];
  }
  return m;
}
struct Map128 {
  alignas(128) TensorMap m;
  char pad[128 - sizeof(TensorMap) > 0 ? 128 - sizeof(TensorMap) : 1];
};

static void test_ops() {
  const int n = 3000;
  Buf<u32> a(n), b(n);
  Buf<u64> o(static_cast<std::size_t>(n) * 64);
  for (int i = 0; i < n; ++i) {
    a.v[i] = rng();
    b.v[i] = rng() >> (i % 31);
  }
  a.v[0] = 0x80000000;
  b.v[0] = 0xffffffff;
  a.v[1] = 0;
  b.v[1] = 0;
  launch("ops", {24}, {128}, 0, {}, a.p(), b.p(), o.p(), n);
  int bad[64] = {};
  for (int i = 0; i < n; ++i) {
    u32 x = a.v[i], y = b.v[i];
    s32 sx = static_cast<s32>(x), sy = static_cast<s32>(y);
    u64 X = static_cast<u64>(x) << 32 | y, Y = (static_cast<u64>(y) << 29) ^ x;
    float f = std::bit_cast<float>((x & 0x3fffffff) + 0x20000000), g = std::bit_cast<float>((y & 0x3fffffff) + 0x20000000);
    double D = static_cast<double>(f) * 1.000001, E = static_cast<double>(g) * 0.3333;
    std::vector<u64> w;
    auto F = [](float v) { return static_cast<u64>(std::bit_cast<u32>(v)); };
    auto Q = [](double v) { return std::bit_cast<u64>(v); };
    using W = long double;
    w.push_back(x / (y | 1));
    w.push_back(x % (y | 1));
    w.push_back(static_cast<u64>(static_cast<s64>(static_cast<s32>(static_cast<s64>(sx) / (sy | 1)))));
    w.push_back(static_cast<u64>(static_cast<s64>(static_cast<s64>(sx) % (sy | 1))));
    w.push_back(X / (Y | 1));
    w.push_back(X % (Y | 1));
    w.push_back(static_cast<u64>(static_cast<s64>(X) / static_cast<s64>(Y | 1)));
    w.push_back(static_cast<u64>(static_cast<s64>(X) % static_cast<s64>(Y | 1)));
    w.push_back(static_cast<u64>(x) * y >> 32);
    w.push_back(static_cast<u32>(static_cast<s64>(sx) * sy >> 32));
    w.push_back(static_cast<u64>(static_cast<unsigned __int128>(X) * Y >> 64));
    w.push_back(static_cast<u64>(static_cast<__int128>(static_cast<s64>(X)) * static_cast<s64>(Y) >> 64));
    w.push_back(static_cast<u64>(x) * y);
    w.push_back(static_cast<u64>(static_cast<s64>(sx) * sy));
    w.push_back(static_cast<u64>(__builtin_popcount(x)));
    w.push_back(x ? static_cast<u64>(__builtin_clz(x)) : 32);
    u32 br = 0;
    for (int k = 0; k < 32; ++k) br |= (x >> k & 1) << (31 - k);
    w.push_back(br);
    w.push_back(static_cast<u64>(__builtin_popcountll(X)));
    {
      u64 c = static_cast<u64>(y) << 32 | x;
      w.push_back(static_cast<u32>((c << (y & 31)) >> 32));
      w.push_back(static_cast<u32>(c >> (x & 31)));
      u32 r = 0, sel = (x ^ y) & 0x7777;  // __byte_perm: three bits a nibble
      for (int k = 0; k < 4; ++k) {
        u32 s = sel >> (4 * k) & 15;
        u32 by = static_cast<u32>(c >> (8 * (s & 7))) & 255;
        if (s & 8) by = by >> 7 ? 255 : 0;
        r |= by << (8 * k);
      }
      w.push_back(r);
    }
    w.push_back(static_cast<u32>(sx >> (y & 31)));
    w.push_back(x >> (y & 31));
    w.push_back(static_cast<u32>(x << (y & 31)));
    w.push_back(static_cast<u64>(static_cast<s64>(X) >> (y & 63)));
    w.push_back(F(f + g));
    w.push_back(F(f * g));
    w.push_back(F(std::fma(f, g, -f)));
    w.push_back(F(f / g));
    w.push_back(F(std::sqrt(f)));
    {
      W ex = static_cast<W>(f) * g + f;
      float r = static_cast<float>(ex);
      if (static_cast<W>(r) > ex) r = std::nextafter(r, -INFINITY);
      w.push_back(F(r));
      W s = static_cast<W>(f) + g;
      r = static_cast<float>(s);
      if (std::fabs(static_cast<W>(r)) > std::fabs(s)) r = std::nextafter(r, 0.0f);
      w.push_back(F(r));
      W m = static_cast<W>(f) * g;
      r = static_cast<float>(m);
      if (static_cast<W>(r) < m) r = std::nextafter(r, INFINITY);
      w.push_back(F(r));
    }
    w.push_back(Q(D + E));
    w.push_back(Q(D / E));
    w.push_back(Q(std::fma(D, E, D)));
    w.push_back(Q(std::sqrt(D)));
    w.push_back(static_cast<u32>(static_cast<s32>(std::fmin(std::fmax(f, -1e9f), 1e9f))));
    w.push_back(D >= 0x1p63 ? 0x7fffffffffffffffull : static_cast<u64>(static_cast<s64>(D)));
    w.push_back(F(static_cast<float>(sx)));
    w.push_back(F(static_cast<float>(X)));
    w.push_back(Q(static_cast<double>(static_cast<s64>(X))));
    w.push_back(std::bit_cast<u16>(static_cast<_Float16>(f)));
    {
      u32 u = std::bit_cast<u32>(f);
      w.push_back((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
    w.push_back(F(static_cast<float>(std::bit_cast<_Float16>(static_cast<u16>(x & 0x7bff)))));
    w.push_back(std::bit_cast<u16>(static_cast<_Float16>(D)));
    w.push_back(F(static_cast<float>(D)));
    w.push_back(static_cast<u64>(static_cast<s64>(static_cast<s32>(static_cast<u8>(x)) + static_cast<s8>(y))));
    w.push_back(static_cast<u16>(static_cast<s32>(static_cast<s16>(x)) * static_cast<s16>(y)));
    {  // nearest e4m3 by search over all codes, ties to even
      double best = 1e300;
      u32 code = 0;
      for (u32 c = 0; c < 127; ++c) {
        double v = e4m3_to_float(static_cast<u8>(c)), d = std::fabs(v - f);
        if (d < best || (d == best && !(c & 1))) {
          best = d;
          code = c;
        }
      }
      w.push_back(code);
    }
    w.push_back(F(std::fmax(f, g)));
    w.push_back(F(std::rint(g)));
    w.push_back(F(std::floor(g)));
    w.push_back(sx < sy ? 1 : 2);
    w.push_back(x < y);
    w.push_back(f < g);
    w.push_back(!(f >= g));
    w.push_back(static_cast<u64>(static_cast<s64>(std::lrint(std::fmin(g, 1e9f)))));
    w.push_back(static_cast<u64>(static_cast<s64>(static_cast<s32>(sx < 0 ? 0u - x : x))));
    w.push_back((x & y) | ((~x & 0xff) ^ y));
    for (std::size_t k = 0; k < w.size(); ++k)
      if (w[k] != o.v[static_cast<std::size_t>(i) * 64 + k] && bad[k]++ == 0)
        std::printf("  op %zu: x %08x y %08x: have %016llx want %016llx\n", k, x, y,
                    static_cast<unsigned long long>(o.v[static_cast<std::size_t>(i) * 64 + k]),
                    static_cast<unsigned long long>(w[k]));
  }
  int sum = 0;
  for (int b_ : bad) sum += b_;
  check("ops: integers, floats, conversions", sum == 0);
}

template <class T, class R>
static bool close(const std::vector<T>& have, const std::vector<R>& want, double tol) {
  double worst = 0;
  for (std::size_t k = 0; k < want.size(); ++k) {
    double d = std::fabs(static_cast<double>(have[k]) - static_cast<double>(want[k]));
    if (!(d <= tol)) {
      std::printf("  at %zu: have %g want %g\n", k, static_cast<double>(have[k]), static_cast<double>(want[k]));
      return false;
    }
    worst = std::max(worst, d);
  }
  return true;
}

static void test_mma() {
  {
    Buf<u16> A(256), B(128), C16(128);
    Buf<float> C(128);
    std::vector<double> want(128);
    for (auto& x : A.v) x = h(rnd());
    for (auto& x : B.v) x = h(rnd());
    for (int k = 0; k < 128; ++k) {
      C.v[k] = rnd();
      C16.v[k] = h(C.v[k]);
    }
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 8; ++c) {
        double s = C.v[r * 8 + c];
        for (int k = 0; k < 16; ++k) s += half_to_float(A.v[r * 16 + k]) * half_to_float(B.v[k * 8 + c]);
        want[r * 8 + c] = s;
      }
    launch("mma_f16", {}, {32}, 0, {}, A.p(), B.p(), C.p(), C16.p());
    std::vector<double> d16;
    for (u16 x : C16.v) d16.push_back(half_to_float(x));
    check("mma f16 -> f32", close(C.v, want, 0));
    check("mma f16 -> f16", close(d16, want, 0.05));
  }
  {
    Buf<float> A(128), B(64), C(128);
    std::vector<double> want(128);
    for (auto* b : {&A, &B, &C})
      for (auto& x : b->v) x = rnd();
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 8; ++c) {
        double s = C.v[r * 8 + c];
        for (int k = 0; k < 8; ++k) s += A.v[r * 8 + k] * B.v[k * 8 + c];
        want[r * 8 + c] = s;
      }
    launch("mma_tf32", {}, {32}, 0, {}, A.p(), B.p(), C.p());
    check("mma tf32", close(C.v, want, 0));
  }
  {
    Buf<u8> A(512), B(256);
    Buf<float> C(128);
    Buf<s32> D(128);
    std::vector<double> want(128), wanti(128);
    for (auto& x : A.v) x = static_cast<u8>(rng() % 64 + (rng() & 128));
    for (auto& x : B.v) x = static_cast<u8>(rng() % 64 + (rng() & 128));
    for (auto& x : C.v) x = rnd();
    for (auto& x : D.v) x = static_cast<s32>(rng() % 1000);
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 8; ++c) {
        double s = C.v[r * 8 + c], t = D.v[r * 8 + c];
        for (int k = 0; k < 32; ++k) {
          s += e4m3_to_float(A.v[r * 32 + k]) * e4m3_to_float(B.v[k * 8 + c]);
          t += static_cast<s8>(A.v[r * 32 + k]) * static_cast<s8>(B.v[k * 8 + c]);
        }
        want[r * 8 + c] = s;
        wanti[r * 8 + c] = t;
      }
    launch("mma_e4m3", {}, {32}, 0, {}, A.p(), B.p(), C.p());
    launch("mma_s8", {}, {32}, 0, {}, A.p(), B.p(), D.p());
    check("mma e4m3", close(C.v, want, 1e-5));
    check("mma s8", close(D.v, wanti, 0));
  }
  {
    Buf<double> A(256), B(128), C(128);
    std::vector<double> want(128);
    for (auto* b : {&A, &B, &C})
      for (auto& x : b->v) x = rnd();
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 8; ++c) {
        double s = C.v[r * 8 + c];
        for (int k = 0; k < 16; ++k) s += A.v[r * 16 + k] * B.v[k * 8 + c];
        want[r * 8 + c] = s;
      }
    launch("mma_f64", {}, {32}, 0, {}, A.p(), B.p(), C.p());
    check("mma f64", close(C.v, want, 1e-12));
  }
  {
    Buf<u16> A(256), B(128), X(64), XT(64);
    Buf<float> C(128);
    std::vector<double> want(128);
    for (auto* b : {&A, &B, &X})
      for (auto& x : b->v) x = h(rnd());
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 8; ++c) {
        double s = 0;
        for (int k = 0; k < 16; ++k) s += half_to_float(A.v[r * 16 + k]) * half_to_float(B.v[k * 8 + c]);
        want[r * 8 + c] = s;
      }
    launch("ldmatrix_gemm", {}, {32}, 0, {}, A.p(), B.p(), C.p(), X.p(), XT.p());
    bool t = true;
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c) t &= XT.v[r * 8 + c] == X.v[c * 8 + r];
    check("ldmatrix (and trans) + mma", close(C.v, want, 0));
    check("movmatrix", t);
  }
}

static void test_wgmma() {
  Buf<u16> A(64 * 64), BK(128 * 64), BN(64 * 128);
  for (auto& x : A.v) x = h(rnd());
  for (int n = 0; n < 128; ++n)
    for (int k = 0; k < 64; ++k) BK.v[n * 64 + k] = BN.v[k * 128 + n] = h(rnd());
  std::vector<double> want(64 * 128);
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < 128; ++c) {
      double s = 0;
      for (int k = 0; k < 64; ++k) s += half_to_float(A.v[r * 64 + k]) * half_to_float(BK.v[c * 64 + k]);
      want[r * 128 + c] = s;
    }
  auto one = [&](const char* name, int mode, bool tb, int mistake) {
    u32 width = mode == 1 ? 64 : mode == 2 ? 32 : 16;
    u8 sw = mode == 1 ? 3 : mode == 2 ? 2 : 1;
    Map128 ma{map(A.p(), 6, {64, 64}, {128}, {width, 64}, sw), {}},
        mb{tb ? map(BN.p(), 6, {128, 64}, {256}, {width, 64}, sw) : map(BK.p(), 6, {64, 128}, {128}, {width, 128}, sw), {}};
    Buf<float> D(64 * 128);
    launch(name, {}, {128}, 8192 + 16384 + 1024, {}, ma, mb, static_cast<const u16*>(A.p()), D.p(), mistake);
    return mistake ? [&] { for (std::size_t k = 0; k < want.size(); ++k) if (!(std::fabs(D.v[k] - want[k]) < 1e-3)) return false; return true; }() : close(D.v, want, 0);
  };
  check("wgmma 128B swizzle, B K-major", one("wgmma_128_k", 1, false, 0));
  check("wgmma 128B swizzle, B MN-major", one("wgmma_128_mn", 1, true, 0));
  check("wgmma 64B swizzle, B K-major", one("wgmma_64_k", 2, false, 0));
  check("wgmma 64B swizzle, B MN-major", one("wgmma_64_mn", 2, true, 0));
  check("wgmma 32B swizzle, B K-major", one("wgmma_32_k", 3, false, 0));
  check("wgmma 32B swizzle, B MN-major", one("wgmma_32_mn", 3, true, 0));
  check("wgmma A in registers, B K-major", one("wgmma_128_k_rs", 1, false, 0));
  check("wgmma A in registers, B MN-major", one("wgmma_128_mn_rs", 1, true, 0));
  setenv("GPUMODEL_QUIET", "1", 1);
  check("wgmma: wait for TMA left out shows", !one("wgmma_128_k", 1, false, 1));
  check("wgmma: wait_group left out shows", !one("wgmma_128_k", 1, false, 2) && counters.warnings > 0);
  check("wgmma: A overwritten too early shows", !one("wgmma_128_k", 1, false, 3));
  setenv("GPUMODEL_ASYNC", "random", 1);
  setenv("GPUMODEL_WGMMA", "random", 1);
  bool all = true;
  for (int s = 0; s < 10; ++s) {
    setenv("GPUMODEL_SEED", std::to_string(s).c_str(), 1);
    all &= one("wgmma_128_mn", 1, true, 0);
  }
  check("wgmma: random completion", all);
  unsetenv("GPUMODEL_ASYNC");
  unsetenv("GPUMODEL_WGMMA");
  {
    auto small = [&](const char* name, int size, auto value, double sign, double tol) {
      Buf<u8> a(64 * 32), b(8 * 32);
      const int k = 32 / size;
      for (auto* x : {&a, &b})
        for (std::size_t j = 0; j < x->v.size() / static_cast<std::size_t>(size); ++j) {
          float v = rnd();
          if (size == 4)
            std::memcpy(&x->v[j * 4], &v, 4);
          else if (size == 2) {
            u16 q = std::string(name) == "wgmma_bf16" ? float_to_bf16(v) : h(v);
            std::memcpy(&x->v[j * 2], &q, 2);
          } else
            x->v[j] = std::string(name) == "wgmma_s8" ? static_cast<u8>(rng()) : float_to_e4m3(v);
        }
      std::vector<double> w(64 * 8);
      for (int r = 0; r < 64; ++r)
        for (int c = 0; c < 8; ++c)
          for (int x = 0; x < k; ++x) w[r * 8 + c] += sign * value(&a.v[r * 32 + x * size]) * value(&b.v[c * 32 + x * size]);
      Buf<float> D8(64 * 8);
      launch(name, {}, {128}, 0, {}, a.p(), b.p(), D8.p());
      check(name, close(D8.v, w, tol));
    };
    small(
        "wgmma_bf16", 2,
        [](const u8* p) {
          u16 v;
          std::memcpy(&v, p, 2);
          return static_cast<double>(bf16_to_float(v));
        },
        1, 0);
    small(
        "wgmma_tf32", 4,
        [](const u8* p) {
          float v;
          std::memcpy(&v, p, 4);
          return static_cast<double>(v);
        },
        1, 0);
    small(
        "wgmma_e4m3", 1, [](const u8* p) { return static_cast<double>(e4m3_to_float(*p)); }, -1, 0);
    small(
        "wgmma_s8", 1, [](const u8* p) { return static_cast<double>(static_cast<s8>(*p)); }, 1, 0);
    small(
        "wgmma_f16acc", 2,
        [](const u8* p) {
          u16 v;
          std::memcpy(&v, p, 2);
          return static_cast<double>(half_to_float(v));
        },
        1, 0.02);
  }
  // plain layout
  Buf<float> D(64 * 128);
  launch("wgmma_plain", {}, {128}, 0, {}, static_cast<const u16*>(A.p()), static_cast<const u16*>(BK.p()), D.p(), 1);
  check("wgmma without swizzle, operands by st", close(D.v, want, 0) && counters.unfenced_async_reads == 0);
  launch("wgmma_plain", {}, {128}, 0, {}, static_cast<const u16*>(A.p()), static_cast<const u16*>(BK.p()), D.p(), 0);
  check("wgmma: missing fence.proxy.async is counted", counters.unfenced_async_reads > 0);
  unsetenv("GPUMODEL_QUIET");
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::ifstream in(argv[1]);
  std::stringstream text;
  text << in.rdbuf();
  Module m(text.str());
  module = &m;
  {
    const int n = 10000;
    Buf<float> a(n), b(n), c(n);
    for (int i = 0; i < n; ++i) {
      a.v[i] = static_cast<float>(i);
      b.v[i] = 0.5f * static_cast<float>(i);
    }
    launch("vec_add", {7}, {96}, 0, {}, a.p(), b.p(), c.p(), n);
    bool ok = true;
    for (int i = 0; i < n; ++i) ok &= c.v[i] == 1.5f * static_cast<float>(i);
    check("vec_add", ok && counters.global_load_bytes == 8u * n && counters.global_store_bytes == 4u * n &&
                         counters.fma_flops[1] == static_cast<u64>(n));
  }
  {
    const int n = 5000;
    Buf<float> x(n);
    Buf<double> part(9), out(1);
    double s = 0;
    for (auto& v : x.v) {
      v = rnd();
      s += v;
    }
    launch("reduce_last_block", {9}, {256}, 0, {}, x.p(), part.p(), out.p(), n);
    bool ok = out.v[0] == s;
    out.v[0] = 0;
    launch("reduce_last_block", {9}, {256}, 0, {}, x.p(), part.p(), out.p(), n);
    check("reduction, shuffles, last block", ok && out.v[0] == s);
  }
  {
    Buf<double> d(4);
    Buf<s32> i(5);
    launch("tables", {}, {32}, 0, {}, d.p(), i.p());
    check("initialised .global and .const",
          d.v == std::vector<double>{1.5, -2.25, 3.0, 0.125} && i.v == std::vector<s32>{7, -3, 11, 0, 2});
  }
  {
    const int n = 100;  // the last warp is partly there (the block has 100 threads)
    Buf<s32> o(128);
    std::vector<s32> s(128), want(128);
    launch("divergent", {}, {128}, 0, {}, o.p(), 128);
    for (int t = 0; t < 128; ++t) {
      int v = 0;
      for (int k = 0; k < t % 7; ++k) {
        if ((k + t) & 1)
          v += k;
        else
          v -= 3;
        if (v > 40) break;
      }
      s[t] = v;
    }
    std::vector<s32> u = s;
    for (int t = 0; t < 128; ++t) {
      if (t & 1)
        u[t] = s[t] + (t ^ 2);
      else
        u[t] = s[t] + 1000 * (t % 32 >= 4 ? t - 4 : t);
    }
    for (int t = 0; t < 128; ++t) {
      u32 b = 0;
      for (int l = 0; l < 32; ++l) b |= static_cast<u32>(u[t / 32 * 32 + l] > 10) << l;
      s32 v = u[t];
      if (t % 3 == 0 && t % 2 == 0)
        v += __builtin_popcount(b);
      else if (t % 5 == 2)
        v ^= static_cast<s32>(b);
      switch (t % 6) {
        case 0:
          v += 5;
          break;
        case 1:
          v *= 3;
          break;
        case 2:
          v -= 9;
          break;
        case 3:
          v ^= 0x55;
          break;
        case 4:
          v = -v;
          break;
        default:
          v += v >> 2;
      }
      want[t] = v;
    }
    check("divergence, masks, ballot, switch", o.v == want);
    (void)n;
  }
  test_ops();
  test_mma();
  {
    const int tiles = 9;
    Buf<float> x(tiles * 256), out(64);
    for (auto& v : x.v) v = rnd();
    std::vector<double> want(64);
    for (int t = 0; t < 64; ++t)
      for (int k = 0; k < tiles; ++k)
        for (int j = 0; j < 4; ++j) want[t] += (j + 1) * x.v[k * 256 + (63 - t) * 4 + j];
    launch("cp_pipeline", {}, {64}, 0, {}, x.p(), out.p(), tiles, 0);
    check("cp.async pipeline", close(out.v, want, 1e-4));
    setenv("GPUMODEL_QUIET", "1", 1);
    launch("cp_pipeline", {}, {64}, 0, {}, x.p(), out.p(), tiles, 1);
    check("cp.async: wait left out shows", !(std::fabs(out.v[0] - want[0]) < 1e-3));
    unsetenv("GPUMODEL_QUIET");
  }
  {
    Buf<s32> o(64);
    launch("mbar_phases", {}, {96}, 0, {}, o.p(), 7, 0);
    bool ok = true;
    u32 s = 0;
    for (u32 k = 0; k < 7; ++k) s = s * 3 + k * k + 1;
    for (u32 t = 0; t < 64; ++t) ok &= o.v[t] == static_cast<s32>(s + (t ^ 63) + 32);
    check("mbarrier phases, named barrier", ok);
  }
  test_wgmma();
  {
    Buf<float> x(10 * 5 * 4 * 3), out(96);
    for (std::size_t k = 0; k < x.v.size(); ++k) x.v[k] = static_cast<float>(k + 1);
    // dims (inner first) 8 of a pitch of 12 floats would do; here 10 x 5 x 4 x 3 with rows padded to 12
    Buf<float> y(12 * 5 * 4 * 3);
    for (int r = 0; r < 60; ++r)
      for (int c = 0; c < 10; ++c) y.v[r * 12 + c] = x.v[r * 10 + c];
    Map128 mp{map(y.p(), 7, {10, 5, 4, 3}, {48, 240, 960}, {8, 3, 2, 2}, 0), {}};
    bool ok = true;
    for (auto [cx, cy, cz, cu] : {std::array<int, 4>{0, 0, 0, 0}, {4, 3, 3, 1}, {-2, -1, 2, 2}, {9, 4, 3, 2}}) {
      launch("tma_4d", {}, {32}, 0, {}, mp, out.p(), cx, cy, cz, cu);
      for (int u = 0; u < 2; ++u)
        for (int z = 0; z < 2; ++z)
          for (int yy = 0; yy < 3; ++yy)
            for (int xx = 0; xx < 8; ++xx) {
              int X = cx + xx, Y = cy + yy, Z = cz + z, U = cu + u;
              float want = X < 0 || X >= 10 || Y < 0 || Y >= 5 || Z >= 4 || U >= 3 ? 0 : x.v[((U * 4 + Z) * 5 + Y) * 10 + X];
              ok &= out.v[((u * 2 + z) * 3 + yy) * 8 + xx] == want;
            }
    }
    check("TMA 4-d, partly outside", ok);
  }
  {
    Buf<float> x(8 * 32), out(8);
    for (auto& v : x.v) v = rnd();
    launch("cluster_sum", {8}, {32}, 0, {4}, x.p(), out.p());
    bool ok = true;
    for (int b = 0; b < 8; ++b) {
      float s = 0;
      for (int k = 0; k < 128; ++k) s += x.v[b / 4 * 128 + k];
      ok &= out.v[b] == s;
    }
    check("cluster: mapa, st.async", ok);
  }
  {
    Buf<s32> y(32);
    launch("local_array", {}, {32}, 0, {}, y.p(), 20);
    bool ok = true;
    for (int t = 0; t < 32; ++t) {
      int a[16];
      for (int i = 0; i < 16; ++i) a[i] = i * t;
      for (int i = 0; i < 20; ++i) a[(i * 7 + t) & 15] += i;
      u32 s = 0;
      for (int i = 0; i < 16; ++i) s = s * 5 + static_cast<u32>(a[i]);
      ok &= y.v[t] == static_cast<s32>(s);
    }
    check("local arrays", ok);
  }
  {
    Buf<float> x(16), y(16);
    Buf<s32> z(64);
    std::string t;
    check("fault: read outside",
          faults(
              Fault::Kind::illegal_address, [&] { launch("bad_read", {}, {1}, 0, {}, x.p(), y.p(), 1 << 20); }, &t));
    std::printf("  %s\n", t.c_str());
    check("fault: shared outside",
          faults(
              Fault::Kind::illegal_address, [&] { launch("bad_shared", {}, {8}, 0, {}, y.p(), 9); }, &t));
    check(
        "fault: misaligned",
        faults(
            Fault::Kind::misaligned,
            [&] { launch("bad_read", {}, {1}, 0, {}, reinterpret_cast<float*>(reinterpret_cast<char*>(x.p()) + 2), y.p(), 1); },
            &t));
    check("fault: deadlock", faults(
                                 Fault::Kind::deadlock, [&] { launch("hang", {}, {64}, 0, {}, z.p()); }, &t));
    std::printf("  %s\n", t.c_str());
    setenv("GPUMODEL_RACE", "1", 1);
    setenv("GPUMODEL_QUIET", "1", 1);
    launch("racy", {}, {64}, 0, {}, z.p());
    check("race detector: barrier missing", counters.races > 0);
    launch("mbar_phases", {}, {96}, 0, {}, z.p(), 7, 0);
    check("race detector: mbarriers order", counters.races == 0);
    launch("mbar_phases", {}, {96}, 0, {}, z.p(), 7, 1);
    check("race detector: slot given back before it is read", counters.races > 0);
    {
      Buf<u16> A(4 * 64 * 64), B(4 * 128 * 64);
      for (auto* b : {&A, &B})
        for (auto& v : b->v) v = h(rnd());
      std::vector<double> want(64 * 128);
      for (int q = 0; q < 4; ++q)
        for (int r = 0; r < 64; ++r)
          for (int c = 0; c < 128; ++c)
            for (int k = 0; k < 64; ++k)
              want[r * 128 + c] += half_to_float(A.v[(q * 64 + r) * 64 + k]) * half_to_float(B.v[(q * 128 + c) * 64 + k]);
      Map128 ma{map(A.p(), 6, {64, 256}, {128}, {64, 64}, 3), {}}, mb{map(B.p(), 6, {64, 512}, {128}, {64, 128}, 3), {}};
      Buf<float> D(64 * 128);
      launch("tma_ring", {}, {160}, 2 * 24576 + 1024, {}, ma, mb, D.p(), 4, 0);
      check("TMA ring: right, no race", close(D.v, want, 1e-3) && counters.races == 0 && counters.warnings == 0);
      launch("tma_ring", {}, {160}, 2 * 24576 + 1024, {}, ma, mb, D.p(), 4, 1);
      check("TMA ring: stage given back before wait_group", counters.races > 0);
    }
    unsetenv("GPUMODEL_RACE");
    unsetenv("GPUMODEL_QUIET");
  }
  {
    Buf<float> y(128 * 64);
    auto t0 = std::chrono::steady_clock::now();
    launch("fma_loop", {64}, {128}, 0, {}, y.p(), 3000);
    double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    std::printf("speed: %.0f M thread-instructions a second (%.2f s)\n",
                static_cast<double>(counters.thread_instructions) / s / 1e6, s);
  }
  std::printf("%s\n", failures ? "FAILED" : "all passed");
  return failures != 0;
}
