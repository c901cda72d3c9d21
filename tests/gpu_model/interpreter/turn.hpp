// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// One warp's turn: it runs until all its lanes wait or have exited, or for `budget` instructions.
class Turn {
 public:
  Turn(Warp& w, u64 budget)
      : w_(w),
        launch_(*w.launch),
        code_(w.body->code.data()),
        groups_(w.groups),
        start_(launch_.executed),
        end_(start_ + budget) {}
  /// False where the warp could do nothing, or nothing but poll for what has not happened.
  bool run();

 private:
  enum class Next { same_group, another_group, exited };

  bool pick_group();
  bool must_pick_again();
  bool progressed() const;
  Next step();
  Next run_normal(const Instruction&, u32 mask);
  Next run_branch(const Instruction&, u32 mask);
  Next run_exit(u32 mask);
  Next run_sync(const Instruction&, u32 mask);
  Next run_aligned(const Instruction&, u32 mask);
  Next run_barrier(const Instruction&, u32 mask);
  Next run_cluster_arrive(const Instruction&, u32 mask);
  Next run_cluster_wait(const Instruction&, u32 mask);
  void run_lanes(const Instruction&, u32 mask);
  Next wait(LaneGroup::State, const char* what);
  Next advance(u32 mask);
  void require_uniform(const Instruction&, u32 mask, const char* text);

  Warp& w_;
  Launch& launch_;
  const Instruction* code_;
  std::vector<LaneGroup>& groups_;
  LaneGroup* group_ = nullptr;  // the running one
  u64 start_, end_;             // as Launch::executed counts
  u64 since_pick_ = 0;          // instructions of the running group while there are others
  bool polled_ = false;
};

}  // namespace gpu_model
