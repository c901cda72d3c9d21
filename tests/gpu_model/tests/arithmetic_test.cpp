// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/base/element.hpp"
#include "tests/gpu_model/tests/compiled_kernels.hpp"

namespace gpu_model {
namespace {

using std::int16_t, std::int32_t, std::int64_t, std::int8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t;

constexpr std::size_t results_per_thread = 32;

/// One thread's input, taken as the kernels take it.
struct Words {
  uint32_t x, y;
  int32_t sx() const { return static_cast<int32_t>(x); }
  int32_t sy() const { return static_cast<int32_t>(y); }
  uint64_t wx() const { return uint64_t{x} << 32 | y; }
  uint64_t wy() const { return uint64_t{y} << 29 ^ x; }
  int64_t swx() const { return static_cast<int64_t>(wx()); }
  int64_t swy() const { return static_cast<int64_t>(wy()); }
  uint64_t pair() const { return uint64_t{y} << 32 | x; }
  float f() const { return std::bit_cast<float>((x & 0x3fffffff) + 0x20000000); }
  float g() const { return std::bit_cast<float>((y & 0x3fffffff) + 0x20000000); }
  double d() const { return static_cast<double>(f()) * 1.000001; }
  double e() const { return static_cast<double>(g()) * 0.3333; }
};

struct Operation {
  const char* name;
  uint64_t (*expected)(const Words&);
};

uint64_t bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t bits(__half value) { return __half_raw(value).x; }

/// Runs a kernel of (words, words, results, count) and compares each result of each thread.
void expect_results(const char* kernel, const std::vector<Operation>& operations) {
  constexpr int threads = 3000;
  std::mt19937 random(7);
  DeviceArray<uint32_t> x(threads), y(threads);
  DeviceArray<uint64_t> out(threads * results_per_thread);
  x.fill(random);
  for (int i = 0; i < threads; ++i) y[i] = static_cast<uint32_t>(random()) >> (i % 31);
  x[0] = 0x80000000, y[0] = 0xffffffff;
  x[1] = y[1] = 0;
  launch(kernel, {{24}, {128}}, x.data(), y.data(), out.data(), threads);
  ASSERT_LE(operations.size(), results_per_thread);
  for (std::size_t k = 0; k < operations.size(); ++k) {
    for (int i = 0; i < threads; ++i) {
      const uint64_t result = out[i * results_per_thread + k], expected = operations[k].expected({x[i], y[i]});
      ASSERT_EQ(result, expected) << operations[k].name << " of " << x[i] << " and " << y[i];
    }
  }
}

uint64_t reversed(uint32_t word) {
  uint32_t result = 0;
  for (int i = 0; i < 32; ++i) result |= (word >> i & 1) << (31 - i);
  return result;
}
/// prmt: a selector of 4 bits per byte; the highest of them repeats the byte's sign.
uint64_t permuted(uint64_t bytes, uint32_t selectors) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> (4 * i) & 15;
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7))) & 255;
    if (selector & 8) byte = byte >> 7 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

TEST(Arithmetic, Integers) {
  using W = const Words&;
  expect_results(
      "integers",
      {{"x / y", [](W w) -> uint64_t { return w.x / (w.y | 1); }},
       {"x % y", [](W w) -> uint64_t { return w.x % (w.y | 1); }},
       {"signed x / y", [](W w) { return static_cast<uint64_t>(static_cast<int32_t>(int64_t{w.sx()} / (w.sy() | 1))); }},
       {"signed x % y", [](W w) { return static_cast<uint64_t>(int64_t{w.sx()} % (w.sy() | 1)); }},
       {"64-bit x / y", [](W w) { return w.wx() / (w.wy() | 1); }},
       {"64-bit x % y", [](W w) { return w.wx() % (w.wy() | 1); }},
       {"signed 64-bit x / y", [](W w) { return static_cast<uint64_t>(w.swx() / (w.swy() | 1)); }},
       {"signed 64-bit x % y", [](W w) { return static_cast<uint64_t>(w.swx() % (w.swy() | 1)); }},
       {"mul.hi.u32", [](W w) { return uint64_t{w.x} * w.y >> 32; }},
       {"mul.hi.s32", [](W w) -> uint64_t { return static_cast<uint32_t>(int64_t{w.sx()} * w.sy() >> 32); }},
       {"mul.hi.u64", [](W w) { return static_cast<uint64_t>(static_cast<unsigned __int128>(w.wx()) * w.wy() >> 64); }},
       {"mul.hi.s64", [](W w) { return static_cast<uint64_t>(static_cast<__int128>(w.swx()) * w.swy() >> 64); }},
       {"mul.wide.u32", [](W w) { return uint64_t{w.x} * w.y; }},
       {"mul.wide.s32", [](W w) { return static_cast<uint64_t>(int64_t{w.sx()} * w.sy()); }},
       {"popc.b32", [](W w) { return static_cast<uint64_t>(std::popcount(w.x)); }},
       {"clz.b32", [](W w) { return static_cast<uint64_t>(std::countl_zero(w.x)); }},
       {"brev.b32", [](W w) { return reversed(w.x); }},
       {"popc.b64", [](W w) { return static_cast<uint64_t>(std::popcount(w.wx())); }},
       {"shf.l.wrap", [](W w) -> uint64_t { return static_cast<uint32_t>(w.pair() << (w.y & 31) >> 32); }},
       {"shf.r.wrap", [](W w) -> uint64_t { return static_cast<uint32_t>(w.pair() >> (w.x & 31)); }},
       {"prmt", [](W w) { return permuted(w.pair(), (w.x ^ w.y) & 0x7777); }},
       {"shr.s32", [](W w) -> uint64_t { return static_cast<uint32_t>(w.sx() >> (w.y & 31)); }},
       {"shr.u32", [](W w) -> uint64_t { return w.x >> (w.y & 31); }},
       {"shl.b32", [](W w) -> uint64_t { return w.x << (w.y & 31); }},
       {"shr.s64", [](W w) { return static_cast<uint64_t>(w.swx() >> (w.y & 63)); }},
       {"u8 + s8", [](W w) { return static_cast<uint64_t>(static_cast<uint8_t>(w.x) + static_cast<int8_t>(w.y)); }},
       {"s16 * s16",
        [](W w) -> uint64_t { return static_cast<uint16_t>(static_cast<int16_t>(w.x) * static_cast<int16_t>(w.y)); }},
       {"setp.lt.s32", [](W w) -> uint64_t { return w.sx() < w.sy() ? 1 : 2; }},
       {"setp.lt.u32", [](W w) -> uint64_t { return w.x < w.y; }},
       {"abs.s32", [](W w) { return static_cast<uint64_t>(static_cast<int32_t>(w.sx() < 0 ? 0u - w.x : w.x)); }},
       {"and, or, xor, not", [](W w) -> uint64_t { return (w.x & w.y) | ((~w.x & 0xff) ^ w.y); }}});
}

/// An exact value in fp32, moved one step in a direction where rounding to nearest went past it.
float rounded_down(long double exact) {
  const auto nearest = static_cast<float>(exact);
  return nearest > exact ? std::nextafter(nearest, -INFINITY) : nearest;
}
float rounded_up(long double exact) {
  const auto nearest = static_cast<float>(exact);
  return nearest < exact ? std::nextafter(nearest, INFINITY) : nearest;
}

TEST(Arithmetic, Floats) {
  using W = const Words&;
  using Exact = long double;
  expect_results("floats", {{"add.f32", [](W w) { return bits(w.f() + w.g()); }},
                            {"mul.f32", [](W w) { return bits(w.f() * w.g()); }},
                            {"fma.f32", [](W w) { return bits(std::fma(w.f(), w.g(), -w.f())); }},
                            {"div.f32", [](W w) { return bits(w.f() / w.g()); }},
                            {"sqrt.f32", [](W w) { return bits(std::sqrt(w.f())); }},
                            {"fma.rm.f32", [](W w) { return bits(rounded_down(Exact{w.f()} * w.g() + w.f())); }},
                            {"add.rz.f32", [](W w) { return bits(rounded_down(Exact{w.f()} + w.g())); }},
                            {"mul.rp.f32", [](W w) { return bits(rounded_up(Exact{w.f()} * w.g())); }},
                            {"add.f64", [](W w) { return bits(w.d() + w.e()); }},
                            {"div.f64", [](W w) { return bits(w.d() / w.e()); }},
                            {"fma.f64", [](W w) { return bits(std::fma(w.d(), w.e(), w.d())); }},
                            {"sqrt.f64", [](W w) { return bits(std::sqrt(w.d())); }},
                            {"max.f32", [](W w) { return bits(std::fmax(w.f(), w.g())); }},
                            {"min.f32 of a NaN", [](W w) { return bits(w.f()); }},
                            {"cvt.rni.f32", [](W w) { return bits(std::rint(w.g())); }},
                            {"cvt.rmi.f32", [](W w) { return bits(std::floor(w.g())); }},
                            {"setp.lt.f32", [](W w) -> uint64_t { return w.f() < w.g(); }},
                            {"setp.ltu.f32", [](W w) -> uint64_t { return !(w.f() >= w.g()); }},
                            {"setp.ltu.f32 of a NaN", [](W) -> uint64_t { return 1; }},
                            {"setp.lt.f32 of a NaN", [](W) -> uint64_t { return 0; }}});
}

TEST(Arithmetic, ConversionsRoundToNearestEvenAndSaturate) {
  using W = const Words&;
  using Fp8 = roofmark::Element<roofmark::DataType::fp8>;
  expect_results(
      "conversions",
      {{"cvt.rzi.s32.f32",
        [](W w) -> uint64_t { return w.f() >= 0x1p31f ? 0x7fffffffu : static_cast<uint32_t>(static_cast<int32_t>(w.f())); }},
       {"cvt.rzi.s64.f64",
        [](W w) {
          constexpr int64_t top = std::numeric_limits<int64_t>::max();
          return static_cast<uint64_t>(w.d() >= 0x1p63 ? top : static_cast<int64_t>(w.d()));
        }},
       {"cvt.rni.s32.f32",
        [](W w) {
          constexpr int32_t top = std::numeric_limits<int32_t>::max();
          return static_cast<uint64_t>(w.g() >= 0x1p31f ? top : static_cast<int32_t>(std::lrint(w.g())));
        }},
       {"cvt.rn.f32.s32", [](W w) { return bits(static_cast<float>(w.sx())); }},
       {"cvt.rn.f32.u64", [](W w) { return bits(static_cast<float>(w.wx())); }},
       {"cvt.rn.f64.s64", [](W w) { return bits(static_cast<double>(w.swx())); }},
       {"cvt.rn.f16.f32", [](W w) { return bits(__float2half_rn(w.f())); }},
       {"cvt.rn.bf16.f32",
        [](W w) -> uint64_t {
          const auto f = static_cast<uint32_t>(bits(w.f()));
          return (f + 0x7fff + (f >> 16 & 1)) >> 16;
        }},
       {"cvt.f32.f16", [](W w) { return bits(__half2float(__ushort_as_half(static_cast<uint16_t>(w.x & 0x7bff)))); }},
       {"cvt.f32.bf16", [](W w) -> uint64_t { return (w.x >> 16 & 0x7f7f) << 16; }},
       {"cvt.rn.f16.f64", [](W w) { return bits(__double2half(w.d())); }},
       {"cvt.rn.f32.f64", [](W w) { return bits(static_cast<float>(w.d())); }},
       {"cvt.rn.satfinite.e4m3x2.f32", [](W w) -> uint64_t { return Fp8::rounded(static_cast<double>(w.f())); }},
       {"cvt.rn.f16x2.e4m3x2", [](W w) { return bits(__double2half(Fp8::value(static_cast<uint8_t>(w.y & 0x77)))); }}});
}

/// Applies a function of doubles to each half of two words and rounds once.
template <roofmark::DataType type>
uint64_t each_half(uint32_t x, uint32_t y, double (*function)(double, double)) {
  using Half = roofmark::Element<type>;
  const auto value = [](uint32_t word, int half) { return Half::value(static_cast<uint16_t>(word >> (16 * half))); };
  uint64_t result = 0;
  for (int half = 0; half < 2; ++half) {
    result |= uint64_t{Half::rounded(function(value(x, half), value(y, half)))} << (16 * half);
  }
  return result;
}
uint64_t each_fp16(const Words& w, double (*function)(double, double)) {
  const auto in_range = [](uint32_t word) { return (word & 0x8fff8fff) | 0x30003000; };
  return each_half<roofmark::DataType::fp16>(in_range(w.x), in_range(w.y), function);
}
uint64_t each_bf16(const Words& w, double (*function)(double, double)) {
  const auto in_range = [](uint32_t word) { return (word & 0x81ff81ff) | 0x3e003e00; };
  return each_half<roofmark::DataType::bf16>(in_range(w.x), in_range(w.y), function);
}

TEST(Arithmetic, PackedHalvesRoundOnce) {
  using W = const Words&;
  static constexpr auto add = [](double x, double y) { return x + y; };
  static constexpr auto multiply = [](double x, double y) { return x * y; };
  static constexpr auto fma = [](double x, double y) { return x * y + x; };
  expect_results("packed_halves", {{"add.f16x2", [](W w) { return each_fp16(w, add); }},
                                   {"mul.f16x2", [](W w) { return each_fp16(w, multiply); }},
                                   {"fma.f16x2", [](W w) { return each_fp16(w, fma); }},
                                   {"add.bf16x2", [](W w) { return each_bf16(w, add); }},
                                   {"mul.bf16x2", [](W w) { return each_bf16(w, multiply); }},
                                   {"fma.bf16x2", [](W w) { return each_bf16(w, fma); }}});
}

TEST(Arithmetic, SpecialFunctionsAreNearAndCounted) {
  constexpr int threads = 256;
  DeviceArray<float> in(threads), out(threads * 8);
  for (int i = 0; i < threads; ++i) in[i] = 0.03125f * static_cast<float>(i + 1);
  const Counters counters = launch("special_functions", {{8}, {32}}, in.data(), out.data(), threads);
  EXPECT_EQ(counters.special, 6u * threads);
  for (int i = 0; i < threads; ++i) {
    const double x = in[i];
    const double expected[] = {std::exp2(x), std::log2(x), 1 / x, 1 / std::sqrt(x), std::sin(x), std::tanh(x)};
    // What the PTX ISA allows, in the function's own measure: tanh has 2^-11.
    const double bound[] = {0x1p-22, 0x1p-22, 0x1p-23, 0x1p-22, 0x1p-20, 0x1p-10};
    for (int k = 0; k < 6; ++k) {
      EXPECT_NEAR(out[i * 8 + k], expected[k], bound[k] * std::max(1.0, std::fabs(expected[k])))
          << "function " << k << " of " << x;
    }
  }
}

}  // namespace
}  // namespace gpu_model
