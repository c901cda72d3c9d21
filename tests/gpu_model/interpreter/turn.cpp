// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "turn.hpp"

#include "lanes.hpp"
#include "races.hpp"
#include "tcgen05.hpp"
#include "wgmma.hpp"

namespace gpu_model {
namespace {

u32 threads_of(u32 mask) { return static_cast<u32>(std::popcount(mask)); }

/// Threads that a barrier without a thread count expects: whole warps, as long as one of their lanes is live.
u32 live_threads(const Block& block) { return 32 * block.live_warps; }

u32 expected_threads(const Block& block, const Barrier& barrier) {
  return barrier.whole_block ? live_threads(block) : barrier.expected;
}

void release(Block& block, Barrier& barrier) {
  for (Warp* w : barrier.waiting) {
    race_acquire(*w, barrier.clocks);
    for (LaneGroup& group : w->groups)
      if (group.state == LaneGroup::at_barrier) {
        group.state = LaneGroup::ready;
        ++group.pc;
      }
  }
  barrier.reset();
  ++block.cluster->launch->effects;
}

void complete_cluster_phase(Cluster& cluster) {
  if (cluster.arrived == 0 || cluster.arrived < cluster.live_threads) return;
  cluster.arrived = 0;
  ++cluster.phase;
  ++cluster.launch->effects;
  cluster.barrier_clocks.completed = cluster.barrier_clocks.arriving;
}

/// What the exit of its last lane means for the warp's block.
void exit_warp(Warp& w) {
  Block& block = *w.block;
  --block.live_warps;
  --w.cluster->live_warps;
  if (!w.copies.empty()) warn_once(w, *w.at, "warp exits with cp.async not waited for");
  if (!w.wgmmas.empty()) warn_once(w, *w.at, "warp exits with wgmma not waited for");
  tensor_memory_exit(w);
  if (block.live_warps == 0) return race_exit(block);
  for (Barrier& barrier : block.barriers)
    if (barrier.arrived && barrier.whole_block && barrier.arrived >= live_threads(block)) release(block, barrier);
}

}  // namespace

bool Turn::run() {
  for (LaneGroup& group : groups_)
    if (group.state == LaneGroup::yielded) group.state = LaneGroup::ready;
  while (pick_group()) {
    Next next = Next::same_group;
    do {
      if (launch_.executed >= end_) return true;
      if (groups_.size() > 1 && must_pick_again()) break;
      next = step();
    } while (next == Next::same_group);
    if (next == Next::exited) return true;
  }
  return progressed();
}

/// Lanes that have diverged run one group at a time, the one that is furthest behind first, so that they meet again.
bool Turn::pick_group() {
  group_ = nullptr;
  for (LaneGroup& group : groups_)
    if (group.state == LaneGroup::ready && (!group_ || group.pc < group_->pc)) group_ = &group;
  since_pick_ = 0;
  return group_ != nullptr;
}

bool Turn::must_pick_again() {
  constexpr u64 longest_run = 4'000'000;
  for (auto other = groups_.begin(); other != groups_.end(); ++other) {
    if (&*other == group_ || other->pc != group_->pc || other->state == LaneGroup::at_barrier) continue;
    group_->mask |= other->mask;
    groups_.erase(other);
    return true;
  }
  for (const LaneGroup& other : groups_)
    if (other.state == LaneGroup::ready && other.pc < group_->pc) return true;
  if (++since_pick_ <= longest_run) return false;
  group_->state = LaneGroup::yielded;  // it may poll for what a group ahead of it does
  return true;
}

bool Turn::progressed() const {
  constexpr u64 poll_instructions = 24;  // a loop that polls executes fewer
  const u64 executed = launch_.executed - start_;
  if (w_.live == 0) return true;
  for (const LaneGroup& group : groups_)
    if (group.state == LaneGroup::yielded) return !polled_ || executed >= poll_instructions;
  return executed != 0;
}

inline Turn::Next Turn::step() {
  const Instruction& i = code_[group_->pc];
  u32 mask = group_->mask;
  if (i.pred) {
    const u32 predicate = *w_.row<u32>(i.pred);
    mask &= i.pred_not ? ~predicate : predicate;
  }
  w_.at = &i;
  ++launch_.executed;
  if (mask == 0) {
    ++group_->pc;
    return Next::same_group;
  }
  switch (i.kind) {
    case Kind::normal:
      return run_normal(i, mask);
    case Kind::bra:
      return run_branch(i, mask);
    case Kind::exit:
      return run_exit(mask);
    case Kind::sync:
      return run_sync(i, mask);
    case Kind::aligned:
      return run_aligned(i, mask);
    case Kind::bar:
      return run_barrier(i, mask);
    case Kind::cluster:
      return i.aux ? run_cluster_wait(i, mask) : run_cluster_arrive(i, mask);
  }
  return Next::same_group;
}

inline void Turn::run_lanes(const Instruction& i, u32 mask) {
  if (!w_.wgmmas.empty()) check_in_flight(w_, i);
  i.fn(w_, i, mask);
  if (!w_.written_at.empty() && !i.is_wgmma) note_written(w_, i);
}

inline Turn::Next Turn::advance(u32 mask) {
  launch_.thread_instructions += threads_of(mask);
  ++group_->pc;
  return Next::same_group;
}

Turn::Next Turn::wait(LaneGroup::State state, const char* what) {
  group_->state = state;
  w_.waits_for = what;
  return Next::another_group;
}

void Turn::require_uniform(const Instruction& i, u32 mask, const char* text) {
  if (mask != group_->mask) fault(Fault::Kind::illegal_instruction, w_, i, first_lane(mask), text);
}

inline Turn::Next Turn::run_normal(const Instruction& i, u32 mask) {
  run_lanes(i, mask);
  launch_.flops[i.flop_class] += threads_of(mask) * i.flops;
  advance(mask);
  if (!w_.yield) return Next::same_group;
  polled_ |= w_.spun;
  w_.yield = w_.spun = false;
  group_->state = LaneGroup::yielded;
  return Next::another_group;
}

inline Turn::Next Turn::run_branch(const Instruction& i, u32 mask) {
  const u32 target = static_cast<u32>(i.imm);
  launch_.thread_instructions += threads_of(mask);
  if (mask == group_->mask) {
    group_->pc = target;
    return Next::same_group;
  }
  group_->mask &= ~mask;
  ++group_->pc;
  groups_.push_back({.pc = target, .mask = mask});
  return Next::another_group;
}

Turn::Next Turn::run_exit(u32 mask) {
  Cluster& cluster = *w_.cluster;
  advance(mask);
  w_.live &= ~mask;
  group_->mask &= ~mask;
  cluster.live_threads -= threads_of(mask);
  for (const u32 lane : Lanes(mask))
    if (w_.cluster_phase[lane] == cluster.phase) --cluster.arrived;
  ++launch_.effects;
  if (cluster.live_threads) complete_cluster_phase(cluster);
  if (group_->mask == 0) groups_.erase(groups_.begin() + (group_ - groups_.data()));
  for (LaneGroup& other : groups_)
    if (other.state == LaneGroup::waits_for_lanes) other.state = LaneGroup::ready;
  if (w_.live) return Next::another_group;
  exit_warp(w_);
  return Next::exited;
}

Turn::Next Turn::run_sync(const Instruction& i, u32 mask) {
  const u32 named = i.e ? w_.row<u32>(i.e)[first_lane(mask)] : ~0u;
  const u32 needed = named & w_.live;
  if ((group_->mask & needed) != needed) return wait(LaneGroup::waits_for_lanes, "lanes of a .sync mask");
  if (mask & ~named) warn_once(w_, i, "a lane runs a .sync instruction whose mask does not name it");
  run_lanes(i, mask);
  return advance(mask);
}

Turn::Next Turn::run_aligned(const Instruction& i, u32 mask) {
  if (group_->mask != w_.live) return wait(LaneGroup::waits_for_lanes, "all lanes of the warp (.aligned)");
  require_uniform(i, mask, ".aligned instruction under a predicate that differs within the warp");
  run_lanes(i, mask);
  return advance(mask);
}

/// a: number of the barrier, b: thread count (0: none), aux: 1 arrives without waiting.
Turn::Next Turn::run_barrier(const Instruction& i, u32 mask) {
  if (group_->mask != w_.live) return wait(LaneGroup::waits_for_lanes, "all lanes of the warp (bar)");
  require_uniform(i, mask, "barrier under a predicate that differs within the warp");
  const int lane = first_lane(mask);
  const u32 number = w_.row<u32>(i.a)[lane], count = i.b ? w_.row<u32>(i.b)[lane] : 0;
  const bool whole_block = i.b == 0, arrives_only = i.aux == 1;
  const auto illegal = [&](const std::string& text) { fault(Fault::Kind::illegal_instruction, w_, i, lane, text); };
  Block& block = *w_.block;
  if (number >= std::size(block.barriers)) illegal("barrier " + std::to_string(number));
  if (!whole_block && (count == 0 || count % 32 || count > 1024)) illegal("barrier thread count " + std::to_string(count));
  if (whole_block && arrives_only) illegal("bar.arrive without a count");
  Barrier& barrier = block.barriers[number];
  const u32 expected = whole_block ? live_threads(block) : count, others = expected_threads(block, barrier);
  // A count equal to the live threads may meet no count.
  const bool both_whole = whole_block && barrier.whole_block;
  if (barrier.arrived && !both_whole && expected != others)
    illegal("barrier " + std::to_string(number) + " with " + std::to_string(expected) + " threads, but others arrived for " +
            std::to_string(others));
  barrier.whole_block = whole_block;
  barrier.expected = expected;
  barrier.arrived += 32;
  ++launch_.effects;
  race_release(w_, barrier.clocks);
  if (barrier.arrived < expected && !arrives_only) {
    launch_.thread_instructions += threads_of(mask);
    barrier.waiting.push_back(&w_);
    return wait(LaneGroup::at_barrier, "barrier");
  }
  if (barrier.arrived >= expected) {
    if (!arrives_only) race_acquire(w_, barrier.clocks);
    release(block, barrier);
  }
  return advance(mask);
}

/// n: 1 where .aligned.
Turn::Next Turn::run_cluster_arrive(const Instruction& i, u32 mask) {
  if (i.n && group_->mask != w_.live) return wait(LaneGroup::waits_for_lanes, "all lanes of the warp (barrier.cluster)");
  Cluster& cluster = *w_.cluster;
  for (const u32 lane : Lanes(mask)) {
    if (w_.cluster_phase[lane] == cluster.phase)
      fault(Fault::Kind::illegal_instruction, w_, i, lane, "barrier.cluster.arrive twice without a wait");
    w_.cluster_phase[lane] = cluster.phase;
  }
  cluster.arrived += threads_of(mask);
  race_release(w_, cluster.barrier_clocks.arriving);
  ++launch_.effects;
  complete_cluster_phase(cluster);
  return advance(mask);
}

Turn::Next Turn::run_cluster_wait(const Instruction& i, u32 mask) {
  if (i.n && group_->mask != w_.live) return wait(LaneGroup::waits_for_lanes, "all lanes of the warp (barrier.cluster)");
  const Cluster& cluster = *w_.cluster;
  bool complete = true;
  for (const u32 lane : Lanes(mask)) {
    if (w_.cluster_phase[lane] == 0)
      fault(Fault::Kind::illegal_instruction, w_, i, lane, "barrier.cluster.wait without an arrive");
    complete = complete && w_.cluster_phase[lane] != cluster.phase;
  }
  if (!complete) {
    polled_ = true;
    return wait(LaneGroup::yielded, "barrier.cluster");
  }
  race_acquire(w_, cluster.barrier_clocks.completed);
  return advance(mask);
}

}  // namespace gpu_model
