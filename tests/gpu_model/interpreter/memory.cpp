// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Loads, stores, atomics, address conversions, cp.async, mbarrier, bulk and tensor copies, st.async.
#include <algorithm>
#include <mutex>

#include "decoder.hpp"
#include "lanes.hpp"
#include "machine.hpp"

namespace gpu_model {

// ---- ranges of host memory ----
namespace {
std::mutex ranges_mutex;
std::map<u64, Range> all_ranges;
}  // namespace
std::atomic<u64> ranges_version{1};
void allow_range(const void* base, std::size_t bytes, bool device) {
  std::lock_guard lock(ranges_mutex);
  u64 b = reinterpret_cast<u64>(base);
  all_ranges[b] = {b, b + bytes, device};
  ++ranges_version;
}
void forbid_range(const void* base) {
  std::lock_guard lock(ranges_mutex);
  all_ranges.erase(reinterpret_cast<u64>(base));
  ++ranges_version;
}
std::vector<Range> ranges_now(u64& version) {
  std::lock_guard lock(ranges_mutex);
  std::vector<Range> r;
  for (auto& [b, x] : all_ranges) r.push_back(x);
  version = ranges_version;
  return r;
}

void check_global(Warp& w, const Instruction& i, int lane, u64 a, u64 bytes, bool write) {
  Launch& L = *w.launch;
  if (a >= L.hot_base && a + bytes <= L.hot_end) return;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto it = std::upper_bound(L.ranges.begin(), L.ranges.end(), a, [](u64 x, const Range& r) { return x < r.base; });
    if (it != L.ranges.begin()) {
      --it;
      if (a >= it->base && a + bytes <= it->end) {
        L.hot_base = it->base;
        L.hot_end = it->end;
        return;
      }
    }
    if (attempt == 0) {
      if (ranges_version.load(std::memory_order_relaxed) == L.ranges_seen) break;
      L.ranges = ranges_now(L.ranges_seen);
    }
  }
  u64 params = reinterpret_cast<u64>(L.params);
  if (!write && a >= params && a + bytes <= params + L.body->param_bytes) return;
  char text[160];
  const Range* near = nullptr;
  for (const Range& r : L.ranges)
    if (r.base <= a) near = &r;
  std::snprintf(text, sizeof text, "%s of %llu bytes at 0x%llx is outside every allocation", write ? "write" : "read",
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(a));
  std::string s = text;
  if (near) {
    std::snprintf(text, sizeof text, " (%llu bytes past the start of one of %llu bytes)",
                  static_cast<unsigned long long>(a - near->base), static_cast<unsigned long long>(near->end - near->base));
    s += text;
  }
  fault(Fault::Kind::illegal_address, w, i, lane, s);
}

Block& cta_of(Warp& w, const Instruction& i, int lane, u32 address) {
  u32 rank = address >> rank_shift;
  if (rank == 0) return *w.cta;
  if (rank > w.cl->ctas.size())
    fault(Fault::Kind::illegal_address, w, i, lane, "shared::cluster address of no block of the cluster");
  return *w.cl->ctas[rank - 1];
}
u8* shared_pointer(Warp& w, const Instruction& i, int lane, u32 address, u32 bytes, Block** owner) {
  Block& c = cta_of(w, i, lane, address);
  u32 off = address & ((1u << rank_shift) - 1);
  if (off < w.launch->shared_base || off + bytes > w.launch->shared_base + w.launch->shared_bytes)
    fault(Fault::Kind::illegal_address, w, i, lane,
          "shared address " + std::to_string(off) + " (+" + std::to_string(bytes) + ") is outside the block's " +
              std::to_string(w.launch->shared_bytes) + " bytes from " + std::to_string(w.launch->shared_base));
  if (&c != w.cta && c.live_warps == 0)
    fault(Fault::Kind::illegal_address, w, i, lane, "shared memory of a block of the cluster that has exited");
  if (owner) *owner = &c;
  return c.smem.data() + (off - w.launch->shared_base);
}

void gather(const Warp& w, u32 row, u8 size, s64 imm, u64* out) {
  if (size == 8) {
    const u64* a = w.row<u64>(row);
    for (int l = 0; l < 32; ++l) out[l] = a[l] + static_cast<u64>(imm);
  } else if (size == 4) {
    const u32* a = w.row<u32>(row);
    for (int l = 0; l < 32; ++l) out[l] = static_cast<u32>(a[l] + static_cast<u32>(imm));
  } else {
    const u16* a = w.row<u16>(row);
    for (int l = 0; l < 32; ++l) out[l] = static_cast<u32>(a[l] + static_cast<u32>(imm));
  }
}

void note_generic_write(Warp& w, Block& c, u32 offset, u32 bytes) {
  u32 v = (w.id % 1024 + 1) << 20 | (w.proxy_epoch & 0xfffff);
  for (u32 g = offset >> 4; g <= (offset + bytes - 1) >> 4; ++g) c.generic_write[g] = v;
}
void check_async_read(Warp& w, Block& c, u32 offset, u32 bytes, const Instruction& i) {
  if (c.generic_write.empty()) return;
  for (u32 g = offset >> 4; g <= (offset + bytes - 1) >> 4; ++g) {
    u32 v = c.generic_write[g];
    if (!v) continue;
    Warp* writer = c.warps[(v >> 20) - 1];
    if ((writer->proxy_epoch & 0xfffff) == (v & 0xfffff)) {
      if (w.launch->counters->unfenced_async_reads++ == 0)
        warn_once(w, i, "async proxy reads shared memory that st wrote, without fence.proxy.async");
    }
  }
}

namespace {
[[noreturn]] void misaligned(Warp& w, const Instruction& i, int lane, u64 a, u32 bytes) {
  char text[96];
  std::snprintf(text, sizeof text, "address 0x%llx is no multiple of %u", static_cast<unsigned long long>(a), bytes);
  fault(Fault::Kind::misaligned, w, i, lane, text);
}

}  // namespace
u8* shared_lane(Warp& w, const Instruction& i, int lane, u64 a, u32 bytes, bool write) {
  Block* owner = nullptr;
  u8* p = shared_pointer(w, i, lane, static_cast<u32>(a), bytes, &owner);
  u32 off = static_cast<u32>(p - owner->smem.data());
  if (write && !owner->generic_write.empty()) note_generic_write(w, *owner, off, bytes);
  race_access(w, i, lane, *owner, off, bytes, write);
  return p;
}

void resolve(Warp& w, const Instruction& i, u32 m, u64* a, u32 bytes, bool write) {
  Launch& L = *w.launch;
  const u32 first = w.first_lane(m);
  if (m != ~0u)
    for (u32 l = 0; l < 32; ++l)
      if (!(m >> l & 1)) a[l] = a[first];
  u64 lo = a[0], hi = a[0], bits = 0;
  for (int l = 0; l < 32; ++l) {
    lo = std::min(lo, a[l]);
    hi = std::max(hi, a[l]);
    bits |= a[l];
  }
  if (bits & (bytes - 1))
    for (int l = 0; l < 32; ++l)
      if ((m >> l & 1) && (a[l] & (bytes - 1))) misaligned(w, i, l, a[l], bytes);
  switch (i.space) {
    case Space::generic:
      if (hi >= shared_window) {
        for (u32 l = 0; l < 32; ++l) {
          if (!(m >> l & 1)) {
            continue;
          }
          if (a[l] >= local_window) {
            u64 off = a[l] - local_window;
            if (off + bytes > w.body->local_bytes)
              fault(Fault::Kind::illegal_address, w, i, static_cast<int>(l), "local address out of range");
            a[l] = reinterpret_cast<u64>(w.cta->local.data() + (w.id % 1024 * 32 + l) * w.body->local_bytes + off);
          } else if (a[l] >= shared_window)
            a[l] = reinterpret_cast<u64>(shared_lane(w, i, static_cast<int>(l), a[l] - shared_window, bytes, write));
          else
            check_global(w, i, static_cast<int>(l), a[l], bytes, write);
        }
        for (u32 l = 0; l < 32; ++l)
          if (!(m >> l & 1)) a[l] = a[first];
        return;
      }
      [[fallthrough]];
    case Space::global:
    case Space::constant:
      if (lo >= L.hot_base && hi + bytes <= L.hot_end) return;
      for (auto& [base, end] : L.hot)
        if (lo >= base && hi + bytes <= end && L.hot_seen == ranges_version.load(std::memory_order_relaxed)) return;
      check_global(w, i, static_cast<int>(first), a[first], bytes, write);
      if (L.hot_seen != ranges_version.load(std::memory_order_relaxed)) {
        L.hot_seen = ranges_version.load(std::memory_order_relaxed);
        for (auto& h : L.hot) h = {1, 0};
      }
      L.hot[L.hot_next++ % 4] = {L.hot_base, L.hot_end};
      if (lo >= L.hot_base && hi + bytes <= L.hot_end) return;
      for (int l = 0; l < 32; ++l)
        if (m >> l & 1) check_global(w, i, l, a[l], bytes, write);
      return;
    case Space::shared:
    case Space::cluster:
      if (lo >= L.shared_base && hi + bytes <= L.shared_base + L.shared_bytes && !L.race &&
          (!write || w.cta->generic_write.empty())) {
        u64 add = reinterpret_cast<u64>(w.cta->smem.data()) - L.shared_base;
        for (int l = 0; l < 32; ++l) a[l] += add;
        return;
      }
      for (int l = 0; l < 32; ++l)
        if (m >> l & 1) a[l] = reinterpret_cast<u64>(shared_lane(w, i, l, a[l], bytes, write));
      for (u32 l = 0; l < 32; ++l)
        if (!(m >> l & 1)) a[l] = a[first];
      return;
    case Space::local:
      for (u32 l = 0; l < 32; ++l) {
        if (!(m >> l & 1)) continue;
        if (a[l] + bytes > w.body->local_bytes)
          fault(Fault::Kind::illegal_address, w, i, static_cast<int>(l), "local address out of range");
        a[l] = reinterpret_cast<u64>(w.cta->local.data() + (w.id % 1024 * 32 + l) * w.body->local_bytes + a[l]);
      }
      for (u32 l = 0; l < 32; ++l)
        if (!(m >> l & 1)) a[l] = a[first];
      return;
    case Space::param:
      if (hi + bytes > w.body->param_bytes)
        fault(Fault::Kind::illegal_address, w, i, static_cast<int>(first), "parameter address out of range");
      for (int l = 0; l < 32; ++l) a[l] += reinterpret_cast<u64>(L.params);
      return;
  }
}

namespace {
// M: memory type (its signedness says how it widens), R: register type
template <class M, class R>
void h_ld(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  const u32 bytes = static_cast<u32>(sizeof(M)) * i.n;
  resolve(w, i, m, a, bytes, false);
  Counters& c = *w.launch->counters;
  if (i.space == Space::global || i.space == Space::generic)
    c.global_load_bytes += static_cast<u64>(std::popcount(m)) * bytes;
  else if (i.space == Space::shared)
    c.shared_bytes += static_cast<u64>(std::popcount(m)) * bytes;
  if (i.n == 1) {
    R* d = w.row<R>(i.d);
    if (m == ~0u)
      for (int l = 0; l < 32; ++l) {
        M v;
        std::memcpy(&v, reinterpret_cast<const void*>(a[l]), sizeof v);
        d[l] = static_cast<R>(v);
      }
    else
      for (; m; m &= m - 1) {
        int l = std::countr_zero(m);
        M v;
        std::memcpy(&v, reinterpret_cast<const void*>(a[l]), sizeof v);
        d[l] = static_cast<R>(v);
      }
  } else {
    const u32* rows = w.body->lists.data() + i.list;
    for (u32 k = 0; k < i.n; ++k) {
      R* d = w.row<R>(rows[k]);
      if (rows[k] == 0) continue;
      for (u32 t = m; t; t &= t - 1) {
        int l = std::countr_zero(t);
        M v;
        std::memcpy(&v, reinterpret_cast<const u8*>(a[l]) + k * sizeof(M), sizeof v);
        d[l] = static_cast<R>(v);
      }
    }
  }
}
template <class M, class R>
void h_st(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  const u32 bytes = static_cast<u32>(sizeof(M)) * i.n;
  resolve(w, i, m, a, bytes, true);
  Launch& L = *w.launch;
  ++L.effects;
  if (i.space == Space::global || i.space == Space::generic)
    L.counters->global_store_bytes += static_cast<u64>(std::popcount(m)) * bytes;
  else if (i.space == Space::shared)
    L.counters->shared_bytes += static_cast<u64>(std::popcount(m)) * bytes;
  if (i.n == 1) {
    const R* d = w.row<R>(i.d);
    for (; m; m &= m - 1) {
      int l = std::countr_zero(m);
      M v = static_cast<M>(d[l]);
      std::memcpy(reinterpret_cast<void*>(a[l]), &v, sizeof v);
    }
  } else {
    const u32* rows = w.body->lists.data() + i.list;
    for (u32 k = 0; k < i.n; ++k) {
      const R* d = w.row<R>(rows[k]);
      for (u32 t = m; t; t &= t - 1) {
        int l = std::countr_zero(t);
        M v = static_cast<M>(d[l]);
        std::memcpy(reinterpret_cast<u8*>(a[l]) + k * sizeof(M), &v, sizeof v);
      }
    }
  }
}
template <class M>
Handler ld_to(int reg) {
  using S = std::is_signed<M>;
  switch (reg) {
    case 2:
      return h_ld<M, std::conditional_t<S::value, s16, u16>>;
    case 4:
      return h_ld<M, std::conditional_t<S::value, s32, u32>>;
    case 8:
      return h_ld<M, std::conditional_t<S::value, s64, u64>>;
    default:
      return nullptr;
  }
}
template <class M>
Handler st_from(int reg) {
  return reg == 2 ? h_st<M, u16> : reg == 4 ? h_st<M, u32> : reg == 8 ? h_st<M, u64> : nullptr;
}

// atomics
enum Atom { A_ADD, A_MIN, A_MAX, A_AND, A_OR, A_XOR, A_EXCH, A_CAS, A_INC, A_DEC };
template <class T, int OP>
T atom_op(T old, T b, T c) {
  if constexpr (OP == A_ADD)
    return static_cast<T>(old + b);
  else if constexpr (OP == A_MIN)
    return std::min(old, b);
  else if constexpr (OP == A_MAX)
    return std::max(old, b);
  else if constexpr (OP == A_EXCH)
    return b;
  else if constexpr (OP == A_CAS)
    return old == b ? c : old;
  else if constexpr (OP == A_INC)
    return old >= b ? T(0) : static_cast<T>(old + 1);
  else if constexpr (OP == A_DEC)
    return old == 0 || old > b ? b : static_cast<T>(old - 1);
  else if constexpr (std::is_integral_v<T>)
    return OP == A_AND ? old & b : OP == A_OR ? old | b : old ^ b;
  else
    return old;
}
template <class T, int OP>
void h_atom(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  resolve(w, i, m, a, sizeof(T), true);
  ++w.launch->effects;
  w.launch->counters->global_load_bytes += static_cast<u64>(std::popcount(m)) * sizeof(T);
  w.launch->counters->global_store_bytes += static_cast<u64>(std::popcount(m)) * sizeof(T);
  using U = std::conditional_t<sizeof(T) == 8, u64, std::conditional_t<sizeof(T) == 4, u32, u16>>;
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    T b = w.row<T>(i.b)[l], c = OP == A_CAS ? w.row<T>(i.c)[l] : T{};
    U* p = reinterpret_cast<U*>(a[l]);
    U old = __atomic_load_n(p, __ATOMIC_SEQ_CST), neu;
    do neu = std::bit_cast<U>(atom_op<T, OP>(std::bit_cast<T>(old), b, c));
    while (!__atomic_compare_exchange_n(p, &old, neu, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    if (i.d) w.row<U>(i.d)[l] = old;
  }
}
template <int OP>
Handler pick_atom(Type t) {
  switch (t) {
    case Type::u32_:
    case Type::b32:
      return h_atom<u32, OP>;
    case Type::u64_:
    case Type::b64:
      return h_atom<u64, OP>;
    case Type::s32_:
      return h_atom<s32, OP>;
    case Type::s64_:
      return h_atom<s64, OP>;
    case Type::b16:
      if (OP == A_CAS || OP == A_EXCH) return h_atom<u16, OP>;
      return nullptr;
    case Type::f32:
      if (OP == A_ADD || OP == A_EXCH) return h_atom<float, OP>;
      return nullptr;
    case Type::f64:
      if (OP == A_ADD || OP == A_EXCH) return h_atom<double, OP>;
      return nullptr;
    default:
      return nullptr;
  }
}

// address conversions: imm = what to add (constants), aux 1: the parameter block's address, 2: 32-bit result
void h_cvta(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  u64 add = i.aux == 1 ? reinterpret_cast<u64>(w.launch->params) : 0;
  for (; m; m &= m - 1) {
    u32 l = static_cast<u32>(std::countr_zero(m));
    u64 v = a[l] + add;
    std::memcpy(w.rf + i.d + l * i.ds, &v, i.ds);
  }
}
void h_identity(Warp& w, const Instruction& i, u32 m) {
  map1<u64, u64>(w, i, m, [](u64 a) { return a; });
}
void h_cvta_to_param(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, 0, a);
  for (; m; m &= m - 1) {
    u32 l = static_cast<u32>(std::countr_zero(m));
    u64 v = a[l] - reinterpret_cast<u64>(w.launch->params);
    std::memcpy(w.rf + i.d + l * i.ds, &v, i.ds);
  }
}
void h_mapa(Warp& w, const Instruction& i, u32 m) {
  u64 a[32], r[32];
  gather(w, i.a, i.as, i.imm, a);
  gather(w, i.b, i.bs, 0, r);
  for (; m; m &= m - 1) {
    u32 l = static_cast<u32>(std::countr_zero(m));
    if (r[l] >= w.cl->ctas.size())
      fault(Fault::Kind::illegal_address, w, i, static_cast<int>(l),
            "mapa: rank " + std::to_string(r[l]) + " in a cluster of " + std::to_string(w.cl->ctas.size()));
    u64 off = (a[l] - (i.aux ? shared_window : 0)) & ((1u << rank_shift) - 1);
    u64 v = ((r[l] + 1) << rank_shift | off) + (i.aux ? shared_window : 0);
    std::memcpy(w.rf + i.d + l * i.ds, &v, i.ds);
  }
}
void h_isspacep(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, 0, a);
  u32 r = 0;
  for (int l = 0; l < 32; ++l) {
    Space s = a[l] >= local_window ? Space::local : a[l] >= shared_window ? Space::shared : Space::global;
    if (s == i.space) r |= 1u << l;
  }
  u32* p = w.row<u32>(i.d);
  *p = (*p & ~m) | (r & m);
}
void h_nothing(Warp&, const Instruction&, u32) {}

// ---- cp.async ----
void copy_one(Warp& w, const CpAsync& c, const Instruction& i) {
  u8* d = shared_pointer(w, i, static_cast<int>(c.lane), c.dst, c.bytes);
  if (c.src_bytes) std::memcpy(d, reinterpret_cast<const void*>(c.src), c.src_bytes);
  if (c.src_bytes < c.bytes) std::memset(d + c.src_bytes, 0, c.bytes - c.src_bytes);
  ++w.launch->effects;
}
void h_cp_async(Warp& w, const Instruction& i, u32 m) {
  u64 dst[32], src[32];
  gather(w, i.a, i.as, i.imm, dst);
  gather(w, i.b, i.bs, i.imm2, src);
  const u32 bytes = i.msize;
  for (u32 t = m; t; t &= t - 1) {
    u32 l = static_cast<u32>(std::countr_zero(t));
    u32 n = bytes;
    if (i.c) {
      u64 v = w.scalar(i.c, i.cs, l);
      if (v > bytes) fault(Fault::Kind::illegal_instruction, w, i, static_cast<int>(l), "cp.async: source size above cp-size");
      n = static_cast<u32>(v);
    }
    if (i.source_not) n = 0;
    if (dst[l] % bytes) misaligned(w, i, static_cast<int>(l), dst[l], bytes);
    if (src[l] % bytes && n) misaligned(w, i, static_cast<int>(l), src[l], bytes);
    shared_lane(w, i, static_cast<int>(l), static_cast<u32>(dst[l]), bytes, true);
    if (n) check_global(w, i, static_cast<int>(l), src[l], n, false);
    w.launch->counters->global_load_bytes += n;
    CpAsync c{l, w.copy_groups[l], static_cast<u32>(dst[l]), src[l], static_cast<u8>(bytes), static_cast<u8>(n), i.line};
    bool now = w.launch->async_mode == Completion::early ||
               (w.launch->async_mode == Completion::random && (random_next(w.launch->seed) & 1));
    if (now)
      copy_one(w, c, i);
    else
      w.copies.push_back(c);
  }
}
void h_cp_commit(Warp& w, const Instruction&, u32 m) {
  for (; m; m &= m - 1) ++w.copy_groups[std::countr_zero(m)];
}
void h_cp_wait(Warp& w, const Instruction& i, u32 m) { perform_copies(w, m, static_cast<u32>(i.imm), i.aux == 1); }

// ---- mbarrier: 64 bits in shared memory ----
// pending 0..19, expected 20..39, tx-count 40..60 (signed), phase 61, 62..63 = 01 (uninitialised memory has 11)
struct Mbar {
  u32 pending, expected;
  s32 tx;
  u32 phase;
  static Mbar get(Warp& w, const Instruction& i, int lane, const u8* p) {
    u64 v;
    std::memcpy(&v, p, 8);
    if (v >> 62 != 1) fault(Fault::Kind::illegal_instruction, w, i, lane, "no mbarrier is initialised at this address");
    Mbar b;
    b.pending = v & 0xfffff;
    b.expected = v >> 20 & 0xfffff;
    b.tx = static_cast<s32>(static_cast<u32>(v >> 40 & 0x1fffff) << 11) >> 11;
    b.phase = v >> 61 & 1;
    return b;
  }
  void put(u8* p) const {
    u64 v = raw();
    std::memcpy(p, &v, 8);
  }
  u64 raw() const {
    return static_cast<u64>(pending) | static_cast<u64>(expected) << 20 |
           static_cast<u64>(static_cast<u32>(tx) & 0x1fffff) << 40 | static_cast<u64>(phase) << 61 | u64(1) << 62;
  }
  bool settle() {
    if (pending || tx) return false;
    phase ^= 1;
    pending = expected;
    return true;
  }
};
// the clocks of the mbarrier at `p`
SyncClock* clock_of(Warp& w, const u8* p) {
  if (w.vc.empty()) return nullptr;
  for (auto& c : w.cl->ctas)
    if (p >= c->smem.data() && p < c->smem.data() + c->smem.size())
      return &c->mbar_clocks[static_cast<u32>(p - c->smem.data())];
  return nullptr;
}
u8* mbar_pointer(Warp& w, const Instruction& i, int lane, u64 a, bool generic) {
  if (generic && a >= shared_window) a -= shared_window;
  if (a & 7) misaligned(w, i, lane, a, 8);
  return shared_pointer(w, i, lane, static_cast<u32>(a), 8);
}
void h_mbar_init(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    u32 count = static_cast<u32>(w.scalar(i.b, i.bs, static_cast<u32>(l)));
    if (count == 0 || count > 0xfffff)
      fault(Fault::Kind::illegal_instruction, w, i, l, "mbarrier.init: count " + std::to_string(count));
    u8* p = mbar_pointer(w, i, l, a[l], i.space == Space::generic);
    Mbar{count, count, 0, 0}.put(p);
  }
  ++w.launch->effects;
}
void h_mbar_inval(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    u8* p = mbar_pointer(w, i, l, a[l], i.space == Space::generic);
    Mbar::get(w, i, l, p);
    std::memset(p, 0xff, 8);
  }
}
// aux: 1 arrive, 2 expect_tx, 3 both, 4 arrive_drop; b: tx or count; c: count
void h_mbar_arrive(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    u8* p = mbar_pointer(w, i, l, a[l], i.space == Space::generic);
    Mbar b = Mbar::get(w, i, l, p);
    u64 state = b.raw();
    if (i.aux & 2) {
      u32 tx = static_cast<u32>(w.scalar(i.b, i.bs, static_cast<u32>(l)));
      if (tx > 0xfffff || b.tx + static_cast<s32>(tx) > 0xfffff)
        fault(Fault::Kind::illegal_instruction, w, i, l, "mbarrier tx-count beyond 2^20 - 1");
      b.tx += static_cast<s32>(tx);
    }
    if (i.aux & 5) {
      u32 n = 1;
      if (i.c) n = static_cast<u32>(w.scalar(i.c, i.cs, static_cast<u32>(l)));
      if (i.aux & 4) {
        if (b.expected < n) fault(Fault::Kind::illegal_instruction, w, i, l, "mbarrier.arrive_drop below zero");
        b.expected -= n;
      }
      if (b.pending < n)
        fault(Fault::Kind::illegal_instruction, w, i, l, "more arrivals on an mbarrier than its phase expects");
      b.pending -= n;
    }
    SyncClock* clock = clock_of(w, p);
    if (clock && (i.aux & 5)) race_release(w, clock->acc);
    if (b.settle() && clock) clock->done = clock->acc;
    b.put(p);
    if (i.d) w.row<u64>(i.d)[l] = state;
  }
  ++w.launch->effects;
}
// aux bit 0: parity operand; result pred d
void h_mbar_wait(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  u32 r = 0, same = m;  // lanes that ask the same are answered at once
  {
    u32 l0 = w.first_lane(m);
    u64 s0 = w.scalar(i.b, i.bs, l0);
    for (u32 t = m & (m - 1); t; t &= t - 1) {
      u32 l = static_cast<u32>(std::countr_zero(t));
      if (a[l] != a[l0] || w.scalar(i.b, i.bs, l) != s0) {
        same = 0;
        break;
      }
    }
  }
  for (u32 t = same ? m & (0u - m) : m; t; t &= t - 1) {
    int l = std::countr_zero(t);
    u8* p = mbar_pointer(w, i, l, a[l], i.space == Space::generic);
    Mbar b = Mbar::get(w, i, l, p);
    u64 s = w.scalar(i.b, i.bs, static_cast<u32>(l));
    bool done = i.aux & 1 ? b.phase != (s & 1) : b.phase != (s >> 61 & 1);
    if (i.aux & 1 && s > 1) fault(Fault::Kind::illegal_instruction, w, i, l, "mbarrier wait: parity " + std::to_string(s));
    if (done) {
      r |= 1u << l;
      if (SyncClock* clock = clock_of(w, p)) race_join(w.vc, clock->done);
    }
  }
  if (same && r) r = m;
  u32* p = w.row<u32>(i.d);
  *p = (*p & ~m) | (r & m);
  if (r != m) {
    w.yield = true;
    w.spun = true;
    w.waits_for = "mbarrier";
  }
}

// ---- the async proxy ----
void h_st_async(Warp& w, const Instruction& i, u32 m) {
  u64 a[32], b[32];
  gather(w, i.a, i.as, i.imm, a);
  gather(w, i.b, i.bs, i.imm2, b);
  const u32* rows = w.body->lists.data() + i.list;
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    Pending p{};
    p.what = Pending::st_async;
    p.bytes = static_cast<u32>(i.msize) * i.n;
    if (a[l] % p.bytes) misaligned(w, i, l, a[l], p.bytes);
    if (b[l] & 7) misaligned(w, i, l, b[l], 8);
    for (u32 k = 0; k < i.n; ++k) {
      u64 v = w.scalar(rows[k], i.msize, static_cast<u32>(l));
      std::memcpy(p.data + k * i.msize, &v, i.msize);
    }
    p.dst = static_cast<u32>(a[l]);
    p.mbar = static_cast<u32>(b[l]);
    if (&cta_of(w, i, l, p.dst) != &cta_of(w, i, l, p.mbar))
      fault(Fault::Kind::illegal_address, w, i, l, "st.async: data and mbarrier in different blocks");
    p.lane = static_cast<u32>(l);
    p.ins = &i;
    issue(w, std::move(p));
  }
}
int element_bytes(u8 type) {  // CUtensorMapDataType
  static const int sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return type < sizeof sizes / sizeof *sizes ? sizes[type] : 0;
}
const TensorMap& read_map(Warp& w, const Instruction& i, int lane, u64 at) {
  if (at & 63) misaligned(w, i, lane, at, 64);
  check_global(w, i, lane, at, 128, false);
  const TensorMap& m = *reinterpret_cast<const TensorMap*>(at);
  if (m.magic != TensorMap{}.magic) fault(Fault::Kind::illegal_instruction, w, i, lane, "no tensor map at this address");
  return m;
}
void h_prefetch_map(Warp& w, const Instruction& i, u32 m) {
  u64 a[32];
  gather(w, i.a, i.as, i.imm, a);
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    read_map(w, i, l, a[l]);
  }
}
// list: coordinates; a dst, b map, c mbarrier, e multicast mask
void h_tensor_load(Warp& w, const Instruction& i, u32 m) {
  u64 dst[32], map[32], bar[32];
  gather(w, i.a, i.as, i.imm, dst);
  gather(w, i.b, i.bs, i.imm2, map);
  gather(w, i.c, i.cs, i.imm3, bar);
  const u32* rows = w.body->lists.data() + i.list;
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    Pending p{};
    p.what = Pending::tensor_load;
    p.map = read_map(w, i, l, map[l]);
    if (p.map.rank != i.list_n)
      fault(Fault::Kind::illegal_instruction, w, i, l,
            "tensor copy of " + std::to_string(i.list_n) + " dimensions through a map of " + std::to_string(p.map.rank));
    for (u32 k = 0; k < i.list_n; ++k) p.coord[k] = w.row<s32>(rows[k])[l];
    p.dst = static_cast<u32>(dst[l]);
    p.mbar = static_cast<u32>(bar[l]);
    if (p.dst & 127) misaligned(w, i, l, p.dst, 128);
    if (p.mbar & 7) misaligned(w, i, l, p.mbar, 8);
    u64 bytes = static_cast<u64>(element_bytes(p.map.type));
    for (u32 k = 0; k < p.map.rank; ++k)
      bytes *= (p.map.box[k] + p.map.element_strides[k] - 1u) / std::max<u32>(1, p.map.element_strides[k]);
    if (bytes == 0 || p.map.interleave != 0)
      fault(Fault::Kind::unsupported, w, i, l, "tensor map with interleave or of an unknown type");
    p.bytes = static_cast<u32>(bytes);
    shared_pointer(w, i, l, p.dst, p.bytes);
    Mbar::get(w, i, l, shared_pointer(w, i, l, p.mbar, 8));
    if (i.e) {
      p.is_multicast = true;
      p.multicast = static_cast<u16>(w.scalar(i.e, i.ds, static_cast<u32>(l)));
    }
    p.lane = static_cast<u32>(l);
    p.ins = &i;
    issue(w, std::move(p));
  }
}
void h_bulk_load(Warp& w, const Instruction& i, u32 m) {
  u64 dst[32], src[32], bar[32];
  gather(w, i.a, i.as, i.imm, dst);
  gather(w, i.b, i.bs, i.imm2, src);
  gather(w, i.c, i.cs, i.imm3, bar);
  for (; m; m &= m - 1) {
    int l = std::countr_zero(m);
    Pending p{};
    p.what = Pending::bulk_load;
    p.dst = static_cast<u32>(dst[l]);
    p.mbar = static_cast<u32>(bar[l]);
    p.global = src[l];
    p.bytes = static_cast<u32>(w.scalar(i.e, i.ds, static_cast<u32>(l)));
    if ((p.dst | p.bytes | p.global) & 15) misaligned(w, i, l, p.dst | p.bytes | p.global, 16);
    shared_pointer(w, i, l, p.dst, p.bytes);
    check_global(w, i, l, p.global, p.bytes, false);
    p.lane = static_cast<u32>(l);
    p.ins = &i;
    issue(w, std::move(p));
  }
}
}  // namespace

void perform_copies(Warp& w, u32 mask, u32 keep, bool all) {
  if (w.copies.empty()) return;
  std::vector<CpAsync> rest;
  for (const CpAsync& c : w.copies) {
    bool mine = mask >> c.lane & 1;
    if (mine && (all || c.group + keep < w.copy_groups[c.lane]))
      copy_one(w, c, *w.at);
    else
      rest.push_back(c);
  }
  w.copies.swap(rest);
}

void mbarrier_complete_tx(Warp& w, const Instruction& i, u8* p, s64 bytes, const std::vector<u32>& vc) {
  Mbar b = Mbar::get(w, i, -1, p);
  b.tx -= static_cast<s32>(bytes);
  if (b.tx < -0xfffff) fault(Fault::Kind::illegal_instruction, w, i, -1, "mbarrier tx-count below -(2^20 - 1)");
  SyncClock* clock = clock_of(w, p);
  if (clock) race_join(clock->acc, vc);
  if (b.settle()) {
    ++w.launch->phases;
    if (clock) clock->done = clock->acc;
  }
  b.put(p);
  ++w.launch->effects;
}

// ---- race detector: happens-before by vector clocks, a clock a warp (lanes of a warp count as ordered) ----
void race_join(std::vector<u32>& into, const std::vector<u32>& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t k = 0; k < from.size(); ++k) into[k] = std::max(into[k], from[k]);
}
void race_start(Launch& L, Cluster& cl) {
  const std::size_t W = cl.warps.size(), cells = L.shared_bytes / 2 + 1;
  if (!L.race) return;
  if (W * cells * cl.ctas.size() > 300000000) {
    warn_once(*cl.warps[0], *cl.warps[0]->at, "race detector off: the cluster is too large");
    return;
  }
  for (u32 k = 0; k < W; ++k) {
    Warp& w = *cl.warps[k];
    w.gw = k;
    w.vc.assign(W, 0);
    w.vc[k] = 1;
  }
  for (auto& c : cl.ctas) {
    c->cells.assign(cells, RaceCell{});
    c->reads.assign(cells * W, 0);
    c->mbar_clocks.clear();
    for (Barrier& b : c->barriers) b.vc.clear();
  }
  cl.clock = {};
}
void race_access(Warp& w, const Instruction& i, int lane, Block& c, u32 offset, u32 bytes, bool write) {
  if (c.cells.empty() || w.vc.empty()) return;
  const std::size_t W = w.vc.size();
  auto tell = [&](const char* before, std::size_t other) {
    warn_once(w, i,
              std::string(write ? "race: write" : "race: read") + " of shared memory at " +
                  std::to_string(offset + w.launch->shared_base) + " not ordered after the " + before + " by warp " +
                  std::to_string(other % c.warps.size()) +
                  (w.cl->ctas.size() > 1 ? " of block rank " + std::to_string(other / c.warps.size()) : "") +
                  (lane >= 0 ? " (lane " + std::to_string(lane) + " here)" : ""));
    ++w.launch->counters->races;
  };
  for (u32 g = offset / 2; g <= (offset + bytes - 1) / 2 && g < c.cells.size(); ++g) {
    RaceCell& e = c.cells[g];
    if (e.warp == 0xffff) {
      if (!write) {
        if (w.launch->counters->uninitialised_shared_reads++ == 0)
          warn_once(w, i,
                    "read of shared memory that nothing has written, at " + std::to_string(g * 2 + w.launch->shared_base));
      }
    } else if (e.warp != w.gw && e.clock > w.vc[e.warp]) {
      tell("write", e.warp);
      e.clock = 0;
    }
    u32* r = &c.reads[g * W];
    if (write) {
      for (std::size_t k = 0; k < W; ++k)
        if (k != w.gw && r[k] > w.vc[k]) {
          tell("read", k);
          r[k] = 0;
        }
      e.warp = static_cast<u16>(w.gw);
      e.clock = w.vc[w.gw];
    } else
      r[w.gw] = w.vc[w.gw];
  }
}

void issue(Warp& w, Pending&& p) {
  p.cta = w.cta;
  p.warp = &w;
  Launch& L = *w.launch;
  ++L.effects;
  if (!w.vc.empty()) {
    // a write by the issuer, as of now: everyone who used the memory before must be ordered before the issue
    const u32 low = (1u << rank_shift) - 1, off = (p.dst & low) - static_cast<u32>(L.shared_base);
    for (u32 r = 0; r < w.cl->ctas.size(); ++r)
      if (p.is_multicast ? p.multicast >> r & 1 : w.cl->ctas[r].get() == &cta_of(w, *p.ins, static_cast<int>(p.lane), p.dst))
        race_access(w, *p.ins, static_cast<int>(p.lane), *w.cl->ctas[r], off, p.bytes, true);
    p.vc = w.vc;
    ++w.vc[w.gw];
  }
  if (L.async_mode == Completion::early) {
    perform(*w.cl, p);
    return;
  }
  w.cl->pending.push_back(std::move(p));
}

namespace {
// Where a byte of a tile lies: the swizzle exchanges 16-byte pieces by bits of the shared memory address itself (CUDA C++
// Programming Guide, "Tensor Memory Access", swizzle modes: the pattern repeats every 256 / 512 / 1024 bytes of shared memory
// addresses).
u32 swizzle(u32 address, u8 mode) {
  switch (mode) {
    case 1:
      return address ^ (address >> 3 & 0x10);
    case 2:
      return address ^ (address >> 3 & 0x30);
    case 3:
      return address ^ (address >> 3 & 0x70);
    default:
      return address;
  }
}
void tensor_into(Warp& w, const Instruction& i, Pending& p, Block& to, u32 dst) {
  const TensorMap& t = p.map;
  const int es = element_bytes(t.type);
  u32 count[5] = {1, 1, 1, 1, 1};
  u64 stride[5] = {static_cast<u64>(es), 0, 0, 0, 0};
  for (u32 k = 0; k < t.rank; ++k) {
    count[k] = (t.box[k] + t.element_strides[k] - 1u) / std::max<u32>(1, t.element_strides[k]);
    if (k) stride[k] = t.strides[k - 1];
  }
  const u32 inner = count[0] * static_cast<u32>(es);
  static const u32 spans[4] = {0, 32, 64, 128};
  if (inner % 16)
    fault(Fault::Kind::illegal_instruction, w, i, static_cast<int>(p.lane),
          "tensor map: inner box dimension of " + std::to_string(inner) + " bytes");
  if (t.swizzle > 3 || (t.swizzle && inner > spans[t.swizzle]))
    fault(Fault::Kind::illegal_instruction, w, i, static_cast<int>(p.lane),
          "tensor map: inner box dimension exceeds the swizzle span");
  // Documents do not say how rows narrower than the span lie; taken here: dense rows, then the exchange on address bits.
  if (t.swizzle && inner != spans[t.swizzle])
    warn_once(w, i, "tensor map: inner box dimension below the swizzle span (layout assumed dense)");
  u8* base = to.smem.data();
  const u64 sb = w.launch->shared_base;
  std::vector<u8> rowbuf(inner);
  u32 row = 0;
  u32 x[5] = {};
  for (;;) {
    bool inside = true;
    u64 g = t.address;
    for (u32 k = 1; k < t.rank; ++k) {
      s64 c = static_cast<s64>(p.coord[k]) + static_cast<s64>(x[k]) * std::max<u32>(1, t.element_strides[k]);
      if (c < 0 || static_cast<u64>(c) >= t.dims[k])
        inside = false;
      else
        g += static_cast<u64>(c) * stride[k];
    }
    // the documented fill: zeros, or NaN for floating types where the map asks for it
    std::memset(rowbuf.data(), 0, inner);
    if (t.oob_fill) {
      if (es == 2)
        for (u32 k = 0; k < inner; k += 2) {
          u16 v = 0x7fff;
          std::memcpy(&rowbuf[k], &v, 2);
        }
      if (es == 4)
        for (u32 k = 0; k < inner; k += 4) {
          u32 v = 0x7fffffff;
          std::memcpy(&rowbuf[k], &v, 4);
        }
    }
    if (inside) {
      s64 st = std::max<u32>(1, t.element_strides[0]);
      if (st == 1) {
        s64 from = std::max<s64>(0, p.coord[0]),
            to_ = std::min<s64>(static_cast<s64>(t.dims[0]), static_cast<s64>(p.coord[0]) + count[0]);
        if (from < to_) {
          u64 n = static_cast<u64>(to_ - from) * static_cast<u64>(es), at = g + static_cast<u64>(from) * static_cast<u64>(es);
          check_global(w, i, static_cast<int>(p.lane), at, n, false);
          std::memcpy(rowbuf.data() + (from - p.coord[0]) * es, reinterpret_cast<const void*>(at), n);
        }
      } else
        for (u32 k = 0; k < count[0]; ++k) {
          s64 c = p.coord[0] + static_cast<s64>(k) * st;
          if (c < 0 || static_cast<u64>(c) >= t.dims[0]) continue;
          u64 at = g + static_cast<u64>(c) * static_cast<u64>(es);
          check_global(w, i, static_cast<int>(p.lane), at, static_cast<u64>(es), false);
          std::memcpy(rowbuf.data() + k * static_cast<u32>(es), reinterpret_cast<const void*>(at),
                      static_cast<std::size_t>(es));
        }
    }
    for (u32 k = 0; k < inner; k += 16) {
      u32 at = swizzle(dst + row * inner + k, t.swizzle);
      if (at < sb || at + 16 > sb + w.launch->shared_bytes)
        fault(Fault::Kind::illegal_address, w, i, static_cast<int>(p.lane), "tensor copy beyond the block's shared memory");
      std::memcpy(base + (at - sb), rowbuf.data() + k, 16);
      if (!to.generic_write.empty()) to.generic_write[(at - sb) >> 4] = 0;
    }
    ++row;
    u32 k = 1;
    for (; k < t.rank; ++k) {
      if (++x[k] < count[k]) break;
      x[k] = 0;
    }
    if (k >= t.rank) break;
  }
}
}  // namespace

void perform(Cluster& cl, Pending& p) {
  Warp& w = *p.warp;
  const Instruction& i = *p.ins;
  const u32 low = (1u << rank_shift) - 1;
  switch (p.what) {
    case Pending::st_async: {
      u8* d = shared_pointer(w, i, static_cast<int>(p.lane), p.dst, p.bytes);
      std::memcpy(d, p.data, p.bytes);
      mbarrier_complete_tx(w, i, shared_pointer(w, i, static_cast<int>(p.lane), p.mbar, 8), p.bytes, p.vc);
      break;
    }
    case Pending::tensor_load:
      cl.launch->counters->tma_bytes += p.bytes;
      cl.launch->counters->global_load_bytes += p.bytes;
      for (u32 r = 0; r < cl.ctas.size(); ++r) {
        u32 dst = p.dst, bar = p.mbar;
        Block* to = &cta_of(w, i, static_cast<int>(p.lane), p.dst);
        if (p.is_multicast) {
          if (!(p.multicast >> r & 1)) continue;
          to = cl.ctas[r].get();
          dst &= low;
          bar = (bar & low) | (r + 1) << rank_shift;
        } else if (r)
          break;
        tensor_into(w, i, p, *to, dst & low);
        mbarrier_complete_tx(w, i, shared_pointer(w, i, static_cast<int>(p.lane), bar, 8), p.bytes, p.vc);
      }
      break;
    case Pending::bulk_load: {
      Block* owner = nullptr;
      u8* d = shared_pointer(w, i, static_cast<int>(p.lane), p.dst, p.bytes, &owner);
      check_global(w, i, static_cast<int>(p.lane), p.global, p.bytes, false);
      std::memcpy(d, reinterpret_cast<const void*>(p.global), p.bytes);
      cl.launch->counters->tma_bytes += p.bytes;
      cl.launch->counters->global_load_bytes += p.bytes;
      mbarrier_complete_tx(w, i, shared_pointer(w, i, static_cast<int>(p.lane), p.mbar, 8), p.bytes, p.vc);
      break;
    }
    default:
      fault(Fault::Kind::unsupported, w, i, static_cast<int>(p.lane), "bulk store");
  }
}

bool decode_memory(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  const std::string_view o = op.parts[0];
  const Type t = op.type();
  auto space = [&] {
    if (op.has("global")) return Space::global;
    if (op.has("shared") || op.has("shared::cta")) return Space::shared;
    if (op.has("shared::cluster")) return Space::cluster;
    if (op.has("local")) return Space::local;
    if (op.has("param") || op.has("param::entry")) return Space::param;
    if (op.has("const")) return Space::constant;
    return Space::generic;
  };
  auto second_address = [&](const Operand& a, u32& row, u8& size, s64& imm) {
    Instruction x;
    b.address(a, x);
    row = x.a;
    size = x.as;
    imm = x.imm;
  };
  if (o == "ld" || o == "ldu") {
    if (args.size() < 2) return false;
    ins.space = space();
    b.address(args[1], ins);
    ins.msize = static_cast<u8>(size_of(t));
    const Operand& d = args[0];
    int reg = 0;
    if (d.k == Operand::vec) {
      ins.n = static_cast<u8>(d.sub.size());
      ins.list = static_cast<u32>(b.fn->body.lists.size());
      ins.list_n = ins.n;
      ins.list_written = true;
      for (const Operand& x : d.sub) {
        u8 s = 0;
        u32 r = b.dest(x, &s);
        if (x.k != Operand::sink) {
          if (reg && reg != s) return false;
          reg = s;
        }
        b.fn->body.lists.push_back(r);
      }
      if (!reg) reg = ins.msize < 2 ? 2 : ins.msize;
    } else {
      u8 s = 0;
      ins.d = b.dest(d, &s);
      ins.ds = s;
      reg = s;
      ins.n = 1;
    }
    switch (t) {
      case Type::u8_:
      case Type::b8:
        ins.fn = ld_to<u8>(reg);
        break;
      case Type::s8_:
        ins.fn = ld_to<s8>(reg);
        break;
      case Type::u16_:
      case Type::b16:
      case Type::f16:
      case Type::bf16:
        ins.fn = ld_to<u16>(reg);
        break;
      case Type::s16_:
        ins.fn = ld_to<s16>(reg);
        break;
      case Type::u32_:
      case Type::b32:
      case Type::f32:
      case Type::f16x2:
      case Type::bf16x2:
        ins.fn = reg >= 4 ? ld_to<u32>(reg) : nullptr;
        break;
      case Type::s32_:
        ins.fn = reg >= 4 ? ld_to<s32>(reg) : nullptr;
        break;
      case Type::u64_:
      case Type::s64_:
      case Type::b64:
      case Type::f64:
        ins.fn = reg == 8 ? ld_to<u64>(reg) : nullptr;
        break;
      default:
        return false;
    }
    return ins.fn != nullptr;
  }
  if (o == "st" && op.has("async")) {
    if (args.size() != 3 || !op.has("mbarrier::complete_tx::bytes")) return false;
    ins.space = Space::cluster;
    b.address(args[0], ins);
    second_address(args[2], ins.b, ins.bs, ins.imm2);
    ins.msize = static_cast<u8>(size_of(t));
    std::vector<Operand> values = args[1].k == Operand::vec ? args[1].sub : std::vector<Operand>{args[1]};
    ins.n = static_cast<u8>(values.size());
    std::vector<u32> rows;
    for (const Operand& x : values) rows.push_back(b.source(x, t));
    ins.list = static_cast<u32>(b.fn->body.lists.size());
    ins.list_n = ins.n;
    b.fn->body.lists.insert(b.fn->body.lists.end(), rows.begin(), rows.end());
    ins.fn = h_st_async;
    return true;
  }
  if (o == "st") {
    if (args.size() < 2) return false;
    ins.space = space();
    if (ins.space == Space::param) return false;
    b.address(args[0], ins);
    ins.msize = static_cast<u8>(size_of(t));
    int reg = 0;
    if (args[1].k == Operand::vec) {
      ins.n = static_cast<u8>(args[1].sub.size());
      std::vector<u32> rows;
      for (const Operand& x : args[1].sub) {
        if (x.k == Operand::reg) {
          u8 s;
          b.source(x, t, &s);
          if (reg && reg != s) return false;
          reg = s;
        }
      }
      Type as = reg == 2 ? Type::b16 : reg == 4 ? Type::b32 : reg == 8 ? Type::b64 : t;
      for (const Operand& x : args[1].sub) {
        u8 s;
        rows.push_back(b.source(x, x.k == Operand::imm && !is_float(t) ? as : t, &s));
        if (!reg) reg = s;
      }
      ins.list = static_cast<u32>(b.fn->body.lists.size());
      ins.list_n = ins.n;
      b.fn->body.lists.insert(b.fn->body.lists.end(), rows.begin(), rows.end());
    } else {
      u8 s;
      ins.d = b.source(args[1], t, &s);
      reg = s;
      ins.n = 1;
      ins.ds = s;
    }
    ins.d_source = true;
    switch (size_of(t)) {
      case 1:
        ins.fn = st_from<u8>(reg);
        break;
      case 2:
        ins.fn = st_from<u16>(reg);
        break;
      case 4:
        ins.fn = st_from<u32>(reg);
        break;
      case 8:
        ins.fn = st_from<u64>(reg);
        break;
      default:
        return false;
    }
    return ins.fn != nullptr;
  }
  if (o == "atom" || o == "red") {
    if (op.has("async")) return false;
    const std::size_t k = o == "atom" ? 1 : 0;
    if (args.size() < k + 2 || args[k].k != Operand::address) return false;
    if (size_of(t) == 0 || args[k + 1].k == Operand::vec) return false;
    ins.space = space();
    b.address(args[k], ins);
    if (k) ins.d = b.dest(args[0], &ins.ds);
    ins.b = b.source(args[k + 1], t, &ins.bs);
    if (op.has("cas")) {
      if (args.size() < k + 3) return false;
      ins.c = b.source(args[k + 2], t, &ins.cs);
    }
    if (op.has("add"))
      ins.fn = pick_atom<A_ADD>(t);
    else if (op.has("min"))
      ins.fn = pick_atom<A_MIN>(t);
    else if (op.has("max"))
      ins.fn = pick_atom<A_MAX>(t);
    else if (op.has("and"))
      ins.fn = pick_atom<A_AND>(t);
    else if (op.has("or"))
      ins.fn = pick_atom<A_OR>(t);
    else if (op.has("xor"))
      ins.fn = pick_atom<A_XOR>(t);
    else if (op.has("exch"))
      ins.fn = pick_atom<A_EXCH>(t);
    else if (op.has("cas"))
      ins.fn = pick_atom<A_CAS>(t);
    else if (op.has("inc") && t == Type::u32_)
      ins.fn = h_atom<u32, A_INC>;
    else if (op.has("dec") && t == Type::u32_)
      ins.fn = h_atom<u32, A_DEC>;
    return ins.fn != nullptr;
  }
  if (o == "cvta") {
    if (args.size() != 2) return false;
    ins.d = b.dest(args[0], &ins.ds);
    ins.a = b.source(args[1], t, &ins.as);
    ins.fn = h_cvta;
    const bool to = op.has("to");
    switch (space()) {
      case Space::global:
      case Space::constant:
        ins.imm = 0;
        if (ins.as == 8 && ins.ds == 8) ins.fn = h_identity;
        break;
      case Space::shared:
      case Space::cluster:
        ins.imm = static_cast<s64>(to ? 0 - shared_window : shared_window);
        break;
      case Space::local:
        ins.imm = static_cast<s64>(to ? 0 - local_window : local_window);
        break;
      case Space::param:
        if (to)
          ins.fn = h_cvta_to_param;
        else
          ins.aux = 1;
        break;
      default:
        return false;
    }
    return true;
  }
  if (o == "mapa") {
    if (args.size() != 3) return false;
    ins.aux = op.has("shared::cluster") ? 0 : 1;
    ins.d = b.dest(args[0], &ins.ds);
    ins.imm = args[1].offset;
    if (args[1].k == Operand::symbol) {
      Operand s = args[1];
      s.offset = 0;
      ins.a = b.source(s, t, &ins.as);
    } else
      ins.a = b.source(args[1], t, &ins.as);
    ins.b = b.source(args[2], Type::b32, &ins.bs);
    ins.fn = h_mapa;
    return true;
  }
  if (o == "isspacep") {
    ins.space = space() == Space::cluster ? Space::shared : space();
    ins.d = b.dest(args[0]);
    ins.a = b.source(args[1], Type::b64, &ins.as);
    ins.fn = h_isspacep;
    return true;
  }
  if (o == "prefetch" || o == "prefetchu" || o == "applypriority" || o == "discard") {
    if (op.has("tensormap")) {
      b.address(args[0], ins);
      ins.fn = h_prefetch_map;
      return true;
    }
    ins.fn = h_nothing;
    return true;
  }
  if (o == "createpolicy") {
    ins.d = b.dest(args[0], &ins.ds);
    ins.a = b.constant(0, 8);
    ins.as = 8;
    ins.fn = h_cvta;
    return true;
  }
  if (o == "cp" && op.has("async") && !op.has("bulk")) {
    if (op.has("commit_group")) {
      ins.fn = h_cp_commit;
      return true;
    }
    if (op.has("wait_group")) {
      ins.fn = h_cp_wait;
      ins.imm = static_cast<s64>(args.at(0).bits);
      return true;
    }
    if (op.has("wait_all")) {
      ins.fn = h_cp_wait;
      ins.aux = 1;
      return true;
    }
    if (op.has("mbarrier")) return false;
    if (args.size() < 3 || !op.has("shared") || !op.has("global")) {
      if (!op.has("shared::cta")) return false;
    }
    b.address(args[0], ins);
    second_address(args[1], ins.b, ins.bs, ins.imm2);
    ins.msize = static_cast<u8>(args[2].bits);
    if (ins.msize != 4 && ins.msize != 8 && ins.msize != 16) return false;
    if (op.has("cg") && ins.msize != 16) return false;
    if (args.size() > 3) {
      if (op.has("L2::cache_hint")) {
        if (args.size() > 4) ins.c = b.source(args[3], Type::b32, &ins.cs);
      } else if (args[3].k == Operand::reg && args[3].type == Type::pred)
        return false;
      else
        ins.c = b.source(args[3], Type::b32, &ins.cs);
    }
    ins.fn = h_cp_async;
    return true;
  }
  if (o == "cp" && op.has("bulk")) {
    if (op.has("prefetch") || op.has("reduce")) return false;
    if (op.has("commit_group") || op.has("wait_group")) return false;
    if (!op.has("mbarrier::complete_tx::bytes") || !(op.has("shared::cluster") || op.has("shared::cta")) || !op.has("global"))
      return false;
    b.fn->body.async_proxy = true;
    if (op.has("tensor")) {
      if (op.has("im2col") || op.has("tile::gather4") || args.size() < 3) return false;
      b.address(args[0], ins);
      second_address(args[1], ins.b, ins.bs, ins.imm2);
      if (args[1].sub.size() != 2 || args[1].sub[1].k != Operand::vec) return false;
      second_address(args[2], ins.c, ins.cs, ins.imm3);
      std::vector<u32> rows;
      for (const Operand& x : args[1].sub[1].sub) rows.push_back(b.source(x, Type::b32));
      ins.list = static_cast<u32>(b.fn->body.lists.size());
      ins.list_n = static_cast<u32>(rows.size());
      b.fn->body.lists.insert(b.fn->body.lists.end(), rows.begin(), rows.end());
      if (op.has("multicast::cluster")) ins.e = b.source(args.at(3), Type::b16, &ins.ds);
      ins.fn = h_tensor_load;
      return true;
    }
    if (op.has("multicast::cluster") || args.size() < 4) return false;
    b.address(args[0], ins);
    second_address(args[1], ins.b, ins.bs, ins.imm2);
    ins.e = b.source(args[2], Type::b32, &ins.ds);
    second_address(args[3], ins.c, ins.cs, ins.imm3);
    ins.fn = h_bulk_load;
    return true;
  }
  if (o == "mbarrier") {
    ins.space = space();
    const std::string_view what = op.parts.size() > 1 ? op.parts[1] : std::string_view{};
    if (what == "init") {
      b.address(args.at(0), ins);
      ins.b = b.source(args.at(1), Type::b32, &ins.bs);
      ins.fn = h_mbar_init;
      return true;
    }
    if (what == "inval") {
      b.address(args.at(0), ins);
      ins.fn = h_mbar_inval;
      return true;
    }
    if (what == "arrive" || what == "arrive_drop" || what == "expect_tx") {
      std::size_t k = 0;
      if (args.size() && args[0].k != Operand::address) {
        ins.d = b.dest(args[0]);
        k = 1;
      }
      b.address(args.at(k), ins);
      const bool tx = op.has("expect_tx");
      if (op.has("noComplete")) return false;
      ins.aux = static_cast<u16>((what == "expect_tx" ? 0 : what == "arrive" ? 1 : 4) | (tx ? 2 : 0));
      if (tx)
        ins.b = b.source(args.at(k + 1), Type::b32, &ins.bs);
      else if (args.size() > k + 1)
        ins.c = b.source(args[k + 1], Type::b32, &ins.cs);
      ins.fn = h_mbar_arrive;
      return true;
    }
    if (what == "try_wait" || what == "test_wait") {
      ins.d = b.dest(args.at(0));
      b.address(args.at(1), ins);
      ins.aux = op.has("parity");
      ins.b = b.source(args.at(2), ins.aux ? Type::b32 : Type::b64, &ins.bs);
      ins.fn = h_mbar_wait;
      return true;
    }
    return false;
  }
  return false;
}
}  // namespace gpu_model
