// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "fragments.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gpu_model {
namespace {

template <float (*to_float)(u8)>
std::array<float, 256> all_values() {
  std::array<float, 256> values{};
  for (int bits = 0; bits < 256; ++bits) values[static_cast<std::size_t>(bits)] = to_float(static_cast<u8>(bits));
  return values;
}
constexpr float e2m1_values[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
const std::array<float, 256> e4m3_values = all_values<e4m3_to_float>(), e5m2_values = all_values<e5m2_to_float>();

template <class T>
T load(const u8* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Convert>
void widen_each(const u8* from, int count, int bytes, double* out, int stride, Convert convert) {
  if (stride == 1) {
    for (int k = 0; k < count; ++k) out[k] = convert(from + k * bytes);
  } else {
    for (int k = 0; k < count; ++k) out[k * stride] = convert(from + k * bytes);
  }
}

/// Eight by one instruction.
void widen_halves(const u8* from, int count, double* out, int stride) {
  int k = 0;
  for (; k + 8 <= count; k += 8) {
    alignas(32) float values[8];
    _mm256_store_ps(values, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * k))));
    for (int j = 0; j < 8; ++j) out[(k + j) * stride] = values[j];
  }
  for (; k < count; ++k) out[k * stride] = _cvtsh_ss(load<u16>(from + 2 * k));
}

/// Position in a matrix of a register's first element. The lanes form 8 groups of 4.
struct Position {
  int row = 0, column = 0;
};
Position in_accumulator(Accumulator accumulator, u32 reg, int lane) {
  const int group = lane / 4, pair = lane % 4 * 2, r = static_cast<int>(reg);
  if (accumulator == Accumulator::f16) return {group + 8 * (r & 1), pair + 8 * (r >> 1)};  // two columns per register
  return {group + 8 * (r >> 1 & 1), pair + (r & 1) + 8 * (r >> 2)};
}

s32 to_s32(double value, bool saturate) {
  if (saturate) return static_cast<s32>(std::clamp(value, -2147483648.0, 2147483647.0));
  return static_cast<s32>(static_cast<u32>(static_cast<s64>(value)));
}

float canonical(float value) { return std::isnan(value) ? std::bit_cast<float>(0x7fffffffu) : value; }

template <class Row>
u32 append(const Operand& fragment, Type type, std::vector<u32>& rows, Row row_of) {
  const std::vector<Operand> registers = fragment.k == Operand::vec ? fragment.sub : std::vector<Operand>{fragment};
  for (const Operand& reg : registers) {
    u8 size = 0;
    rows.push_back(row_of(reg, &size));
    if (size != size_of(type)) throw DecodeError("fragment register of another size");
  }
  return static_cast<u32>(registers.size());
}

}  // namespace

int bytes_of(Element element) {
  switch (element) {
    case Element::f64:
      return 8;
    case Element::tf32:
      return 4;
    case Element::f16:
    case Element::bf16:
      return 2;
    default:
      return 1;
  }
}

u32 elements_in(Element element, u32 bytes) {
  return element == Element::e2m1 ? 2 * bytes : bytes / static_cast<u32>(bytes_of(element));
}

std::optional<Element> element_of(Type type) {
  switch (type) {
    case Type::f16:
      return Element::f16;
    case Type::bf16:
      return Element::bf16;
    case Type::tf32:
      return Element::tf32;
    case Type::e4m3:
      return Element::e4m3;
    case Type::e5m2:
      return Element::e5m2;
    case Type::s8:
      return Element::s8;
    case Type::u8:
      return Element::u8;
    case Type::f64:
      return Element::f64;
    default:
      return std::nullopt;
  }
}

std::optional<Accumulator> accumulator_of(Type type) {
  switch (type) {
    case Type::f32:
      return Accumulator::f32;
    case Type::f16:
      return Accumulator::f16;
    case Type::s32:
      return Accumulator::s32;
    case Type::f64:
      return Accumulator::f64;
    default:
      return std::nullopt;
  }
}

void widen(Element element, const u8* from, int count, double* out, int stride) {
  switch (element) {  // outside the loop, so that each type has a loop of its own
    case Element::f16:
      return widen_halves(from, count, out, stride);
    case Element::bf16:
      return widen_each(from, count, 2, out, stride, [](const u8* at) { return bf16_to_float(load<u16>(at)); });
    case Element::tf32:  // the tensor cores ignore the lower 13 bits
      return widen_each(from, count, 4, out, stride,
                        [](const u8* at) { return std::bit_cast<float>(load<u32>(at) & 0xffffe000u); });
    case Element::e4m3:
      return widen_each(from, count, 1, out, stride, [](const u8* at) { return e4m3_values[*at]; });
    case Element::e5m2:
      return widen_each(from, count, 1, out, stride, [](const u8* at) { return e5m2_values[*at]; });
    case Element::s8:
      return widen_each(from, count, 1, out, stride, [](const u8* at) { return static_cast<s8>(*at); });
    case Element::u8:
      return widen_each(from, count, 1, out, stride, [](const u8* at) { return *at; });
    case Element::e2m1:  // the first of two is in the lower half
      for (int k = 0; k < count; ++k) out[k * stride] = e2m1_values[from[k / 2] >> k % 2 * 4 & 15];
      return;
    case Element::f64:
      return widen_each(from, count, 8, out, stride, [](const u8* at) { return load<double>(at); });
  }
}

namespace {

/// Calls use(register, lane, count, values) for each lane of each register of A or B: `count` neighbours along k, widened.
template <class Use>
void for_each_lane(const Warp& w, Fragment fragment, Element element, Use use) {
  const int reg_bytes = element == Element::f64 ? 8 : 4, neighbours = reg_bytes / bytes_of(element);
  for (int reg = 0; reg < static_cast<int>(fragment.count); ++reg) {
    double values[32 * 4];
    widen(element, w.registers + fragment.registers[reg], 32 * neighbours, values, 1);
    for (int lane = 0; lane < 32; ++lane) use(reg, lane, neighbours, values + lane * neighbours);
  }
}

/// Calls use(register, lane, place in a matrix of this width) for each lane of each register of C or D.
template <class Use>
void for_each_place(Fragment fragment, Accumulator accumulator, int width, Use use) {
  for (u32 reg = 0; reg < fragment.count; ++reg) {
    const Position first = in_accumulator(accumulator, reg, 0);
    for (int lane = 0; lane < 32; ++lane)
      use(fragment.registers[reg], lane, (first.row + lane / 4) * width + first.column + lane % 4 * 2);
  }
}

}  // namespace

void read_a(const Warp& w, Fragment fragment, Element element, int rows, int columns, double* a) {
  for_each_lane(w, fragment, element, [&](int reg, int lane, int neighbours, const double* from) {
    const int half = rows == 8 ? 0 : reg & 1, step = rows == 8 ? reg : reg >> 1;
    double* const out = a + (lane / 4 + 8 * half) * columns + neighbours * (lane % 4 + 4 * step);
    for (int k = 0; k < neighbours; ++k) out[k] = from[k];
  });
}

void read_b(const Warp& w, Fragment fragment, Element element, int width, double* b) {
  for_each_lane(w, fragment, element, [&](int reg, int lane, int neighbours, const double* from) {
    double* const out = b + neighbours * (lane % 4 + 4 * reg) * width + lane / 4;
    for (int k = 0; k < neighbours; ++k) out[k * width] = from[k];
  });
}

void read_c(const Warp& w, Fragment fragment, Accumulator accumulator, int width, double* c) {
  const auto each = [&](auto use) { for_each_place(fragment, accumulator, width, use); };
  switch (accumulator) {
    case Accumulator::f32:
      return each([&](u32 at, int lane, int place) { c[place] = w.row<float>(at)[lane]; });
    case Accumulator::f16:
      return each([&](u32 at, int lane, int place) {
        const u32 two = w.row<u32>(at)[lane];
        c[place] = half_to_float(static_cast<u16>(two));
        c[place + 1] = half_to_float(static_cast<u16>(two >> 16));
      });
    case Accumulator::s32:
      return each([&](u32 at, int lane, int place) { c[place] = w.row<s32>(at)[lane]; });
    case Accumulator::f64:
      return each([&](u32 at, int lane, int place) { c[place] = w.row<double>(at)[lane]; });
  }
}

void write_d(const Warp& w, Fragment fragment, Accumulator accumulator, int width, bool saturate, const double* d) {
  const auto each = [&](auto use) { for_each_place(fragment, accumulator, width, use); };
  switch (accumulator) {
    case Accumulator::f32:
      return each([&](u32 at, int lane, int place) { w.row<float>(at)[lane] = canonical(static_cast<float>(d[place])); });
    case Accumulator::f16:
      return each([&](u32 at, int lane, int place) {
        w.row<u32>(at)[lane] = u32{double_to_half(d[place])} | u32{double_to_half(d[place + 1])} << 16;
      });
    case Accumulator::s32:
      return each([&](u32 at, int lane, int place) { w.row<s32>(at)[lane] = to_s32(d[place], saturate); });
    case Accumulator::f64:
      return each([&](u32 at, int lane, int place) { w.row<double>(at)[lane] = d[place]; });
  }
}

void multiply_add(const double* a, const double* b, double* d, int m, int n, int k) {
  // A tile's sums stay in registers.
  constexpr int rows = 4, columns = 8;
  for (int row = 0; row < m; row += rows)
    for (int column = 0; column < n; column += columns) {
      double* const out = d + row * n + column;
      __m256d left[rows], right[rows];
      for (int r = 0; r < rows; ++r) {
        left[r] = _mm256_loadu_pd(out + r * n);
        right[r] = _mm256_loadu_pd(out + r * n + 4);
      }
      for (int x = 0; x < k; ++x) {
        const __m256d b_left = _mm256_loadu_pd(b + x * n + column), b_right = _mm256_loadu_pd(b + x * n + column + 4);
        for (int r = 0; r < rows; ++r) {
          const __m256d factor = _mm256_set1_pd(a[(row + r) * k + x]);
          left[r] = _mm256_add_pd(left[r], _mm256_mul_pd(factor, b_left));
          right[r] = _mm256_add_pd(right[r], _mm256_mul_pd(factor, b_right));
        }
      }
      for (int r = 0; r < rows; ++r) {
        _mm256_storeu_pd(out + r * n, left[r]);
        _mm256_storeu_pd(out + r * n + 4, right[r]);
      }
    }
}

std::optional<MatrixShape> shape_of(const Mnemonic& op) {
  MatrixShape shape;
  for (const std::string_view part : op.parts)
    if (std::sscanf(std::string(part).c_str(), "m%dn%dk%d", &shape.m, &shape.n, &shape.k) == 3) return shape;
  return std::nullopt;
}

u32 append_registers(Builder& b, const Operand& fragment, Type type, std::vector<u32>& rows) {
  return append(fragment, type, rows, [&](const Operand& reg, u8* size) { return b.source(reg, type, size); });
}
u32 append_destinations(Builder& b, const Operand& fragment, Type type, std::vector<u32>& rows) {
  return append(fragment, type, rows, [&](const Operand& reg, u8* size) { return b.dest(reg, size); });
}

}  // namespace gpu_model
