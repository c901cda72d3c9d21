// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/team_watch.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <sstream>
#include <system_error>
#include <thread>

namespace roofmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Far above what any of them takes: only a hang comes to it.
constexpr int kHangMilliseconds = 60'000;
constexpr double kNever = 3600;
constexpr int kLeft = 3;  ///< exit status after leave()

std::string describe(int rank) { return fmt::format("rank {} (node{})", rank, rank); }

/// What a rank of a test does with its channel; it and the test take turns.
class Turns {
 public:
  explicit Turns(int socket) : socket_(socket) {}
  void reached() const { EXPECT_EQ(::send(socket_, "r", 1, MSG_NOSIGNAL), 1); }
  /// Until the other side has reached the same; false when it has ended.
  bool wait() const {
    pollfd ready{socket_, POLLIN, 0};
    char byte = 0;
    return ::poll(&ready, 1, kHangMilliseconds) == 1 && ::recv(socket_, &byte, 1, 0) == 1;
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
    setup_.describe = describe;
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

// Under load a process may take long to its next line. So that none is taken for late, they go on together from a rest: who
// has to wait for one that rests does so.
void make(TeamWatch& arrivals, int steps) {
  for (int i = 0; i < steps; ++i) arrivals.step();
}
/// Makes `steps` and waits for ever, that is until the channel ends the process.
Script comes_to(int steps) {
  return [steps](TeamWatch& arrivals, Turns turns) {
    make(arrivals, steps - 1);
    arrivals.rest();
    turns.reached();
    turns.wait();
    arrivals.step();
    while (turns.wait()) {
    }
  };
}

std::string found(const std::string& reason, const std::string& lists) {
  return fmt::format("{}\nFOUND [{}] {}\n", reason, reason, lists);
}
std::size_t count(const std::string& text, const std::string& word) {
  std::size_t times = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
  return times;
}

TEST(TeamWatch, ARankThatIsDelayedIsNamedAndEachSaysWhereItIs) {
  Processes team(3, 0.3, 2);
  team.start([](int rank) { return comes_to(rank == 2 ? 4 : 5); });
  for (const int rank : {0, 1, 2}) team.await(rank);
  for (const int rank : {0, 1, 2}) team.go(rank);
  const auto first = team.end(0), second = team.end(1), late = team.end(2);
  EXPECT_THAT(first.said,
              HasSubstr(found("no progress for 0.3 s: rank 2 (node2) never arrived", "never [2] silent [] ended []")));
  EXPECT_EQ(count(first.said, "FOUND"), 1u);
  EXPECT_THAT(first.said, testing::ContainsRegex("rank 0 \\(node0\\) has waited for [0-9.]+ s in all_reduce/fp32/bytes:8/"));
  EXPECT_THAT(second.said,
              testing::MatchesRegex(
                  "rank 1 \\(node1\\) has waited for [0-9.]+ s in all_reduce/fp32/bytes:8/ranks:3/impl:mpi, timing\n"));
  EXPECT_THAT(late.said, testing::MatchesRegex("rank 2 \\(node2\\) has not arrived where the others wait: for [0-9.]+ s in "
                                               "all_reduce/fp32/bytes:8/ranks:3/impl:mpi, timing\n"));
  for (const auto* rank : {&first, &second, &late}) EXPECT_EQ(rank->status, kLeft);
}

TEST(TeamWatch, TheFirstToWaitTooLongNeedNotBeRank0) {
  Processes team(3, 0.3, 2);
  team.start([](int rank) -> Script {
    if (rank != 0) return comes_to(rank == 2 ? 4 : 5);
    return [](TeamWatch& arrivals, Turns turns) {
      make(arrivals, 5);
      arrivals.rest();
      turns.reached();
      while (turns.wait()) {
      }
    };
  });
  for (const int rank : {0, 1, 2}) team.await(rank);
  for (const int rank : {1, 2}) team.go(rank);
  const auto first = team.end(0);
  EXPECT_EQ(first.said, found("no progress for 0.3 s: rank 2 (node2) never arrived", "never [2] silent [] ended []"));
  EXPECT_EQ(first.status, kLeft);
  EXPECT_EQ(team.end(1).status, kLeft);
  EXPECT_EQ(team.end(2).status, kLeft);
}

TEST(TeamWatch, ARankThatIsStoppedIsSilent) {
  Processes team(3, 0.3, 1);
  team.start([](int) { return comes_to(5); });
  for (const int rank : {0, 1, 2}) team.await(rank);
  team.signal(2, SIGSTOP);
  for (const int rank : {0, 1}) team.go(rank);
  const auto first = team.end(0);
  EXPECT_THAT(first.said, HasSubstr(found("no progress for 0.3 s: rank 2 (node2) does not answer: stopped, or the host or the "
                                          "network to it is gone",
                                          "never [] silent [2] ended []")));
  EXPECT_EQ(first.status, kLeft);
  EXPECT_EQ(team.end(1).status, kLeft);
  // It finds that it was told to leave.
  team.signal(2, SIGCONT);
  EXPECT_EQ(team.end(2).status, kLeft);
}

TEST(TeamWatch, ARankThatIsKilledIsNamedAtOnce) {
  Processes team(3, kNever, 2);
  team.start([](int) { return comes_to(5); });
  for (const int rank : {0, 1, 2}) team.await(rank);
  for (const int rank : {0, 1}) team.go(rank);
  team.signal(2, SIGKILL);
  const auto first = team.end(0), second = team.end(1);
  EXPECT_THAT(first.said, HasSubstr(found("rank 2 (node2) ended unexpectedly", "never [] silent [] ended [2]")));
  EXPECT_EQ(count(first.said, "FOUND"), 1u);
  EXPECT_EQ(first.status, kLeft);
  EXPECT_EQ(second.status, kLeft);
  EXPECT_THAT(second.said, Not(HasSubstr("FOUND")));
}

TEST(TeamWatch, WhenRank0IsKilledEachSaysSoAndLeaves) {
  Processes team(3, kNever, 2);
  team.start([](int) { return comes_to(5); });
  for (const int rank : {0, 1, 2}) team.await(rank);
  for (const int rank : {1, 2}) team.go(rank);
  team.signal(0, SIGKILL);
  for (const int rank : {1, 2}) {
    const auto end = team.end(rank);
    EXPECT_EQ(end.status, kLeft);
    EXPECT_THAT(end.said, HasSubstr(fmt::format("{} leaves: rank 0 (node0) ended unexpectedly\n", describe(rank))));
  }
}

TEST(TeamWatch, WhenRank0DoesNotAnswerTheOthersLeaveAndItLearnsThat) {
  Processes team(3, 0.3, 0.3);
  team.start([](int rank) -> Script {
    if (rank != 0) return comes_to(5);
    return [](TeamWatch&, Turns turns) {
      turns.reached();
      while (turns.wait()) {
      }
    };
  });
  for (const int rank : {0, 1, 2}) team.await(rank);
  team.signal(0, SIGSTOP);
  for (const int rank : {1, 2}) team.go(rank);
  for (const int rank : {1, 2}) {
    const auto end = team.end(rank);
    EXPECT_EQ(end.status, kLeft);
    EXPECT_THAT(end.said, AllOf(HasSubstr(" s in all_reduce/fp32/"),
                                HasSubstr(fmt::format("{} leaves: rank 0 (node0) does not answer: ", describe(rank)))));
  }
  team.signal(0, SIGCONT);
  const auto first = team.end(0);
  EXPECT_EQ(first.status, kLeft);
  EXPECT_THAT(first.said, HasSubstr(found("rank 0 (node0) did not answer in time, and the others have left",
                                          "never [] silent [0] ended []")));
}

TEST(TeamWatch, WhereAllArrivedTheNetworkIsToBlame) {
  Processes team(3, 0.3, 2);
  team.start([](int) { return comes_to(5); });
  for (const int rank : {0, 1, 2}) team.await(rank);
  for (const int rank : {0, 1, 2}) team.go(rank);
  const auto first = team.end(0);
  EXPECT_THAT(first.said, HasSubstr(found("no progress for 0.3 s: all ranks arrived and none proceeds: the network or a link "
                                          "failed, or this step takes longer than --timeout",
                                          "never [] silent [] ended []")));
  for (const int rank : {1, 2}) EXPECT_THAT(team.end(rank).said, HasSubstr(describe(rank) + " has waited for "));
}

TEST(TeamWatch, ATeamOfOneDoesNotBlameTheNetwork) {
  Processes team(1, 0.3, 2);
  team.start([](int) { return comes_to(1); });
  team.await(0);
  team.go(0);
  EXPECT_THAT(team.end(0).said, HasSubstr(found("no progress for 0.3 s", "never [] silent [] ended []")));
}

TEST(TeamWatch, SilentWhileAllIsWell) {
  Processes team(3, 1, 1);
  team.start([](int) -> Script {
    return [](TeamWatch& arrivals, Turns) {
      for (int i = 0; i < 100; ++i) {
        arrivals.step();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    };
  });
  for (const int rank : {2, 1, 0}) {
    const auto end = team.end(rank);
    EXPECT_EQ(end.said, "");
    EXPECT_EQ(end.status, 0);
  }
}

TEST(TeamWatch, ARankThatRestsIsNotLate) {
  Processes team(3, 0.2, 1);
  team.start([](int rank) -> Script {
    return [rank](TeamWatch& arrivals, Turns turns) {
      make(arrivals, 4);
      arrivals.rest();
      turns.reached();
      turns.wait();
      if (rank != 2) arrivals.step();
      turns.reached();
      turns.wait();
      arrivals.rest();
      turns.reached();
      turns.wait();
    };
  });
  for (const int rank : {0, 1, 2}) team.await(rank);
  for (const int rank : {0, 1, 2}) team.go(rank);
  for (const int rank : {0, 1, 2}) team.await(rank);
  // They ask more than once, and go on waiting.
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  for (const int rank : {0, 1, 2}) team.go(rank);
  for (const int rank : {0, 1, 2}) team.await(rank);
  for (const int rank : {0, 1, 2}) team.go(rank);
  for (const int rank : {0, 1, 2}) {
    const auto end = team.end(rank);
    EXPECT_EQ(end.said, "");
    EXPECT_EQ(end.status, 0);
  }
}

TEST(TeamWatch, OneThatEndsBeforeTheOthersIsNamedByThoseWhoWaitForIt) {
  Processes team(3, 0.3, 2);
  team.start([](int rank) -> Script {
    if (rank != 2) return comes_to(5);
    return [](TeamWatch& arrivals, Turns turns) {
      make(arrivals, 4);
      turns.reached();
    };
  });
  for (const int rank : {0, 1, 2}) team.await(rank);
  EXPECT_EQ(team.end(2).status, 0);
  for (const int rank : {0, 1}) team.go(rank);
  EXPECT_THAT(team.end(0).said, HasSubstr(found("no progress for 0.3 s: rank 2 (node2) ended before the others",
                                                "never [] silent [] ended [2]")));
  EXPECT_EQ(team.end(1).status, kLeft);
}

TEST(TeamWatch, OneThatFailsIsNamedAtOnce) {
  for (const int failing : {0, 2}) {
    Processes team(3, kNever, 2);
    team.start([failing](int rank) -> Script {
      if (rank != failing) return comes_to(5);
      return [](TeamWatch& arrivals, Turns turns) {
        make(arrivals, 4);
        turns.reached();
        turns.wait();
        arrivals.fail();
      };
    });
    for (const int rank : {0, 1, 2}) team.await(rank);
    for (const int rank : {0, 1, 2}) team.go(rank);
    EXPECT_EQ(team.end(failing).status, 0);
    if (failing == 0) {
      for (const int rank : {1, 2}) {
        const auto end = team.end(rank);
        EXPECT_THAT(end.said, HasSubstr("leaves: rank 0 (node0) failed"));
        EXPECT_EQ(end.status, kLeft);
      }
    } else {
      EXPECT_THAT(team.end(0).said, HasSubstr(found("rank 2 (node2) failed", "never [] silent [] ended [2]")));
      EXPECT_EQ(team.end(1).status, kLeft);
    }
  }
}

TEST(TeamWatch, WithoutRank0EachWatchesItself) {
  Processes team(2, 0.3, 2);
  team.start([](int rank) -> Script {
    if (rank == 1) return comes_to(5);
    return [](TeamWatch&, Turns turns) { turns.reached(); };
  });
  for (const int rank : {0, 1}) team.await(rank);
  EXPECT_EQ(team.end(0).status, 0);
  team.go(1);
  const auto end = team.end(1);
  EXPECT_EQ(end.status, kLeft);
  EXPECT_THAT(end.said, HasSubstr("rank 1 (node1) leaves: rank 0 (node0) ended before the others\n"));
}

TEST(TeamWatch, TimeInWhichItWasStoppedDoesNotCount) {
  Processes team(2, 1, 1);
  team.start([](int rank) -> Script {
    return [rank](TeamWatch& arrivals, Turns turns) {
      arrivals.step();
      if (rank == 0) arrivals.rest();
      turns.reached();
      turns.wait();
      arrivals.rest();
      turns.reached();
      turns.wait();
    };
  });
  for (const int rank : {0, 1}) team.await(rank);
  team.signal(1, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  team.signal(1, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (const int rank : {1, 0}) team.go(rank);
  for (const int rank : {1, 0}) team.await(rank);
  for (const int rank : {1, 0}) team.go(rank);
  for (const int rank : {1, 0}) {
    const auto end = team.end(rank);
    EXPECT_EQ(end.said, "");
    EXPECT_EQ(end.status, 0);
  }
}

// In one process: who may join.

TeamWatch::Setup setup_of(int rank, int size) {
  TeamWatch::Setup setup;
  setup.rank = rank;
  setup.size = size;
  setup.timeout_seconds = kNever;
  setup.describe = describe;
  setup.on_standstill = [](const Standstill& found) { ADD_FAILURE() << found.reason; };
  setup.leave = [] { ADD_FAILURE() << "told to leave"; };
  return setup;
}

int connect_to(const std::string& address) {
  const auto colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  return socket;
}
void say(int socket, const std::string& text) {
  EXPECT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}
/// The next line, or what came until the other side closed.
std::string hear(int socket) {
  std::string line;
  pollfd ready{socket, POLLIN, 0};
  for (char c = 0; ::poll(&ready, 1, kHangMilliseconds) == 1 && ::recv(socket, &c, 1, 0) == 1 && c != '\n';) line += c;
  return line;
}

/// "127.0.0.1:port" of something that listens, and is no rank 0.
class Bystander {
 public:
  Bystander() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(own);
    auto* address = reinterpret_cast<sockaddr*>(&own);
    EXPECT_EQ(::bind(socket_, address, length), 0);
    EXPECT_EQ(::listen(socket_, 4), 0);
    EXPECT_EQ(::getsockname(socket_, address, &length), 0);
    address_ = fmt::format("127.0.0.1:{}", ntohs(own.sin_port));
  }
  ~Bystander() { ::close(socket_); }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  const std::string& address() const { return address_; }
  int socket() const { return socket_; }

 private:
  int socket_;
  std::string address_;
};

struct Address {
  std::string token, rest, last;  ///< the last one is loopback's
  explicit Address(const std::string& line) : token(line.substr(0, line.find(' '))), rest(line.substr(line.find(' '))) {
    last = line.substr(line.rfind(' ') + 1);
  }
};

TEST(TeamWatch, TheAddressHasATokenAndEveryWayIn) {
  const TeamWatch first(setup_of(0, 2), ""), other(setup_of(0, 2), "");
  EXPECT_THAT(first.address(), testing::MatchesRegex("[0-9a-f]{32}( [][0-9a-f.:]+:[0-9]+)* 127\\.0\\.0\\.1:[0-9]+"));
  EXPECT_NE(Address(first.address()).token, Address(other.address()).token);
}

TEST(TeamWatch, AnotherTokenIsRefusedAndTheRightOneStillJoins) {
  TeamWatch first(setup_of(0, 2), "");
  const Address address(first.address());
  try {
    const TeamWatch second(setup_of(1, 2), std::string(32, '0') + address.rest);
    ADD_FAILURE() << "it joined";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("rank 1 cannot reach rank 0"), HasSubstr(address.last + " (not rank 0 of this run)")));
  }
  TeamWatch second(setup_of(1, 2), first.address());
}

TEST(TeamWatch, StrangersAreSentAway) {
  TeamWatch first(setup_of(0, 2), "");
  const Address address(first.address());
  const std::string hello = "hello " + address.token;
  const int silent = connect_to(address.last);
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\n"), std::string("\n"), std::string(100'000, 'x'),
        "hello " + std::string(32, '0') + " 1\n", hello + " 2\n", hello + " 0\n", hello + " -1\n", hello + " one\n"}) {
    const int stranger = connect_to(address.last);
    say(stranger, text);
    EXPECT_EQ(hear(stranger), "") << text.substr(0, 100);
    ::close(stranger);
  }
  // One that knows the token and goes away before it has joined is nobody's end.
  const int undecided = connect_to(address.last);
  say(undecided, hello + " 1\n");
  EXPECT_EQ(hear(undecided), "welcome " + address.token);
  ::close(undecided);
  { TeamWatch second(setup_of(1, 2), first.address()); }
  ::close(silent);
}

TEST(TeamWatch, LinesMayComeInPieces) {
  auto ended = std::make_shared<std::promise<Standstill>>();
  TeamWatch::Setup setup = setup_of(0, 2);
  setup.on_standstill = [ended](const Standstill& found) { ended->set_value(found); };
  setup.leave = [] {};
  TeamWatch first(setup, "");
  const Address address(first.address());
  const int other = connect_to(address.last);
  for (const char c : "hello " + address.token + " 1\n") say(other, std::string(1, c));
  EXPECT_EQ(hear(other), "welcome " + address.token);
  for (const char c : std::string("joined\nwait")) say(other, std::string(1, c));
  say(other, "ing\nanswer 99 1 2 0 of another round\n");
  EXPECT_EQ(hear(other), "ask 1");
  say(other, "answer 1 7 3600 0 ");
  say(other, "doing\n");
  // Rank 0 has made no step, and was not there for as long.
  const std::string line = hear(other);
  EXPECT_THAT(line, testing::StartsWith("wait "));
  ::close(other);
  EXPECT_THAT(ended->get_future().get().ended, ElementsAre(1));
}

TEST(TeamWatch, OfSeveralAddressesTheOneThatKnowsTheTokenIsTaken) {
  TeamWatch first(setup_of(0, 2), "");
  const Address address(first.address());
  const Bystander mute, wrong;
  std::string closed;
  {
    const Bystander gone;
    closed = gone.address();
  }
  auto echo = std::async(std::launch::async, [&] {
    const int connection = ::accept(wrong.socket(), nullptr, nullptr);
    say(connection, hear(connection) + "\n");
    ::close(connection);
  });
  TeamWatch second(setup_of(1, 2), fmt::format("{} {} nonsense 300.1.1.1:1 {} {} {}", address.token, mute.address(), closed,
                                               wrong.address(), address.last));
  echo.get();
}

TEST(TeamWatch, WhereNoAddressAnswersEachIsNamedWithItsReason) {
  std::string closed;
  {
    const Bystander gone;
    closed = gone.address();
  }
  try {
    const TeamWatch second(setup_of(1, 2), "token " + closed + " nonsense");
    ADD_FAILURE() << "it joined";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(closed + " (Connection refused)"), HasSubstr("nonsense (no port")));
  }
}

TEST(TeamWatch, ALimitOfDescriptorsThatIsTooLowIsSaid) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit low{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &low);
    try {
      const TeamWatch first(setup_of(0, 1000), "");
    } catch (const std::system_error& error) {
      const std::string what = error.what();
      ::_exit(what.find("of 1000 ranks") != std::string::npos && what.find("the limit is 64 (ulimit -n)") != std::string::npos
                  ? 0
                  : 1);
    }
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(TeamWatch, AThousandRanks) {
  constexpr int kRanks = 1000;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < 2 * kRanks + 300) GTEST_SKIP() << "only " << limit.rlim_max << " file descriptors (ulimit -Hn)";
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, 2 * kRanks + 300);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);

  std::promise<Standstill> ended;
  std::promise<void> left;
  TeamWatch::Setup setup = setup_of(0, kRanks);
  setup.timeout_seconds = 0.2;
  setup.answer_seconds = 10;
  setup.on_standstill = [&](const Standstill& found) { ended.set_value(found); };
  setup.leave = [&] { left.set_value(); };
  TeamWatch first(setup, "");
  const Address address(first.address());
  std::vector<int> others;
  for (int rank = 1; rank < kRanks; ++rank) {
    others.push_back(connect_to(address.last));
    say(others.back(), fmt::format("hello {} {}\n", address.token, rank));
    ASSERT_EQ(hear(others.back()), "welcome " + address.token);
    say(others.back(), "joined\n");
  }
  for (int i = 0; i < 7; ++i) first.step();
  // Every fiftieth rank is late; the next one to each, a part further in the same step, waits for it and is not to blame.
  constexpr std::int64_t kStep = std::int64_t{1} << 32;
  const auto steps = [&](int rank) { return rank % 50 == 0 ? 6 * kStep : rank % 50 == 1 ? 6 * kStep + 3 : 7 * kStep; };
  // Where rank 0 was not scheduled for a while it waits again and asks once more.
  for (int round = 1, told = 0; told == 0; ++round) {
    for (int rank = 1; rank < kRanks; ++rank) {
      const int other = others[static_cast<std::size_t>(rank - 1)];
      const std::string line = hear(other);
      told += line == fmt::format("say {}", 6 * kStep);
      if (told == 0) {
        ASSERT_EQ(line, fmt::format("ask {}", round));
      }
      say(other, told > 0 ? "said\n" : fmt::format("answer {} {} 60 0 x\n", round, steps(rank)));
    }
  }
  const Standstill found = ended.get_future().get();
  EXPECT_EQ(found.never_arrived.size(), 19u);
  EXPECT_THAT(found.silent, IsEmpty());
  EXPECT_THAT(found.reason, testing::EndsWith("rank 750 (node750), rank 800 (node800) and 3 more never arrived"));
  for (const int other : others) {
    ASSERT_EQ(hear(other), "leave");
    ::close(other);
  }
  left.get_future().get();
}

}  // namespace
}  // namespace roofmark
