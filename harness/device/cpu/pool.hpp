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

  /// Wakes all threads and puts each on its core. To be called again before work is timed: a pool that worked with fewer
  /// threads has ended the others, and new ones run wherever their creator may. So that this is everywhere, the calling
  /// thread is moved to its core and not kept there; with the others kept on theirs it has no reason to leave.
  void make_ready();

 private:
  std::vector<int> cores_;
  int threads_;
  bool places_;
  cpu_set_t everywhere_;
};

}  // namespace roofmark::cpu
