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

#include "machine.hpp"

namespace gpu_model {

#define GM_IVDEP _Pragma("GCC ivdep")
template <class D, class A, class F>
inline void map1(Warp& w, const Instruction& i, u32 m, F f) {
  D* d = w.row<D>(i.d);
  const A* a = w.row<A>(i.a);
  if (m == ~0u) {
    GM_IVDEP for (int l = 0; l < 32; ++l) d[l] = f(a[l]);
  } else {
    for (; m; m &= m - 1) {
      int l = std::countr_zero(m);
      d[l] = f(a[l]);
    }
  }
}
template <class D, class A, class B, class F>
inline void map2(Warp& w, const Instruction& i, u32 m, F f) {
  D* d = w.row<D>(i.d);
  const A* a = w.row<A>(i.a);
  const B* b = w.row<B>(i.b);
  if (m == ~0u) {
    GM_IVDEP for (int l = 0; l < 32; ++l) d[l] = f(a[l], b[l]);
  } else {
    for (; m; m &= m - 1) {
      int l = std::countr_zero(m);
      d[l] = f(a[l], b[l]);
    }
  }
}
template <class D, class A, class B, class C, class F>
inline void map3(Warp& w, const Instruction& i, u32 m, F f) {
  D* d = w.row<D>(i.d);
  const A* a = w.row<A>(i.a);
  const B* b = w.row<B>(i.b);
  const C* c = w.row<C>(i.c);
  if (m == ~0u) {
    GM_IVDEP for (int l = 0; l < 32; ++l) d[l] = f(a[l], b[l], c[l]);
  } else {
    for (; m; m &= m - 1) {
      int l = std::countr_zero(m);
      d[l] = f(a[l], b[l], c[l]);
    }
  }
}
}  // namespace gpu_model
