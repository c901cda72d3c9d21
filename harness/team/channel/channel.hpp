// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/team/channel/report.hpp"
#include "harness/team/channel/socket.hpp"
#include "harness/team/team_watch.hpp"

namespace roofmark::channel {

// The protocol: lines of words. From a peer to rank 0:
//   hello TOKEN RANK                     on every address that it tries
//   joined                               on the one that it keeps
//   waiting                              it made no step for the timeout
//   interrupted                          by a signal
//   answer ROUND STEPS SECONDS REST WHAT
//   said                                 its line is on stderr
//   bye STEPS                            it ends well
//   fault WHAT                           of this rank, whose step does not end
//   failed                               this rank failed
//   left                                 it stopped waiting for rank 0
// From rank 0:
//   welcome TOKEN
//   ask ROUND
//   wait SECONDS                         there is progress: complain again after that time
//   say STEPS                            a standstill; a rank with no more steps than these is late
//   leave
//   interrupted                          rank 0, or another peer
//   bye
//   failed                               rank 0 failed

inline constexpr double kConnectSeconds = 10;

/// One rank's end: its position, and the thread that answers for it.
class Channel {
 public:
  explicit Channel(TeamWatch::Setup setup);
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  const std::string& address() const { return address_; }
  void doing(std::string what);
  void set_timeout(double seconds) { timeout_seconds_ = seconds; }
  void step();
  void part();
  void named_part(std::string what);
  void rest();
  void fail() { failed_ = true; }

 protected:
  void start(std::function<void()> run) { thread_ = std::thread(std::move(run)); }
  /// Ends the thread, after its bye.
  void end();
  bool ending() const { return ending_; }
  bool failed() const { return failed_; }

  Position position();
  /// How long the ranks wait for a step.
  Patience patience() const;
  /// When this rank will have waited for that long, if it makes no step until then; never before the first step.
  Time complaint_due();
  void be_patient(double seconds) { patient_until_ = after(seconds); }

  bool interrupted() const { return interrupted_; }
  /// True once, when this process was interrupted and the channel does not know it yet.
  bool is_interrupted_now() const { return !interrupted_ && setup_.interrupted(); }
  /// This rank, or another one: from now on the ranks wait for less long.
  void interrupt();

  /// Waits. Wakes now and then to see whether the process itself was stopped, and returns true if it was: a deadline that
  /// passed meanwhile is to be set anew.
  bool pause(std::vector<pollfd>& descriptors, Time until);
  /// When the last pause ended.
  Time woken() const { return woken_; }

  /// The fault of this rank, when it is first found.
  std::string new_fault();
  const std::string& fault() const { return fault_; }

  /// On stderr: where this rank is, and the clues.
  void say_where(std::int64_t late_steps);

  const TeamWatch::Setup setup_;
  std::string address_;

 private:
  std::int64_t ticks(Time now) const { return (now - began_).count(); }
  Time time(std::int64_t ticks) const { return began_ + Clock::duration(ticks); }

  const Time began_;
  std::atomic<std::int64_t> steps_{0}, since_{0};
  std::mutex mutex_;
  std::string doing_, part_;
  std::int64_t part_steps_ = 0;  ///< `steps_` while `part_` lasts
  std::atomic<bool> ending_{false}, failed_{false};
  std::atomic<double> timeout_seconds_;
  Descriptor wake_;
  std::thread thread_;
  // Used by the thread alone.
  Time woken_, forgiven_{}, patient_until_{};
  bool interrupted_ = false;
  std::string fault_;
};

/// Rank 0's end: listens, asks, reports a standstill.
std::unique_ptr<Channel> lead(TeamWatch::Setup setup);
/// A peer's end: connects to rank 0, complains and answers.
std::unique_ptr<Channel> follow(TeamWatch::Setup setup, const std::string& address);

}  // namespace roofmark::channel
