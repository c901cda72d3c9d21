// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "scheduler.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "async_copies.hpp"
#include "diagnostics.hpp"
#include "turn.hpp"

namespace gpu_model {
namespace {

constexpr u64 turn_instructions = 4000;
constexpr u64 rounds_per_copy = 64;    // late completion: one copy is performed as often, although warps still make progress
constexpr int most_idle_rounds = 200;  // in which no warp has made progress and nothing was left to perform

template <class T>
void swap_two(std::vector<T>& order, u64& seed) {
  if (order.size() < 2) return;
  const std::size_t one = random_next(seed) % order.size(), other = random_next(seed) % order.size();
  std::swap(order[one], order[other]);
}

/// One turn of each live warp; false where none has made progress.
bool run_round(Launch& launch, const std::vector<Warp*>& order, bool random) {
  bool progress = false;
  for (Warp* w : order)
    if (w->live) progress |= Turn(*w, random ? 1 + random_next(launch.seed) % turn_instructions : turn_instructions).run();
  return progress;
}

void perform_copy(Cluster& cluster, std::size_t index) {
  const auto at = cluster.copies.begin() + static_cast<std::ptrdiff_t>(index);
  const AsyncCopy copy = std::move(*at);
  cluster.copies.erase(at);
  perform(cluster, copy);
}

/// Late completion: the oldest copy. Where nobody can go on without, as many as complete a phase: no warp could tell.
void perform_late(Cluster& cluster, bool progress) {
  const u64 phases_before = cluster.launch->phases_completed;
  do perform_copy(cluster, 0);
  while (!progress && cluster.launch->phases_completed == phases_before && !cluster.copies.empty());
}

/// Performs what is due after a round; false where nothing was.
bool perform_due(Cluster& cluster, bool random, bool progress, u64 round) {
  if (cluster.copies.empty()) return false;
  Launch& launch = *cluster.launch;
  if (random) {
    if (progress && random_next(launch.seed) % 3 != 0) return false;
    perform_copy(cluster, random_next(launch.seed) % cluster.copies.size());
    return true;
  }
  if (progress && round % rounds_per_copy != 0) return false;
  perform_late(cluster, progress);
  return true;
}

/// A cluster, and the order in which its warps take turns.
struct Running {
  Cluster* cluster;
  std::vector<Warp*> order;
};

std::vector<Running> running(const std::vector<Cluster*>& clusters) {
  std::vector<Running> all;
  for (Cluster* cluster : clusters) {
    all.push_back({cluster, {}});
    for (const auto& w : cluster->warps) all.back().order.push_back(w.get());
  }
  return all;
}

struct RoundResult {
  bool progress = false, performed = false;
};

RoundResult run_round(std::vector<Running>& all, Launch& launch, bool random, u64 round) {
  RoundResult made;
  if (random) swap_two(all, launch.seed);
  for (Running& one : all) {
    if (one.cluster->live_warps == 0) continue;
    if (random) swap_two(one.order, launch.seed);
    const bool progress = run_round(launch, one.order, random);
    made.performed |= perform_due(*one.cluster, random, progress, round);
    made.progress |= progress;
  }
  return made;
}

void end_copies(Cluster& cluster) {
  for (const AsyncCopy& copy : cluster.copies)
    warn_once(*copy.warp, *copy.instruction, "blocks have exited before an asynchronous copy of theirs was complete");
  cluster.copies.clear();
}

const Cluster* first_alive(const std::vector<Cluster*>& clusters) {
  const auto found = std::find_if(clusters.begin(), clusters.end(), [](const Cluster* c) { return c->live_warps > 0; });
  return found == clusters.end() ? nullptr : *found;
}

}  // namespace

void run_together(const std::vector<Cluster*>& clusters, u64 spin_limit) {
  Launch& launch = *clusters.front()->launch;
  const bool random = launch.async_mode == Completion::random;
  std::vector<Running> all = running(clusters);
  u64 effects = launch.effects, executed_at_effect = launch.executed;
  int idle_rounds = 0;
  for (u64 round = 1; const Cluster* alive = first_alive(clusters); ++round) {
    const auto [progress, performed] = run_round(all, launch, random, round);
    advance_time(launch);
    if (launch.time->wall) sched_yield();
    const bool effective = launch.effects != effects;
    if (effective) {
      effects = launch.effects;
      executed_at_effect = launch.executed;
    }
    idle_rounds = progress || performed || effective ? 0 : idle_rounds + 1;
    if (launch.time->wall) continue;
    const bool hangs = progress && launch.executed - executed_at_effect > spin_limit;
    if (hangs || idle_rounds > most_idle_rounds) fault_deadlock(*alive);
  }
  for (Cluster* cluster : clusters) end_copies(*cluster);
}

void advance_time(Launch& launch) {
  Time& time = *launch.time;
  const u64 cycles = launch.executed - launch.timed;  // one per warp instruction
  launch.timed = launch.executed;
  time.clock64 += cycles;
  if (time.wall) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    time.globaltimer_ns = static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    return;
  }
  const double nanoseconds = static_cast<double>(cycles) * 1000.0 / time.clock_mhz + launch.nanoseconds_left;
  const u64 whole = static_cast<u64>(nanoseconds);
  launch.nanoseconds_left = nanoseconds - static_cast<double>(whole);
  time.globaltimer_ns += whole;
}

u64 random_next(u64& seed) {  // xorshift64 (Marsaglia, "Xorshift RNGs")
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed >> 11;
}

}  // namespace gpu_model
