// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix, mma.sync, wgmma.
// Fragments: PTX ISA, "Matrix Fragments for mma.m16n8k*", "Register Fragments" and "Shared Memory Matrix Layout" of wgmma;
// descriptors: "Matrix Descriptor Format"; canonical layouts as CuTe states them (make_gmma_desc's comment: shapes and strides
// of K- and MN-major).
#include <immintrin.h>

#include <algorithm>

#include "decoder.hpp"
#include "lanes.hpp"
#include "machine.hpp"

namespace gpu_model {
namespace {

enum El : u16 { E_F16, E_BF16, E_TF32, E_E4M3, E_E5M2, E_S8, E_U8, E_F64 };
int bytes_of(u16 e) { return e == E_F64 ? 8 : e == E_TF32 ? 4 : e <= E_BF16 ? 2 : 1; }

struct Tables {
  float e4m3[256], e5m2[256];
  Tables() {
    for (int k = 0; k < 256; ++k) {
      e4m3[k] = e4m3_to_float(static_cast<u8>(k));
      e5m2[k] = e5m2_to_float(static_cast<u8>(k));
    }
  }
};
const Tables tables;

inline double value(u16 e, const u8* p) {
  switch (e) {
    case E_F16: {
      u16 v;
      std::memcpy(&v, p, 2);
      return half_to_float(v);
    }
    case E_BF16: {
      u16 v;
      std::memcpy(&v, p, 2);
      return bf16_to_float(v);
    }
    case E_TF32: {
      u32 v;
      std::memcpy(&v, p, 4);
      return std::bit_cast<float>(v & 0xffffe000u);
    }  // the lower 13 bits are ignored
    case E_E4M3:
      return tables.e4m3[*p];
    case E_E5M2:
      return tables.e5m2[*p];
    case E_S8:
      return static_cast<s8>(*p);
    case E_U8:
      return *p;
    default: {
      double v;
      std::memcpy(&v, p, 8);
      return v;
    }
  }
}
// n values that lie one behind the other
inline void values(u16 e, const u8* p, double* out, int n, int stride) {
  switch (e) {  // one loop a type, so that the compiler sees through `value`
    case E_F16:
      for (int k = 0; k < n; ++k) {
        u16 v;
        std::memcpy(&v, p + k * 2, 2);
        out[k * stride] = _cvtsh_ss(v);
      }
      return;
    case E_BF16:
      for (int k = 0; k < n; ++k) {
        u16 v;
        std::memcpy(&v, p + k * 2, 2);
        out[k * stride] = bf16_to_float(v);
      }
      return;
    case E_E4M3:
      for (int k = 0; k < n; ++k) out[k * stride] = tables.e4m3[p[k]];
      return;
    case E_S8:
      for (int k = 0; k < n; ++k) out[k * stride] = static_cast<s8>(p[k]);
      return;
    default: {
      const int s = bytes_of(e);
      for (int k = 0; k < n; ++k) out[k * stride] = value(e, p + k * s);
    }
  }
}

// The fragments of A (16 x K) and B (K x 8) hold, per 32-bit register (64-bit for f64), `per` neighbours of k; see the formulas
// of every m16n8k* section: row = group + 8 * (register & 1), col = per * thread + element + 4 * per * (register >> 1).
void read_a(const Warp& w, const u32* rows, u32 regs, u16 e, int m_rows, double* a, int k_size) {
  const int size = bytes_of(e), reg = e == E_F64 ? 8 : 4, per = reg / size;
  for (u32 r = 0; r < regs; ++r)
    for (int l = 0; l < 32; ++l) {
      int g = l >> 2, t = l & 3, row = m_rows == 8 ? g : g + 8 * static_cast<int>(r & 1),
          col = per * t + 4 * per * static_cast<int>(m_rows == 8 ? r : r >> 1);
      values(e, w.rf + rows[r] + l * reg, a + row * k_size + col, per, 1);
    }
}
void read_b(const Warp& w, const u32* rows, u32 regs, u16 e, double* b, int n_size) {
  const int size = bytes_of(e), reg = e == E_F64 ? 8 : 4, per = reg / size;
  for (u32 r = 0; r < regs; ++r)
    for (int l = 0; l < 32; ++l) {
      int g = l >> 2, t = l & 3, k = per * t + 4 * per * static_cast<int>(r);
      values(e, w.rf + rows[r] + l * reg, b + k * n_size + g, per, n_size);
    }
}
void multiply(const double* a, const double* b, double* acc, int m, int n, int k) {
  for (int r = 0; r < m; ++r) {
    double* out = acc + r * n;
    for (int x = 0; x < k; ++x) {
      const double v = a[r * k + x];
      const double* in = b + x * n;
      for (int c = 0; c < n; ++c) out[c] += v * in[c];
    }
  }
}

// accumulators: 0 f32, 1 f16, 2 s32, 3 f64
void read_c(const Warp& w, const u32* rows, u32 regs, u16 kind, int m, double* c, int n_size) {
  (void)m;
  for (u32 r = 0; r < regs; ++r)
    for (int l = 0; l < 32; ++l) {
      int g = l >> 2, t = l & 3;
      if (kind == 1) {  // two columns a register; rows alternate, then 8 further columns
        int row = g + 8 * static_cast<int>(r & 1), col = 2 * t + 8 * static_cast<int>(r >> 1);
        u32 v = w.row<u32>(rows[r])[l];
        c[row * n_size + col] = half_to_float(static_cast<u16>(v));
        c[row * n_size + col + 1] = half_to_float(static_cast<u16>(v >> 16));
      } else {
        int row = g + 8 * static_cast<int>(r >> 1 & 1), col = 2 * t + static_cast<int>(r & 1) + 8 * static_cast<int>(r >> 2);
        c[row * n_size + col] = kind == 0   ? w.row<float>(rows[r])[l]
                                : kind == 2 ? w.row<s32>(rows[r])[l]
                                            : w.row<double>(rows[r])[l];
      }
    }
}
void write_d(const Warp& w, const u32* rows, u32 regs, u16 kind, const double* c, int n_size, bool saturate) {
  for (u32 r = 0; r < regs; ++r)
    for (int l = 0; l < 32; ++l) {
      int g = l >> 2, t = l & 3;
      if (kind == 1) {
        int row = g + 8 * static_cast<int>(r & 1), col = 2 * t + 8 * static_cast<int>(r >> 1);
        w.row<u32>(rows[r])[l] = static_cast<u32>(double_to_half(c[row * n_size + col])) |
                                 static_cast<u32>(double_to_half(c[row * n_size + col + 1])) << 16;
      } else {
        int row = g + 8 * static_cast<int>(r >> 1 & 1), col = 2 * t + static_cast<int>(r & 1) + 8 * static_cast<int>(r >> 2);
        double v = c[row * n_size + col];
        if (kind == 0) {
          float f = static_cast<float>(v);
          w.row<float>(rows[r])[l] = f == f ? f : std::bit_cast<float>(0x7fffffffu);
        } else if (kind == 2)
          w.row<s32>(rows[r])[l] = saturate ? static_cast<s32>(std::clamp(v, -2147483648.0, 2147483647.0))
                                            : static_cast<s32>(static_cast<u32>(static_cast<s64>(v)));
        else
          w.row<double>(rows[r])[l] = v;
      }
    }
}

// mma.sync: list = d, a, b, c; imm: register counts 8 bits each; imm2: m, k; aux: element of A | element of B << 4 |
// accumulator << 8 | saturate << 12
void h_mma(Warp& w, const Instruction& i, u32) {
  const u32* rows = w.body->lists.data() + i.list;
  const u32 nd = i.imm & 255, na = i.imm >> 8 & 255, nb = i.imm >> 16 & 255, nc = i.imm >> 24 & 255;
  const int m = static_cast<int>(i.imm2 & 255), k = static_cast<int>(i.imm2 >> 8 & 255);
  const u16 ea = i.aux & 15, eb = i.aux >> 4 & 15, kind = i.aux >> 8 & 15;
  double a[16 * 32], b[32 * 8], c[16 * 8];
  read_a(w, rows + nd, na, ea, m, a, k);
  read_b(w, rows + nd + na, nb, eb, b, 8);
  read_c(w, rows + nd + na + nb, nc, kind, m, c, 8);
  multiply(a, b, c, m, 8, k);
  write_d(w, rows, nd, kind, c, 8, i.aux >> 12 & 1);
  w.launch->counters->mma_flops += static_cast<u64>(2 * m * 8 * k);
}

// ldmatrix: aux: trans; n matrices
void h_ldmatrix(Warp& w, const Instruction& i, u32) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  const u32* rows = w.body->lists.data() + i.list;
  for (u32 q = 0; q < i.n; ++q) {
    u16 x[8][8];
    for (u32 r = 0; r < 8; ++r) {
      u32 l = q * 8 + r;
      u64 at = a[l] >= shared_window ? a[l] - shared_window : a[l];
      if (at & 15)
        fault(Fault::Kind::misaligned, w, i, static_cast<int>(l),
              "ldmatrix: row address " + std::to_string(at) + " is no multiple of 16");
      std::memcpy(x[r], shared_lane(w, i, static_cast<int>(l), at, 16, false), 16);
    }
    u32* d = w.row<u32>(rows[q]);
    for (int l = 0; l < 32; ++l) {
      int g = l >> 2, t = (l & 3) * 2;
      d[l] = i.aux ? static_cast<u32>(x[t][g]) | static_cast<u32>(x[t + 1][g]) << 16
                   : static_cast<u32>(x[g][t]) | static_cast<u32>(x[g][t + 1]) << 16;
    }
  }
  w.launch->counters->shared_bytes += 128u * i.n;
}
void h_stmatrix(Warp& w, const Instruction& i, u32) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  const u32* rows = w.body->lists.data() + i.list;
  for (u32 q = 0; q < i.n; ++q) {
    u16 x[8][8];
    const u32* d = w.row<u32>(rows[q]);
    for (int l = 0; l < 32; ++l) {
      int g = l >> 2, t = (l & 3) * 2;
      (i.aux ? x[t][g] : x[g][t]) = static_cast<u16>(d[l]);
      (i.aux ? x[t + 1][g] : x[g][t + 1]) = static_cast<u16>(d[l] >> 16);
    }
    for (u32 r = 0; r < 8; ++r) {
      u32 l = q * 8 + r;
      u64 at = a[l] >= shared_window ? a[l] - shared_window : a[l];
      if (at & 15) fault(Fault::Kind::misaligned, w, i, static_cast<int>(l), "stmatrix: row address is no multiple of 16");
      std::memcpy(shared_lane(w, i, static_cast<int>(l), at, 16, true), x[r], 16);
    }
  }
  ++w.launch->effects;
  w.launch->counters->shared_bytes += 128u * i.n;
}
void h_movmatrix(Warp& w, const Instruction& i, u32) {
  u16 x[8][8];
  const u32* a = w.row<u32>(i.a);
  for (int l = 0; l < 32; ++l) {
    x[l >> 2][(l & 3) * 2] = static_cast<u16>(a[l]);
    x[l >> 2][(l & 3) * 2 + 1] = static_cast<u16>(a[l] >> 16);
  }
  u32* d = w.row<u32>(i.d);
  for (int l = 0; l < 32; ++l)
    d[l] = static_cast<u32>(x[(l & 3) * 2][l >> 2]) | static_cast<u32>(x[(l & 3) * 2 + 1][l >> 2]) << 16;
}

// ---- wgmma ----
// A warp computes its 16 of the 64 rows. imm: nd | na << 16; imm2: n | k << 16; aux as for mma | flags in imm3: 1 scale-a -1, 2
// scale-b -1, 4 trans a, 8 trans b, 16 saturate. a: descriptor of A (or list: registers of A), b: descriptor of B, c: predicate
// scale-d (0: none)
struct Desc {
  u32 start, lbo, sbo, base, mode;
  explicit Desc(u64 d)
      : start(static_cast<u32>(d & 0x3fff) << 4),
        lbo(static_cast<u32>(d >> 16 & 0x3fff) << 4),
        sbo(static_cast<u32>(d >> 32 & 0x3fff) << 4),
        base(static_cast<u32>(d >> 49 & 7)),
        mode(static_cast<u32>(d >> 62)) {}
  // swizzle mode: 0 none, 1 128 B, 2 64 B, 3 32 B
  u32 span() const { return mode == 1 ? 128 : mode == 2 ? 64 : mode == 3 ? 32 : 16; }
  u32 swizzled(u32 a) const {
    u32 x = a - (base << 7);  // base offset: (start of the repeating pattern >> 7) & 7
    u32 mask = mode == 1 ? 0x70 : mode == 2 ? 0x30 : mode == 3 ? 0x10 : 0;
    return a ^ (x >> 3 & mask);
  }
  // 16-byte piece c (of 2) of row mn, K-major
  u32 k_major(u32 mn, u32 c) const {
    return swizzled(mode == 0 ? start + mn % 8 * 16 + mn / 8 * sbo + c * lbo : start + mn % 8 * span() + mn / 8 * sbo + c * 16);
  }
  // the 16-byte piece that holds elements 8 * (mn / 8) .. of column k, MN-major, 16-bit elements
  u32 mn_major(u32 mn8, u32 k) const {
    if (mode == 0) return start + mn8 * sbo + k % 8 * 16 + k / 8 * lbo;
    u32 w = span() / 16;
    return swizzled(start + mn8 % w * 16 + mn8 / w * lbo + k % 8 * span() + k / 8 * sbo);
  }
};
const u8* piece(Warp& w, const Instruction& i, u32 address) {
  const Launch& L = *w.launch;
  if (address < L.shared_base || address + 16 > L.shared_base + L.shared_bytes)
    fault(Fault::Kind::illegal_address, w, i, -1,
          "wgmma: descriptor reaches shared address " + std::to_string(address) + ", outside the block's " +
              std::to_string(L.shared_bytes) + " bytes from " + std::to_string(L.shared_base));
  return w.cta->smem.data() + (address - L.shared_base);
}
// calls f(address of a 16-byte piece, mn, k of its first element, along k?)
template <class F>
void pieces(const Desc& d, bool mn_major, u32 mn0, u32 mns, u32 ks, int size, F f) {
  if (!mn_major) {
    for (u32 r = 0; r < mns; ++r)
      for (u32 c = 0; c < 2; ++c) f(d.k_major(mn0 + r, c), r, c * (16 / static_cast<u32>(size)));
  } else {
    for (u32 k = 0; k < ks; ++k)
      for (u32 r = 0; r < mns; r += 8) f(d.mn_major((mn0 + r) / 8, k), r, k);
  }
}
void run_wgmma(Warp& w, const Instruction& i, u64 da, u64 db, bool scale_d) {
  const u32* rows = w.body->lists.data() + i.list;
  const u32 nd = static_cast<u32>(i.imm & 0xffff), na = static_cast<u32>(i.imm >> 16 & 0xffff);
  const u32 n = static_cast<u32>(i.imm2 & 0xffff), k = static_cast<u32>(i.imm2 >> 16);
  const u16 ea = i.aux & 15, eb = i.aux >> 4 & 15, kind = i.aux >> 8 & 15;
  static thread_local std::vector<double> a, b, c;
  a.assign(16 * k, 0);
  b.assign(k * n, 0);
  c.assign(16 * n, 0);
  if (na)
    read_a(w, rows + nd, na, ea, 16, a.data(), static_cast<int>(k));
  else {
    const bool t = i.imm3 & 4;
    pieces(Desc(da), t, w.id % 4 * 16, 16, k, bytes_of(ea), [&](u32 at, u32 r, u32 x) {
      const u8* p = piece(w, i, at);
      race_access(w, i, -1, *w.cta, at - static_cast<u32>(w.launch->shared_base), 16, false);
      if (t)
        values(ea, p, a.data() + r * k + x, 8, static_cast<int>(k));
      else
        values(ea, p, a.data() + r * k + x, 16 / bytes_of(ea), 1);
    });
  }
  const bool t = i.imm3 & 8;
  pieces(Desc(db), t, 0, n, k, bytes_of(eb), [&](u32 at, u32 r, u32 x) {
    const u8* p = piece(w, i, at);
    race_access(w, i, -1, *w.cta, at - static_cast<u32>(w.launch->shared_base), 16, false);
    if (t)
      values(eb, p, b.data() + x * n + r, 8, 1);
    else
      values(eb, p, b.data() + x * n + r, 16 / bytes_of(eb), static_cast<int>(n));
  });
  if (i.imm3 & 1)
    for (double& v : a) v = -v;
  if (i.imm3 & 2)
    for (double& v : b) v = -v;
  if (scale_d) read_c(w, rows, nd, kind, 16, c.data(), static_cast<int>(n));
  multiply(a.data(), b.data(), c.data(), 16, static_cast<int>(n), static_cast<int>(k));
  write_d(w, rows, nd, kind, c.data(), static_cast<int>(n), i.imm3 & 16);
}
void mark(Warp& w, const Instruction& i) {
  const u32* rows = w.body->lists.data() + i.list;
  const u32 nd = static_cast<u32>(i.imm & 0xffff), na = static_cast<u32>(i.imm >> 16 & 0xffff);
  if (w.in_flight.empty()) w.in_flight.assign(w.body->reg_bytes / 64 + w.body->image.size() / 64 + 2, 0);
  for (u32 r = 0; r < nd; ++r) w.in_flight[rows[r] >> 6] |= 1;
  for (u32 r = 0; r < na; ++r) w.in_flight[rows[nd + r] >> 6] |= 2;
}
void h_wgmma(Warp& w, const Instruction& i, u32 m) {
  const u32 l0 = w.first_lane(m);
  const u32 na = static_cast<u32>(i.imm >> 16 & 0xffff);
  u64 da = 0, db = w.row<u64>(i.b)[l0];
  if (!na) da = w.row<u64>(i.a)[l0];
  u32 p = i.c ? *w.row<u32>(i.c) : ~0u;
  if (i.source_not) p = ~p;
  for (u32 t = m; t; t &= t - 1) {
    u32 l = static_cast<u32>(std::countr_zero(t));
    if (w.row<u64>(i.b)[l] != db || (!na && w.row<u64>(i.a)[l] != da) || (p >> l & 1) != (p >> l0 & 1))
      fault(Fault::Kind::illegal_instruction, w, i, static_cast<int>(l), "wgmma: operands differ within the warp");
  }
  Launch& L = *w.launch;
  if (!w.written_at.empty()) {
    const u32* rows = w.body->lists.data() + i.list;
    for (u32 r = 0; r < static_cast<u32>(i.imm & 0xffff) + na; ++r)
      if (w.written_at[rows[r] >> 6] == w.fence_epoch) {
        warn_once(w, i, "wgmma uses a register that was written after the last wgmma.fence");
        break;
      }
  }
  const u32 n = static_cast<u32>(i.imm2 & 0xffff), k = static_cast<u32>(i.imm2 >> 16);
  L.counters->mma_flops += 2ull * 16 * n * k;
  ++w.wgmma_issued;
  for (u64 d : {na ? db : da, db}) {
    Desc x(d);
    if (x.base) warn_once(w, i, "wgmma: base offset in a descriptor is not zero");
    if (d & ~(0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 7ull << 49 | 3ull << 62))
      warn_once(w, i, "wgmma: reserved bits of a descriptor are set");
    if (x.mode && !x.base && (x.start & (x.span() * 8 - 1) & ~127u))
      warn_once(w, i, "wgmma: operand does not start at its swizzle pattern (base offset 0)");
  }
  if (!w.cta->generic_write.empty()) {
    auto check = [&](u32 at, u32, u32) {
      piece(w, i, at);
      check_async_read(w, *w.cta, at - static_cast<u32>(L.shared_base), 16, i);
    };
    if (!na) pieces(Desc(da), i.imm3 & 4, w.id % 4 * 16, 16, k, bytes_of(i.aux & 15), check);
    if (w.id % 4 == 0) pieces(Desc(db), i.imm3 & 8, 0, n, k, bytes_of(i.aux >> 4 & 15), check);
  }
  if (L.wgmma_mode == Completion::early) {
    run_wgmma(w, i, da, db, p >> l0 & 1);
    return;
  }
  w.wgmmas.push_back({&i, da, db, static_cast<bool>(p >> l0 & 1), false});
  mark(w, i);
}
void h_wgmma_commit(Warp& w, const Instruction&, u32) {
  if (w.launch->wgmma_mode == Completion::early) return;
  w.wgmmas.push_back({nullptr, 0, 0, false, true});
  ++w.wgmma_groups;
  if (w.launch->wgmma_mode == Completion::random && (random_next(w.launch->seed) & 1)) perform_wgmma(w, 0);
}
void h_wgmma_wait(Warp& w, const Instruction& i, u32) { perform_wgmma(w, static_cast<u32>(i.imm)); }
void h_wgmma_fence(Warp& w, const Instruction&, u32) { ++w.fence_epoch; }

bool element_of(Type t, u16& e) {
  switch (t) {
    case Type::f16:
      e = E_F16;
      return true;
    case Type::bf16:
      e = E_BF16;
      return true;
    case Type::tf32:
      e = E_TF32;
      return true;
    case Type::e4m3:
      e = E_E4M3;
      return true;
    case Type::e5m2:
      e = E_E5M2;
      return true;
    case Type::s8_:
      e = E_S8;
      return true;
    case Type::u8_:
      e = E_U8;
      return true;
    case Type::f64:
      e = E_F64;
      return true;
    default:
      return false;
  }
}
bool kind_of(Type t, u16& k) {
  switch (t) {
    case Type::f32:
      k = 0;
      return true;
    case Type::f16:
      k = 1;
      return true;
    case Type::s32_:
      k = 2;
      return true;
    case Type::f64:
      k = 3;
      return true;
    default:
      return false;
  }
}
bool shape(const Mnemonic& op, int& m, int& n, int& k) {
  for (std::size_t x = 1; x < op.parts.size(); ++x)
    if (std::sscanf(std::string(op.parts[x]).c_str(), "m%dn%dk%d", &m, &n, &k) == 3) return true;
  return false;
}
}  // namespace

void perform_wgmma(Warp& w, u32 keep) {
  if (w.wgmma_groups <= keep) return;
  while (w.wgmma_groups > keep) {
    WgmmaOp op = w.wgmmas.front();
    w.wgmmas.pop_front();
    if (op.ins == nullptr)
      --w.wgmma_groups;
    else
      run_wgmma(w, *op.ins, op.desc_a, op.desc_b, op.scale_d);
  }
  std::fill(w.in_flight.begin(), w.in_flight.end(), u8{0});
  for (const WgmmaOp& op : w.wgmmas)
    if (op.ins) mark(w, *op.ins);
}

bool decode_mma(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  const std::string_view o = op.parts[0];
  auto list = [&](std::vector<u32>& rows, const Operand& a, bool dst, Type t) {
    u32 n = 0;
    auto one = [&](const Operand& x) {
      u8 s = 0;
      rows.push_back(dst ? b.dest(x, &s) : b.source(x, t, &s));
      if (s != size_of(t)) throw DecodeError("fragment register of another size");
      ++n;
    };
    if (a.k == Operand::vec)
      for (const Operand& x : a.sub) one(x);
    else
      one(a);
    return n;
  };
  auto keep = [&](const std::vector<u32>& rows) {
    ins.list = static_cast<u32>(b.fn->body.lists.size());
    ins.list_n = static_cast<u32>(rows.size());
    b.fn->body.lists.insert(b.fn->body.lists.end(), rows.begin(), rows.end());
  };
  std::vector<u32> rows;
  if (o == "ldmatrix" || o == "stmatrix") {
    if (!op.has("m8n8") || !op.has("b16")) return false;
    ins.kind = Kind::aligned;
    const bool ld = o == "ldmatrix";
    if (args.size() != 2) return false;
    ins.n = static_cast<u8>(list(rows, args[ld ? 0 : 1], ld, Type::b32));
    b.address(args[ld ? 1 : 0], ins);
    keep(rows);
    ins.list_written = ld;
    ins.aux = op.has("trans");
    if (ins.n != (op.has("x1") ? 1 : op.has("x2") ? 2 : op.has("x4") ? 4 : 0)) return false;
    ins.fn = ld ? h_ldmatrix : h_stmatrix;
    return true;
  }
  if (o == "movmatrix") {
    if (!op.has("trans") || args.size() != 2) return false;
    ins.kind = Kind::aligned;
    ins.d = b.dest(args[0]);
    ins.a = b.source(args[1], Type::b32);
    ins.fn = h_movmatrix;
    return true;
  }
  if (o == "mma") {
    int m, n, k;
    if (!shape(op, m, n, k) || n != 8 || (m != 16 && m != 8) || args.size() != 4 || op.has("sp")) return false;
    if (!op.has("row") || !op.has("col")) return false;
    Type td = op.type(3), ta = op.type(2), tb = op.type(1), tc = op.type(0);
    u16 ea, eb, kd, kc;
    if (!element_of(ta, ea) || !element_of(tb, eb) || !kind_of(td, kd) || !kind_of(tc, kc) || kd != kc) return false;
    if (m == 8 && ta != Type::f64) return false;
    const Type reg = ta == Type::f64 ? Type::b64 : Type::b32, acc = kd == 3 ? Type::b64 : Type::b32;
    u32 nd = list(rows, args[0], true, acc), na = list(rows, args[1], false, reg), nb = list(rows, args[2], false, reg),
        nc = list(rows, args[3], false, acc);
    keep(rows);
    const u32 per = ta == Type::f64 ? 1u : 4u / static_cast<u32>(bytes_of(ea));
    if (na * per * 32 != static_cast<u32>(m * k) || nb * per * 32 != static_cast<u32>(8 * k) || nd != nc ||
        nd * (kd == 1 ? 2 : 1) * 32 != static_cast<u32>(m * 8))
      return false;
    ins.imm = nd | na << 8 | nb << 16 | static_cast<s64>(nc) << 24;
    ins.imm2 = m | k << 8;
    ins.aux = static_cast<u16>(ea | eb << 4 | kd << 8 | (op.has("satfinite") ? 1 << 12 : 0));
    ins.kind = Kind::aligned;
    ins.fn = h_mma;
    return true;
  }
  if (o == "wgmma") {
    ins.kind = Kind::aligned;
    b.fn->body.async_proxy = true;
    if (op.has("fence")) {
      ins.fn = h_wgmma_fence;
      return true;
    }
    if (op.has("commit_group")) {
      ins.fn = h_wgmma_commit;
      return true;
    }
    if (op.has("wait_group")) {
      ins.fn = h_wgmma_wait;
      ins.imm = static_cast<s64>(args.at(0).bits);
      return true;
    }
    int m, n, k;
    if (!op.has("mma_async") || op.has("sp") || !shape(op, m, n, k) || m != 64 || args.size() < 4) return false;
    Type td = op.type(2), ta = op.type(1), tb = op.type(0);
    u16 ea, eb, kd;
    if (!element_of(ta, ea) || !element_of(tb, eb) || !kind_of(td, kd) || kd == 3) return false;
    if (k * bytes_of(ea) != 32) return false;
    u32 nd = list(rows, args[0], true, Type::b32), na = 0;
    if (nd * (kd == 1 ? 2 : 1) * 32 != static_cast<u32>(16 * n)) return false;
    if (args[1].k == Operand::vec) {
      na = list(rows, args[1], false, Type::b32);
      if (na != 4) return false;
    } else
      ins.a = b.source(args[1], Type::b64);
    keep(rows);
    ins.b = b.source(args[2], Type::b64);
    ins.c = b.source(args[3], Type::pred);
    ins.source_not = args[3].is_not;
    std::vector<s64> im;
    for (std::size_t x = 4; x < args.size(); ++x) {
      if (args[x].k != Operand::imm) return false;
      im.push_back(static_cast<s64>(args[x].bits));
    }
    s64 flags = op.has("satfinite") ? 16 : 0;
    const bool scales = kd != 2, trans = ea == E_F16 || ea == E_BF16;
    std::size_t want = (scales ? 2u : 0u) + (trans ? (na ? 1u : 2u) : 0u);
    if (im.size() != want) return false;
    if (scales) {
      for (int x = 0; x < 2; ++x) {
        if (im[static_cast<std::size_t>(x)] == -1)
          flags |= x + 1;
        else if (im[static_cast<std::size_t>(x)] != 1)
          return false;
      }
    }
    if (trans) {
      if (na) {
        if (im[2]) flags |= 8;
      } else {
        if (im[2]) flags |= 4;
        if (im[3]) flags |= 8;
      }
    }
    ins.imm = nd | na << 16;
    ins.imm2 = n | k << 16;
    ins.imm3 = flags;
    ins.aux = static_cast<u16>(ea | eb << 4 | kd << 8);
    ins.fn = h_wgmma;
    ins.is_wgmma = true;
    b.fn->body.has_wgmma = true;
    return true;
  }
  return false;
}
}  // namespace gpu_model
