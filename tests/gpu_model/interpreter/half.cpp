// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic on fp16 and bf16, single and packed. Semantics: PTX ISA, "Half Precision Floating Point".
#include "arithmetic.hpp"

namespace gpu_model {
namespace {

// The result of +, -, * of two halves is exact in double and rounded once.
template <class Op>
struct Binary {
  template <class F>
  static u16 apply(u16 a, u16 b) {
    return F::store(Op{}(static_cast<double>(F::load(a)), static_cast<double>(F::load(b))));
  }
};

// Rounds a * b + c to odd: the product is exact in double, and an inexact sum gets an odd last bit, so that the rounding to the
// half type is the only one that counts.
double fma_to_odd(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double addend = sum - product;
  const double error = (product - (sum - addend)) + (c - addend);
  const u64 bits = std::bit_cast<u64>(sum);
  if (error == 0 || bits & 1) return sum;
  const bool away_from_zero = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away_from_zero ? bits + 1 : bits - 1);
}
template <bool relu>
struct Fma {
  template <class F>
  static u16 apply(u16 a, u16 b, u16 c) {
    const u16 result = F::store(fma_to_odd(F::load(a), F::load(b), F::load(c)));
    return relu && result & 0x8000 ? u16(0) : result;  // NaN is positive
  }
};

template <bool absolute>
struct Sign {
  template <class F>
  static u16 apply(u16 a) {
    return static_cast<u16>(absolute ? a & 0x7fff : a ^ 0x8000);
  }
};

template <class Op, class F, class... Halves>
u16 apply(Halves... values) {
  return Op::template apply<F>(values...);
}
template <class Op, class F, class... Pairs>
u32 apply_packed(Pairs... values) {
  return apply<Op, F>(static_cast<u16>(values)...) | static_cast<u32>(apply<Op, F>(static_cast<u16>(values >> 16)...)) << 16;
}

template <class Op, class F>
void unary(Warp& w, const Instruction& i, u32 mask) {
  map1<u16, u16>(w, i, mask, [](u16 a) { return apply<Op, F>(a); });
}
template <class Op, class F>
void unary_packed(Warp& w, const Instruction& i, u32 mask) {
  map1<u32, u32>(w, i, mask, [](u32 a) { return apply_packed<Op, F>(a); });
}
template <class Op, class F>
void binary(Warp& w, const Instruction& i, u32 mask) {
  map2<u16, u16, u16>(w, i, mask, [](u16 a, u16 b) { return apply<Op, F>(a, b); });
}
template <class Op, class F>
void binary_packed(Warp& w, const Instruction& i, u32 mask) {
  map2<u32, u32, u32>(w, i, mask, [](u32 a, u32 b) { return apply_packed<Op, F>(a, b); });
}
template <class Op, class F>
void ternary(Warp& w, const Instruction& i, u32 mask) {
  map3<u16, u16, u16, u16>(w, i, mask, [](u16 a, u16 b, u16 c) { return apply<Op, F>(a, b, c); });
}
template <class Op, class F>
void ternary_packed(Warp& w, const Instruction& i, u32 mask) {
  map3<u32, u32, u32, u32>(w, i, mask, [](u32 a, u32 b, u32 c) { return apply_packed<Op, F>(a, b, c); });
}

struct Operation {
  std::string_view name;
  Handler f16, bf16, f16x2, bf16x2;
};
template <class Op>
constexpr Operation unary_operation(std::string_view name) {
  return {name, unary<Op, Fp16>, unary<Op, Bf16>, unary_packed<Op, Fp16>, unary_packed<Op, Bf16>};
}
template <class Op>
constexpr Operation binary_operation(std::string_view name) {
  return {name, binary<Binary<Op>, Fp16>, binary<Binary<Op>, Bf16>, binary_packed<Binary<Op>, Fp16>,
          binary_packed<Binary<Op>, Bf16>};
}
template <class Op>
constexpr Operation ternary_operation(std::string_view name) {
  return {name, ternary<Op, Fp16>, ternary<Op, Bf16>, ternary_packed<Op, Fp16>, ternary_packed<Op, Bf16>};
}
constexpr Operation operations[] = {
    unary_operation<Sign<false>>("neg"),
    unary_operation<Sign<true>>("abs"),
    binary_operation<Add>("add"),
    binary_operation<Subtract>("sub"),
    binary_operation<Multiply>("mul"),
    binary_operation<Minimum>("min"),
    binary_operation<Maximum>("max"),
    binary_operation<PropagateNan<Minimum>>("min.NaN"),
    binary_operation<PropagateNan<Maximum>>("max.NaN"),
    ternary_operation<Fma<false>>("fma"),
    ternary_operation<Fma<true>>("fma.relu"),
};

}  // namespace

Handler half_handler(std::string_view operation, Type type) {
  for (const Operation& row : operations) {
    if (row.name != operation) continue;
    switch (type) {
      case Type::f16:
        return row.f16;
      case Type::bf16:
        return row.bf16;
      case Type::f16x2:
        return row.f16x2;
      case Type::bf16x2:
        return row.bf16x2;
      default:
        return nullptr;
    }
  }
  return nullptr;
}

}  // namespace gpu_model
