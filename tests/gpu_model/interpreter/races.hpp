// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The race detector (GPUMODEL_RACE=1): finds accesses to shared memory that no barrier, mbarrier or cluster barrier orders.
// Happens-before by vector clocks, with one clock per warp: the lanes of a warp count as ordered. All functions do nothing
// where the detector is off.
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// Prepares a cluster that is about to start; leaves the detector off, with a warning, where the cluster is too large for it.
void race_start(Cluster&);
/// An access to [offset, offset + bytes) of the block's shared memory. Counts and warns of races and of reads of what nothing
/// wrote.
void race_access(Warp&, const Instruction&, int lane, Block&, u32 offset, u32 bytes, bool write);
/// An access to the block's shared memory that need not be ordered with others, as that of an mbarrier: of another block, it
/// must still be ordered before that block's exit.
void race_outlives(Warp&, const Instruction&, int lane, Block&);
/// The block's last warp exits: counts and warns of accesses by other blocks that are not ordered before.
void race_exit(const Block&);

/// Acquire: what is ordered before `from` is ordered before what follows `into`.
void race_join(Clocks& into, const Clocks& from);
inline void race_acquire(Warp& w, const Clocks& from) {
  if (!w.clocks.empty()) race_join(w.clocks, from);
}
/// Release: what the warp has done so far is ordered before what acquires `into`.
inline void race_release(Warp& w, Clocks& into) {
  if (w.clocks.empty()) return;
  race_join(into, w.clocks);
  ++w.clocks[w.index_in_cluster];
}

}  // namespace gpu_model
