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
  for (int k = 0; k < count; ++k) out[k * stride] = convert(from + k * bytes);
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
      return widen_each(from, count, 2, out, stride, [](const u8* at) { return _cvtsh_ss(load<u16>(at)); });
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

// A register of A and B holds neighbours along k.
void read_a(const Warp& w, Fragment fragment, Element element, int rows, int columns, double* a) {
  const int reg_bytes = element == Element::f64 ? 8 : 4, neighbours = reg_bytes / bytes_of(element);
  for (u32 reg = 0; reg < fragment.count; ++reg)
    for (u32 lane = 0; lane < 32; ++lane) {
      const int r = static_cast<int>(reg), half = rows == 8 ? 0 : r & 1, step = rows == 8 ? r : r >> 1;
      const int row = lane / 4 + 8 * half, column = neighbours * (lane % 4 + 4 * step);
      widen(element, w.registers + fragment.registers[reg] + lane * reg_bytes, neighbours, a + row * columns + column, 1);
    }
}

void read_b(const Warp& w, Fragment fragment, Element element, int width, double* b) {
  const int reg_bytes = element == Element::f64 ? 8 : 4, neighbours = reg_bytes / bytes_of(element);
  for (u32 reg = 0; reg < fragment.count; ++reg)
    for (u32 lane = 0; lane < 32; ++lane) {
      const int row = neighbours * (lane % 4 + 4 * static_cast<int>(reg)), column = lane / 4;
      widen(element, w.registers + fragment.registers[reg] + lane * reg_bytes, neighbours, b + row * width + column, width);
    }
}

void read_c(const Warp& w, Fragment fragment, Accumulator accumulator, int width, double* c) {
  for (u32 reg = 0; reg < fragment.count; ++reg)
    for (u32 lane = 0; lane < 32; ++lane) {
      const auto [row, column] = in_accumulator(accumulator, reg, lane);
      double* out = c + row * width + column;
      const u32 at = fragment.registers[reg];
      switch (accumulator) {
        case Accumulator::f32:
          *out = w.row<float>(at)[lane];
          break;
        case Accumulator::f16:
          out[0] = half_to_float(static_cast<u16>(w.row<u32>(at)[lane]));
          out[1] = half_to_float(static_cast<u16>(w.row<u32>(at)[lane] >> 16));
          break;
        case Accumulator::s32:
          *out = w.row<s32>(at)[lane];
          break;
        case Accumulator::f64:
          *out = w.row<double>(at)[lane];
          break;
      }
    }
}

void write_d(const Warp& w, Fragment fragment, Accumulator accumulator, int width, bool saturate, const double* d) {
  for (u32 reg = 0; reg < fragment.count; ++reg)
    for (u32 lane = 0; lane < 32; ++lane) {
      const auto [row, column] = in_accumulator(accumulator, reg, lane);
      const double* in = d + row * width + column;
      const u32 at = fragment.registers[reg];
      switch (accumulator) {
        case Accumulator::f32:
          w.row<float>(at)[lane] = canonical(static_cast<float>(*in));
          break;
        case Accumulator::f16:
          w.row<u32>(at)[lane] = u32{double_to_half(in[0])} | u32{double_to_half(in[1])} << 16;
          break;
        case Accumulator::s32:
          w.row<s32>(at)[lane] = to_s32(*in, saturate);
          break;
        case Accumulator::f64:
          w.row<double>(at)[lane] = *in;
          break;
      }
    }
}

void multiply_add(const double* a, const double* b, double* d, int m, int n, int k) {
  for (int row = 0; row < m; ++row) {
    double* out = d + row * n;
    for (int x = 0; x < k; ++x) {
      const double factor = a[row * k + x];
      const double* in = b + x * n;
      for (int column = 0; column < n; ++column) out[column] += factor * in[column];
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
