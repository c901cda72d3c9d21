// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Integer and floating-point arithmetic. Semantics: PTX ISA, "Integer Arithmetic", "Floating Point".
#include "arithmetic.hpp"

#include <immintrin.h>

namespace gpu_model {
namespace {

struct MultiplyHigh {
  template <class T>
  T operator()(T a, T b) const {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    using Product = std::conditional_t<sizeof(T) == 8, Wide, std::conditional_t<std::is_signed_v<T>, s64, u64>>;
    return static_cast<T>((static_cast<Product>(a) * b) >> (8 * sizeof(T)));
  }
};
// The ISA leaves integer division by 0 open; these are a device's results.
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (!std::is_floating_point_v<T>) {
      if (b == 0) return static_cast<T>(~T(0));
      if constexpr (std::is_signed_v<T>)
        if (b == T(-1)) return static_cast<T>(0 - static_cast<u64>(a));  // the minimum / -1 traps on the host
    }
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct FusedMultiplyAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
struct MultiplyAddLow {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b) + static_cast<u64>(c));
  }
};
struct MultiplyAddHigh {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(MultiplyHigh{}(a, b) + c);
  }
};
struct Negate {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return -a;
    else
      return static_cast<T>(0 - static_cast<u64>(a));
  }
};
struct Absolute {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(a);
    else
      return a < 0 ? Negate{}(a) : a;
  }
};

// .ftz: a subnormal number becomes zero of its sign.
float flush(float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; }
double flush(double value) { return std::fabs(value) < 0x1p-1022 ? std::copysign(0.0, value) : value; }

template <class Op, class T>
void binary(Warp& w, const Instruction& i, u32 mask) {
  map2<T, T, T>(w, i, mask, [](T a, T b) { return canonical(Op{}(a, b)); });
}
template <class Op>
void binary_flushed(Warp& w, const Instruction& i, u32 mask) {
  map2<float, float, float>(w, i, mask, [](float a, float b) { return canonical(Op{}(flush(a), flush(b))); });
}
template <class Op, class T>
void ternary(Warp& w, const Instruction& i, u32 mask) {
  map3<T, T, T, T>(w, i, mask, [](T a, T b, T c) { return canonical(Op{}(a, b, c)); });
}
template <class Op, class T>
void unary(Warp& w, const Instruction& i, u32 mask) {
  map1<T, T>(w, i, mask, Op{});
}
template <class Op>
void unary_flushed(Warp& w, const Instruction& i, u32 mask) {
  map1<float, float>(w, i, mask, [](float a) { return Op{}(flush(a)); });
}

template <class Op>
Handler integer_binary(Type type) {
  return for_integer(type, []<class T>() -> Handler { return binary<Op, T>; });
}
template <class Op>
Handler float_binary(Type type) {
  return for_float(type, []<class T>() -> Handler { return binary<Op, T>; });
}
template <class Op>
Handler any_binary(Type type) {
  return is_float(type) ? float_binary<Op>(type) : integer_binary<Op>(type);
}

struct BinaryOperation {
  std::string_view name;
  Handler (*handler)(Type);
};
constexpr BinaryOperation binary_operations[] = {{"add", any_binary<Add>},
                                                 {"sub", any_binary<Subtract>},
                                                 {"mul", any_binary<Multiply>},
                                                 {"div", any_binary<Divide>},
                                                 {"rem", integer_binary<Remainder>}};

bool decode_two_of_a_type(Builder& b, const Mnemonic& op, const std::vector<Operand>& operands, Instruction& ins, Handler fn) {
  const Type t = op.type();
  ins.fn = fn;
  decode_operands(b, operands, ins, {t, t});
  set_flops(ins, t, 1);
  return ins.fn && apply_modes(op, ins, t);
}

// The product has twice the width of the factors.
template <class S>
using Wide = std::conditional_t<std::is_signed_v<S>, std::conditional_t<sizeof(S) == 2, s32, s64>,
                                std::conditional_t<sizeof(S) == 2, u32, u64>>;
template <class S>
void multiply_wide(Warp& w, const Instruction& i, u32 mask) {
  using D = Wide<S>;
  map2<D, S, S>(w, i, mask, [](S a, S b) { return static_cast<D>(static_cast<D>(a) * static_cast<D>(b)); });
}
template <class S>
void multiply_add_wide(Warp& w, const Instruction& i, u32 mask) {
  using D = Wide<S>;
  map3<D, S, S, D>(w, i, mask, [](S a, S b, D c) { return static_cast<D>(static_cast<D>(a) * static_cast<D>(b) + c); });
}
bool decode_wide(Builder& b, const Mnemonic& op, const std::vector<Operand>& operands, Instruction& ins, bool add) {
  const Type t = op.type();
  if (is_float(t) || size_of(t) > 4) return false;
  ins.fn = for_integer(t, [add]<class T>() -> Handler {
    if constexpr (sizeof(T) < 8) return add ? multiply_add_wide<T> : multiply_wide<T>;
    return nullptr;
  });
  if (add)
    decode_operands(b, operands, ins, {t, t, size_of(t) == 2 ? Type::b32 : Type::b64});
  else
    decode_operands(b, operands, ins, {t, t});
  return ins.fn;
}

// The functions of the special-function unit are exact to the last bit or nearly so, which is better than a device's.
struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return T(1) / a;
  }
};
struct ReciprocalSquareRoot {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(1.0 / std::sqrt(static_cast<double>(a)));
  }
};
struct Exp2 {
  template <class T>
  T operator()(T a) const {
    return std::exp2(a);
  }
};
struct Log2 {
  template <class T>
  T operator()(T a) const {
    return std::log2(a);
  }
};
struct Sine {
  template <class T>
  T operator()(T a) const {
    return std::sin(a);
  }
};
struct Cosine {
  template <class T>
  T operator()(T a) const {
    return std::cos(a);
  }
};
struct HyperbolicTangent {
  template <class T>
  T operator()(T a) const {
    return std::tanh(a);
  }
};
template <class Op, class T>
void special(Warp& w, const Instruction& i, u32 mask) {
  map1<T, T>(w, i, mask, [](T a) { return canonical(Op{}(a)); });
}
template <class Op>
void special_flushed(Warp& w, const Instruction& i, u32 mask) {
  map1<float, float>(w, i, mask, [](float a) { return flush(canonical(Op{}(flush(a)))); });
}
// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: read and give the upper 32 bits.
template <class Op>
void special_upper_half(Warp& w, const Instruction& i, u32 mask) {
  const auto upper = [](double value) { return std::bit_cast<double>(std::bit_cast<u64>(value) & 0xffffffff00000000ull); };
  map1<double, double>(w, i, mask, [upper](double a) { return upper(flush(Op{}(flush(upper(a))))); });
}
struct SpecialFunction {
  std::string_view name;
  Handler f32, f32_approx_ftz, f64, f64_approx;
};
template <class Op>
constexpr SpecialFunction special_function(std::string_view name) {
  return {name, special<Op, float>, special_flushed<Op>, special<Op, double>, special_upper_half<Op>};
}
constexpr SpecialFunction special_functions[] = {special_function<SquareRoot>("sqrt"),
                                                 special_function<Reciprocal>("rcp"),
                                                 special_function<ReciprocalSquareRoot>("rsqrt"),
                                                 special_function<Exp2>("ex2"),
                                                 special_function<Log2>("lg2"),
                                                 special_function<Sine>("sin"),
                                                 special_function<Cosine>("cos"),
                                                 special_function<HyperbolicTangent>("tanh")};

// The host's control register has the same rounding modes and flushes subnormal numbers likewise.
constexpr u16 round_down = 0x2000, round_up = 0x4000, round_to_zero = 0x6000, flush_subnormals = 0x8040;
constexpr u16 saturate = 1;  // a bit of aux that is no mode of the control register
void run_with_modes(Warp& w, const Instruction& i, u32 mask) {
  if (const unsigned modes = i.aux & ~saturate) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr((before & ~unsigned(round_to_zero)) | modes);
    i.fn2(w, i, mask);
    _mm_setcsr(before);
  } else {
    i.fn2(w, i, mask);
  }
  if (i.aux & saturate) {
    float* d = w.row<float>(i.d);
    for_lanes(mask, [d](u32 lane) { d[lane] = d[lane] >= 0 ? std::min(d[lane], 1.0f) : 0.0f; });
  }
}

}  // namespace

void set_flops(Instruction& ins, Type type, int count) {
  if (!is_float(type)) return;
  ins.flop_class = is_half(type) ? flop_class::fp16 : type == Type::f32 ? flop_class::fp32 : flop_class::fp64;
  ins.flops = static_cast<u8>(is_packed_half(type) ? 2 * count : count);
}

bool apply_modes(const Mnemonic& op, Instruction& ins, Type type) {
  u16 modes = 0;
  if (op.has("rm")) modes = round_down;
  if (op.has("rp")) modes = round_up;
  if (op.has("rz")) modes = round_to_zero;
  if (modes && type != Type::f32 && type != Type::f64) return false;
  if (op.has("ftz")) modes |= flush_subnormals;
  if (op.has("sat")) modes |= saturate;
  if ((modes & (flush_subnormals | saturate)) && type != Type::f32) return false;
  if (modes) {
    ins.fn2 = ins.fn;
    ins.fn = run_with_modes;
    ins.aux = modes;
  }
  return true;
}

bool decode_binary(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  if (is_half(t)) return decode_two_of_a_type(b, op, operands, ins, half_handler(op.parts[0], t));
  for (const auto& [name, handler] : binary_operations)
    if (name == op.parts[0]) return decode_two_of_a_type(b, op, operands, ins, handler(t));
  return false;
}

bool decode_mul(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  if (op.has("wide")) return decode_wide(b, op, operands, ins, false);
  if (op.has("hi")) return decode_two_of_a_type(b, op, operands, ins, integer_binary<MultiplyHigh>(op.type()));
  return decode_binary(b, op, operands, ins);
}

bool decode_mad(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  if (op.has("wide")) return decode_wide(b, op, operands, ins, true);
  const Type t = op.type();
  if (is_half(t))
    ins.fn = half_handler(op.has("relu") ? "fma.relu" : "fma", t);
  else if (op.has("relu"))
    return false;
  else if (is_float(t))
    ins.fn = for_float(t, []<class T>() -> Handler { return ternary<FusedMultiplyAdd, T>; });
  else if (op.has("hi"))
    ins.fn = for_integer(t, []<class T>() -> Handler { return ternary<MultiplyAddHigh, T>; });
  else
    ins.fn = for_integer(t, []<class T>() -> Handler { return ternary<MultiplyAddLow, T>; });
  decode_operands(b, operands, ins, {t, t, t});
  set_flops(ins, t, 2);
  return ins.fn && apply_modes(op, ins, t);
}

bool decode_min_max(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  const bool max = op.parts[0] == "max", nan = op.has("NaN"), ftz = op.has("ftz");
  if ((ftz && t != Type::f32) || (nan && !is_float(t))) return false;
  if (is_half(t))
    ins.fn = half_handler(max ? (nan ? "max.NaN" : "max") : (nan ? "min.NaN" : "min"), t);
  else if (ftz && nan)
    ins.fn = max ? binary_flushed<PropagateNan<Maximum>> : binary_flushed<PropagateNan<Minimum>>;
  else if (ftz)
    ins.fn = max ? binary_flushed<Maximum> : binary_flushed<Minimum>;
  else if (nan)
    ins.fn = max ? float_binary<PropagateNan<Maximum>>(t) : float_binary<PropagateNan<Minimum>>(t);
  else
    ins.fn = max ? any_binary<Maximum>(t) : any_binary<Minimum>(t);
  decode_operands(b, operands, ins, {t, t});
  return ins.fn;
}

bool decode_neg_abs(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  const bool abs = op.parts[0] == "abs";
  if (op.has("ftz")) {
    if (t != Type::f32) return false;
    ins.fn = abs ? unary_flushed<Absolute> : unary_flushed<Negate>;
  } else if (is_half(t)) {
    ins.fn = half_handler(op.parts[0], t);
  } else if (is_float(t)) {
    ins.fn = for_float(t, [abs]<class T>() -> Handler { return abs ? unary<Absolute, T> : unary<Negate, T>; });
  } else if (is_signed(t)) {
    ins.fn = for_integer(t, [abs]<class T>() -> Handler { return abs ? unary<Absolute, T> : unary<Negate, T>; });
  }
  decode_operands(b, operands, ins, {t});
  return ins.fn;
}

bool decode_special_function(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  const bool approx = op.has("approx");
  for (const SpecialFunction& function : special_functions) {
    if (function.name != op.parts[0]) continue;
    if (t == Type::f32) ins.fn = approx && op.has("ftz") ? function.f32_approx_ftz : function.f32;
    if (t == Type::f64) ins.fn = approx ? function.f64_approx : function.f64;
  }
  if (!ins.fn) return false;
  ins.flop_class = flop_class::special;
  ins.flops = 1;
  decode_operands(b, operands, ins, {t});
  return approx || apply_modes(op, ins, t);
}

}  // namespace gpu_model
