// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/team/watch.hpp"

namespace roofmark {

namespace channel {
class Channel;
}

/// The watch of a team: a TCP channel beside MPI with one thread per rank, so a rank can report its position while its measured
/// call blocks. The channel is silent while all is well. When no rank has made a step for the timeout, or a rank ended
/// unexpectedly, every waiting rank reports on stderr where and for how long it has waited, rank 0 names the ranks that never
/// arrived, and every rank leaves. If rank 0 died or does not answer, each peer reports that and leaves. An interruption of one
/// rank reaches all by the channel, and shortens the timeout: ranks that wait for a hang never come to their next agreement.
/// Time during which the process was stopped or its machine slept does not count as waiting.
class TeamWatch final : public Watch {
 public:
  struct Setup {
    int rank = 0, size = 1;
    double timeout_seconds = 120;                      ///< until set_timeout()
    double interrupted_seconds = kInterruptedSeconds;  ///< once a rank is interrupted
    double answer_seconds = 2;  ///< a rank that has not answered by then is silent: stopped, or its host is gone
    std::function<std::string(int rank)> describe;  ///< "rank 2 (node7)"; called from any thread
    /// On stderr; called from any thread.
    std::function<void(const std::string&)> say = [](const std::string& line) { std::fputs((line + '\n').c_str(), stderr); };
    /// On a peer, when rank 0 is lost: what can still be done; may be empty. From the channel's thread.
    std::function<std::string()> way_back = [] { return std::string(); };
    /// Whether this process was interrupted; and that another rank was. From the channel's thread.
    std::function<bool()> interrupted = [] { return false; };
    std::function<void()> interrupt = [] {};
    /// What has gone wrong on this rank in a step that does not end, in one line; "" if nothing is known. The run ends at once.
    /// From the channel's thread, while this rank waits for longer than `fault_seconds`: a fault that ends the step too is left
    /// to the step.
    std::function<std::string()> fault = [] { return std::string(); };
    double fault_seconds = 2;
    /// Lines for the report of a standstill: what may explain it on this rank. From the channel's thread.
    std::function<std::vector<std::string>()> clues = [] { return std::vector<std::string>(); };
    /// Called once on rank 0, from the channel's thread, if the team makes no progress: completes the files.
    std::function<void(const Standstill&)> on_standstill;
    /// On every rank, from the channel's thread, after on_standstill: leaves the process.
    std::function<void()> leave;
  };

  /// On rank 0: starts to listen; `address()` is for the peers. Throws std::system_error, also when the limit of file
  /// descriptors is too low for the number of ranks.
  /// On a peer: `address` is rank 0's; throws std::runtime_error when it cannot be reached within 10 s.
  TeamWatch(Setup setup, const std::string& address);
  /// Announces that this rank ends. A peer that still waits for its next step sees an early end.
  ~TeamWatch() override;
  TeamWatch(const TeamWatch&) = delete;
  TeamWatch& operator=(const TeamWatch&) = delete;

  /// "TOKEN 10.0.0.1:4711 192.168.1.1:4711 127.0.0.1:4711": every address of rank 0's host, on one line.
  const std::string& address() const;

  void doing(std::string what) override;
  void set_timeout(double seconds) override;
  void step() override;
  void part() override;
  void named_part(std::string what) override;
  void rest() override;
  void fail() override;

 private:
  std::unique_ptr<channel::Channel> channel_;
};

}  // namespace roofmark
