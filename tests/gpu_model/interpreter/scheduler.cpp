// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Runs a grid: clusters one after another, the warps of a cluster in turns.
#include <cxxabi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "decoder.hpp"
#include "lanes.hpp"
#include "machine.hpp"

namespace gpu_model {

namespace {
std::string readable(const std::string& mangled) {
  int status = 0;
  char* d = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string r = status == 0 && d ? d : mangled;
  std::free(d);
  std::size_t cut = r.find('(', r.find("kernel") == std::string::npos ? 0 : r.find("kernel"));
  if (r.size() > 200 && cut != std::string::npos) r.resize(std::min<std::size_t>(r.size(), 200));
  return r;
}
std::string source_of(const Body& b, const Instruction& i) {
  if (i.loc == 0 || i.loc >= b.locs.size()) return "";
  const Loc& l = b.locs[i.loc];
  auto it = b.module->files.find(l.file);
  return " (" + (it == b.module->files.end() ? "file " + std::to_string(l.file) : it->second) + ":" + std::to_string(l.line) +
         ")";
}
std::string place(const Warp& w, const Instruction& i, int lane) {
  const Launch& L = *w.launch;
  const Dim3& c = w.cta->ctaid;
  std::string s = readable(w.body->info.name) + ", block (" + std::to_string(c.x) + "," + std::to_string(c.y) + "," +
                  std::to_string(c.z) + ")";
  u32 t = w.id * 32 + static_cast<u32>(lane < 0 ? 0 : lane);
  if (lane >= 0)
    s += ", thread (" + std::to_string(t % L.block.x) + "," + std::to_string(t / L.block.x % L.block.y) + "," +
         std::to_string(t / L.block.x / L.block.y) + ")";
  else
    s += ", warp " + std::to_string(w.id);
  return s + ", PTX line " + std::to_string(i.line) + source_of(*w.body, i);
}
}  // namespace

void fault(Fault::Kind kind, const Warp& w, const Instruction& i, int lane, const std::string& text) {
  static const char* names[] = {"illegal address", "misaligned address", "illegal instruction", "deadlock", "trap", "race",
                                "unsupported"};
  throw Fault(kind, std::string(names[static_cast<int>(kind)]) + ": " + text + "; " + place(w, i, lane));
}
void warn_once(Warp& w, const Instruction& i, const std::string& text) {
  Launch& L = *w.launch;
  for (auto& [line, what] : L.warned)
    if (line == i.line && what.substr(0, 24) == text.substr(0, 24)) return;
  if (L.warned.size() > 200) return;
  L.warned.emplace_back(i.line, text);
  ++L.counters->warnings;
  if (!L.quiet) std::fprintf(stderr, "gpumodel: warning: %s; %s\n", text.c_str(), place(w, i, -1).c_str());
}
u64 random_next(u64& s) {
  s ^= s << 13;
  s ^= s >> 7;
  s ^= s << 17;
  return s >> 11;
}

void advance_time(Launch& L, u64) {
  u64 n = L.executed - L.timed;
  L.timed = L.executed;
  Time& t = *L.time;
  t.clock64 += n;  // one cycle a warp instruction
  if (t.wall) {
    t.globaltimer_ns = static_cast<u64>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  } else {
    double ns = static_cast<double>(n) * 1000.0 / t.clock_mhz + L.cycle_fraction;
    u64 whole = static_cast<u64>(ns);
    L.cycle_fraction = ns - static_cast<double>(whole);
    t.globaltimer_ns += whole;
  }
}

namespace {
enum class Status { progress, spun, blocked, done };

void check_in_flight(Warp& w, const Instruction& i) {
  if (w.in_flight.empty() || i.is_wgmma) return;
  auto f = [&](u32 r) { return w.in_flight[r >> 6]; };
  bool read = ((f(i.a) | f(i.b) | f(i.c) | f(i.e)) & 1) || (i.d_source && f(i.d) & 1), write = !i.d_source && i.d && f(i.d);
  const u32* list = w.body->lists.data() + i.list;
  for (u32 k = 0; k < i.list_n; ++k)
    (i.list_written ? write : read) |= i.list_written ? f(list[k]) != 0 : (f(list[k]) & 1) != 0;
  if (read) warn_once(w, i, "register of an accumulator read while wgmma is in flight (before wgmma.wait_group)");
  if (write) warn_once(w, i, "register of a fragment written while wgmma is in flight (before wgmma.wait_group)");
}

void release(Block& c, Barrier& b) {
  for (Warp* x : b.waiting) {
    if (!x->vc.empty()) race_join(x->vc, b.vc);
    for (Group& g : x->groups)
      if (g.st == Group::blocked) {
        g.st = Group::run;
        ++g.pc;
      }
  }
  b.vc.clear();
  b.waiting.clear();
  b.arrived = 0;
  b.expected = 0;
  ++c.cl->launch->effects;
}

void cluster_arrived(Cluster& cl) {
  if (cl.arrived >= cl.live_threads && cl.arrived > 0) {
    cl.arrived = 0;
    ++cl.phase;
    ++cl.launch->effects;
    cl.clock.done = cl.clock.acc;
  }
}

Status run_warp(Warp& w, u64 budget) {
  Launch& L = *w.launch;
  const Instruction* code = w.body->code.data();
  u64 executed = 0, threads = 0;
  u64 flop[8] = {};
  auto& groups = w.groups;
  for (Group& g : groups)
    if (g.st == Group::yielded) g.st = Group::run;
  Status status = Status::progress;
  bool spun = false;
  struct Flush {
    Launch& L;
    u64 &executed, &threads;
    u64* flop;
    Warp& w;
    ~Flush() {
      L.thread_instructions += threads;
      for (int k = 1; k < 5; ++k) L.flop[k] += flop[k];
      w.instructions += executed;
    }
  } flush{L, executed, threads, flop, w};

pick:
  int cur = -1;
  for (int k = 0; k < static_cast<int>(groups.size()); ++k)
    if (groups[static_cast<std::size_t>(k)].st == Group::run &&
        (cur < 0 || groups[static_cast<std::size_t>(k)].pc < groups[static_cast<std::size_t>(cur)].pc))
      cur = k;
  if (cur < 0) {
    if (w.live == 0) return Status::done;
    bool any = false;
    for (Group& g : groups) any |= g.st == Group::yielded;
    if (!any) return executed ? Status::progress : Status::blocked;
    return spun && executed < 24 ? Status::spun : Status::progress;
  }
  Group* g = &groups[static_cast<std::size_t>(cur)];
  u64 since = 0;
  for (;;) {
    if (executed >= budget) return status;
    if (groups.size() > 1) {
      for (std::size_t k = 0; k < groups.size(); ++k) {
        if (static_cast<int>(k) == cur || groups[k].pc != g->pc || groups[k].st == Group::blocked) continue;
        g->mask |= groups[k].mask;
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(k));
        goto pick;
      }
      for (std::size_t k = 0; k < groups.size(); ++k)
        if (groups[k].st == Group::run && groups[k].pc < g->pc) goto pick;
      if (++since > 4000000) {
        g->st = Group::yielded;
        since = 0;
        goto pick;
      }  // let the others run for once: they may be what it waits for
    }
    const Instruction& I = code[g->pc];
    u32 m = g->mask;
    if (I.pred) {
      u32 p = *w.row<u32>(I.pred);
      m &= I.pred_not ? ~p : p;
    }
    w.at = &I;
    ++executed;
    ++L.executed;
    switch (I.kind) {
      case Kind::normal:
        if (m) {
          if (!w.wgmmas.empty()) check_in_flight(w, I);
          I.fn(w, I, m);
          if (!w.written_at.empty()) {
            if (!I.d_source) w.written_at[I.d >> 6] = w.fence_epoch;
            if (I.list_written)
              for (u32 k = 0; k < I.list_n; ++k) w.written_at[w.body->lists[I.list + k] >> 6] = w.fence_epoch;
          }
          u32 n = static_cast<u32>(std::popcount(m));
          threads += n;
          flop[I.flop_class] += n * I.flops;
        }
        ++g->pc;
        if (w.yield) {
          spun |= w.spun;
          w.yield = w.spun = false;
          g->st = Group::yielded;
          goto pick;
        }
        break;
      case Kind::bra:
        threads += static_cast<u32>(std::popcount(m));
        if (m == g->mask)
          g->pc = static_cast<u32>(I.imm);
        else if (m == 0)
          ++g->pc;
        else {
          Group other{static_cast<u32>(I.imm), m, Group::run};
          g->mask &= ~m;
          ++g->pc;
          groups.push_back(other);
          goto pick;
        }
        break;
      case Kind::exit: {
        threads += static_cast<u32>(std::popcount(m));
        if (m == 0) {
          ++g->pc;
          break;
        }
        w.live &= ~m;
        g->mask &= ~m;
        ++g->pc;
        Cluster& cl = *w.cl;
        cl.live_threads -= static_cast<u32>(std::popcount(m));
        for (u32 t = m; t; t &= t - 1)
          if (w.cluster_phase[std::countr_zero(t)] == cl.phase) --cl.arrived;
        ++L.effects;
        if (cl.live_threads) cluster_arrived(cl);
        if (g->mask == 0) groups.erase(groups.begin() + cur);
        for (Group& x : groups)
          if (x.st == Group::sync_wait) x.st = Group::run;
        if (w.live == 0) {
          Block& c = *w.cta;
          --c.live_warps;
          --cl.live_warps;
          if (!w.copies.empty()) warn_once(w, I, "warp exits with cp.async not waited for");
          if (!w.wgmmas.empty()) warn_once(w, I, "warp exits with wgmma not waited for");
          if (c.live_warps)
            for (Barrier& b : c.barriers)
              if (b.arrived && b.implied && b.arrived >= 32 * c.live_warps) release(c, b);
          return Status::done;
        }
        goto pick;
      }
      case Kind::sync: {
        if (m == 0) {
          ++g->pc;
          break;
        }
        u32 named = I.e ? w.row<u32>(I.e)[w.first_lane(m)] : ~0u;
        u32 need = named & w.live;
        if ((g->mask & need) != need) {
          g->st = Group::sync_wait;
          w.waits_for = "lanes of a .sync mask";
          goto pick;
        }
        if (m & ~named) warn_once(w, I, "a lane runs a .sync instruction whose mask does not name it");
        if (!w.wgmmas.empty()) check_in_flight(w, I);
        I.fn(w, I, m);
        threads += static_cast<u32>(std::popcount(m));
        ++g->pc;
        break;
      }
      case Kind::aligned:
        if (m == 0) {
          ++g->pc;
          break;
        }
        if (g->mask != w.live) {
          g->st = Group::sync_wait;
          w.waits_for = "all lanes of the warp (.aligned)";
          goto pick;
        }
        if (m != g->mask)
          fault(Fault::Kind::illegal_instruction, w, I, static_cast<int>(w.first_lane(m)),
                ".aligned instruction under a predicate that differs within the warp");
        if (!w.wgmmas.empty()) check_in_flight(w, I);
        I.fn(w, I, m);
        threads += static_cast<u32>(std::popcount(m));
        ++g->pc;
        break;
      case Kind::bar: {
        if (m == 0) {
          ++g->pc;
          break;
        }
        if (g->mask != w.live) {
          g->st = Group::sync_wait;
          w.waits_for = "all lanes of the warp (bar)";
          goto pick;
        }
        if (m != g->mask)
          fault(Fault::Kind::illegal_instruction, w, I, static_cast<int>(w.first_lane(m)),
                "barrier under a predicate that differs within the warp");
        u32 l0 = w.first_lane(m), id = w.row<u32>(I.a)[l0], count = I.b ? w.row<u32>(I.b)[l0] : 0;
        Block& c = *w.cta;
        if (id >= 16) fault(Fault::Kind::illegal_instruction, w, I, static_cast<int>(l0), "barrier " + std::to_string(id));
        if (I.b && (count == 0 || count % 32 || count > 1024))
          fault(Fault::Kind::illegal_instruction, w, I, static_cast<int>(l0), "barrier thread count " + std::to_string(count));
        if (!I.b && I.aux == 1)
          fault(Fault::Kind::illegal_instruction, w, I, static_cast<int>(l0), "bar.arrive without a count");
        Barrier& b = c.barriers[id];
        const bool implied = !I.b;
        u32 expected = implied ? 32 * c.live_warps : count;
        if (b.arrived && (b.implied != implied || (!implied && b.expected != expected))) {
          if (!(b.implied != implied && (b.implied ? 32 * c.live_warps : b.expected) == expected))
            fault(Fault::Kind::illegal_instruction, w, I, static_cast<int>(l0),
                  "barrier " + std::to_string(id) + " with " + std::to_string(expected) + " threads, but others arrived for " +
                      std::to_string(b.implied ? 32 * c.live_warps : b.expected));
        }
        b.implied = implied;
        b.expected = expected;
        b.arrived += 32;
        ++L.effects;
        threads += static_cast<u32>(std::popcount(m));
        race_release(w, b.vc);
        if (b.arrived >= expected) {
          if (!w.vc.empty() && I.aux == 0) race_join(w.vc, b.vc);
          release(c, b);
          ++g->pc;
        } else if (I.aux == 1)
          ++g->pc;
        else {
          g->st = Group::blocked;
          w.waits_for = "barrier";
          b.waiting.push_back(&w);
          goto pick;
        }
        break;
      }
      case Kind::cluster: {
        if (m == 0) {
          ++g->pc;
          break;
        }
        if (I.n && g->mask != w.live) {
          g->st = Group::sync_wait;
          w.waits_for = "all lanes of the warp (barrier.cluster)";
          goto pick;
        }
        Cluster& cl = *w.cl;
        if (I.aux == 0) {
          for (u32 t = m; t; t &= t - 1) {
            int l = std::countr_zero(t);
            if (w.cluster_phase[l] == cl.phase)
              fault(Fault::Kind::illegal_instruction, w, I, l, "barrier.cluster.arrive twice without a wait");
            w.cluster_phase[l] = cl.phase;
          }
          cl.arrived += static_cast<u32>(std::popcount(m));
          race_release(w, cl.clock.acc);
          ++L.effects;
          cluster_arrived(cl);
          ++g->pc;
        } else {
          bool wait = false;
          for (u32 t = m; t; t &= t - 1) {
            int l = std::countr_zero(t);
            if (w.cluster_phase[l] == 0)
              fault(Fault::Kind::illegal_instruction, w, I, l, "barrier.cluster.wait without an arrive");
            wait |= w.cluster_phase[l] == cl.phase;
          }
          if (!wait && !w.vc.empty()) race_join(w.vc, cl.clock.done);
          if (wait) {
            spun = true;
            w.waits_for = "barrier.cluster";
            g->st = Group::yielded;
            goto pick;
          }
          ++g->pc;
        }
        threads += static_cast<u32>(std::popcount(m));
        break;
      }
    }
  }
}

u32 special_value(const Launch& L, const Warp& w, Special s, u32 lane) {
  const Block& c = *w.cta;
  u32 t = w.id * 32 + lane;
  switch (s) {
    case Special::tid_x:
      return t % L.block.x;
    case Special::tid_y:
      return t / L.block.x % L.block.y;
    case Special::tid_z:
      return t / L.block.x / L.block.y;
    case Special::ntid_x:
      return L.block.x;
    case Special::ntid_y:
      return L.block.y;
    case Special::ntid_z:
      return L.block.z;
    case Special::ctaid_x:
      return c.ctaid.x;
    case Special::ctaid_y:
      return c.ctaid.y;
    case Special::ctaid_z:
      return c.ctaid.z;
    case Special::nctaid_x:
      return L.grid.x;
    case Special::nctaid_y:
      return L.grid.y;
    case Special::nctaid_z:
      return L.grid.z;
    case Special::laneid:
      return lane;
    case Special::warpid:
      return w.id;
    case Special::nwarpid:
      return 64;
    case Special::smid:
      return c.sm;
    case Special::nsmid:
      return static_cast<u32>(L.sm_count);
    case Special::lanemask_eq:
      return 1u << lane;
    case Special::lanemask_lt:
      return (1u << lane) - 1;
    case Special::lanemask_le:
      return ((1u << lane) - 1) | 1u << lane;
    case Special::lanemask_gt:
      return ~(((1u << lane) - 1) | 1u << lane);
    case Special::lanemask_ge:
      return ~((1u << lane) - 1);
    case Special::cluster_ctaid_x:
      return c.cluster_ctaid.x;
    case Special::cluster_ctaid_y:
      return c.cluster_ctaid.y;
    case Special::cluster_ctaid_z:
      return c.cluster_ctaid.z;
    case Special::cluster_nctaid_x:
      return L.cluster.x;
    case Special::cluster_nctaid_y:
      return L.cluster.y;
    case Special::cluster_nctaid_z:
      return L.cluster.z;
    case Special::cluster_ctarank:
      return c.rank;
    case Special::cluster_nctarank:
      return L.cluster.x * L.cluster.y * L.cluster.z;
    case Special::clusterid_x:
      return c.ctaid.x / L.cluster.x;
    case Special::clusterid_y:
      return c.ctaid.y / L.cluster.y;
    case Special::clusterid_z:
      return c.ctaid.z / L.cluster.z;
    case Special::nclusterid_x:
      return L.grid.x / L.cluster.x;
    case Special::nclusterid_y:
      return L.grid.y / L.cluster.y;
    case Special::nclusterid_z:
      return L.grid.z / L.cluster.z;
    case Special::is_explicit_cluster:
      return L.cluster.x * L.cluster.y * L.cluster.z > 1;
    case Special::dynamic_smem_size:
      return static_cast<u32>(L.dynamic_shared);
    case Special::total_smem_size:
      return static_cast<u32>(L.shared_bytes);
    default:
      return 0;
  }
}

[[noreturn]] void deadlock(Cluster& cl) {
  std::string s;
  Warp* first = nullptr;
  int shown = 0;
  for (auto& w : cl.warps) {
    if (!w->live) continue;
    if (!first) first = w.get();
    if (++shown > 12) {
      s += " ...";
      break;
    }
    s += "\n  block (" + std::to_string(w->cta->ctaid.x) + "," + std::to_string(w->cta->ctaid.y) + "," +
         std::to_string(w->cta->ctaid.z) + ") warp " + std::to_string(w->id) + ":";
    for (const Group& g : w->groups) {
      const Instruction& i = w->body->code[g.pc];
      char mask[16];
      std::snprintf(mask, sizeof mask, "%08x", g.mask);
      static const char* st[] = {"runs", "waits for lanes", "waits at a barrier", "waits (spins)"};
      s += std::string(" lanes ") + mask + " " + st[g.st] + " at PTX line " + std::to_string(i.line) + source_of(*w->body, i) +
           ";";
    }
    s += std::string(" last waited for: ") + w->waits_for;
  }
  fault(Fault::Kind::deadlock, *first, *first->at, -1, "no warp of the cluster can go on:" + s + "\n");
}

Completion mode(const char* name, Completion def) {
  const char* v = std::getenv(name);
  if (!v) return def;
  std::string s = v;
  return s == "early" ? Completion::early : s == "random" ? Completion::random : Completion::late;
}

void run_cluster(Launch& L, Cluster& cl, u64 limit) {
  u64 stuck = 0, rounds = 0, last_effects = L.effects, quiet_since = L.executed;
  std::vector<Warp*> order;
  for (auto& w : cl.warps) order.push_back(w.get());
  const bool random = L.async_mode == Completion::random;
  while (cl.live_warps) {
    bool progress = false;
    ++rounds;
    if (random && order.size() > 1)
      std::swap(order[random_next(L.seed) % order.size()], order[random_next(L.seed) % order.size()]);
    for (Warp* w : order) {
      if (!w->live) continue;
      Status s = run_warp(*w, random ? 1 + random_next(L.seed) % 4000 : 4000);
      if (s == Status::progress || s == Status::done) progress = true;
    }
    advance_time(L, 0);
    if (L.time->wall) sched_yield();
    if (L.effects != last_effects) {
      last_effects = L.effects;
      quiet_since = L.executed;
    }
    if (!cl.pending.empty()) {
      std::size_t k = cl.pending.size();
      if (random) {
        if (!progress || random_next(L.seed) % 3 == 0) k = random_next(L.seed) % cl.pending.size();
      } else if (!progress || rounds % 64 == 0)
        k = 0;
      if (k < cl.pending.size()) {
        // one, or in order as many as it takes for a phase to be complete: nobody can see the difference but in the time that
        // it takes
        const u64 phases = L.phases;
        do {
          Pending p = std::move(cl.pending[k]);
          cl.pending.erase(cl.pending.begin() + static_cast<std::ptrdiff_t>(k));
          perform(cl, p);
        } while (!random && !progress && L.phases == phases && !cl.pending.empty());
        stuck = 0;
      }
      if (!progress) continue;
    }
    if (progress) {
      stuck = 0;
      if (!L.time->wall && L.executed - quiet_since > limit) deadlock(cl);
      continue;
    }
    if (L.time->wall) continue;
    if (++stuck > 200) deadlock(cl);
  }
  for (Pending& p : cl.pending)
    warn_once(*p.warp, *p.ins, "blocks have exited before an asynchronous copy of theirs was complete");
  cl.pending.clear();
}
}  // namespace

void run(const Function* f, Dim3 grid, Dim3 block, Dim3 cluster, std::size_t dynamic_shared, void* const* params, Time& time,
         Counters& counters, int sm_count) {
  const Body& body = f->body;
  Launch L;
  L.body = &body;
  L.grid = grid;
  L.block = block;
  L.cluster = cluster;
  L.dynamic_shared = dynamic_shared;
  L.time = &time;
  L.counters = &counters;
  L.sm_count = sm_count;
  for (unsigned* x : {&L.cluster.x, &L.cluster.y, &L.cluster.z})
    if (*x == 0) *x = 1;
  if (body.info.required_cluster[0] && L.cluster.x * L.cluster.y * L.cluster.z == 1)
    L.cluster = {static_cast<unsigned>(body.info.required_cluster[0]), static_cast<unsigned>(body.info.required_cluster[1]),
                 static_cast<unsigned>(body.info.required_cluster[2])};
  const u64 threads = static_cast<u64>(block.x) * block.y * block.z;
  auto refuse = [&](const std::string& s) {
    throw Fault(Fault::Kind::illegal_instruction, "launch of " + readable(body.info.name) + ": " + s);
  };
  if (threads == 0 || threads > 1024 || threads > static_cast<u64>(body.info.max_threads))
    refuse(std::to_string(threads) + " threads a block");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
    refuse("grid dimensions");
  if (grid.x % L.cluster.x || grid.y % L.cluster.y || grid.z % L.cluster.z) refuse("grid is no multiple of the cluster");
  if (const char* v = std::getenv("GPUMODEL_SHARED_BASE")) L.shared_base = std::strtoull(v, nullptr, 0) & ~u64(15);
  L.async_mode = mode("GPUMODEL_ASYNC", Completion::late);
  L.wgmma_mode = mode("GPUMODEL_WGMMA", Completion::late);
  if (const char* v = std::getenv("GPUMODEL_SEED")) L.seed = std::strtoull(v, nullptr, 0) * 0x9e3779b97f4a7c15ull + 1;
  if (const char* v = std::getenv("GPUMODEL_RACE")) L.race = *v == '1';
  if (const char* v = std::getenv("GPUMODEL_QUIET")) L.quiet = *v == '1';
  u64 limit = 2000000000ull;  // warp instructions without any store, arrival or exit
  if (const char* v = std::getenv("GPUMODEL_SPIN_LIMIT")) limit = std::strtoull(v, nullptr, 0);
  // static variables from the base, then dynamic shared memory
  const u64 align = std::max<u64>(16, body.dynamic_align);
  L.dynamic_offset = (L.shared_base + body.static_shared + align - 1) / align * align - L.shared_base;
  L.shared_bytes = L.dynamic_offset + dynamic_shared;
  if (body.static_shared + dynamic_shared > 227 * 1024)
    refuse(std::to_string(body.static_shared + dynamic_shared) + " bytes of shared memory a block");
  // parameters
  L.param_store.assign(body.param_bytes + 256, 0);
  L.params = reinterpret_cast<u8*>((reinterpret_cast<u64>(L.param_store.data()) + 127) / 128 * 128);
  for (std::size_t k = 0; k < body.info.param_sizes.size(); ++k)
    std::memcpy(L.params + body.info.param_offsets[k], params[k], body.info.param_sizes[k]);
  L.ranges = ranges_now(L.ranges_seen);

  std::vector<u8> image = body.image;
  for (const Body::SharedUse& u : body.dynamic_uses) {
    u64 at = L.shared_base + (u.add >> 63 ? L.dynamic_offset : 0) + static_cast<u64>(static_cast<s64>(u.add << 1) >> 1);
    for (u32 l = 0; l < 32; ++l) std::memcpy(image.data() + u.image_offset + l * (u.is64 ? 8u : 4u), &at, u.is64 ? 8 : 4);
  }

  const u32 nwarps = static_cast<u32>((threads + 31) / 32), nctas = L.cluster.x * L.cluster.y * L.cluster.z;
  const u64 rf_bytes = (body.reg_bytes + image.size() + 127) / 64 * 64;
  std::vector<u8> registers(rf_bytes * nwarps * nctas + 64);
  u8* rf = reinterpret_cast<u8*>((reinterpret_cast<u64>(registers.data()) + 63) / 64 * 64);
  Cluster cl;
  cl.launch = &L;
  for (u32 r = 0; r < nctas; ++r) {
    auto c = std::make_unique<Block>();
    c->cl = &cl;
    c->rank = r;
    c->smem.resize(L.shared_bytes);
    c->local.resize(body.local_bytes * nwarps * 32);
    if (body.async_proxy) c->generic_write.resize(L.shared_bytes / 16 + 1);
    for (u32 k = 0; k < nwarps; ++k) {
      auto w = std::make_unique<Warp>();
      w->rf = rf + rf_bytes * (r * nwarps + k);
      w->body = &body;
      w->cta = c.get();
      w->cl = &cl;
      w->launch = &L;
      w->id = k;
      std::memcpy(w->rf + body.reg_bytes, image.data(), image.size());
      std::memset(w->rf, 0xff, body.reg_bytes);
      c->warps.push_back(w.get());
      cl.warps.push_back(std::move(w));
    }
    cl.ctas.push_back(std::move(c));
  }
  // rows that stay the same for all blocks and those that change
  std::vector<Body::SpecialRow> per_block;
  for (const auto& s : body.specials) {
    for (auto& w : cl.warps)
      for (u32 l = 0; l < 32; ++l) w->row<u32>(body.reg_bytes + s.row)[l] = special_value(L, *w, s.what, l);
    switch (s.what) {
      case Special::ctaid_x:
      case Special::ctaid_y:
      case Special::ctaid_z:
      case Special::clusterid_x:
      case Special::clusterid_y:
      case Special::clusterid_z:
      case Special::smid:
      case Special::cluster_ctaid_x:
      case Special::cluster_ctaid_y:
      case Special::cluster_ctaid_z:
        per_block.push_back(s);
        break;
      default:
        break;
    }
  }
  const Dim3 ncl{grid.x / L.cluster.x, grid.y / L.cluster.y, grid.z / L.cluster.z};
  u64 index = 0;
  auto finish = [&] {
    advance_time(L, 0);
    counters.warp_instructions += L.executed;
    counters.thread_instructions += L.thread_instructions;
    for (int k = 0; k < 3; ++k) counters.fma_flops[k] += L.flop[k + 1];
    counters.special += L.flop[4];
  };
  try {
    for (unsigned z = 0; z < ncl.z; ++z)
      for (unsigned y = 0; y < ncl.y; ++y)
        for (unsigned x = 0; x < ncl.x; ++x, ++index) {
          cl.live_warps = 0;
          cl.live_threads = 0;
          cl.arrived = 0;
          cl.phase = 1;
          for (u32 r = 0; r < nctas; ++r) {
            Block& c = *cl.ctas[r];
            c.cluster_ctaid = {r % L.cluster.x, r / L.cluster.x % L.cluster.y, r / L.cluster.x / L.cluster.y};
            c.ctaid = {x * L.cluster.x + c.cluster_ctaid.x, y * L.cluster.y + c.cluster_ctaid.y,
                       z * L.cluster.z + c.cluster_ctaid.z};
            c.sm = static_cast<u32>((index * nctas + r) % static_cast<u64>(sm_count));
            std::memset(c.smem.data(), 0xff, c.smem.size());
            std::memset(c.local.data(), 0xff, c.local.size());
            std::fill(c.generic_write.begin(), c.generic_write.end(), 0u);
            c.live_warps = nwarps;
            for (Barrier& b : c.barriers) {
              b.waiting.clear();
              b.arrived = b.expected = 0;
              b.implied = false;
            }
            for (Warp* w : c.warps) {
              const u32 n = static_cast<u32>(std::min<u64>(32, threads - w->id * 32));
              w->live = n == 32 ? ~0u : (1u << n) - 1;
              w->groups.assign(1, Group{0, w->live, Group::run});
              w->yield = w->spun = false;
              w->copies.clear();
              std::fill(std::begin(w->copy_groups), std::end(w->copy_groups), 0u);
              w->wgmmas.clear();
              w->wgmma_groups = 0;
              if (body.has_wgmma) w->written_at.assign((body.reg_bytes + image.size()) / 64 + 2, 0);
              w->fence_epoch = 1;
              std::fill(w->in_flight.begin(), w->in_flight.end(), u8{0});
              std::fill(std::begin(w->cluster_phase), std::end(w->cluster_phase), 0u);
              w->at = body.code.data();
              w->waits_for = "nothing";
              if (index) std::memset(w->rf, 0xff, body.reg_bytes);
              for (const auto& s : per_block) {
                u32* row = w->row<u32>(body.reg_bytes + s.row);
                for (u32 l = 0; l < 32; ++l) row[l] = special_value(L, *w, s.what, l);
              }
              cl.live_threads += n;
              ++cl.live_warps;
            }
          }
          race_start(L, cl);
          run_cluster(L, cl, limit);
        }
  } catch (...) {
    finish();
    throw;
  }
  finish();
}
}  // namespace gpu_model
