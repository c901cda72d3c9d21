// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace roofmark {

/// What rank 0 found when a team came to a stand.
struct Standstill {
  std::string reason;  ///< in one line, for the record: "no progress for 120 s: rank 2 (node7) never arrived"
  /// By rank. Steps count what all do together, so a rank with fewer steps than another has not arrived where that one waits.
  std::vector<int> never_arrived, silent, ended;
};

/// A channel beside MPI, over TCP, with a thread of its own on every rank: while the measured calls block, it answers where its
/// rank is. It is silent while all is well. Once no rank has made a step for the timeout, or one has ended without saying so,
/// every rank that waits says on stderr in what and for how long, rank 0 names the ranks that never arrived, and each is told
/// to leave. Where rank 0 itself is gone or does not answer, each of the others says so and leaves.
/// Time that a process was stopped or its machine slept does not count as waiting.
class Arrivals {
 public:
  struct Setup {
    int rank = 0, size = 1;
    double timeout_seconds = 120;
    double answer_seconds = 2;  ///< a rank that has not answered by then is silent: stopped, or its host is gone
    std::function<std::string(int rank)> describe;  ///< "rank 2 (node7)"; called from any thread
    /// From the channel's thread, at most once, and not where the team ends well. On rank 0: completes the files.
    std::function<void(const Standstill&)> on_standstill;
    /// The same on every rank, last: leaves the process.
    std::function<void()> leave;
  };

  /// On rank 0: begins to listen; `address()` is for the others. Throws std::system_error, also where the limit of file
  /// descriptors is too low for so many ranks.
  /// On another rank: `address` is rank 0's; throws std::runtime_error when it cannot be reached within 10 s.
  Arrivals(Setup setup, const std::string& address);
  ~Arrivals();  ///< says that this rank ends; to whoever waits for its next step all the same, it is one that ended
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  /// "token 10.0.0.1:4711 192.168.1.1:4711 127.0.0.1:4711": every address of rank 0's host; one line.
  const std::string& address() const;

  /// This rank is about to do the next thing that all do together. Cheap: called before every sample.
  void step();
  /// This rank is about to do a part of that which others may have no share in. Fewer parts are late only beside those of the
  /// same step.
  void part();
  /// What it is doing from now on.
  void doing(std::string what);
  /// Nothing that another could wait for is under way: the timeout rests until the next step. A rank that rests is not accused,
  /// and who has to wait for it does so for as long as it rests: only for what ends by itself, as the writing of a file.
  void rest();
  /// This rank fails alone: the end of this says so, and nobody waits for it in vain.
  void fail();

 private:
  class Channel;
  class Leader;
  class Follower;
  std::unique_ptr<Channel> channel_;
};

}  // namespace roofmark
