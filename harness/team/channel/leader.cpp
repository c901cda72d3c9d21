// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "harness/team/channel/channel.hpp"
#include "harness/team/channel/connection.hpp"

namespace roofmark::channel {

namespace {

/// Largest number of connections at once that have not shown which rank they are; more wait in the kernel's queue.
constexpr std::size_t kStrangers = 128;
/// How long one of them may be silent when others may be waiting in the queue; a rank says at once who it is.
constexpr double kSilentSeconds = 1;

/// Of 128 random bits.
std::string make_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

class Leader final : public Channel {
 public:
  explicit Leader(TeamWatch::Setup setup)
      : Channel(std::move(setup)),
        ranks_(static_cast<std::size_t>(setup_.size)),
        connections_(static_cast<std::size_t>(setup_.size)) {
    reserve_descriptors(ranks_.size() + kStrangers, fmt::format("rank 0 of {} ranks", setup_.size));
    Listener listener = listen();
    listener_ = std::move(listener.socket);
    token_ = make_token();
    address_ = fmt::format("{} {}", token_, fmt::join(listener.addresses, " "));
    start([this] { run(); });
  }
  ~Leader() override { end(); }

 private:
  using Link = RankState::Link;
  /// A connection that has not shown yet which rank it is.
  struct Stranger {
    Connection connection;
    Time due, silent_until;
    int rank = 0;  ///< once it has said so, with the token
  };

  void run() {
    while (true) {
      exchange(asking_ ? answers_due_ : complaint_due());
      if (ending()) break;
      if (is_interrupted_now()) interrupt_all();
      if (const std::string fault = new_fault(); !fault.empty()) note_fault(0, fault);
      if (deserted_) {
        const std::string reason = setup_.describe(0) + " did not answer in time, and the others have left";
        return stand({reason, {}, {0}, {}}, kNobody);
      }
      if (!asking_ && (broken_ || !complained_.empty() || woken() >= complaint_due())) ask();
      if (asking_ && (answered() || woken() >= answers_due_)) {
        asking_ = false;
        ranks_[0].answered = true;
        ranks_[0].position = position();
        if (const std::string fault = new_fault(); !fault.empty()) note_fault(0, fault);
        const Report found = report(ranks_, patience(), setup_.describe);
        if (found.standstill) return stand(*found.standstill, found.late_steps);
        be_patient(found.wait_seconds);
        for (const int rank : complained_) connection(rank).write(fmt::format("wait {}", found.wait_seconds));
        complained_.clear();
      }
    }
    // A stranger with a rank may have joined without being heard.
    for (Stranger& stranger : strangers_) {
      if (stranger.rank != 0) admit(stranger);
    }
    tell_all(failed() ? "failed" : "bye");
    await(setup_.answer_seconds);
  }

  RankState& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Connection& connection(int rank) { return connections_[static_cast<std::size_t>(rank)]; }

  void note_fault(int rank, std::string fault) {
    state(rank).fault = std::move(fault);
    broken_ = true;
  }

  void interrupt_all() {
    if (interrupted()) return;
    interrupt();
    for (int rank = 1; rank < setup_.size; ++rank) {
      if (state(rank).link == Link::joined) connection(rank).write("interrupted");
    }
  }

  void ask() {
    ++round_;
    asking_ = true;
    answers_due_ = after(setup_.answer_seconds);
    for (int rank = 0; rank < setup_.size; ++rank) {
      state(rank).answered = false;
      if (state(rank).link == Link::joined) connection(rank).write(fmt::format("ask {}", round_));
    }
  }
  bool answered() const {
    return std::all_of(ranks_.begin() + 1, ranks_.end(), [](const RankState& rank) {
      return rank.answered || (rank.link != Link::absent && rank.link != Link::joined);
    });
  }
  /// To every rank that has joined; `awaited_` then holds the ranks that can answer.
  void tell_all(const std::string& line) {
    awaited_.clear();
    for (int rank = 1; rank < setup_.size; ++rank) {
      if (state(rank).link != Link::joined) continue;
      connection(rank).write(line);
      awaited_.insert(rank);
    }
  }
  void await(double seconds) {
    const Time due = after(seconds);
    while (!awaited_.empty() && Clock::now() < due) exchange(due);
  }

  void stand(const Standstill& standstill, std::int64_t late_steps) {
    say_where(late_steps);
    tell_all(fmt::format("say {}", late_steps));
    for (const int rank : standstill.silent) awaited_.erase(rank);
    await(setup_.answer_seconds);
    setup_.say(standstill.reason);
    setup_.on_standstill(standstill);
    tell_all("leave");
    for (const int rank : standstill.silent) awaited_.erase(rank);
    await(setup_.answer_seconds);
    for (Connection& open : connections_) open.close();
    setup_.leave();
  }

  /// When a stranger is dropped.
  Time end_of(const Stranger& stranger) const {
    return strangers_.size() >= kStrangers && stranger.rank == 0 ? stranger.silent_until : stranger.due;
  }

  /// Waits, and handles what the peers write.
  void exchange(Time until) {
    std::vector<pollfd> descriptors;
    const bool accepting = strangers_.size() < kStrangers && Clock::now() >= accept_from_;
    descriptors.push_back({accepting ? listener_.get() : -1, POLLIN, 0});
    if (!accepting) until = std::min(until, accept_from_);
    for (const Stranger& stranger : strangers_) {
      descriptors.push_back(stranger.connection.interest());
      until = std::min(until, end_of(stranger));
    }
    for (const Connection& open : connections_) descriptors.push_back(open.interest());
    if (pause(descriptors, until)) answers_due_ = after(setup_.answer_seconds);

    auto descriptor = descriptors.begin() + 1;
    for (auto stranger = strangers_.begin(); stranger != strangers_.end(); ++descriptor) {
      const bool stays = !descriptor->revents ? woken() < end_of(*stranger) : listen_to(*stranger);
      stranger = stays ? std::next(stranger) : strangers_.erase(stranger);
    }
    for (int rank = 0; rank < setup_.size; ++rank, ++descriptor) {
      if (descriptor->revents) listen_to(rank);
    }
    if (descriptors.front().revents) accept();
    if (listener_.open() &&
        std::all_of(ranks_.begin() + 1, ranks_.end(), [](const RankState& rank) { return rank.link != Link::absent; })) {
      listener_.close();
      strangers_.clear();
    }
  }

  void accept() {
    while (strangers_.size() < kStrangers) {
      Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.open()) {
        // Without a free descriptor the next one stays in the queue, and poll would return at once.
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) accept_from_ = after(1);
        return;
      }
      strangers_.push_back({Connection(std::move(socket)), after(kConnectSeconds), after(kSilentSeconds), 0});
    }
  }

  void admit(Stranger& stranger) {
    state(stranger.rank).link = Link::joined;
    connection(stranger.rank) = std::move(stranger.connection);
    if (interrupted()) connection(stranger.rank).write("interrupted");
  }
  /// True while it stays a stranger.
  bool listen_to(Stranger& stranger) {
    stranger.connection.flush();
    stranger.connection.read();
    while (const auto line = stranger.connection.line()) {
      if (stranger.rank != 0) {
        if (*line != "joined" || state(stranger.rank).link != Link::absent) return false;
        admit(stranger);
        listen_to(stranger.rank);  // it may have said more
        return false;
      }
      std::istringstream words(*line);
      std::string hello, token;
      int rank = 0;
      if (!(words >> hello >> token >> rank) || hello != "hello" || token != token_) return false;
      if (rank <= 0 || rank >= setup_.size || state(rank).link != Link::absent) return false;
      stranger.rank = rank;
      stranger.connection.write("welcome " + token_);
    }
    return !stranger.connection.ended();
  }

  void listen_to(int rank) {
    RankState& peer = state(rank);
    Connection& from = connection(rank);
    from.flush();
    from.read();
    while (const auto line = from.line()) {
      std::istringstream words(*line);
      std::string word;
      words >> word;
      if (word == "waiting") {
        complained_.insert(rank);
      } else if (word == "interrupted") {
        interrupt_all();
      } else if (word == "answer") {
        int round = 0;
        Position position;
        if (words >> round >> position.steps >> position.waiting_seconds >> position.rests && round == round_) {
          peer.position = position;
          peer.answered = true;
        }
      } else if (word == "said") {
        awaited_.erase(rank);
      } else if (word == "fault") {
        std::string what;
        std::getline(words >> std::ws, what);
        note_fault(rank, what);
      } else if (word == "failed") {
        peer.link = Link::failed;
        broken_ = true;
      } else if (word == "bye" || word == "left") {
        words >> peer.position.steps;
        deserted_ |= word == "left";
        peer.link = Link::left;
      }
    }
    if (peer.link == Link::joined && from.ended()) {
      peer.link = Link::ended;
      broken_ = true;
    }
    if (peer.link != Link::joined) {
      from.close();
      awaited_.erase(rank);
      complained_.erase(rank);
    }
  }

  std::vector<RankState> ranks_;
  std::vector<Connection> connections_;  ///< by rank; the first is never open
  std::list<Stranger> strangers_;
  Descriptor listener_;
  std::string token_;
  Time accept_from_{}, answers_due_{};
  int round_ = 0;
  bool asking_ = false, broken_ = false, deserted_ = false;
  std::set<int> complained_, awaited_;
};

}  // namespace

std::unique_ptr<Channel> lead(TeamWatch::Setup setup) { return std::make_unique<Leader>(std::move(setup)); }

}  // namespace roofmark::channel
