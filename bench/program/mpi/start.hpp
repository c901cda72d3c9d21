// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "harness/team/solo_watch.hpp"

namespace roofmark {

/// Watches this rank until the ranks have a channel: before that, a rank that has stopped keeps the others inside of MPI for
/// ever, and nobody can name it. Says that this rank waits, and ends the process with status 3.
class Start {
 public:
  /// Rests until begin(); `seconds` without a step are too long.
  explicit Start(double seconds);

  void begin() { watch_.step(); }
  /// MPI has begun.
  void know(int rank, int size);
  void step() { watch_.step(); }
  /// The channel watches from now on, or nobody waits any more.
  void end() { watch_.rest(); }

 private:
  [[noreturn]] void give_up() const;

  double seconds_;
  std::atomic<int> rank_ = -1, size_ = 0;
  SoloWatch watch_;
};

}  // namespace roofmark
