// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>
#include <string_view>

namespace gpu_model {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

/// PTX's fundamental types, and the types that only instructions name (tf32, packed pairs, fp8).
enum class Type : std::uint8_t {
  none,
  u8,
  s8,
  b8,
  u16,
  s16,
  b16,
  u32,
  s32,
  b32,
  u64,
  s64,
  b64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f64,
  pred,
  e4m3x2,
  e5m2x2,
  e4m3,
  e5m2,
  tf32,
  b128
};
/// Bytes per element; 0 for pred and none.
int size_of(Type);
/// False for single e4m3 and e5m2: they occur only as element types of matrix instructions.
bool is_float(Type);
bool is_signed(Type);
/// "u32" -> Type::u32; none if `name` is no type.
Type type_of(std::string_view name);

/// The smallest multiple that is not below the value.
inline u64 align_up(u64 value, u64 multiple) { return (value + multiple - 1) / multiple * multiple; }

// Encodings. Conversions round to nearest even. A NaN becomes the canonical NaN of the format that has one (0x7fff, 0x7f).
float half_to_float(u16);
u16 float_to_half(float);
u16 double_to_half(double);
inline float bf16_to_float(u16 value) { return std::bit_cast<float>(static_cast<u32>(value) << 16); }
u16 float_to_bf16(float);
u16 double_to_bf16(double);
float e4m3_to_float(u8);
float e5m2_to_float(u8);
/// As .satfinite: values beyond the largest finite one, infinity too, become that one.
u8 float_to_e4m3(float);
u8 float_to_e5m2(float);

}  // namespace gpu_model
