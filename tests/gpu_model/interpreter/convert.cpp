// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// cvt. Semantics: PTX ISA, "Data Movement and Conversion Instructions: cvt".
#include <algorithm>
#include <cstring>
#include <limits>

#include "arithmetic.hpp"

namespace gpu_model {
namespace {

// Integers: the registers may be wider than the types.
template <class S>
S load(const Warp& w, const Instruction& i, u32 lane) {
  S value;
  std::memcpy(&value, w.registers + i.a + lane * i.as, sizeof value);
  return value;
}
template <class D>
void store(Warp& w, const Instruction& i, u32 lane, D value) {
  const u64 extended = std::is_signed_v<D> ? static_cast<u64>(static_cast<s64>(value)) : static_cast<u64>(value);
  std::memcpy(w.registers + i.d + lane * i.ds, &extended, i.ds);
}

/// As for_integer, without the bits types and with 8 bits.
template <class F>
Handler for_number(Type type, F choose) {
  switch (type) {
    case Type::u8:
      return choose.template operator()<u8>();
    case Type::s8:
      return choose.template operator()<s8>();
    case Type::b16:
    case Type::b32:
    case Type::b64:
      return nullptr;
    default:
      return for_integer(type, choose);
  }
}

template <class D, bool saturate, class S>
D to_integer(S value) {
  using Limits = std::numeric_limits<D>;
  return static_cast<D>(saturate ? std::clamp<__int128>(value, Limits::min(), Limits::max()) : static_cast<__int128>(value));
}
template <class D, class S, bool saturate>
void run_integer(Warp& w, const Instruction& i, u32 mask) {
  for (const u32 lane : Lanes(mask)) store(w, i, lane, to_integer<D, saturate>(load<S>(w, i, lane)));
}
// Registers as wide as their types: one vector loop.
template <class D, class S>
void run_integer_packed(Warp& w, const Instruction& i, u32 mask) {
  map1<D, S>(w, i, mask, [](S value) { return static_cast<D>(value); });
}
bool decode_integer(const Mnemonic& op, Instruction& ins, Type to, Type from) {
  const bool saturate = op.has("sat");
  if (op.parts.size() != (saturate ? 4u : 3u)) return false;
  const bool packed = !saturate && size_of(to) == ins.ds && size_of(from) == ins.as;
  ins.fn = for_number(to, [=]<class D>() {
    return for_number(from, [=]<class S>() -> Handler {
      if (packed) return run_integer_packed<D, S>;
      return saturate ? run_integer<D, S, true> : run_integer<D, S, false>;
    });
  });
  return ins.fn;
}

template <class D, class S>
void run_integer_to_float(Warp& w, const Instruction& i, u32 mask) {
  D* d = w.row<D>(i.d);
  for (const u32 lane : Lanes(mask)) d[lane] = static_cast<D>(load<S>(w, i, lane));
}
// Integers of 64 bits are rounded twice, which differs only beyond fp16's range.
template <class S>
void run_integer_to_half(Warp& w, const Instruction& i, u32 mask) {
  u16* d = w.row<u16>(i.d);
  for (const u32 lane : Lanes(mask)) d[lane] = double_to_half(static_cast<double>(load<S>(w, i, lane)));
}
bool decode_integer_to_float(const Mnemonic& op, Instruction& ins, Type to, Type from) {
  if (to == Type::f16 && op.has("rn"))
    ins.fn = for_number(from, []<class S>() -> Handler { return run_integer_to_half<S>; });
  else
    ins.fn = for_number(
        from, [to]<class S>() { return for_float(to, []<class D>() -> Handler { return run_integer_to_float<D, S>; }); });
  return ins.fn && apply_modes(op, ins, to);
}

// aux is the rounding; results saturate. NaN gives 0, and 2^(bits-1) where an operand has 64 bits.
template <class D, class S>
void float_to_integer(Warp& w, const Instruction& i, u32 lane, S value) {
  D result = 0;
  if (std::isnan(value)) {
    if (sizeof(D) == 8 || sizeof(S) == 8) result = static_cast<D>(u64(1) << (8 * sizeof(D) - 1));
  } else {
    const double rounded = round_integral(static_cast<double>(value), static_cast<Integral>(i.aux));
    constexpr double least = static_cast<double>(std::numeric_limits<D>::min());
    const double limit = std::ldexp(1.0, std::numeric_limits<D>::digits);
    result = rounded < least    ? std::numeric_limits<D>::min()
             : rounded >= limit ? std::numeric_limits<D>::max()
                                : static_cast<D>(rounded);
  }
  store(w, i, lane, result);
}
template <class D, class S>
void run_float_to_integer(Warp& w, const Instruction& i, u32 mask) {
  for (const u32 lane : Lanes(mask)) float_to_integer<D>(w, i, lane, w.row<S>(i.a)[lane]);
}
template <class D, class F>
void run_half_to_integer(Warp& w, const Instruction& i, u32 mask) {
  for (const u32 lane : Lanes(mask)) float_to_integer<D>(w, i, lane, F::load(w.row<u16>(i.a)[lane]));
}

bool decode_integral(const Mnemonic& op, Instruction& ins) {
  constexpr std::pair<std::string_view, Integral> roundings[] = {
      {"rni", Integral::nearest}, {"rzi", Integral::zero}, {"rmi", Integral::down}, {"rpi", Integral::up}};
  for (const auto& [name, rounding] : roundings) {
    if (!op.has(name)) continue;
    ins.aux = static_cast<u16>(rounding);
    return true;
  }
  return false;
}
bool decode_float_to_integer(const Mnemonic& op, Instruction& ins, Type to, Type from) {
  if (!decode_integral(op, ins) || op.has("ftz")) return false;
  ins.fn = for_number(to, [from]<class D>() -> Handler {
    if (from == Type::f16) return run_half_to_integer<D, Fp16>;
    if (from == Type::bf16) return run_half_to_integer<D, Bf16>;
    return for_float(from, []<class S>() -> Handler { return run_float_to_integer<D, S>; });
  });
  return ins.fn;
}

template <class T>
void run_round_integral(Warp& w, const Instruction& i, u32 mask) {
  const Integral mode = static_cast<Integral>(i.aux);
  map1<T, T>(w, i, mask, [mode](T a) { return static_cast<T>(round_integral(static_cast<double>(a), mode)); });
}

void run_f32_to_f64(Warp& w, const Instruction& i, u32 mask) {
  map1<double, float>(w, i, mask, [](float a) { return static_cast<double>(a); });
}
void run_f64_to_f32(Warp& w, const Instruction& i, u32 mask) {
  map1<float, double>(w, i, mask, [](double a) { return canonical(static_cast<float>(a)); });
}
void run_f32_saturated(Warp& w, const Instruction& i, u32 mask) {
  map1<float, float>(w, i, mask, [](float a) { return a > 0 ? std::min(a, 1.0f) : 0.0f; });
}
template <class F, class D>
void run_half_to_float(Warp& w, const Instruction& i, u32 mask) {
  map1<D, u16>(w, i, mask, [](u16 a) { return static_cast<D>(F::load(a)); });
}
template <class F, class S>
void run_float_to_half(Warp& w, const Instruction& i, u32 mask) {
  map1<u16, S>(w, i, mask, [](S a) { return F::store(a); });
}
// Two floats into a pair: the first operand becomes the upper half.
template <class F, bool relu>
void run_floats_to_halves(Warp& w, const Instruction& i, u32 mask) {
  map2<u32, float, float>(w, i, mask, [](float a, float b) {
    const auto rectify = [](float value) { return !relu || value > 0 || std::isnan(value) ? value : 0.0f; };
    return static_cast<u32>(F::store(rectify(a))) << 16 | F::store(rectify(b));
  });
}

struct E4m3 {
  static float load(u8 value) { return e4m3_to_float(value); }
  static u8 store(float value) { return float_to_e4m3(value); }
};
struct E5m2 {
  static float load(u8 value) { return e5m2_to_float(value); }
  static u8 store(float value) { return float_to_e5m2(value); }
};
template <class F>
u16 store_fp8_pair(float upper, float lower) {
  return static_cast<u16>(F::store(upper) << 8 | F::store(lower));
}
template <class F>
void run_floats_to_fp8(Warp& w, const Instruction& i, u32 mask) {
  map2<u16, float, float>(w, i, mask, [](float a, float b) { return store_fp8_pair<F>(a, b); });
}
template <class F>
void run_halves_to_fp8(Warp& w, const Instruction& i, u32 mask) {
  map1<u16, u32>(w, i, mask, [](u32 a) {
    return store_fp8_pair<F>(half_to_float(static_cast<u16>(a >> 16)), half_to_float(static_cast<u16>(a)));
  });
}
template <class F>
void run_fp8_to_halves(Warp& w, const Instruction& i, u32 mask) {
  map1<u32, u16>(w, i, mask, [](u16 a) {
    return static_cast<u32>(float_to_half(F::load(static_cast<u8>(a >> 8)))) << 16 | float_to_half(F::load(static_cast<u8>(a)));
  });
}
// rn, or rna: ties away from zero.
template <bool away>
void run_f32_to_tf32(Warp& w, const Instruction& i, u32 mask) {
  map1<u32, u32>(w, i, mask, [](u32 a) {
    if ((a & 0x7f800000u) == 0x7f800000u) return a & 0x7fffff ? 0x7fffffffu : a;
    const u32 half_unit = away ? 0x1000u : 0xfffu + (a >> 13 & 1);
    return (a + half_unit) & 0xffffe000u;
  });
}

/// A conversion between floating-point types, with exactly these modifiers.
struct FloatConversion {
  Type to, from;
  std::string_view modifiers;
  Handler fn;
};
constexpr FloatConversion float_conversions[] = {
    {Type::f32, Type::f16, "", run_half_to_float<Fp16, float>},
    {Type::f32, Type::bf16, "", run_half_to_float<Bf16, float>},
    {Type::f64, Type::f16, "", run_half_to_float<Fp16, double>},
    {Type::f64, Type::bf16, "", run_half_to_float<Bf16, double>},
    {Type::f64, Type::f32, "", run_f32_to_f64},
    {Type::f16, Type::f32, "rn", run_float_to_half<Fp16, float>},
    {Type::bf16, Type::f32, "rn", run_float_to_half<Bf16, float>},
    {Type::f16, Type::f64, "rn", run_float_to_half<Fp16, double>},
    {Type::bf16, Type::f64, "rn", run_float_to_half<Bf16, double>},
    {Type::f32, Type::f32, "sat", run_f32_saturated},
    {Type::tf32, Type::f32, "rn", run_f32_to_tf32<false>},
    {Type::tf32, Type::f32, "rna", run_f32_to_tf32<true>},
    {Type::f16x2, Type::e4m3x2, "rn", run_fp8_to_halves<E4m3>},
    {Type::f16x2, Type::e5m2x2, "rn", run_fp8_to_halves<E5m2>},
    {Type::e4m3x2, Type::f16x2, "rn.satfinite", run_halves_to_fp8<E4m3>},
    {Type::e5m2x2, Type::f16x2, "rn.satfinite", run_halves_to_fp8<E5m2>},
};
constexpr FloatConversion pair_conversions[] = {
    {Type::f16x2, Type::f32, "rn", run_floats_to_halves<Fp16, false>},
    {Type::f16x2, Type::f32, "rn.relu", run_floats_to_halves<Fp16, true>},
    {Type::bf16x2, Type::f32, "rn", run_floats_to_halves<Bf16, false>},
    {Type::bf16x2, Type::f32, "rn.relu", run_floats_to_halves<Bf16, true>},
    {Type::e4m3x2, Type::f32, "rn.satfinite", run_floats_to_fp8<E4m3>},
    {Type::e5m2x2, Type::f32, "rn.satfinite", run_floats_to_fp8<E5m2>},
};
template <std::size_t count>
Handler find(const FloatConversion (&conversions)[count], const Mnemonic& op, Type to, Type from) {
  // "cvt", the modifiers, two types
  const std::size_t first = op.parts[0].size() + 1, types = op.parts.end()[-2].size() + op.parts.back().size() + 2;
  const std::string_view modifiers =
      op.text.size() > first + types ? op.text.substr(first, op.text.size() - first - types) : "";
  for (const FloatConversion& c : conversions)
    if (c.to == to && c.from == from && c.modifiers == modifiers) return c.fn;
  return nullptr;
}

}  // namespace

bool decode_cvt(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type from = op.type(0), to = op.type(1);
  if (to == Type::none) return false;
  if (operands.size() == 3) {
    decode_operands(b, operands, ins, {from, from});
    ins.fn = find(pair_conversions, op, to, from);
    return ins.fn;
  }
  decode_operands(b, operands, ins, {from});
  if (!is_float(to)) return is_float(from) ? decode_float_to_integer(op, ins, to, from) : decode_integer(op, ins, to, from);
  if (!is_float(from)) return decode_integer_to_float(op, ins, to, from);
  if (to == Type::f32 && from == Type::f64) {
    ins.fn = run_f64_to_f32;
    return apply_modes(op, ins, to);
  }
  if (to == from && op.parts.size() == 4 && decode_integral(op, ins))
    ins.fn = for_float(to, []<class T>() -> Handler { return run_round_integral<T>; });
  else
    ins.fn = find(float_conversions, op, to, from);
  return ins.fn;
}

}  // namespace gpu_model
