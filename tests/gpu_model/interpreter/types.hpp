// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gpu_model {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

enum class Type : u8 {
  none,
  u8_,
  s8_,
  b8,
  u16_,
  s16_,
  b16,
  u32_,
  s32_,
  b32,
  u64_,
  s64_,
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
int size_of(Type);
bool is_float(Type);
bool is_signed(Type);
Type type_of(std::string_view name);  // "u32" -> Type::u32_; none where it is no type

// ---- numbers ----
float half_to_float(u16);
u16 float_to_half(float, bool saturate = false);
u16 double_to_half(double);
inline float bf16_to_float(u16 h) { return std::bit_cast<float>(static_cast<u32>(h) << 16); }
u16 float_to_bf16(float);
u16 double_to_bf16(double);
float e4m3_to_float(u8);
float e5m2_to_float(u8);
u8 float_to_e4m3(float);
u8 float_to_e5m2(float);

}  // namespace gpu_model
