// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic, logic, comparison, conversion and data movement between registers. Semantics: PTX ISA, sections "Integer
// Arithmetic", "Floating Point", "Half Precision", "Comparison and Selection", "Logic and Shift", "Data Movement and
// Conversion".
#include <immintrin.h>

#include "decoder.hpp"
#include "lanes.hpp"
#include "machine.hpp"

namespace gpu_model {
namespace {

template <class T>
constexpr bool fp = std::is_floating_point_v<T>;

// A NaN that an f32 operation makes is 0x7fffffff on the device.
inline float canon(float r) { return r == r ? r : std::bit_cast<float>(0x7fffffffu); }
inline double canon(double r) { return r; }
template <class T>
inline T canon(T r) {
  return r;
}

#define GM_OP2(NAME, EXPR)         \
  struct NAME {                    \
    template <class T>             \
    static inline T f(T a, T b) {  \
      return static_cast<T>(EXPR); \
    }                              \
  };
GM_OP2(Add, canon(static_cast<T>(a + b)))
GM_OP2(Sub, canon(static_cast<T>(a - b)))
struct Mul {
  template <class T>
  static inline T f(T a, T b) {
    if constexpr (fp<T>)
      return canon(a * b);
    else
      return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
  }
};
struct MulHi {
  template <class T>
  static inline T f(T a, T b) {
    if constexpr (sizeof(T) == 8) {
      if constexpr (std::is_signed_v<T>)
        return static_cast<T>((static_cast<__int128>(a) * b) >> 64);
      else
        return static_cast<T>((static_cast<unsigned __int128>(a) * b) >> 64);
    } else if constexpr (std::is_signed_v<T>)
      return static_cast<T>((static_cast<s64>(a) * b) >> (8 * sizeof(T)));
    else
      return static_cast<T>((static_cast<u64>(a) * b) >> (8 * sizeof(T)));
  }
};
struct Div {
  template <class T>
  static inline T f(T a, T b) {
    if constexpr (fp<T>)
      return canon(a / b);
    else {
      if (b == 0) return static_cast<T>(~T(0));
      if constexpr (std::is_signed_v<T>)
        if (b == T(-1)) return static_cast<T>(0 - static_cast<u64>(a));
      return static_cast<T>(a / b);
    }
  }
};
struct Rem {
  template <class T>
  static inline T f(T a, T b) {
    if (b == 0) return a;  // unspecified in the ISA; what devices give
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
// min / max: where one operand is NaN, the other; both NaN: canonical NaN. +0 > -0.
struct Min {
  template <class T>
  static inline T f(T a, T b) {
    if constexpr (fp<T>) {
      T r = a < b ? a : b;
      r = (a == b && std::signbit(a)) ? a : r;
      r = a != a ? b : r;
      r = b != b ? a : r;
      return canon(r);
    } else
      return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static inline T f(T a, T b) {
    if constexpr (fp<T>) {
      T r = a > b ? a : b;
      r = (a == b && std::signbit(b)) ? a : r;
      r = a != a ? b : r;
      r = b != b ? a : r;
      return canon(r);
    } else
      return a > b ? a : b;
  }
};
struct MinNan {
  template <class T>
  static inline T f(T a, T b) {
    T r = Min::f<T>(a, b);
    r = a != a ? a : r;
    r = b != b ? b : r;
    return canon(r);
  }
};
struct MaxNan {
  template <class T>
  static inline T f(T a, T b) {
    T r = Max::f<T>(a, b);
    r = a != a ? a : r;
    r = b != b ? b : r;
    return canon(r);
  }
};
GM_OP2(And, a& b)
GM_OP2(Or, a | b)
GM_OP2(Xor, a ^ b)

template <class OP, class T>
void h2(Warp& w, const Instruction& i, u32 m) {
  map2<T, T, T>(w, i, m, [](T a, T b) { return OP::template f<T>(a, b); });
}
template <class OP>
Handler pick_int(Type t) {
  switch (t) {
    case Type::u16_:
    case Type::b16:
      return h2<OP, u16>;
    case Type::s16_:
      return h2<OP, s16>;
    case Type::u32_:
    case Type::b32:
      return h2<OP, u32>;
    case Type::s32_:
      return h2<OP, s32>;
    case Type::u64_:
    case Type::b64:
      return h2<OP, u64>;
    case Type::s64_:
      return h2<OP, s64>;
    default:
      return nullptr;
  }
}
template <class OP>
Handler pick_fp(Type t) {
  return t == Type::f32 ? h2<OP, float> : t == Type::f64 ? h2<OP, double> : nullptr;
}
template <class OP>
Handler pick(Type t) {
  return is_float(t) ? pick_fp<OP>(t) : pick_int<OP>(t);
}

// half types: both as floats; the result rounded once (exact in double for + - *, see fma below)
struct H {
  static float get(u16 v) { return half_to_float(v); }
  static u16 put(double v) { return double_to_half(v); }
};
struct B {
  static float get(u16 v) { return bf16_to_float(v); }
  static u16 put(double v) { return double_to_bf16(v); }
};
template <class F, class OP>
inline u16 half2(u16 a, u16 b) {
  return F::put(OP::template f<double>(F::get(a), F::get(b)));
}
template <class F, class OP>
void h_half(Warp& w, const Instruction& i, u32 m) {
  map2<u16, u16, u16>(w, i, m, [](u16 a, u16 b) { return half2<F, OP>(a, b); });
}
template <class F, class OP>
void h_halfx2(Warp& w, const Instruction& i, u32 m) {
  map2<u32, u32, u32>(w, i, m, [](u32 a, u32 b) {
    return static_cast<u32>(half2<F, OP>(static_cast<u16>(a), static_cast<u16>(b))) |
           static_cast<u32>(half2<F, OP>(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16))) << 16;
  });
}
template <class OP>
Handler pick_half(Type t) {
  switch (t) {
    case Type::f16:
      return h_half<H, OP>;
    case Type::bf16:
      return h_half<B, OP>;
    case Type::f16x2:
      return h_halfx2<H, OP>;
    case Type::bf16x2:
      return h_halfx2<B, OP>;
    default:
      return nullptr;
  }
}
// fma of two halves and a half, rounded once: the product is exact in double; the sum is made odd where inexact (round to odd),
// so that the second rounding cannot err.
inline double fma_odd(double a, double b, double c) {
  double p = a * b, s = p + c;
  if (!std::isfinite(s)) return s;
  double t = s - p, err = (p - (s - t)) + (c - t);
  if (err != 0) {
    u64 u = std::bit_cast<u64>(s);
    if (!(u & 1)) {
      bool away = (err > 0) == (s > 0);
      u = away ? u + 1 : u - 1;
      s = std::bit_cast<double>(u);
    }
  }
  return s;
}
template <class F>
inline u16 half_fma(u16 a, u16 b, u16 c) {
  return F::put(fma_odd(F::get(a), F::get(b), F::get(c)));
}
template <class F>
void h_fma_half(Warp& w, const Instruction& i, u32 m) {
  map3<u16, u16, u16, u16>(w, i, m, half_fma<F>);
}
template <class F, bool RELU>
void h_fma_halfx2(Warp& w, const Instruction& i, u32 m) {
  map3<u32, u32, u32, u32>(w, i, m, [](u32 a, u32 b, u32 c) {
    u16 lo = half_fma<F>(static_cast<u16>(a), static_cast<u16>(b), static_cast<u16>(c)),
        hi = half_fma<F>(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16), static_cast<u16>(c >> 16));
    if (RELU) {
      if (lo & 0x8000) lo = 0;
      if (hi & 0x8000) hi = 0;
    }
    return static_cast<u32>(lo) | static_cast<u32>(hi) << 16;
  });
}

struct Fma {
  template <class T>
  static inline T f(T a, T b, T c) {
    return canon(std::fma(a, b, c));
  }
};
struct MadLo {
  template <class T>
  static inline T f(T a, T b, T c) {
    return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b) + static_cast<u64>(c));
  }
};
struct MadHi {
  template <class T>
  static inline T f(T a, T b, T c) {
    return static_cast<T>(MulHi::f<T>(a, b) + c);
  }
};
template <class OP, class T>
void h3(Warp& w, const Instruction& i, u32 m) {
  map3<T, T, T, T>(w, i, m, [](T a, T b, T c) { return OP::template f<T>(a, b, c); });
}
template <class OP>
Handler pick3_int(Type t) {
  switch (t) {
    case Type::u16_:
      return h3<OP, u16>;
    case Type::s16_:
      return h3<OP, s16>;
    case Type::u32_:
    case Type::b32:
      return h3<OP, u32>;
    case Type::s32_:
      return h3<OP, s32>;
    case Type::u64_:
    case Type::b64:
      return h3<OP, u64>;
    case Type::s64_:
      return h3<OP, s64>;
    default:
      return nullptr;
  }
}
template <class D, class S>
void h_mul_wide(Warp& w, const Instruction& i, u32 m) {
  map2<D, S, S>(w, i, m, [](S a, S b) { return static_cast<D>(static_cast<D>(a) * static_cast<D>(b)); });
}
template <class D, class S>
void h_mad_wide(Warp& w, const Instruction& i, u32 m) {
  map3<D, S, S, D>(w, i, m, [](S a, S b, D c) { return static_cast<D>(static_cast<D>(a) * static_cast<D>(b) + c); });
}

// one operand
#define GM_OP1(NAME, EXPR)         \
  struct NAME {                    \
    template <class T>             \
    static inline T f(T a) {       \
      return static_cast<T>(EXPR); \
    }                              \
  };
struct Neg {
  template <class T>
  static inline T f(T a) {
    if constexpr (fp<T>)
      return -a;
    else
      return static_cast<T>(0 - static_cast<u64>(a));
  }
};
struct Abs {
  template <class T>
  static inline T f(T a) {
    if constexpr (fp<T>)
      return std::fabs(a);
    else
      return a < 0 ? static_cast<T>(0 - static_cast<u64>(a)) : a;
  }
};
GM_OP1(Not, ~a)
GM_OP1(Sqrt, canon(std::sqrt(a)))
GM_OP1(Rcp, canon(T(1) / a))
struct Rsqrt {
  template <class T>
  static inline T f(T a) {
    return canon(static_cast<T>(1.0 / std::sqrt(static_cast<double>(a))));
  }
};
struct Ex2 {
  template <class T>
  static inline T f(T a) {
    return canon(std::exp2(a));
  }
};
struct Lg2 {
  template <class T>
  static inline T f(T a) {
    return canon(std::log2(a));
  }
};
struct Sin {
  template <class T>
  static inline T f(T a) {
    return canon(std::sin(a));
  }
};
struct Cos {
  template <class T>
  static inline T f(T a) {
    return canon(std::cos(a));
  }
};
struct Tanh {
  template <class T>
  static inline T f(T a) {
    return canon(std::tanh(a));
  }
};
GM_OP1(Mov, a)
template <class OP, class T>
void h1(Warp& w, const Instruction& i, u32 m) {
  map1<T, T>(w, i, m, [](T a) { return OP::template f<T>(a); });
}
// f32 approximations with ftz: denormal inputs are zero, denormal results too. rcp.approx.ftz.f64: takes and gives the upper 32
// bits.
inline float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
template <class OP>
void h1_ftz(Warp& w, const Instruction& i, u32 m) {
  map1<float, float>(w, i, m, [](float a) { return flush(OP::template f<float>(flush(a))); });
}
template <class OP>
void h1_f64_approx(Warp& w, const Instruction& i, u32 m) {
  map1<double, double>(w, i, m, [](double a) {
    a = std::bit_cast<double>(std::bit_cast<u64>(a) & 0xffffffff00000000ull);
    if (std::fabs(a) < 0x1p-1022) a = std::copysign(0.0, a);
    double r = OP::template f<double>(a);
    if (std::fabs(r) < 0x1p-1022) r = std::copysign(0.0, r);
    return std::bit_cast<double>(std::bit_cast<u64>(r) & 0xffffffff00000000ull);
  });
}
template <class OP>
Handler pick1_int(Type t) {
  switch (t) {
    case Type::u16_:
    case Type::b16:
      return h1<OP, u16>;
    case Type::s16_:
      return h1<OP, s16>;
    case Type::u32_:
    case Type::b32:
      return h1<OP, u32>;
    case Type::s32_:
      return h1<OP, s32>;
    case Type::u64_:
    case Type::b64:
      return h1<OP, u64>;
    case Type::s64_:
      return h1<OP, s64>;
    default:
      return nullptr;
  }
}
template <class OP>
Handler pick1_fp(Type t) {
  return t == Type::f32 ? h1<OP, float> : t == Type::f64 ? h1<OP, double> : nullptr;
}
template <bool ABS, int W>
void h_half_sign(Warp& w, const Instruction& i, u32 m) {
  if constexpr (W == 2)
    map1<u32, u32>(w, i, m, [](u32 a) { return ABS ? a & 0x7fff7fffu : a ^ 0x80008000u; });
  else
    map1<u16, u16>(w, i, m, [](u16 a) { return static_cast<u16>(ABS ? a & 0x7fffu : a ^ 0x8000u); });
}

// bits
void h_popc32(Warp& w, const Instruction& i, u32 m) {
  map1<u32, u32>(w, i, m, [](u32 a) { return static_cast<u32>(std::popcount(a)); });
}
void h_popc64(Warp& w, const Instruction& i, u32 m) {
  map1<u32, u64>(w, i, m, [](u64 a) { return static_cast<u32>(std::popcount(a)); });
}
void h_clz32(Warp& w, const Instruction& i, u32 m) {
  map1<u32, u32>(w, i, m, [](u32 a) { return static_cast<u32>(std::countl_zero(a)); });
}
void h_clz64(Warp& w, const Instruction& i, u32 m) {
  map1<u32, u64>(w, i, m, [](u64 a) { return static_cast<u32>(std::countl_zero(a)); });
}
template <class T>
T reverse_bits(T v) {
  T r = 0;
  for (unsigned k = 0; k < 8 * sizeof(T); ++k) {
    r = static_cast<T>(r << 1 | (v & 1));
    v >>= 1;
  }
  return r;
}
void h_brev32(Warp& w, const Instruction& i, u32 m) { map1<u32, u32>(w, i, m, reverse_bits<u32>); }
void h_brev64(Warp& w, const Instruction& i, u32 m) { map1<u64, u64>(w, i, m, reverse_bits<u64>); }
template <class T, bool SHIFTAMT>
void h_bfind(Warp& w, const Instruction& i, u32 m) {
  map1<u32, T>(w, i, m, [](T a) -> u32 {
    using U = std::make_unsigned_t<T>;
    U u = static_cast<U>(a);
    if constexpr (std::is_signed_v<T>)
      if (a < 0) u = static_cast<U>(~u);
    if (u == 0) return ~0u;
    u32 at = static_cast<u32>(8 * sizeof(T) - 1) - static_cast<u32>(std::countl_zero(u));
    return SHIFTAMT ? static_cast<u32>(8 * sizeof(T) - 1) - at : at;
  });
}
template <class T>
void h_shl(Warp& w, const Instruction& i, u32 m) {
  map2<T, T, u32>(w, i, m, [](T a, u32 b) { return b >= 8 * sizeof(T) ? T(0) : static_cast<T>(a << b); });
}
template <class T>
void h_shr(Warp& w, const Instruction& i, u32 m) {
  map2<T, T, u32>(w, i, m, [](T a, u32 b) {
    constexpr u32 n = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a >> (b >= n ? n - 1 : b));
    else
      return b >= n ? T(0) : static_cast<T>(a >> b);
  });
}
template <bool LEFT, bool WRAP>
void h_shf(Warp& w, const Instruction& i, u32 m) {
  map3<u32, u32, u32, u32>(w, i, m, [](u32 a, u32 b, u32 c) {
    u32 n = WRAP ? c & 31 : (c > 32 ? 32 : c);
    u64 v = static_cast<u64>(b) << 32 | a;
    return static_cast<u32>(LEFT ? (v << n) >> 32 : v >> n);
  });
}
void h_prmt(Warp& w, const Instruction& i, u32 m) {
  map3<u32, u32, u32, u32>(w, i, m, [](u32 a, u32 b, u32 c) {
    u64 v = static_cast<u64>(b) << 32 | a;
    u32 r = 0;
    for (int k = 0; k < 4; ++k) {
      u32 sel = c >> (4 * k) & 15;
      u32 byte = static_cast<u32>(v >> (8 * (sel & 7))) & 255;
      if (sel & 8) byte = byte & 128 ? 255 : 0;
      r |= byte << (8 * k);
    }
    return r;
  });
}
void h_lop3(Warp& w, const Instruction& i, u32 m) {
  const u32 lut = i.aux;
  u32* d = w.row<u32>(i.d);
  const u32 *a = w.row<u32>(i.a), *b = w.row<u32>(i.b), *c = w.row<u32>(i.c);
  u32 r[32] = {};
  for (u32 k = 0; k < 8; ++k)
    if (lut >> k & 1)
      for (int l = 0; l < 32; ++l) r[l] |= (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
  if (m == ~0u)
    std::memcpy(d, r, sizeof r);
  else
    for (; m; m &= m - 1) {
      int l = std::countr_zero(m);
      d[l] = r[l];
    }
}
// bfe d, a, pos b, len c; bfi d, a, b, pos c, len e
template <class T>
void h_bfe(Warp& w, const Instruction& i, u32 m) {
  map3<T, T, u32, u32>(w, i, m, [](T a, u32 b, u32 c) -> T {
    using U = std::make_unsigned_t<T>;
    constexpr u32 n = 8 * sizeof(T);
    u32 pos = b & 255, len = c & 255;
    if (len == 0) return 0;
    u32 top = std::min(pos + len - 1, n - 1);
    U sign = std::is_signed_v<T> ? (static_cast<U>(a) >> top & 1) : 0;
    U r = pos >= n ? (sign ? static_cast<U>(~U(0)) : U(0)) : static_cast<U>(static_cast<U>(a) >> pos);
    u32 have = pos >= n ? 0 : std::min(len, n - pos);
    if (have < n) {
      U mask = static_cast<U>((U(1) << have) - 1);
      r = static_cast<U>((r & mask) | (sign ? static_cast<U>(~mask) : U(0)));
    }
    return static_cast<T>(r);
  });
}
template <class T>
void h_bfi(Warp& w, const Instruction& i, u32 m) {
  T* d = w.row<T>(i.d);
  const T *a = w.row<T>(i.a), *b = w.row<T>(i.b);
  const u32 *c = w.row<u32>(i.c), *e = w.row<u32>(i.e);
  constexpr u32 n = 8 * sizeof(T);
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    u32 pos = c[l] & 255, len = e[l] & 255;
    T f = b[l];
    for (u32 k = 0; k < len && pos + k < n; ++k)
      f = static_cast<T>((f & ~(T(1) << (pos + k))) | ((a[l] >> k & 1) << (pos + k)));
    d[l] = f;
  }
}

// predicates
void put_pred(Warp& w, u32 row, u32 value, u32 m) {
  u32* p = w.row<u32>(row);
  *p = (*p & ~m) | (value & m);
}
template <int OP>
void h_pred(Warp& w, const Instruction& i, u32 m) {
  u32 a = *w.row<u32>(i.a), b = *w.row<u32>(i.b);
  put_pred(w, i.d, OP == 0 ? a & b : OP == 1 ? a | b : OP == 2 ? a ^ b : OP == 3 ? ~a : a, m);
}
enum Cmp { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_ };
template <int C, class T>
inline bool compare(T a, T b) {
  if constexpr (C == EQ)
    return a == b;
  else if constexpr (C == NE) {
    if constexpr (fp<T>)
      return a < b || a > b;
    else
      return a != b;
  }  // ordered
  else if constexpr (C == LT)
    return a < b;
  else if constexpr (C == LE)
    return a <= b;
  else if constexpr (C == GT)
    return a > b;
  else if constexpr (C == GE)
    return a >= b;
  else if constexpr (C == EQU)
    return !(a < b || a > b);
  else if constexpr (C == NEU)
    return !(a == b);
  else if constexpr (C == LTU)
    return !(a >= b);
  else if constexpr (C == LEU)
    return !(a > b);
  else if constexpr (C == GTU)
    return !(a <= b);
  else if constexpr (C == GEU)
    return !(a < b);
  else if constexpr (C == NUM)
    return a == a && b == b;
  else
    return !(a == a && b == b);
}
inline void finish_setp(Warp& w, const Instruction& i, u32 m, u32 r) {
  u32 q = ~r;
  if (i.aux) {
    u32 c = *w.row<u32>(i.c);
    if (i.source_not) c = ~c;
    if (i.aux == 1) {
      r &= c;
      q &= c;
    } else if (i.aux == 2) {
      r |= c;
      q |= c;
    } else {
      r ^= c;
      q ^= c;
    }
  }
  put_pred(w, i.d, r, m);
  if (i.e) put_pred(w, i.e, q, m);
}
template <int C, class T>
void h_setp(Warp& w, const Instruction& i, u32 m) {
  const T *a = w.row<T>(i.a), *b = w.row<T>(i.b);
  alignas(32) u8 t[32];
  for (int l = 0; l < 32; ++l) t[l] = compare<C, T>(a[l], b[l]) ? 255 : 0;
  finish_setp(w, i, m, static_cast<u32>(_mm256_movemask_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(t)))));
}
template <int C, class F>
void h_setp_half(Warp& w, const Instruction& i, u32 m) {
  const u16 *a = w.row<u16>(i.a), *b = w.row<u16>(i.b);
  u32 r = 0;
  for (int l = 0; l < 32; ++l) r |= static_cast<u32>(compare<C, float>(F::get(a[l]), F::get(b[l]))) << l;
  finish_setp(w, i, m, r);
}
template <int C>
Handler pick_setp(Type t) {
  if (t == Type::f32) return h_setp<C, float>;
  if (t == Type::f64) return h_setp<C, double>;
  if (t == Type::f16) return h_setp_half<C, H>;
  if (t == Type::bf16) return h_setp_half<C, B>;
  if constexpr (C <= GE) switch (t) {
      case Type::u16_:
      case Type::b16:
        return h_setp<C, u16>;
      case Type::s16_:
        return h_setp<C, s16>;
      case Type::u32_:
      case Type::b32:
        return h_setp<C, u32>;
      case Type::s32_:
        return h_setp<C, s32>;
      case Type::u64_:
      case Type::b64:
        return h_setp<C, u64>;
      case Type::s64_:
        return h_setp<C, s64>;
      default:
        break;
    }
  return nullptr;
}
template <class T>
void h_selp(Warp& w, const Instruction& i, u32 m) {
  T* d = w.row<T>(i.d);
  const T *a = w.row<T>(i.a), *b = w.row<T>(i.b);
  u32 p = *w.row<u32>(i.c);
  if (i.source_not) p = ~p;
  for (int l = 0; l < 32; ++l) {
    T v = p >> l & 1 ? a[l] : b[l];
    d[l] = m >> l & 1 ? v : d[l];
  }
}

// cvt: integers, whose registers may be wider than their types
template <class S>
inline S load_as(const u8* p) {
  S v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class D, class S, bool SAT>
void h_cvt_int(Warp& w, const Instruction& i, u32 m) {
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    S s = load_as<S>(w.rf + i.a + static_cast<u32>(l) * i.as);
    D r = static_cast<D>(s);
    if constexpr (SAT) {
      __int128 v = s, lo = std::numeric_limits<D>::min(), hi = std::numeric_limits<D>::max();
      r = static_cast<D>(v < lo ? lo : v > hi ? hi : v);
    }
    // a destination register wider than the type is sign- or zero-extended
    u64 x = std::is_signed_v<D> ? static_cast<u64>(static_cast<s64>(r)) : static_cast<u64>(r);
    std::memcpy(w.rf + i.d + static_cast<u32>(l) * i.ds, &x, i.ds);
  }
}
template <class D, class S>
void h_cvt_int_fast(Warp& w, const Instruction& i, u32 m) {
  map1<D, S>(w, i, m, [](S s) { return static_cast<D>(s); });
}
template <class D>
Handler pick_cvt_int_from(Type s, bool sat) {
  switch (s) {
#define GM_C(T, C) \
  case T:          \
    return sat ? h_cvt_int<D, C, true> : h_cvt_int<D, C, false>;
    GM_C(Type::u8_, u8)
    GM_C(Type::s8_, s8)
    GM_C(Type::u16_, u16) GM_C(Type::s16_, s16) GM_C(Type::u32_, u32) GM_C(Type::s32_, s32) GM_C(Type::u64_, u64)
        GM_C(Type::s64_, s64)
#undef GM_C
            default : return nullptr;
  }
}
Handler pick_cvt_int(Type d, Type s, bool sat) {
  switch (d) {
    case Type::u8_:
      return pick_cvt_int_from<u8>(s, sat);
    case Type::s8_:
      return pick_cvt_int_from<s8>(s, sat);
    case Type::u16_:
      return pick_cvt_int_from<u16>(s, sat);
    case Type::s16_:
      return pick_cvt_int_from<s16>(s, sat);
    case Type::u32_:
      return pick_cvt_int_from<u32>(s, sat);
    case Type::s32_:
      return pick_cvt_int_from<s32>(s, sat);
    case Type::u64_:
      return pick_cvt_int_from<u64>(s, sat);
    case Type::s64_:
      return pick_cvt_int_from<s64>(s, sat);
    default:
      return nullptr;
  }
}
// integer -> float; the current rounding mode applies (see `rounded`)
template <class D, class S>
void h_int_float(Warp& w, const Instruction& i, u32 m) {
  D* d = w.row<D>(i.d);
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    S s = load_as<S>(w.rf + i.a + static_cast<u32>(l) * i.as);
    if constexpr (std::is_same_v<D, u16>)
      d[l] = double_to_half(static_cast<double>(s));  // exact for 32 bits
    else
      d[l] = static_cast<D>(s);
  }
}
template <class D>
Handler pick_int_float(Type s) {
  switch (s) {
#define GM_C(T, C) \
  case T:          \
    return h_int_float<D, C>;
    GM_C(Type::u8_, u8)
    GM_C(Type::s8_, s8)
    GM_C(Type::u16_, u16) GM_C(Type::s16_, s16) GM_C(Type::u32_, u32) GM_C(Type::s32_, s32) GM_C(Type::u64_, u64)
        GM_C(Type::s64_, s64)
#undef GM_C
            default : return nullptr;
  }
}
// float -> integer: rounds as told (aux: 0 rni, 1 rzi, 2 rmi, 3 rpi), saturates; NaN: 0, but 2^(n-1) for 64-bit operands
// ("cvt", notes)
double round_as(double v, u16 mode) {
  return mode == 0 ? std::nearbyint(v) : mode == 1 ? std::trunc(v) : mode == 2 ? std::floor(v) : std::ceil(v);
}
template <class D, class S>
void h_float_int(Warp& w, const Instruction& i, u32 m) {
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    double v;
    if constexpr (std::is_same_v<S, u16>)
      v = i.msize == 1 ? bf16_to_float(w.row<u16>(i.a)[l]) : half_to_float(w.row<u16>(i.a)[l]);
    else
      v = w.row<S>(i.a)[l];
    D r;
    if (v != v)
      r = (sizeof(D) == 8 || sizeof(S) == 8) ? static_cast<D>(u64(1) << (8 * sizeof(D) - 1)) : D(0);
    else {
      v = round_as(v, i.aux);
      constexpr double lo = static_cast<double>(std::numeric_limits<D>::min());
      const double hi = std::ldexp(1.0, static_cast<int>(8 * sizeof(D)) - (std::is_signed_v<D> ? 1 : 0));
      r = v < lo ? std::numeric_limits<D>::min() : v >= hi ? std::numeric_limits<D>::max() : static_cast<D>(v);
    }
    u64 x = std::is_signed_v<D> ? static_cast<u64>(static_cast<s64>(r)) : static_cast<u64>(r);
    std::memcpy(w.rf + i.d + static_cast<u32>(l) * i.ds, &x, i.ds);
  }
}
template <class S>
Handler pick_float_int(Type d) {
  switch (d) {
    case Type::u8_:
      return h_float_int<u8, S>;
    case Type::s8_:
      return h_float_int<s8, S>;
    case Type::u16_:
      return h_float_int<u16, S>;
    case Type::s16_:
      return h_float_int<s16, S>;
    case Type::u32_:
      return h_float_int<u32, S>;
    case Type::s32_:
      return h_float_int<s32, S>;
    case Type::u64_:
      return h_float_int<u64, S>;
    case Type::s64_:
      return h_float_int<s64, S>;
    default:
      return nullptr;
  }
}
void h_f32_f16(Warp& w, const Instruction& i, u32 m) {
  map1<float, u16>(w, i, m, [](u16 a) { return half_to_float(a); });
}
void h_f32_bf16(Warp& w, const Instruction& i, u32 m) {
  map1<float, u16>(w, i, m, [](u16 a) { return bf16_to_float(a); });
}
void h_f64_f16(Warp& w, const Instruction& i, u32 m) {
  map1<double, u16>(w, i, m, [](u16 a) { return static_cast<double>(half_to_float(a)); });
}
void h_f64_bf16(Warp& w, const Instruction& i, u32 m) {
  map1<double, u16>(w, i, m, [](u16 a) { return static_cast<double>(bf16_to_float(a)); });
}
void h_f16_f32(Warp& w, const Instruction& i, u32 m) {
  map1<u16, float>(w, i, m, [](float a) { return float_to_half(a); });
}
void h_bf16_f32(Warp& w, const Instruction& i, u32 m) {
  map1<u16, float>(w, i, m, [](float a) { return float_to_bf16(a); });
}
void h_f16_f64(Warp& w, const Instruction& i, u32 m) { map1<u16, double>(w, i, m, double_to_half); }
void h_bf16_f64(Warp& w, const Instruction& i, u32 m) { map1<u16, double>(w, i, m, double_to_bf16); }
void h_f64_f32(Warp& w, const Instruction& i, u32 m) {
  map1<double, float>(w, i, m, [](float a) { return static_cast<double>(a); });
}
void h_f32_f64(Warp& w, const Instruction& i, u32 m) {
  map1<float, double>(w, i, m, [](double a) { return canon(static_cast<float>(a)); });
}
void h_f32_sat(Warp& w, const Instruction& i, u32 m) {
  map1<float, float>(w, i, m, [](float a) { return a != a ? 0.0f : a < 0 ? 0.0f : a > 1 ? 1.0f : (a == 0 ? 0.0f : a); });
}
void h_sat_after(Warp& w, const Instruction& i, u32 m) {  // .sat of an f32 operation
  i.fn2(w, i, m);
  float* d = w.row<float>(i.d);
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    float a = d[l];
    d[l] = a != a ? 0.0f : a < 0 ? 0.0f : a > 1 ? 1.0f : a;
  }
}
void h_round_f32(Warp& w, const Instruction& i, u32 m) {
  const u16 mode = i.aux;
  map1<float, float>(w, i, m, [mode](float a) { return static_cast<float>(round_as(a, mode)); });
}
void h_round_f64(Warp& w, const Instruction& i, u32 m) {
  const u16 mode = i.aux;
  map1<double, double>(w, i, m, [mode](double a) { return round_as(a, mode); });
}
// two floats into a pair: the first operand into the upper half
template <bool BF, bool RELU>
void h_pair_f32(Warp& w, const Instruction& i, u32 m) {
  map2<u32, float, float>(w, i, m, [](float a, float b) {
    if (RELU) {
      a = a > 0 || a != a ? a : 0;
      b = b > 0 || b != b ? b : 0;
    }
    u32 hi = BF ? float_to_bf16(a) : float_to_half(a), lo = BF ? float_to_bf16(b) : float_to_half(b);
    return hi << 16 | lo;
  });
}
template <bool E5>
void h_fp8x2_f32(Warp& w, const Instruction& i, u32 m) {
  map2<u16, float, float>(w, i, m, [](float a, float b) {
    u32 hi = E5 ? float_to_e5m2(a) : float_to_e4m3(a), lo = E5 ? float_to_e5m2(b) : float_to_e4m3(b);
    return static_cast<u16>(hi << 8 | lo);
  });
}
template <bool E5>
void h_fp8x2_f16x2(Warp& w, const Instruction& i, u32 m) {
  map1<u16, u32>(w, i, m, [](u32 a) {
    float x = half_to_float(static_cast<u16>(a >> 16)), y = half_to_float(static_cast<u16>(a));
    u32 hi = E5 ? float_to_e5m2(x) : float_to_e4m3(x), lo = E5 ? float_to_e5m2(y) : float_to_e4m3(y);
    return static_cast<u16>(hi << 8 | lo);
  });
}
template <bool E5>
void h_f16x2_fp8x2(Warp& w, const Instruction& i, u32 m) {
  map1<u32, u16>(w, i, m, [](u16 a) {
    float hi = E5 ? e5m2_to_float(static_cast<u8>(a >> 8)) : e4m3_to_float(static_cast<u8>(a >> 8)),
          lo = E5 ? e5m2_to_float(static_cast<u8>(a)) : e4m3_to_float(static_cast<u8>(a));
    return static_cast<u32>(float_to_half(hi)) << 16 | float_to_half(lo);
  });
}
void h_tf32_f32(Warp& w, const Instruction& i, u32 m) {  // cvt.rna / .rn
  const bool rna = i.aux == 1;
  map1<u32, u32>(w, i, m, [rna](u32 a) {
    if ((a & 0x7f800000u) == 0x7f800000u) return a & 0x7fffff ? 0x7fffffffu : a;
    u32 add = rna ? 0x1000u : 0xfffu + (a >> 13 & 1);
    return (a + add) & 0xffffe000u;
  });
}

// mov with packing: list of parts in `lists`, msize bytes each
template <bool PACK>
void h_pack(Warp& w, const Instruction& i, u32 m) {
  const u32* parts = w.body->lists.data() + i.list;
  for (u32 k = 0; k < i.list_n; ++k)
    for (u32 t = m; t; t &= t - 1) {
      u32 l = static_cast<u32>(std::countr_zero(t));
      u8* whole = w.rf + (PACK ? i.d : i.a) + l * (PACK ? i.ds : i.as) + k * i.msize;
      u8* part = w.rf + parts[k] + l * i.msize;
      std::memcpy(PACK ? whole : part, PACK ? part : whole, i.msize);
    }
}
void h_clock(Warp& w, const Instruction& i, u32 m) {
  Launch& L = *w.launch;
  advance_time(L, 0);
  u64 v = 0;
  switch (i.aux) {
    case 0:
      v = L.time->clock64;
      break;
    case 1:
      v = L.time->clock64 >> 32;
      break;
    case 2:
      v = L.time->globaltimer_ns;
      break;
    case 3:
      v = L.time->globaltimer_ns >> 32;
      break;
  }
  for (; m; m &= m - 1) {
    u32 l = static_cast<u32>(std::countr_zero(m));
    std::memcpy(w.rf + i.d + l * i.ds, &v, i.ds);
  }
  if (L.time->wall) {
    w.yield = true;
  }
}

// other rounding modes and ftz: the same operation under another MXCSR
void h_mxcsr(Warp& w, const Instruction& i, u32 m) {
  unsigned old = _mm_getcsr();
  _mm_setcsr((old & ~0x6000u) | static_cast<unsigned>(i.aux));
  i.fn2(w, i, m);
  _mm_setcsr(old);
}
void under_mxcsr(const Mnemonic& op, Instruction& ins, bool f32) {
  unsigned bits = 0;
  if (op.has("rm"))
    bits = 0x2000;
  else if (op.has("rp"))
    bits = 0x4000;
  else if (op.has("rz"))
    bits = 0x6000;
  if (op.has("ftz") && f32) bits |= 0x8040;
  if (bits) {
    ins.fn2 = ins.fn;
    ins.fn = h_mxcsr;
    ins.aux = static_cast<u16>(bits);
  } else if (op.has("sat") && f32) {
    ins.fn2 = ins.fn;
    ins.fn = h_sat_after;
  }
}
Handler mov_of(int size) { return size == 2 ? h1<Mov, u16> : size == 4 ? h1<Mov, u32> : size == 8 ? h1<Mov, u64> : nullptr; }
}  // namespace

bool decode_alu(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  const std::string_view o = op.parts[0];
  const Type t = op.type();
  auto operands = [&](std::initializer_list<Type> types) {  // d then sources
    if (args.size() != types.size() + 1) throw DecodeError("operand count");
    ins.d = b.dest(args[0], &ins.ds);
    u32* rows[4] = {&ins.a, &ins.b, &ins.c, &ins.e};
    u8 dummy;
    u8* sizes[4] = {&ins.as, &ins.bs, &ins.cs, &dummy};
    int k = 0;
    for (Type x : types) {
      *rows[k] = b.source(args[static_cast<std::size_t>(k) + 1], x, sizes[k]);
      ++k;
    }
  };
  auto flops = [&](int n) {
    ins.flops = static_cast<u8>(n);
    switch (t) {
      case Type::f16:
      case Type::bf16:
        ins.flop_class = 1;
        break;
      case Type::f16x2:
      case Type::bf16x2:
        ins.flop_class = 1;
        ins.flops = static_cast<u8>(2 * n);
        break;
      case Type::f32:
        ins.flop_class = 2;
        break;
      case Type::f64:
        ins.flop_class = 3;
        break;
      default:
        ins.flops = 0;
    }
  };
  const bool half = t == Type::f16 || t == Type::f16x2 || t == Type::bf16 || t == Type::bf16x2;
  const bool f32 = t == Type::f32;

  if (o == "add" || o == "sub") {
    if (op.has("cc") || (op.has("sat") && !is_float(t))) return false;
    ins.fn = half ? (o == "add" ? pick_half<Add>(t) : pick_half<Sub>(t)) : (o == "add" ? pick<Add>(t) : pick<Sub>(t));
    operands({t, t});
    flops(1);
    under_mxcsr(op, ins, f32);
    return ins.fn != nullptr;
  }
  if (o == "mul") {
    if (op.has("wide")) {
      Type wide = size_of(t) == 2 ? Type::b32 : Type::b64;
      switch (t) {
        case Type::u16_:
          ins.fn = h_mul_wide<u32, u16>;
          break;
        case Type::s16_:
          ins.fn = h_mul_wide<s32, s16>;
          break;
        case Type::u32_:
          ins.fn = h_mul_wide<u64, u32>;
          break;
        case Type::s32_:
          ins.fn = h_mul_wide<s64, s32>;
          break;
        default:
          return false;
      }
      (void)wide;
    } else if (op.has("hi"))
      ins.fn = pick_int<MulHi>(t);
    else
      ins.fn = half ? pick_half<Mul>(t) : pick<Mul>(t);
    operands({t, t});
    flops(1);
    under_mxcsr(op, ins, f32);
    return ins.fn != nullptr;
  }
  if (o == "mad" || o == "fma") {
    if (op.has("cc")) return false;
    if (op.has("wide")) {
      switch (t) {
        case Type::u16_:
          ins.fn = h_mad_wide<u32, u16>;
          operands({t, t, Type::b32});
          break;
        case Type::s16_:
          ins.fn = h_mad_wide<s32, s16>;
          operands({t, t, Type::b32});
          break;
        case Type::u32_:
          ins.fn = h_mad_wide<u64, u32>;
          operands({t, t, Type::b64});
          break;
        case Type::s32_:
          ins.fn = h_mad_wide<s64, s32>;
          operands({t, t, Type::b64});
          break;
        default:
          return false;
      }
      return true;
    }
    switch (t) {
      case Type::f32:
        ins.fn = h3<Fma, float>;
        break;
      case Type::f64:
        ins.fn = h3<Fma, double>;
        break;
      case Type::f16:
        ins.fn = h_fma_half<H>;
        break;
      case Type::bf16:
        ins.fn = h_fma_half<B>;
        break;
      case Type::f16x2:
        ins.fn = op.has("relu") ? h_fma_halfx2<H, true> : h_fma_halfx2<H, false>;
        break;
      case Type::bf16x2:
        ins.fn = op.has("relu") ? h_fma_halfx2<B, true> : h_fma_halfx2<B, false>;
        break;
      default:
        ins.fn = op.has("hi") ? pick3_int<MadHi>(t) : pick3_int<MadLo>(t);
    }
    operands({t, t, t});
    flops(2);
    under_mxcsr(op, ins, f32);
    return ins.fn != nullptr;
  }
  if (o == "div") {
    ins.fn = pick<Div>(t);
    operands({t, t});
    flops(1);
    under_mxcsr(op, ins, f32);
    return ins.fn != nullptr;
  }
  if (o == "rem") {
    ins.fn = pick_int<Rem>(t);
    operands({t, t});
    return ins.fn != nullptr;
  }
  if (o == "min" || o == "max") {
    const bool nan = op.has("NaN"), mx = o == "max";
    if (op.parts.size() > 2 && op.has("xorsign")) return false;
    if (half)
      ins.fn = mx ? (nan ? pick_half<MaxNan>(t) : pick_half<Max>(t)) : (nan ? pick_half<MinNan>(t) : pick_half<Min>(t));
    else if (is_float(t))
      ins.fn = mx ? (nan ? pick_fp<MaxNan>(t) : pick_fp<Max>(t)) : (nan ? pick_fp<MinNan>(t) : pick_fp<Min>(t));
    else
      ins.fn = mx ? pick_int<Max>(t) : pick_int<Min>(t);
    operands({t, t});
    under_mxcsr(op, ins, f32);
    return ins.fn != nullptr;
  }
  if (o == "neg" || o == "abs") {
    if (half) {
      const bool two = t == Type::f16x2 || t == Type::bf16x2;
      ins.fn = o == "abs" ? (two ? h_half_sign<true, 2> : h_half_sign<true, 1>)
                          : (two ? h_half_sign<false, 2> : h_half_sign<false, 1>);
    } else if (o == "abs")
      ins.fn = is_float(t)       ? pick1_fp<Abs>(t)
               : t == Type::s16_ ? h1<Abs, s16>
               : t == Type::s32_ ? h1<Abs, s32>
               : t == Type::s64_ ? h1<Abs, s64>
                                 : nullptr;
    else
      ins.fn = is_float(t) ? pick1_fp<Neg>(t) : pick1_int<Neg>(t);
    operands({t});
    if (f32 && op.has("ftz")) under_mxcsr(op, ins, f32);
    return ins.fn != nullptr;
  }
  if (o == "sqrt" || o == "rcp" || o == "rsqrt" || o == "ex2" || o == "lg2" || o == "sin" || o == "cos" || o == "tanh") {
    const bool approx = op.has("approx");
    ins.flop_class = 4;
    ins.flops = 1;
    auto choose = [&]<class X>() -> Handler {
      if (t == Type::f32) return approx && op.has("ftz") ? h1_ftz<X> : h1<X, float>;
      if (t == Type::f64) return approx ? h1_f64_approx<X> : h1<X, double>;
      return nullptr;
    };
    if (o == "sqrt")
      ins.fn = choose.template operator()<Sqrt>();
    else if (o == "rcp")
      ins.fn = choose.template operator()<Rcp>();
    else if (o == "rsqrt")
      ins.fn = choose.template operator()<Rsqrt>();
    else if (o == "ex2")
      ins.fn = choose.template operator()<Ex2>();
    else if (o == "lg2")
      ins.fn = choose.template operator()<Lg2>();
    else if (o == "sin")
      ins.fn = choose.template operator()<Sin>();
    else if (o == "cos")
      ins.fn = choose.template operator()<Cos>();
    else
      ins.fn = choose.template operator()<Tanh>();
    if (ins.fn == nullptr) return false;
    operands({t});
    if (!approx) under_mxcsr(op, ins, f32);
    return true;
  }
  if (o == "and" || o == "or" || o == "xor") {
    if (t == Type::pred)
      ins.fn = o == "and" ? h_pred<0> : o == "or" ? h_pred<1> : h_pred<2>;
    else
      ins.fn = o == "and" ? pick_int<And>(t) : o == "or" ? pick_int<Or>(t) : pick_int<Xor>(t);
    operands({t, t});
    return ins.fn != nullptr;
  }
  if (o == "not") {
    ins.fn = t == Type::pred ? h_pred<3> : pick1_int<Not>(t);
    operands({t});
    return ins.fn != nullptr;
  }
  if (o == "cnot") return false;
  if (o == "shl") {
    ins.fn = size_of(t) == 2 ? h_shl<u16> : size_of(t) == 4 ? h_shl<u32> : h_shl<u64>;
    operands({t, Type::b32});
    return true;
  }
  if (o == "shr") {
    switch (t) {
      case Type::b16:
      case Type::u16_:
        ins.fn = h_shr<u16>;
        break;
      case Type::s16_:
        ins.fn = h_shr<s16>;
        break;
      case Type::b32:
      case Type::u32_:
        ins.fn = h_shr<u32>;
        break;
      case Type::s32_:
        ins.fn = h_shr<s32>;
        break;
      case Type::b64:
      case Type::u64_:
        ins.fn = h_shr<u64>;
        break;
      case Type::s64_:
        ins.fn = h_shr<s64>;
        break;
      default:
        return false;
    }
    operands({t, Type::b32});
    return true;
  }
  if (o == "shf") {
    const bool l = op.has("l"), wrap = op.has("wrap");
    ins.fn = l ? (wrap ? h_shf<true, true> : h_shf<true, false>) : (wrap ? h_shf<false, true> : h_shf<false, false>);
    operands({t, t, t});
    return true;
  }
  if (o == "prmt") {
    if (op.parts.size() != 2) return false;
    ins.fn = h_prmt;
    operands({t, t, t});
    return true;
  }
  if (o == "lop3") {
    if (args.size() != 5 || args[0].second.size()) return false;
    ins.aux = static_cast<u16>(args[4].bits & 255);
    args.pop_back();
    ins.fn = h_lop3;
    operands({t, t, t});
    return true;
  }
  if (o == "bfe") {
    ins.fn = t == Type::u32_ ? h_bfe<u32> : t == Type::s32_ ? h_bfe<s32> : t == Type::u64_ ? h_bfe<u64> : h_bfe<s64>;
    operands({t, Type::b32, Type::b32});
    return true;
  }
  if (o == "bfi") {
    ins.fn = size_of(t) == 4 ? h_bfi<u32> : h_bfi<u64>;
    operands({t, t, Type::b32, Type::b32});
    return true;
  }
  if (o == "popc") {
    ins.fn = size_of(t) == 4 ? h_popc32 : h_popc64;
    operands({t});
    return true;
  }
  if (o == "clz") {
    ins.fn = size_of(t) == 4 ? h_clz32 : h_clz64;
    operands({t});
    return true;
  }
  if (o == "brev") {
    ins.fn = size_of(t) == 4 ? h_brev32 : h_brev64;
    operands({t});
    return true;
  }
  if (o == "bfind") {
    const bool s = op.has("shiftamt");
    switch (t) {
      case Type::u32_:
        ins.fn = s ? h_bfind<u32, true> : h_bfind<u32, false>;
        break;
      case Type::s32_:
        ins.fn = s ? h_bfind<s32, true> : h_bfind<s32, false>;
        break;
      case Type::u64_:
        ins.fn = s ? h_bfind<u64, true> : h_bfind<u64, false>;
        break;
      case Type::s64_:
        ins.fn = s ? h_bfind<s64, true> : h_bfind<s64, false>;
        break;
      default:
        return false;
    }
    operands({t});
    return true;
  }
  if (o == "setp") {
    std::string_view c = op.parts.size() > 1 ? op.parts[1] : std::string_view{};
    const bool uns_only = is_float(t);
    if (c == "eq")
      ins.fn = pick_setp<EQ>(t);
    else if (c == "ne")
      ins.fn = pick_setp<NE>(t);
    else if (c == "lt" || (c == "lo" && !uns_only))
      ins.fn = pick_setp<LT>(t);
    else if (c == "le" || (c == "ls" && !uns_only))
      ins.fn = pick_setp<LE>(t);
    else if (c == "gt" || (c == "hi" && !uns_only))
      ins.fn = pick_setp<GT>(t);
    else if (c == "ge" || (c == "hs" && !uns_only))
      ins.fn = pick_setp<GE>(t);
    else if (c == "equ")
      ins.fn = pick_setp<EQU>(t);
    else if (c == "neu")
      ins.fn = pick_setp<NEU>(t);
    else if (c == "ltu")
      ins.fn = pick_setp<LTU>(t);
    else if (c == "leu")
      ins.fn = pick_setp<LEU>(t);
    else if (c == "gtu")
      ins.fn = pick_setp<GTU>(t);
    else if (c == "geu")
      ins.fn = pick_setp<GEU>(t);
    else if (c == "num")
      ins.fn = pick_setp<NUM>(t);
    else if (c == "nan")
      ins.fn = pick_setp<NAN_>(t);
    if (ins.fn == nullptr || args.size() < 3) return false;
    if (op.has("ftz")) return false;
    ins.d = b.dest(args[0]);
    if (!args[0].second.empty()) ins.e = b.dest(args[0].second[0]);
    ins.a = b.source(args[1], t);
    ins.b = b.source(args[2], t);
    if (args.size() == 4) {
      ins.aux = op.has("and") ? 1 : op.has("or") ? 2 : op.has("xor") ? 3 : 0;
      if (!ins.aux) return false;
      ins.c = b.source(args[3], Type::pred);
      ins.source_not = args[3].is_not;
    }
    return true;
  }
  if (o == "selp") {
    const int s = size_of(t);
    ins.fn = s == 2 ? h_selp<u16> : s == 4 ? h_selp<u32> : s == 8 ? h_selp<u64> : nullptr;
    operands({t, t, Type::pred});
    ins.source_not = args[3].is_not;
    return ins.fn != nullptr;
  }
  if (o == "cvt") {
    Type s = op.type(0), d = op.type(1);
    const bool sat = op.has("sat") || op.has("satfinite");
    if (args.size() == 3) {  // pairs
      operands({s, s});
      if (s != Type::f32 || !(op.has("rn"))) return false;
      const bool relu = op.has("relu");
      if (d == Type::f16x2 && !sat)
        ins.fn = relu ? h_pair_f32<false, true> : h_pair_f32<false, false>;
      else if (d == Type::bf16x2 && !sat)
        ins.fn = relu ? h_pair_f32<true, true> : h_pair_f32<true, false>;
      else if (d == Type::e4m3x2 && sat && !relu)
        ins.fn = h_fp8x2_f32<false>;
      else if (d == Type::e5m2x2 && sat && !relu)
        ins.fn = h_fp8x2_f32<true>;
      return ins.fn != nullptr;
    }
    operands({s});
    u16 integral = op.has("rni") ? 1 : op.has("rzi") ? 2 : op.has("rmi") ? 3 : op.has("rpi") ? 4 : 0;
    const bool di = !is_float(d), si = !is_float(s);
    if (d == Type::f16x2 && s == Type::e4m3x2) {
      ins.fn = h_f16x2_fp8x2<false>;
      return true;
    }
    if (d == Type::f16x2 && s == Type::e5m2x2) {
      ins.fn = h_f16x2_fp8x2<true>;
      return true;
    }
    if (s == Type::f16x2 && d == Type::e4m3x2) {
      ins.fn = h_fp8x2_f16x2<false>;
      return true;
    }
    if (s == Type::f16x2 && d == Type::e5m2x2) {
      ins.fn = h_fp8x2_f16x2<true>;
      return true;
    }
    if (d == Type::tf32 && s == Type::f32) {
      ins.fn = h_tf32_f32;
      ins.aux = op.has("rna");
      return true;
    }
    if (di && si) {
      ins.fn = pick_cvt_int(d, s, sat);
      if (!sat && size_of(d) == ins.ds && size_of(s) == ins.as) {
        if (d == Type::s64_ && s == Type::s32_)
          ins.fn = h_cvt_int_fast<s64, s32>;
        else if (size_of(d) == 8 && s == Type::u32_)
          ins.fn = h_cvt_int_fast<u64, u32>;
        else if (size_of(d) == 4 && size_of(s) == 8)
          ins.fn = h_cvt_int_fast<u32, u64>;
        else if (size_of(d) == 4 && s == Type::u16_)
          ins.fn = h_cvt_int_fast<u32, u16>;
        else if (size_of(d) == 2 && size_of(s) == 4)
          ins.fn = h_cvt_int_fast<u16, u32>;
      }
      return ins.fn != nullptr;
    }
    if (di) {
      ins.aux = static_cast<u16>(integral - 1);
      if (integral == 0) return false;
      if (s == Type::bf16) ins.msize = 1;
      ins.fn = s == Type::f32 ? pick_float_int<float>(d) : s == Type::f64 ? pick_float_int<double>(d) : pick_float_int<u16>(d);
      return ins.fn != nullptr;
    }
    if (si) {
      if (d == Type::f16 && !op.has("rn")) return false;
      ins.fn = d == Type::f32   ? pick_int_float<float>(s)
               : d == Type::f64 ? pick_int_float<double>(s)
               : d == Type::f16 ? pick_int_float<u16>(s)
                                : nullptr;
      if (ins.fn && (op.has("rm") || op.has("rp") || op.has("rz"))) under_mxcsr(op, ins, false);
      return ins.fn != nullptr;
    }
    if (d == s) {
      if (d != Type::f32 && d != Type::f64) return false;
      if (integral) {
        ins.fn = d == Type::f32 ? h_round_f32 : h_round_f64;
        ins.aux = static_cast<u16>(integral - 1);
      } else if (sat && d == Type::f32) {
        ins.fn = h_f32_sat;
        return true;
      } else
        ins.fn = mov_of(size_of(d));
      if (sat || op.has("ftz")) return false;
      return true;
    }
    if (sat || op.has("relu")) return false;
    if (d == Type::f32 && s == Type::f16)
      ins.fn = h_f32_f16;
    else if (d == Type::f32 && s == Type::bf16)
      ins.fn = h_f32_bf16;
    else if (d == Type::f64 && s == Type::f16)
      ins.fn = h_f64_f16;
    else if (d == Type::f64 && s == Type::bf16)
      ins.fn = h_f64_bf16;
    else if (d == Type::f64 && s == Type::f32) {
      ins.fn = h_f64_f32;
      if (op.has("ftz")) return false;
    } else if (d == Type::f32 && s == Type::f64) {
      ins.fn = h_f32_f64;
      under_mxcsr(op, ins, true);
    } else if (!op.has("rn") || op.has("ftz"))
      return false;
    else if (d == Type::f16 && s == Type::f32)
      ins.fn = h_f16_f32;
    else if (d == Type::bf16 && s == Type::f32)
      ins.fn = h_bf16_f32;
    else if (d == Type::f16 && s == Type::f64)
      ins.fn = h_f16_f64;
    else if (d == Type::bf16 && s == Type::f64)
      ins.fn = h_bf16_f64;
    return ins.fn != nullptr;
  }
  if (o == "mov") {
    if (args.size() != 2) return false;
    if (t == Type::pred) {
      ins.fn = h_pred<4>;
      operands({t});
      return true;
    }
    if (args[1].clock) {
      ins.d = b.dest(args[0], &ins.ds);
      ins.aux = args[1].clock_kind;
      ins.fn = h_clock;
      return true;
    }
    if (args[0].k == Operand::vec || args[1].k == Operand::vec) {
      const bool pack = args[1].k == Operand::vec;
      const Operand& v = pack ? args[1] : args[0];
      ins.msize = static_cast<u8>(size_of(t) / static_cast<int>(v.sub.size()));
      const Type part = ins.msize == 1 ? Type::b8 : ins.msize == 2 ? Type::b16 : ins.msize == 4 ? Type::b32 : Type::b64;
      if (ins.msize == 1) return false;
      if (pack)
        ins.d = b.dest(args[0], &ins.ds);
      else
        ins.a = b.source(args[1], t, &ins.as);
      std::vector<u32> rows;
      for (const Operand& x : v.sub) {
        u8 size = ins.msize;
        rows.push_back(pack ? b.source(x, part, &size) : b.dest(x, &size));
        if (x.k != Operand::sink && size != ins.msize) throw DecodeError("mov: part of another size");
      }
      ins.list = static_cast<u32>(b.fn->body.lists.size());
      ins.list_n = static_cast<u32>(rows.size());
      ins.list_written = !pack;
      b.fn->body.lists.insert(b.fn->body.lists.end(), rows.begin(), rows.end());
      ins.fn = pack ? h_pack<true> : h_pack<false>;
      return true;
    }
    operands({t});
    if (ins.ds != ins.as && args[1].k == Operand::reg && args[1].special != Special::none && ins.ds == 8) {
      ins.fn = h_cvt_int_fast<u64, u32>;
      return true;
    }
    ins.fn = mov_of(size_of(t));
    return ins.fn != nullptr;
  }
  return false;
}

// ---- numbers ----
float half_to_float(u16 h) { return _cvtsh_ss(h); }
u16 float_to_half(float f, bool) {
  if (f != f) return 0x7fff;
  return static_cast<u16>(_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT));
}
namespace {
// rounds |v| to a format of `mant` fraction bits, least exponent emin (of normals); gives the value
u16 encode(double v, int mant, int emin, int emax, u16 inf, u16 nan, int sign_shift) {
  u16 sign = static_cast<u16>((std::bit_cast<u64>(v) >> 63) << sign_shift);
  if (v != v) return nan;
  double a = std::fabs(v);
  if (std::isinf(a)) return static_cast<u16>(sign | inf);
  if (a == 0) return sign;
  int e;
  std::frexp(a, &e);
  --e;  // a = 1.x * 2^e
  if (e < emin) e = emin;
  double q = std::nearbyint(std::ldexp(a, mant - e));  // in units of the last place; ties to even
  u64 n = static_cast<u64>(q);
  if (n >= (u64(2) << mant)) {
    n >>= 1;
    ++e;
  }
  if (e > emax) return static_cast<u16>(sign | inf);
  if (n < (u64(1) << mant)) return static_cast<u16>(sign | n);  // subnormal
  return static_cast<u16>(sign | (static_cast<u64>(e - emin + 1) << mant) | (n - (u64(1) << mant)));
}
}  // namespace
u16 double_to_half(double v) {
  float f = static_cast<float>(v);
  if (static_cast<double>(f) == v) return float_to_half(f);
  return encode(v, 10, -14, 15, 0x7c00, 0x7fff, 15);
}
u16 double_to_bf16(double v) {
  float f = static_cast<float>(v);
  if (static_cast<double>(f) == v) return float_to_bf16(f);
  return encode(v, 7, -126, 127, 0x7f80, 0x7fff, 15);
}
u16 float_to_bf16(float f) {
  u32 u = std::bit_cast<u32>(f);
  if (f != f) return 0x7fff;
  return static_cast<u16>((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}
float e4m3_to_float(u8 v) {
  u32 e = v >> 3 & 15, m = v & 7;
  float r = e == 15 && m == 7 ? std::bit_cast<float>(0x7fffffffu)
            : e == 0          ? std::ldexp(static_cast<float>(m), -9)
                              : std::ldexp(1.0f + static_cast<float>(m) / 8, static_cast<int>(e) - 7);
  return v & 128 ? -r : r;
}
float e5m2_to_float(u8 v) { return half_to_float(static_cast<u16>(v << 8)); }
// .satfinite: beyond the largest finite value, that value (infinity too); NaN stays
u8 float_to_e4m3(float f) {
  u8 sign = std::signbit(f) ? 128 : 0;
  if (f != f) return 0x7f;
  double a = std::fabs(static_cast<double>(f));
  if (a >= 448) return static_cast<u8>(sign | 0x7e);
  u16 r = encode(a, 3, -6, 8, 0x7e, 0x7f, 7);
  if ((r & 127) == 127) r = 0x7e;
  return static_cast<u8>(sign | (r & 127));
}
u8 float_to_e5m2(float f) {
  u8 sign = std::signbit(f) ? 128 : 0;
  if (f != f) return 0x7f;
  double a = std::fabs(static_cast<double>(f));
  if (a >= 57344) return static_cast<u8>(sign | 0x7b);
  return static_cast<u8>(sign | (encode(a, 2, -14, 15, 0x7b, 0x7f, 7) & 127));
}
}  // namespace gpu_model
