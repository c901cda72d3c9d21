// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace roofmark {

/// The timeout of a run that was interrupted, if it is shorter than its own: what hangs never comes to look.
inline constexpr double kInterruptedSeconds = 3;

/// Why a run makes no progress.
struct Standstill {
  std::string reason;  ///< one line, for the record: "no progress for 120 s: rank 2 (node7) never arrived"
  /// Ranks of a team. All ranks make the same steps, so a rank with fewer steps has not arrived where another one waits.
  std::vector<int> never_arrived, silent, ended;
  std::vector<int> faulty = {};  ///< whose own fault was found while they waited
};

/// Ends a run that makes no progress: a call into a driver, or a collective that a peer never joins, cannot be ended from
/// within. The measuring thread reports its progress here; a thread of the watch's own completes the files and ends the
/// process.
class Watch {
 public:
  virtual ~Watch() = default;
  /// What this rank does from now on, for the report of a standstill.
  virtual void doing(std::string what) = 0;
  /// From now on so many seconds without a step are too long.
  virtual void set_timeout(double seconds) = 0;
  /// This rank begins the next step, which all ranks take together. Restarts the timeout. Cheap: called before every sample.
  virtual void step() = 0;
  /// This rank begins a part of its step that other ranks may skip. Restarts the timeout.
  virtual void part() = 0;
  /// part() that the report of a standstill names, until this rank's next step or part.
  virtual void named_part(std::string what) = 0;
  /// Pauses the timeout until the next step() or part(): for work that ends by itself, such as writing a file. Peers wait for
  /// a resting rank without a limit.
  virtual void rest() = 0;
  /// This rank fails on its own: peers need not wait for it.
  virtual void fail() = 0;
};

}  // namespace roofmark
