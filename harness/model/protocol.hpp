// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/issue.hpp"

namespace roofmark {

enum class Cache { cold, warm };

/// How a case is measured. The defaults are those of the suite; a case changes only what it must.
struct Protocol {
  Cache cache = Cache::cold;
  /// Limit for cold caches, because filling each slot takes time.
  int most_slots = 4096;
  Issue issue = Issue::automatic;
  /// With the host's clock a sample is a single launch, so percentiles are of single events, and no ceiling of the device
  /// applies.
  Timed timed = Timed::device;
  /// Only one thread works: on a CPU the clock of its core counts.
  bool one_core = false;
  /// Launches per sample; 0: enough for a sample of Effort::sample_seconds.
  int launches = 0;
  /// Executions that one call of Prepared::launch enqueues, where what a call takes besides must not count: work and time are
  /// of one.
  int executions = 1;
  /// Minimum number of samples, if the budget allows; 0: as the interval needs.
  int samples = 0;
  /// The budget as a number of samples, times Effort::longer, for samples so long that Effort::max_seconds allows
  /// too few; 0: budget in seconds.
  int budget_samples = 0;
  /// Duration of the measurement; 0: as the interval needs. A case with a duration has no warm-up; it launches until the time
  /// is over, times each launch, and compares its bits with the verified launch's.
  double seconds = 0;
  /// With a duration: the device works in the first half of each period and rests in the second; 0: it never rests.
  double period_seconds = 0;
  /// With a duration: the rate follows the clock of the first demand alone, so that the rate per clock is constant. Not where
  /// two works run at once that follow different clocks.
  bool follows_one_clock = true;
};

}  // namespace roofmark
