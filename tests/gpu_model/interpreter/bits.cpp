// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Logic, shifts and bit fields. Semantics: PTX ISA, "Logic and Shift Instructions", and the bit fields of "Integer Arithmetic".
#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>

#include "decoder.hpp"
#include "lanes.hpp"

namespace gpu_model {
namespace {

template <class T>
constexpr u32 bits_of = 8 * sizeof(T);

template <class Op, class T>
void run_logic(Warp& w, const Instruction& i, u32 mask) {
  map2<T, T, T>(w, i, mask, [](T a, T b) { return static_cast<T>(Op{}(a, b)); });
}
template <class Op>
void run_logic_predicate(Warp& w, const Instruction& i, u32 mask) {
  set_predicate(w, i.d, Op{}(*w.row<u32>(i.a), *w.row<u32>(i.b)), mask);
}
template <class Op>
Handler logic_handler(Type type) {
  if (type == Type::pred) return run_logic_predicate<Op>;
  return for_integer(type, []<class T>() -> Handler { return run_logic<Op, T>; });
}

template <class T>
void run_not(Warp& w, const Instruction& i, u32 mask) {
  map1<T, T>(w, i, mask, [](T a) { return static_cast<T>(~a); });
}
void run_not_predicate(Warp& w, const Instruction& i, u32 mask) { set_predicate(w, i.d, ~*w.row<u32>(i.a), mask); }

// Shifts by the width or more clear the value or, right shifts of signed ones, fill it with the sign.
template <class T>
void run_shl(Warp& w, const Instruction& i, u32 mask) {
  map2<T, T, u32>(w, i, mask, [](T a, u32 b) { return b >= bits_of<T> ? T(0) : static_cast<T>(a << b); });
}
template <class T>
void run_shr(Warp& w, const Instruction& i, u32 mask) {
  map2<T, T, u32>(w, i, mask, [](T a, u32 b) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a >> (b >= bits_of<T> ? bits_of<T> - 1 : b));
    else
      return b >= bits_of<T> ? T(0) : static_cast<T>(a >> b);
  });
}
template <bool left, bool wrap>
void run_shf(Warp& w, const Instruction& i, u32 mask) {
  map3<u32, u32, u32, u32>(w, i, mask, [](u32 a, u32 b, u32 c) {
    const u32 count = wrap ? c & 31 : std::min(c, 32u);
    const u64 value = static_cast<u64>(b) << 32 | a;
    return static_cast<u32>(left ? (value << count) >> 32 : value >> count);
  });
}

void run_prmt(Warp& w, const Instruction& i, u32 mask) {
  map3<u32, u32, u32, u32>(w, i, mask, [](u32 a, u32 b, u32 c) {
    const u64 value = static_cast<u64>(b) << 32 | a;
    u32 result = 0;
    for (int k = 0; k < 4; ++k) {
      const u32 selector = c >> (4 * k) & 15;
      u32 byte = static_cast<u32>(value >> (8 * (selector & 7))) & 255;
      if (selector & 8) byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * k);
    }
    return result;
  });
}

// aux is the truth table: bit 4a + 2b + c is the result.
void run_lop3(Warp& w, const Instruction& i, u32 mask) {
  const u32 *a = w.row<u32>(i.a), *b = w.row<u32>(i.b), *c = w.row<u32>(i.c);
  u32 result[32] = {};
  for (u32 k = 0; k < 8; ++k)
    if (i.aux >> k & 1)
      for (int l = 0; l < 32; ++l) result[l] |= (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
  u32* d = w.row<u32>(i.d);
  for_lanes(mask, [&](u32 lane) { d[lane] = result[lane]; });
}

// d = `length` bits of a from `position` on, filled with the field's sign.
template <class T>
void run_bfe(Warp& w, const Instruction& i, u32 mask) {
  map3<T, T, u32, u32>(w, i, mask, [](T a, u32 b, u32 c) -> T {
    using U = std::make_unsigned_t<T>;
    const u32 position = b & 255, length = c & 255;
    if (length == 0) return 0;
    const u32 top = std::min(position + length - 1, bits_of<T> - 1);
    const bool negative = std::is_signed_v<T> && (static_cast<U>(a) >> top & 1);
    const u32 available = position >= bits_of<T> ? 0 : std::min(length, bits_of<T> - position);
    const U value = available == 0 ? U(0) : static_cast<U>(static_cast<U>(a) >> position);
    if (available == bits_of<T>) return static_cast<T>(value);
    const U field = static_cast<U>((U(1) << available) - 1);
    return static_cast<T>((value & field) | (negative ? static_cast<U>(~field) : U(0)));
  });
}
// d = b with `length` bits from `position` on replaced by a's low bits.
template <class T>
void run_bfi(Warp& w, const Instruction& i, u32 mask) {
  T* d = w.row<T>(i.d);
  const T *a = w.row<T>(i.a), *b = w.row<T>(i.b);
  const u32 *positions = w.row<u32>(i.c), *lengths = w.row<u32>(i.e);
  for (const u32 lane : Lanes(mask)) {
    const u32 position = positions[lane] & 255, length = lengths[lane] & 255;
    T result = b[lane];
    for (u32 k = 0; k < length && position + k < bits_of<T>; ++k)
      result = static_cast<T>((result & ~(T(1) << (position + k))) | ((a[lane] >> k & 1) << (position + k)));
    d[lane] = result;
  }
}

template <class T>
void run_popc(Warp& w, const Instruction& i, u32 mask) {
  map1<u32, T>(w, i, mask, [](T a) { return static_cast<u32>(std::popcount(a)); });
}
template <class T>
void run_clz(Warp& w, const Instruction& i, u32 mask) {
  map1<u32, T>(w, i, mask, [](T a) { return static_cast<u32>(std::countl_zero(a)); });
}
template <class T>
void run_brev(Warp& w, const Instruction& i, u32 mask) {
  map1<T, T>(w, i, mask, [](T a) {
    T result = 0;
    for (u32 k = 0; k < bits_of<T>; ++k) result = static_cast<T>(result << 1 | (a >> k & 1));
    return result;
  });
}
// The highest bit that differs from the sign; all ones if there is none. .shiftamt: its distance from the top.
template <class T, bool shift_amount>
void run_bfind(Warp& w, const Instruction& i, u32 mask) {
  map1<u32, T>(w, i, mask, [](T a) -> u32 {
    using U = std::make_unsigned_t<T>;
    const U value = static_cast<U>(a < 0 ? ~a : a);
    if (value == 0) return ~0u;
    const u32 from_top = static_cast<u32>(std::countl_zero(value));
    return shift_amount ? from_top : bits_of<T> - 1 - from_top;
  });
}

}  // namespace

bool decode_logic(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  const std::string_view name = op.parts[0];
  ins.fn = name == "and"  ? logic_handler<std::bit_and<>>(t)
           : name == "or" ? logic_handler<std::bit_or<>>(t)
                          : logic_handler<std::bit_xor<>>(t);
  decode_operands(b, operands, ins, {t, t});
  return ins.fn;
}
bool decode_not(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  ins.fn = t == Type::pred ? run_not_predicate : for_integer(t, []<class T>() -> Handler { return run_not<T>; });
  decode_operands(b, operands, ins, {t});
  return ins.fn;
}
bool decode_shl(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  ins.fn = for_integer(t, []<class T>() -> Handler { return run_shl<std::make_unsigned_t<T>>; });
  decode_operands(b, operands, ins, {t, Type::b32});
  return ins.fn;
}
bool decode_shr(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  ins.fn = for_integer(t, []<class T>() -> Handler { return run_shr<T>; });
  decode_operands(b, operands, ins, {t, Type::b32});
  return ins.fn;
}
bool decode_shf(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  const bool wrap = op.has("wrap");
  if (op.has("l"))
    ins.fn = wrap ? run_shf<true, true> : run_shf<true, false>;
  else
    ins.fn = wrap ? run_shf<false, true> : run_shf<false, false>;
  decode_operands(b, operands, ins, {t, t, t});
  return t == Type::b32;
}
bool decode_prmt(Builder& b, const Mnemonic&, std::vector<Operand>& operands, Instruction& ins) {
  ins.fn = run_prmt;
  decode_operands(b, operands, ins, {Type::b32, Type::b32, Type::b32});
  return true;
}
bool decode_lop3(Builder& b, const Mnemonic&, std::vector<Operand>& operands, Instruction& ins) {
  if (operands.size() != 5 || !operands[0].second.empty() || operands[4].k != Operand::imm) return false;
  ins.aux = static_cast<u16>(operands[4].bits & 255);
  operands.pop_back();
  ins.fn = run_lop3;
  decode_operands(b, operands, ins, {Type::b32, Type::b32, Type::b32});
  return true;
}
bool decode_bfe(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  ins.fn = for_integer(t, []<class T>() -> Handler { return run_bfe<T>; });
  decode_operands(b, operands, ins, {t, Type::b32, Type::b32});
  return ins.fn;
}
bool decode_bfi(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  ins.fn = size_of(t) == 4 ? run_bfi<u32> : run_bfi<u64>;
  decode_operands(b, operands, ins, {t, t, Type::b32, Type::b32});
  return true;
}
bool decode_popc(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  ins.fn = size_of(t) == 4 ? run_popc<u32> : run_popc<u64>;
  decode_operands(b, operands, ins, {t});
  return true;
}
bool decode_clz(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  ins.fn = size_of(t) == 4 ? run_clz<u32> : run_clz<u64>;
  decode_operands(b, operands, ins, {t});
  return true;
}
bool decode_brev(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  ins.fn = size_of(t) == 4 ? run_brev<u32> : run_brev<u64>;
  decode_operands(b, operands, ins, {t});
  return true;
}
bool decode_bfind(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  const bool shift_amount = op.has("shiftamt");
  ins.fn =
      for_integer(t, [shift_amount]<class T>() -> Handler { return shift_amount ? run_bfind<T, true> : run_bfind<T, false>; });
  decode_operands(b, operands, ins, {t});
  return ins.fn;
}

}  // namespace gpu_model
