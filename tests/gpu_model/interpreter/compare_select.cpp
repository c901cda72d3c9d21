// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// setp, selp. Semantics: PTX ISA, "Comparison and Selection Instructions".
#include <immintrin.h>

#include <functional>

#include "arithmetic.hpp"

namespace gpu_model {
namespace {

/// False if a number is NaN, as of all comparisons without "u".
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return a < b || a > b;
    else
      return a != b;
  }
};
struct BothNumbers {
  template <class T>
  bool operator()(T a, T b) const {
    return !std::isnan(a) && !std::isnan(b);
  }
};
template <class Op>
struct Not {
  template <class T>
  bool operator()(T a, T b) const {
    return !Op{}(a, b);
  }
};

enum Combination : u16 { alone, with_and, with_or, with_xor };

// d = the comparison, e = its complement, each combined with the predicate c if there is one.
void put_result(Warp& w, const Instruction& i, u32 mask, u32 result) {
  u32 complement = ~result;
  if (i.aux != alone) {
    u32 c = *w.row<u32>(i.c);
    if (i.source_not) c = ~c;
    const auto combine = [&](u32 value) { return i.aux == with_and ? value & c : i.aux == with_or ? value | c : value ^ c; };
    result = combine(result);
    complement = combine(complement);
  }
  set_predicate(w, i.d, result, mask);
  if (i.e) set_predicate(w, i.e, complement, mask);
}

template <class Op, class T>
void run_setp(Warp& w, const Instruction& i, u32 mask) {
  const T *a = w.row<T>(i.a), *b = w.row<T>(i.b);
  alignas(32) u8 results[32];
  for (int lane = 0; lane < 32; ++lane) results[lane] = Op{}(a[lane], b[lane]) ? 255 : 0;
  put_result(w, i, mask, static_cast<u32>(_mm256_movemask_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(results)))));
}
template <class Op, class F>
void run_setp_half(Warp& w, const Instruction& i, u32 mask) {
  const u16 *a = w.row<u16>(i.a), *b = w.row<u16>(i.b);
  u32 result = 0;
  for (u32 lane = 0; lane < 32; ++lane) result |= static_cast<u32>(Op{}(F::load(a[lane]), F::load(b[lane]))) << lane;
  put_result(w, i, mask, result);
}

template <class Op>
Handler compare_floats(Type type) {
  if (type == Type::f16) return run_setp_half<Op, Fp16>;
  if (type == Type::bf16) return run_setp_half<Op, Bf16>;
  return for_float(type, []<class T>() -> Handler { return run_setp<Op, T>; });
}
template <class Op>
Handler compare_integers(Type type) {
  return for_integer(type, []<class T>() -> Handler { return run_setp<Op, T>; });
}

using Equal = std::equal_to<>;
using Less = std::less<>;
using LessEqual = std::less_equal<>;
using Greater = std::greater<>;
using GreaterEqual = std::greater_equal<>;
struct Comparison {
  std::string_view name;
  Handler (*floats)(Type);
  Handler (*integers)(Type);
};
constexpr Comparison comparisons[] = {
    {"eq", compare_floats<Equal>, compare_integers<Equal>},
    {"ne", compare_floats<NotEqual>, compare_integers<NotEqual>},
    {"lt", compare_floats<Less>, compare_integers<Less>},
    {"le", compare_floats<LessEqual>, compare_integers<LessEqual>},
    {"gt", compare_floats<Greater>, compare_integers<Greater>},
    {"ge", compare_floats<GreaterEqual>, compare_integers<GreaterEqual>},
    {"lo", nullptr, compare_integers<Less>},
    {"ls", nullptr, compare_integers<LessEqual>},
    {"hi", nullptr, compare_integers<Greater>},
    {"hs", nullptr, compare_integers<GreaterEqual>},
    {"equ", compare_floats<Not<NotEqual>>, nullptr},
    {"neu", compare_floats<Not<Equal>>, nullptr},
    {"ltu", compare_floats<Not<GreaterEqual>>, nullptr},
    {"leu", compare_floats<Not<Greater>>, nullptr},
    {"gtu", compare_floats<Not<LessEqual>>, nullptr},
    {"geu", compare_floats<Not<Less>>, nullptr},
    {"num", compare_floats<BothNumbers>, nullptr},
    {"nan", compare_floats<Not<BothNumbers>>, nullptr},
};

template <class T>
void run_selp(Warp& w, const Instruction& i, u32 mask) {
  T* d = w.row<T>(i.d);
  const T *a = w.row<T>(i.a), *b = w.row<T>(i.b);
  u32 predicate = *w.row<u32>(i.c);
  if (i.source_not) predicate = ~predicate;
  for (int lane = 0; lane < 32; ++lane) {
    const T value = predicate >> lane & 1 ? a[lane] : b[lane];
    d[lane] = mask >> lane & 1 ? value : d[lane];
  }
}

}  // namespace

bool decode_setp(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  if (op.parts.size() < 3 || operands.size() < 3 || operands.size() > 4) return false;
  for (const Comparison& comparison : comparisons) {
    const auto handler = is_float(t) ? comparison.floats : comparison.integers;
    if (comparison.name == op.parts[1] && handler) ins.fn = handler(t);
  }
  ins.d = b.dest(operands[0]);
  if (!operands[0].second.empty()) ins.e = b.dest(operands[0].second[0]);
  ins.a = b.source(operands[1], t);
  ins.b = b.source(operands[2], t);
  if (operands.size() == 4) {
    ins.aux = op.has("and") ? with_and : op.has("or") ? with_or : op.has("xor") ? with_xor : alone;
    if (ins.aux == alone) return false;
    ins.c = b.source(operands[3], Type::pred);
    ins.source_not = operands[3].is_not;
  }
  return ins.fn;
}

bool decode_selp(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  const int bytes = size_of(t);
  ins.fn = bytes == 2 ? run_selp<u16> : bytes == 4 ? run_selp<u32> : bytes == 8 ? run_selp<u64> : nullptr;
  decode_operands(b, operands, ins, {t, t, Type::pred});
  ins.source_not = operands[3].is_not;
  return ins.fn;
}

}  // namespace gpu_model
