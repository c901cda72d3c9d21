// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <vector>

namespace roofmark::cpu {

/// The logical CPUs of this process. An OpenMP runtime that places threads has already put this one in the first place.
std::vector<int> usable_cpus();

/// The threads of the OpenMP pool, one per core unless the environment places them.
class Pool {
 public:
  Pool(const std::vector<int>& cores, int threads);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  int threads() const { return threads_; }
  bool places() const { return places_; }

  /// Wakes all threads and pins each to its core. Call again before timing: a pool that ran with fewer threads has ended the
  /// others, and new threads inherit their creator's affinity. Therefore the calling thread is only moved to its core, not
  /// pinned; with the others pinned, it stays there.
  void make_ready();

 private:
  std::vector<int> cores_;
  int threads_;
  bool places_;
  cpu_set_t everywhere_;
};

}  // namespace roofmark::cpu
