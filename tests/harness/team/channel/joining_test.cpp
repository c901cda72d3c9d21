// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "harness/team/team_watch.hpp"
#include "tests/harness/team/rank_processes.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

TEST(Joining, TheAddressHasATokenAndEveryWayIn) {
  const TeamWatch first(setup_of(0, 2), ""), other(setup_of(0, 2), "");
  EXPECT_THAT(first.address(), testing::MatchesRegex("[0-9a-f]{32}( [][0-9a-f.:]+:[0-9]+)* 127\\.0\\.0\\.1:[0-9]+"));
  EXPECT_NE(Address(first.address()).token, Address(other.address()).token);
}

// A host may have IPv4 on a bridge of containers alone, and its way to the others by IPv6.
TEST(Joining, ByIPv6BesideIPv4) {
  std::ifstream interfaces("/proc/net/if_inet6");
  const std::string known((std::istreambuf_iterator<char>(interfaces)), {});
  if (known.find(std::string(31, '0') + "1 ") == std::string::npos) GTEST_SKIP() << "no ::1 here";
  TeamWatch first(setup_of(0, 2), "");
  const Address address(first.address());
  TeamWatch second(setup_of(1, 2), address.token + " [::1]" + address.last.substr(address.last.rfind(':')));
}

TEST(Joining, AnotherTokenIsRefusedAndTheRightOneStillJoins) {
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

TEST(Joining, StrangersAreSentAway) {
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

TEST(Joining, ALongLineBehindAShortOneEndsTheConnection) {
  TeamWatch first(setup_of(0, 2), "");
  const Address address(first.address());
  const int stranger = connect_to(address.last);
  const std::string part(1 << 20, 'x');
  EXPECT_EQ(::send(stranger, "\n", 1, MSG_NOSIGNAL), 1);
  // More than the buffers of both sockets hold.
  ssize_t sent = 0;
  for (int i = 0; i < 64 && sent >= 0; ++i) sent = ::send(stranger, part.data(), part.size(), MSG_NOSIGNAL);
  EXPECT_EQ(sent, -1) << "rank 0 takes it all";
  ::close(stranger);
  TeamWatch second(setup_of(1, 2), first.address());
}

TEST(Joining, ManyWhoSayNothingKeepNoRankOut) {
  TeamWatch first(setup_of(0, 2), "");
  const Address address(first.address());
  std::vector<int> silent(300);
  for (int& socket : silent) socket = connect_to(address.last);
  TeamWatch second(setup_of(1, 2), first.address());
  for (const int socket : silent) ::close(socket);
}

TEST(Joining, LinesMayComeInPieces) {
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

TEST(Joining, OfSeveralAddressesTheOneThatKnowsTheTokenIsTaken) {
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

TEST(Joining, WhereNoAddressAnswersEachIsNamedWithItsReason) {
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

TEST(Joining, ALimitOfDescriptorsThatIsTooLowIsSaid) {
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

TEST(Joining, AThousandRanks) {
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
  setup.answer_seconds = kPatience;
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
