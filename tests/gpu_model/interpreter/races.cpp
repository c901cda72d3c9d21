// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "races.hpp"

#include <algorithm>

namespace gpu_model {
namespace {

constexpr u32 cell_bytes = 2;                    // the smallest element that kernels share
constexpr std::size_t most_reads = 300'000'000;  // entries of last_reads in a cluster: 1.2 GB

void report(Warp& w, const Instruction& i, int lane, const Block& block, u32 offset, bool write, const char* before,
            std::size_t other) {
  const std::size_t warps_per_block = block.warps.size();
  std::string text = std::string(write ? "race: write" : "race: read") + " of shared memory at " +
                     std::to_string(offset + w.launch->shared_base) + " not ordered after the " + before + " by warp " +
                     std::to_string(other % warps_per_block);
  if (w.cluster->blocks.size() > 1) text += " of block rank " + std::to_string(other / warps_per_block);
  if (lane >= 0) text += " (lane " + std::to_string(lane) + " here)";
  warn_once(w, i, text);
  ++w.launch->counters->races;
}

}  // namespace

void race_start(Cluster& cluster) {
  const Launch& launch = *cluster.launch;
  if (!launch.race) return;
  const std::size_t warps = cluster.warps.size(), cells = launch.shared_bytes / cell_bytes + 1;
  if (warps * cells * cluster.blocks.size() > most_reads) {
    warn_once(*cluster.warps[0], *cluster.warps[0]->at, "race detector off: the cluster is too large");
    return;
  }
  for (u32 index = 0; index < warps; ++index) {
    Warp& w = *cluster.warps[index];
    w.index_in_cluster = index;
    w.clocks.assign(warps, 0);
    w.clocks[index] = 1;
  }
  for (const auto& block : cluster.blocks) {
    block->last_writes.assign(cells, LastWrite{});
    block->last_reads.assign(cells * warps, 0);
    block->last_atomics.clear();
    block->remote_accesses.assign(warps, RemoteAccess{});
    block->mbarrier_clocks.clear();
    for (Barrier& barrier : block->barriers) barrier.clocks.clear();
  }
  cluster.barrier_clocks = {};
}

void race_access(Warp& w, const Instruction& i, int lane, Block& block, u32 offset, u32 bytes, bool write) {
  if (block.last_writes.empty() || w.clocks.empty()) return;
  race_outlives(w, i, lane, block);
  const std::size_t warps = w.clocks.size();
  const u32 self = w.index_in_cluster;
  for (u32 cell = offset / cell_bytes; cell <= (offset + bytes - 1) / cell_bytes && cell < block.last_writes.size(); ++cell) {
    LastWrite& last = block.last_writes[cell];
    if (last.warp == LastWrite::none) {
      if ((!write || i.is_atomic) && w.launch->counters->uninitialised_shared_reads++ == 0)
        warn_once(
            w, i,
            "read of shared memory that nothing has written, at " + std::to_string(cell * cell_bytes + w.launch->shared_base));
    } else if (last.warp != self && last.clock > w.clocks[last.warp]) {
      report(w, i, lane, block, offset, write, "write", last.warp);
      last.clock = 0;  // reported once
    }
    const auto report_unordered = [&](u32* clocks, const char* before) {
      for (std::size_t other = 0; other < warps; ++other)
        if (other != self && clocks[other] > w.clocks[other]) {
          report(w, i, lane, block, offset, write, before, other);
          clocks[other] = 0;
        }
    };
    // Atomics need no order among themselves.
    if (!i.is_atomic && !block.last_atomics.empty()) report_unordered(&block.last_atomics[cell * warps], "atomic");
    u32* reads = &block.last_reads[cell * warps];
    if (!write) {
      reads[self] = w.clocks[self];
      continue;
    }
    report_unordered(reads, "read");
    if (i.is_atomic) {
      block.last_atomics.resize(block.last_reads.size());
      block.last_atomics[cell * warps + self] = w.clocks[self];
      continue;
    }
    last.warp = static_cast<u16>(self);
    last.clock = w.clocks[self];
  }
}

void race_outlives(Warp& w, const Instruction& i, int lane, Block& block) {
  if (&block == w.block || w.clocks.empty()) return;
  block.remote_accesses[w.index_in_cluster] = {w.clocks[w.index_in_cluster], &i, lane};
}

void race_exit(const Block& block) {
  Clocks last;
  for (const Warp* w : block.warps) race_join(last, w->clocks);
  for (std::size_t other = 0; other < last.size(); ++other) {
    const auto& [clock, instruction, lane] = block.remote_accesses[other];
    if (clock <= last[other]) continue;
    Warp& w = *block.cluster->warps[other];
    warn_once(w, *instruction,
              "race: access to shared memory of block rank " + std::to_string(block.rank) +
                  " of the cluster, which may have exited (lane " + std::to_string(lane) + " here)");
    ++w.launch->counters->races;
  }
}

void race_join(Clocks& into, const Clocks& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t k = 0; k < from.size(); ++k) into[k] = std::max(into[k], from[k]);
}

}  // namespace gpu_model
