// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "harness/team/team_watch.hpp"

namespace roofmark {

/// Far above what any of them takes: only a hang comes to it.
inline constexpr int kHangMilliseconds = 60'000;
/// For `answer_seconds` where every rank answers: a machine that is busy or stalls makes none silent, and nobody waits for it.
inline constexpr double kPatience = 60;
inline constexpr double kNever = 3600;
inline constexpr int kLeft = 3;  ///< exit status after leave()

inline std::string describe(int rank) { return fmt::format("rank {} (node{})", rank, rank); }

/// Of this process, by SIGTERM or by its channel.
inline std::atomic<bool> interrupted{false};
/// What this process finds wrong with itself.
inline std::atomic<const char*> own_fault{""};

/// What a rank of a test does with its channel; it and the test take turns.
class Turns {
 public:
  explicit Turns(int socket) : socket_(socket) {}
  void reached() const { EXPECT_EQ(::send(socket_, "r", 1, MSG_NOSIGNAL), 1); }
  /// Until the other side has reached the same; false when it has ended.
  bool wait() const {
    pollfd ready{socket_, POLLIN, 0};
    char byte = 0;
    int polled = 0;
    do {
      polled = ::poll(&ready, 1, kHangMilliseconds);
    } while (polled < 0 && errno == EINTR);
    return polled == 1 && ::recv(socket_, &byte, 1, 0) == 1;
  }

 private:
  int socket_;
};
using Script = std::function<void(TeamWatch&, Turns)>;

/// The ranks of a team, each a process.
class Processes {
 public:
  Processes(int size, double timeout_seconds, double answer_seconds) : ranks_(static_cast<std::size_t>(size)) {
    setup_.size = size;
    setup_.timeout_seconds = timeout_seconds;
    setup_.answer_seconds = answer_seconds;
    setup_.interrupted_seconds = 0.3;
    setup_.describe = describe;
    setup_.interrupted = [] { return interrupted.load(); };
    setup_.fault_seconds = 0.3;
    setup_.fault = [] { return std::string(own_fault); };
    setup_.clues = [] {
      const std::string fault(own_fault);
      return fault.empty() ? std::vector<std::string>() : std::vector{"a clue to: " + fault};
    };
    setup_.interrupt = [] {
      interrupted = true;
      std::fputs("INTERRUPTED\n", stderr);
    };
    setup_.on_standstill = [](const Standstill& found) {
      std::fputs(
          fmt::format("FOUND [{}] never {} silent {} ended {}\n", found.reason, found.never_arrived, found.silent, found.ended)
              .c_str(),
          stderr);
    };
    setup_.leave = [] { ::_exit(kLeft); };
  }
  ~Processes() {
    for (Rank& rank : ranks_) {
      if (rank.pid > 0) ::kill(rank.pid, SIGKILL);
      if (rank.pid > 0) ::waitpid(rank.pid, nullptr, 0);
      ::close(rank.socket);
      std::fclose(rank.said);
    }
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// All have joined when it returns; `script(rank)` then runs to its first wait.
  void start(const std::function<Script(int)>& script) {
    for (int rank = 0; rank < setup_.size; ++rank) {
      std::array<int, 2> sockets{};
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
      Rank& started = ranks_[static_cast<std::size_t>(rank)];
      started.said = std::tmpfile();
      started.socket = sockets[0];
      const Script play = script(rank);
      started.pid = ::fork();
      ASSERT_GE(started.pid, 0);
      if (started.pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(fileno(started.said), 2);
        run(rank, play, sockets[1]);
      }
      ::close(sockets[1]);
      if (rank == 0) address_ = read_line(started.socket);
    }
    for (int rank = 0; rank < setup_.size; ++rank) await(rank);
    for (int rank = 0; rank < setup_.size; ++rank) go(rank);
  }
  void go(int rank) { Turns(at(rank).socket).reached(); }
  void await(int rank) { ASSERT_TRUE(Turns(at(rank).socket).wait()) << describe(rank) << " has ended"; }
  void signal(int rank, int number) {
    ASSERT_EQ(::kill(at(rank).pid, number), 0);
    if (number == SIGSTOP) ::waitpid(at(rank).pid, nullptr, WUNTRACED);
  }

  struct End {
    int status = -1;   ///< of exit; negative: by that signal
    std::string said;  ///< on stderr
  };
  End end(int rank) {
    Rank& ended = at(rank);
    // The test's end of the socket pair sees the process end; what it still reached is of no interest.
    std::array<char, 16> ignored{};
    pollfd gone{ended.socket, POLLIN, 0};
    ssize_t got = 1;
    while (got > 0 && ::poll(&gone, 1, kHangMilliseconds) == 1) got = ::recv(ended.socket, ignored.data(), ignored.size(), 0);
    if (got > 0) {
      ADD_FAILURE() << describe(rank) << " hangs";
      ::kill(ended.pid, SIGKILL);
    }
    int status = 0;
    ::waitpid(ended.pid, &status, 0);
    ended.pid = -1;
    End end{WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), {}};
    std::rewind(ended.said);
    for (int c = std::fgetc(ended.said); c != EOF; c = std::fgetc(ended.said)) end.said += static_cast<char>(c);
    return end;
  }

 private:
  struct Rank {
    pid_t pid = -1;
    int socket = -1;
    std::FILE* said = nullptr;
  };
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  [[noreturn]] void run(int rank, const Script& script, int socket) {
    for (const Rank& other : ranks_) ::close(other.socket);
    std::signal(SIGTERM, [](int) { interrupted = true; });
    {
      TeamWatch::Setup setup = setup_;
      setup.rank = rank;
      TeamWatch arrivals(setup, address_);
      if (rank == 0) {
        const std::string line = arrivals.address() + "\n";
        EXPECT_EQ(::send(socket, line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
      }
      const Turns turns(socket);
      arrivals.doing(fmt::format("all_reduce/fp32/bytes:8/ranks:{}/impl:mpi,\ntiming", setup_.size));
      turns.reached();
      turns.wait();
      script(arrivals, turns);
    }
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  static std::string read_line(int socket) {
    std::string line;
    char c = 0;
    while (::recv(socket, &c, 1, 0) == 1 && c != '\n') line += c;
    return line;
  }

  TeamWatch::Setup setup_;
  std::string address_;
  std::vector<Rank> ranks_;
};

}  // namespace roofmark
