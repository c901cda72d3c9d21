// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>

#include "machine.hpp"

namespace gpu_model {

/// The lanes of a mask, lowest first: for (const u32 lane : Lanes(mask)).
class Lanes {
 public:
  struct Iterator {
    u32 mask;
    u32 operator*() const { return static_cast<u32>(std::countr_zero(mask)); }
    Iterator& operator++() {
      mask &= mask - 1;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return mask != other.mask; }
  };
  explicit Lanes(u32 mask) : mask_(mask) {}
  Iterator begin() const { return {mask_}; }
  static Iterator end() { return {0}; }

 private:
  u32 mask_;
};

inline u32 first_lane(u32 mask) { return static_cast<u32>(std::countr_zero(mask)); }

/// Calls f(lane) for each lane of the mask. A full warp is one loop, which the compiler turns into vector instructions.
template <class F>
inline void for_lanes(u32 mask, F f) {
  if (mask == ~0u) {
#pragma GCC ivdep
    for (u32 lane = 0; lane < 32; ++lane) f(lane);
  } else {
    for (const u32 lane : Lanes(mask)) f(lane);
  }
}

/// d = f(a), f(a, b), f(a, b, c) in each lane.
template <class D, class A, class F>
inline void map1(Warp& w, const Instruction& i, u32 mask, F f) {
  D* d = w.row<D>(i.d);
  const A* a = w.row<A>(i.a);
  for_lanes(mask, [=](u32 lane) { d[lane] = f(a[lane]); });
}
template <class D, class A, class B, class F>
inline void map2(Warp& w, const Instruction& i, u32 mask, F f) {
  D* d = w.row<D>(i.d);
  const A* a = w.row<A>(i.a);
  const B* b = w.row<B>(i.b);
  for_lanes(mask, [=](u32 lane) { d[lane] = f(a[lane], b[lane]); });
}
template <class D, class A, class B, class C, class F>
inline void map3(Warp& w, const Instruction& i, u32 mask, F f) {
  D* d = w.row<D>(i.d);
  const A* a = w.row<A>(i.a);
  const B* b = w.row<B>(i.b);
  const C* c = w.row<C>(i.c);
  for_lanes(mask, [=](u32 lane) { d[lane] = f(a[lane], b[lane], c[lane]); });
}

/// Sets the lanes' bits of a predicate's row.
inline void set_predicate(Warp& w, u32 row, u32 bits, u32 mask) {
  u32* predicate = w.row<u32>(row);
  *predicate = (*predicate & ~mask) | (bits & mask);
}

/// choose.operator()<T>() for the C++ type of an integer type of at least 16 bits, bits counting as unsigned; else nullptr.
template <class F>
Handler for_integer(Type type, F choose) {
  switch (type) {
    case Type::u16:
    case Type::b16:
      return choose.template operator()<u16>();
    case Type::s16:
      return choose.template operator()<s16>();
    case Type::u32:
    case Type::b32:
      return choose.template operator()<u32>();
    case Type::s32:
      return choose.template operator()<s32>();
    case Type::u64:
    case Type::b64:
      return choose.template operator()<u64>();
    case Type::s64:
      return choose.template operator()<s64>();
    default:
      return nullptr;
  }
}
/// As for_integer, for f32 and f64.
template <class F>
Handler for_float(Type type, F choose) {
  if (type == Type::f32) return choose.template operator()<float>();
  if (type == Type::f64) return choose.template operator()<double>();
  return nullptr;
}

}  // namespace gpu_model
