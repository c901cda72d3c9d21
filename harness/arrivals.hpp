// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace roofmark {

/// Where a rank is. `steps` counts what all ranks do together; a rank with fewer steps than another has not arrived.
struct Arrival {
  std::int64_t steps = 0;
  double waiting_seconds = 0;  ///< since the last step
  std::string doing;           ///< "all_reduce/mpi/fp32/bytes:1024/..., timing"
};

/// What rank 0 found when a team came to a stand.
struct Standstill {
  std::string reason;  ///< in one line, for the record: "no progress for 120 s: rank 2 (node7) never arrived"
  std::vector<int> never_arrived, silent, ended;
};

/// A channel beside MPI, over TCP, with a thread of its own on every rank: while the measured calls block, it answers where its
/// rank is. It is silent while all is well. Once a rank has made no step for the timeout, or has ended without saying so, every
/// rank that waits says on stderr in what and for how long, rank 0 names the ranks that never arrived, and each is told to
/// leave.
class Arrivals {
 public:
  struct Setup {
    int rank = 0, size = 1;
    double timeout_seconds = 120;
    double answer_seconds = 2;  ///< a rank that has not answered by then is silent: stopped, or its host is gone
    std::function<std::string(int rank)> describe;  ///< "rank 2 (node7)"
    /// On rank 0, from the channel's thread: completes the files. On every rank: leaves the process. Not called where the team
    /// ends well.
    std::function<void(const Standstill&)> on_standstill;
    std::function<void()> leave;
  };

  /// On rank 0: begins to listen; `address()` is for the others. Throws std::system_error.
  /// On another rank: `address` is rank 0's; throws std::runtime_error when it cannot be reached within 10 s.
  Arrivals(Setup setup, const std::string& address);
  ~Arrivals();  ///< says that this rank ends well
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  /// "token 10.0.0.1:4711 192.168.1.1:4711": every address of this host; one line.
  const std::string& address() const;

  /// This rank is about to do the next thing that all do together. Cheap: called before every sample.
  void step();
  /// What it is doing from now on.
  void doing(std::string what);
  /// Nothing that another could wait for is under way: the timeout rests until the next step.
  void rest();

 private:
  class Channel;
  std::unique_ptr<Channel> channel_;
};

}  // namespace roofmark
