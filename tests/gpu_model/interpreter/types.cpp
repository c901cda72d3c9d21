// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "types.hpp"

namespace gpu_model {
namespace {

enum class Class : u8 { bits, is_unsigned, is_signed, floating };

struct Row {
  Type type;
  std::string_view name;
  int bytes;
  Class kind;
};

// clang-format off
constexpr Row types[] = {
    {Type::u8, "u8", 1, Class::is_unsigned},   {Type::s8, "s8", 1, Class::is_signed},      {Type::b8, "b8", 1, Class::bits},
    {Type::u16, "u16", 2, Class::is_unsigned}, {Type::s16, "s16", 2, Class::is_signed},    {Type::b16, "b16", 2, Class::bits},
    {Type::u32, "u32", 4, Class::is_unsigned}, {Type::s32, "s32", 4, Class::is_signed},    {Type::b32, "b32", 4, Class::bits},
    {Type::u64, "u64", 8, Class::is_unsigned}, {Type::s64, "s64", 8, Class::is_signed},    {Type::b64, "b64", 8, Class::bits},
    {Type::f16, "f16", 2, Class::floating},    {Type::f16x2, "f16x2", 4, Class::floating}, {Type::f32, "f32", 4, Class::floating},
    {Type::bf16, "bf16", 2, Class::floating},  {Type::bf16x2, "bf16x2", 4, Class::floating},
    {Type::f64, "f64", 8, Class::floating},    {Type::tf32, "tf32", 4, Class::floating},
    {Type::e4m3, "e4m3", 1, Class::bits},      {Type::e4m3x2, "e4m3x2", 2, Class::floating},
    {Type::e5m2, "e5m2", 1, Class::bits},      {Type::e5m2x2, "e5m2x2", 2, Class::floating},
    {Type::b128, "b128", 16, Class::bits},     {Type::pred, "pred", 0, Class::bits},
};
// clang-format on

constexpr Row unknown = {Type::none, "", 0, Class::bits};

const Row& row_of(Type type) {
  for (const Row& row : types)
    if (row.type == type) return row;
  return unknown;
}

}  // namespace

Type type_of(std::string_view name) {
  for (const Row& row : types)
    if (row.name == name) return row.type;
  return Type::none;
}
int size_of(Type type) { return row_of(type).bytes; }
bool is_float(Type type) { return row_of(type).kind == Class::floating; }
bool is_signed(Type type) { return row_of(type).kind == Class::is_signed; }

}  // namespace gpu_model
