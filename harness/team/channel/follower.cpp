// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "harness/team/channel/channel.hpp"
#include "harness/team/channel/connection.hpp"

namespace roofmark::channel {

namespace {

/// Between two attempts to connect: an address that only looks like rank 0's may never answer.
constexpr double kNextAddressSeconds = 0.25;
/// For rank 0 to complete its files, before the launcher ends it because another rank exited.
constexpr double kFilesSeconds = 60;

/// The connection to rank 0, on the first address that answers with the token. `address` is rank 0's address().
Connection join(const std::string& address, int rank) {
  std::istringstream words(address);
  std::string token;
  words >> token;
  struct Attempt {
    std::string address, why;
    Connection connection;
    bool connected = false;
  };
  std::vector<Attempt> attempts;
  for (std::string one; words >> one;) attempts.push_back({one, "not tried", {}, false});

  const Time deadline = after(kConnectSeconds);
  Time next = Clock::now();
  std::size_t begun = 0;
  while (Clock::now() < deadline) {
    std::vector<pollfd> descriptors;
    bool active = false;
    for (const Attempt& attempt : attempts) active |= attempt.connection.open();
    if (begun < attempts.size() && (!active || Clock::now() >= next)) {
      Attempt& attempt = attempts[begun++];
      next = after(kNextAddressSeconds);
      attempt.why = "no answer";
      try {
        attempt.connection = Connection(begin_to_connect(attempt.address));
      } catch (const std::system_error& error) {
        attempt.why = error.code().message();
      } catch (const std::runtime_error& error) {
        attempt.why = error.what();
      }
      continue;
    }
    if (!active) break;
    for (const Attempt& attempt : attempts) {
      descriptors.push_back(attempt.connection.interest());
      if (!attempt.connected) descriptors.back().events = POLLOUT;
    }
    wait_for(descriptors, begun < attempts.size() ? std::min(next, deadline) : deadline);
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      Attempt& attempt = attempts[i];
      if (!attempt.connection.open() || !descriptors[i].revents) continue;
      if (!attempt.connected) {
        int error = 0;
        socklen_t length = sizeof(error);
        ::getsockopt(attempt.connection.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) {
          attempt.why = std::generic_category().message(error);
          attempt.connection.close();
          continue;
        }
        attempt.connected = true;
        attempt.connection.write(fmt::format("hello {} {}", token, rank));
        continue;
      }
      attempt.connection.flush();
      attempt.connection.read();
      const auto line = attempt.connection.line();
      if (line && *line == "welcome " + token) {
        attempt.connection.write("joined");
        return std::move(attempt.connection);
      }
      if (line || attempt.connection.ended()) {
        attempt.why = "not rank 0 of this run";
        attempt.connection.close();
      }
    }
  }
  std::string tried;
  for (const Attempt& attempt : attempts) {
    tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ", attempt.address, attempt.why);
  }
  throw std::runtime_error(
      fmt::format("rank {} cannot reach rank 0 by TCP at {}: a firewall or a missing route between the hosts?", rank, tried));
}

class Follower final : public Channel {
 public:
  Follower(TeamWatch::Setup setup, const std::string& address)
      : Channel(std::move(setup)), leader_(join(address, setup_.rank)) {
    address_ = address;
    start([this] { run(); });
  }
  ~Follower() override { end(); }

 private:
  void run() {
    while (true) {
      exchange(complained_ ? given_up_at_ : complaint_due());
      if (ending()) break;
      if (is_interrupted_now()) {
        interrupt();
        leader_.write("interrupted");
      }
      tell_fault();
      if (late_steps_) return stand();
      if (leader_failed_) return desert(" failed");
      if (leader_.open() && leader_.ended()) return desert(" ended unexpectedly");
      if (complained_ && woken() >= given_up_at_) return desert(" does not answer: stopped, or its host or network is down");
      if (!complained_ && woken() >= complaint_due()) {
        if (!leader_.open()) return desert(" ended before the others");
        complained_ = true;
        give_time();
        leader_.write("waiting");
      }
    }
    // A line has arrived for certain only when the other side has read it and closes.
    leader_.write(failed() ? "failed" : fmt::format("bye {}", position().steps));
    leader_.finish_writing();
    const Time due = after(setup_.answer_seconds);
    while (leader_.open() && !leader_.ended() && Clock::now() < due) exchange(due);
  }

  /// Gives rank 0 time to act: it asks at once and reports after answer_seconds.
  void give_time() { given_up_at_ = after(3 * setup_.answer_seconds); }

  void tell_fault() {
    const std::string fault = new_fault();
    if (fault.empty()) return;
    leader_.write("fault " + fault);
    if (complained_) return;
    complained_ = true;  // rank 0 acts at once
    give_time();
  }

  void stand() {
    say_where(*late_steps_);
    leader_.write("said");
    const Time due = after(kFilesSeconds);
    while (!leave_ && !leader_.ended() && Clock::now() < due) exchange(due);
    leader_.close();
    setup_.leave();
  }

  void desert(const std::string& what) {
    say_where(0);
    if (!fault().empty()) setup_.say(fmt::format("{}: {}", setup_.describe(setup_.rank), fault()));
    const std::string way_back = setup_.way_back();
    setup_.say(fmt::format("{} leaves: {}{}{}", setup_.describe(setup_.rank), setup_.describe(0), what,
                           way_back.empty() ? "" : "; " + way_back));
    leader_.write("left");
    leader_.close();
    setup_.leave();
  }

  void exchange(Time until) {
    std::vector<pollfd> descriptors{leader_.ended() ? pollfd{-1, 0, 0} : leader_.interest()};
    if (pause(descriptors, until)) give_time();
    if (!descriptors.front().revents) return;
    leader_.flush();
    leader_.read();
    while (const auto line = leader_.line()) {
      std::istringstream words(*line);
      std::string word;
      words >> word;
      if (word == "ask") {
        int round = 0;
        words >> round;
        tell_fault();
        const Position now = position();
        leader_.write(fmt::format("answer {} {} {} {:d} {}", round, now.steps, now.waiting_seconds, now.rests, now.doing));
        give_time();
      } else if (word == "wait") {
        double seconds = 0;
        words >> seconds;
        complained_ = false;
        be_patient(seconds);
      } else if (word == "interrupted") {
        interrupt();
      } else if (word == "say") {
        late_steps_ = kNobody;
        words >> *late_steps_;
      } else if (word == "leave") {
        leave_ = true;
      } else if (word == "failed") {
        leader_failed_ = true;
      } else if (word == "bye") {
        complained_ = false;
        leader_.close();
      }
    }
  }

  Connection leader_;  ///< closed after its bye
  bool complained_ = false, leave_ = false, leader_failed_ = false;
  Time given_up_at_{};
  std::optional<std::int64_t> late_steps_;  ///< once there is a standstill
};

}  // namespace

std::unique_ptr<Channel> follow(TeamWatch::Setup setup, const std::string& address) {
  return std::make_unique<Follower>(std::move(setup), address);
}

}  // namespace roofmark::channel
