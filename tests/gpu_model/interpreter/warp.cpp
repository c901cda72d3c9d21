// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Instructions between the lanes of a warp, barriers, fences.
#include "decoder.hpp"
#include "lanes.hpp"
#include "machine.hpp"

namespace gpu_model {
namespace {
void put(Warp& w, u32 row, u32 value, u32 m) {
  u32* p = w.row<u32>(row);
  *p = (*p & ~m) | (value & m);
}

// aux: 0 up 1 down 2 bfly 3 idx; list (if any): the predicate
void h_shfl(Warp& w, const Instruction& i, u32 m) {
  const u32 *a = w.row<u32>(i.a), *b = w.row<u32>(i.b), *c = w.row<u32>(i.c);
  u32 r[32], in = 0;
  for (u32 t = m; t; t &= t - 1) {
    u32 l = static_cast<u32>(std::countr_zero(t)), bv = b[l] & 31, cv = c[l] & 31, seg = c[l] >> 8 & 31;
    u32 max = (l & seg) | (cv & ~seg), min = l & seg;
    s32 j;
    bool p;
    switch (i.aux) {
      case 0:
        j = static_cast<s32>(l) - static_cast<s32>(bv);
        p = j >= static_cast<s32>(max);
        break;
      case 1:
        j = static_cast<s32>(l + bv);
        p = j <= static_cast<s32>(max);
        break;
      case 2:
        j = static_cast<s32>(l ^ bv);
        p = j <= static_cast<s32>(max);
        break;
      default:
        j = static_cast<s32>(min | (bv & ~seg));
        p = j <= static_cast<s32>(max);
        break;
    }
    if (!p)
      j = static_cast<s32>(l);
    else
      in |= 1u << l;
    r[l] = m >> j & 1 ? a[j] : 0xffffffffu;  // a lane that does not take part: undefined; poison here
  }
  u32* d = w.row<u32>(i.d);
  for (u32 t = m; t; t &= t - 1) {
    int l = std::countr_zero(t);
    d[l] = r[l];
  }
  if (i.list_n) put(w, w.body->lists[i.list], in, m);
}
// aux: 0 any 1 all 2 uni 3 ballot
void h_vote(Warp& w, const Instruction& i, u32 m) {
  u32 p = *w.row<u32>(i.a);
  if (i.source_not) p = ~p;
  p &= m;
  switch (i.aux) {
    case 0:
      put(w, i.d, p ? ~0u : 0, m);
      break;
    case 1:
      put(w, i.d, p == m ? ~0u : 0, m);
      break;
    case 2:
      put(w, i.d, p == m || p == 0 ? ~0u : 0, m);
      break;
    default: {
      u32* d = w.row<u32>(i.d);
      for (u32 t = m; t; t &= t - 1) d[std::countr_zero(t)] = p;
    }
  }
}
void h_activemask(Warp& w, const Instruction& i, u32 m) {
  u32* d = w.row<u32>(i.d);
  for (u32 t = m; t; t &= t - 1) d[std::countr_zero(t)] = m;
}
template <class T>
void h_match(Warp& w, const Instruction& i, u32 m) {
  const T* a = w.row<T>(i.a);
  u32 r[32], all = 0;
  for (u32 t = m; t; t &= t - 1) {
    u32 l = static_cast<u32>(std::countr_zero(t));
    r[l] = 0;
    for (u32 x = m; x; x &= x - 1)
      if (a[std::countr_zero(x)] == a[l]) r[l] |= 1u << std::countr_zero(x);
    if (i.aux) {
      if (r[l] == m)
        all |= 1u << l;
      else
        r[l] = 0;
    }
  }
  u32* d = w.row<u32>(i.d);
  for (u32 t = m; t; t &= t - 1) {
    int l = std::countr_zero(t);
    d[l] = r[l];
  }
  if (i.list_n) put(w, w.body->lists[i.list], all, m);
}
void h_elect(Warp& w, const Instruction& i, u32 m) {  // the leader: the lowest lane (the ISA leaves the choice open)
  u32 l0 = w.first_lane(m);
  u32* d = w.row<u32>(i.d);
  if (i.d)
    for (u32 t = m; t; t &= t - 1) d[std::countr_zero(t)] = l0;
  if (i.list_n) put(w, w.body->lists[i.list], 1u << l0, m);
}
enum Redux { R_ADD, R_MIN, R_MAX, R_AND, R_OR, R_XOR };
template <class T>
void h_redux(Warp& w, const Instruction& i, u32 m) {
  const T* a = w.row<T>(i.a);
  T r = a[w.first_lane(m)];
  for (u32 t = m & (m - 1); t; t &= t - 1) {
    T v = a[std::countr_zero(t)];
    switch (i.aux) {
      case R_ADD:
        r = static_cast<T>(r + v);
        break;
      case R_MIN:
        r = std::min(r, v);
        break;
      case R_MAX:
        r = std::max(r, v);
        break;
      case R_AND:
        r &= v;
        break;
      case R_OR:
        r |= v;
        break;
      default:
        r ^= v;
    }
  }
  T* d = w.row<T>(i.d);
  for (u32 t = m; t; t &= t - 1) d[std::countr_zero(t)] = r;
}
void h_none(Warp&, const Instruction&, u32) {}
void h_fence_async(Warp& w, const Instruction&, u32) { ++w.proxy_epoch; }
void h_nanosleep(Warp& w, const Instruction&, u32) {
  w.yield = true;
  w.spun = true;
  w.waits_for = "nanosleep";
}
void h_trap(Warp& w, const Instruction& i, u32 m) { fault(Fault::Kind::trap, w, i, static_cast<int>(w.first_lane(m)), "trap"); }
}  // namespace

bool decode_warp(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  const std::string_view o = op.parts[0];
  auto second = [&](const Operand& a) {
    if (a.second.empty()) return;
    ins.list = static_cast<u32>(b.fn->body.lists.size());
    ins.list_n = 1;
    ins.list_written = true;
    b.fn->body.lists.push_back(b.dest(a.second[0]));
  };
  if (o == "shfl") {
    if (!op.has("sync") || args.size() != 5) return false;
    ins.kind = Kind::sync;
    ins.aux = op.has("up") ? 0 : op.has("down") ? 1 : op.has("bfly") ? 2 : 3;
    ins.d = b.dest(args[0]);
    second(args[0]);
    ins.a = b.source(args[1], Type::b32);
    ins.b = b.source(args[2], Type::b32);
    ins.c = b.source(args[3], Type::b32);
    ins.e = b.source(args[4], Type::b32);
    ins.fn = h_shfl;
    return true;
  }
  if (o == "vote") {
    if (!op.has("sync") || args.size() != 3) return false;
    ins.kind = Kind::sync;
    ins.aux = op.has("any") ? 0 : op.has("all") ? 1 : op.has("uni") ? 2 : 3;
    ins.d = b.dest(args[0]);
    ins.a = b.source(args[1], Type::pred);
    ins.source_not = args[1].is_not;
    ins.e = b.source(args[2], Type::b32);
    ins.fn = h_vote;
    return true;
  }
  if (o == "activemask") {
    ins.d = b.dest(args.at(0));
    ins.fn = h_activemask;
    return true;
  }
  if (o == "match") {
    ins.kind = Kind::sync;
    ins.aux = op.has("all");
    ins.d = b.dest(args.at(0));
    second(args[0]);
    const Type t = op.type();
    ins.a = b.source(args.at(1), t);
    ins.e = b.source(args.at(2), Type::b32);
    ins.fn = size_of(t) == 8 ? h_match<u64> : h_match<u32>;
    return true;
  }
  if (o == "elect") {
    ins.kind = Kind::sync;
    ins.d = b.dest(args.at(0));
    second(args[0]);
    ins.e = b.source(args.at(1), Type::b32);
    ins.fn = h_elect;
    return true;
  }
  if (o == "redux") {
    const Type t = op.type();
    if (size_of(t) != 4 || is_float(t)) return false;
    ins.kind = Kind::sync;
    ins.aux = op.has("add")   ? R_ADD
              : op.has("min") ? R_MIN
              : op.has("max") ? R_MAX
              : op.has("and") ? R_AND
              : op.has("or")  ? R_OR
                              : R_XOR;
    ins.d = b.dest(args.at(0));
    ins.a = b.source(args.at(1), t);
    ins.e = b.source(args.at(2), Type::b32);
    ins.fn = t == Type::s32_ ? h_redux<s32> : h_redux<u32>;
    return true;
  }
  if (o == "bar" || o == "barrier") {
    if (op.has("cluster")) {
      ins.kind = Kind::cluster;
      ins.aux = op.has("wait");
      ins.n = op.has("aligned");
      ins.fn = h_none;
      return op.has("wait") || op.has("arrive");
    }
    if (op.has("warp")) {
      ins.kind = Kind::sync;
      ins.e = b.source(args.at(0), Type::b32);
      ins.fn = h_none;
      return true;
    }
    ins.kind = Kind::bar;
    ins.n = o == "bar" || op.has("aligned");
    ins.fn = h_none;
    if (op.has("red")) {
      ins.aux = op.has("popc") ? 2 : op.has("and") ? 3 : 4;
      ins.d = b.dest(args.at(0));
      ins.a = b.source(args.at(1), Type::b32);
      if (args.size() == 4) ins.b = b.source(args[2], Type::b32);
      ins.c = b.source(args.back(), Type::pred);
      ins.source_not = args.back().is_not;
      return false;  // not used: let it be unknown rather than untested
    }
    ins.aux = op.has("arrive") ? 1 : 0;
    if (!op.has("arrive") && !op.has("sync")) return false;
    ins.a = b.source(args.at(0), Type::b32);
    if (args.size() > 1) ins.b = b.source(args[1], Type::b32);
    return true;
  }
  if (o == "membar" || o == "fence") {
    ins.fn = op.has("proxy") && op.parts.size() > 2 && op.parts[2].substr(0, 5) == "async" ? h_fence_async : h_none;
    return true;
  }
  if (o == "fence.proxy") return false;
  if (o == "nanosleep") {
    ins.fn = h_nanosleep;
    return true;
  }
  if (o == "trap" || o == "brkpt") {
    ins.fn = h_trap;
    return true;
  }
  if (o == "setmaxnreg") {
    ins.kind = Kind::aligned;
    ins.fn = h_none;
    return true;
  }
  if (o == "griddepcontrol" || o == "pmevent") {
    ins.fn = h_none;
    return true;
  }
  return false;
}
}  // namespace gpu_model
