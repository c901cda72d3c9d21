// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one way in which a team ends per test.
#include "harness/team/team_watch.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "tests/harness/team/rank_processes.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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
  Processes team(3, 0.3, kPatience);
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

TEST(TeamWatch, TakesAnotherTimeout) {
  Processes team(2, kNever, kPatience);
  team.start([](int rank) -> Script {
    return [hang = comes_to(rank == 1 ? 4 : 5)](TeamWatch& arrivals, Turns turns) {
      arrivals.set_timeout(0.3);
      hang(arrivals, turns);
    };
  });
  for (const int rank : {0, 1}) team.await(rank);
  for (const int rank : {0, 1}) team.go(rank);
  EXPECT_THAT(team.end(0).said,
              HasSubstr(found("no progress for 0.3 s: rank 1 (node1) never arrived", "never [1] silent [] ended []")));
}

TEST(TeamWatch, TheFirstToWaitTooLongNeedNotBeRank0) {
  Processes team(3, 0.3, kPatience);
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

// Its answer is waited for, so there is no third rank: one that the machine does not run in that time would be silent
// too.
TEST(TeamWatch, ARankThatIsStoppedIsSilent) {
  Processes team(2, 0.3, 1);
  team.start([](int) { return comes_to(5); });
  for (const int rank : {0, 1}) team.await(rank);
  team.signal(1, SIGSTOP);
  team.go(0);
  const auto first = team.end(0);
  EXPECT_THAT(first.said,
              HasSubstr(found("no progress for 0.3 s: rank 1 (node1) does not answer: stopped, or the host or network is down",
                              "never [] silent [1] ended []")));
  EXPECT_EQ(first.status, kLeft);
  // It finds that it was told to leave.
  team.signal(1, SIGCONT);
  EXPECT_EQ(team.end(1).status, kLeft);
}

// Whichever rank the signal reaches, all learn of it.
TEST(TeamWatch, AnInterruptionEndsAHangLongBeforeTheTimeout) {
  for (const int signalled : {0, 2}) {
    Processes team(3, kNever, kPatience);
    team.start([](int rank) { return comes_to(rank == 1 ? 4 : 5); });
    for (const int rank : {0, 1, 2}) team.await(rank);
    for (const int rank : {0, 1, 2}) team.go(rank);
    team.signal(signalled, SIGTERM);
    const auto first = team.end(0), late = team.end(1), third = team.end(2);
    EXPECT_THAT(first.said, testing::ContainsRegex("\nFOUND \\[interrupted while no rank made progress, for [01] s: rank 1 "
                                                   "\\(node1\\) never arrived\\] never \\[1\\] silent \\[\\] ended \\[\\]"));
    EXPECT_THAT(late.said, HasSubstr("rank 1 (node1) has not arrived where the others wait: for "));
    EXPECT_THAT(third.said, testing::ContainsRegex("rank 2 \\(node2\\) has waited for [0-9.]+ s in all_reduce/"));
    for (const auto* rank : {&first, &late, &third}) {
      EXPECT_EQ(count(rank->said, "INTERRUPTED"), 1u);
      EXPECT_EQ(rank->status, kLeft);
    }
  }
}

TEST(TeamWatch, AnInterruptionLeavesRanksThatMakeStepsAlone) {
  Processes team(2, kNever, kPatience);
  team.start([](int) -> Script {
    return [](TeamWatch& arrivals, Turns turns) {
      arrivals.step();
      arrivals.rest();
      turns.reached();
      turns.wait();
    };
  });
  for (const int rank : {0, 1}) team.await(rank);
  team.signal(1, SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  for (const int rank : {0, 1}) team.go(rank);
  for (const int rank : {1, 0}) {
    const auto end = team.end(rank);
    EXPECT_EQ(end.said, "INTERRUPTED\n");
    EXPECT_EQ(end.status, 0);
  }
}

// While its main thread waits, and also where rank 0 finds it. The others say where they wait.
TEST(TeamWatch, AFaultThatARankFindsItselfEndsTheRunAtOnce) {
  for (const int broken : {0, 2}) {
    Processes team(3, kNever, kPatience);
    team.start([broken](int rank) -> Script {
      return [rank, broken](TeamWatch& arrivals, Turns turns) {
        make(arrivals, 4);
        arrivals.rest();
        turns.reached();
        turns.wait();
        if (rank == broken) own_fault = "the link\nis down";
        arrivals.step();
        while (turns.wait()) {
        }
      };
    });
    for (const int rank : {0, 1, 2}) team.await(rank);
    for (const int rank : {0, 1, 2}) team.go(rank);
    const auto first = team.end(0), second = team.end(1), third = team.end(2);
    EXPECT_THAT(first.said,
                HasSubstr(fmt::format("FOUND [{}: the link is down] never [] silent [] ended []", describe(broken))));
    EXPECT_THAT((broken == 0 ? first : third).said, AllOf(HasSubstr(describe(broken) + " has waited for "),
                                                          HasSubstr(describe(broken) + ": a clue to: the link\n")));
    EXPECT_THAT(second.said, AllOf(HasSubstr("rank 1 (node1) has waited for "), Not(HasSubstr("clue"))));
    for (const auto* rank : {&first, &second, &third}) EXPECT_EQ(rank->status, kLeft);
  }
}

// Its next step may handle it.
TEST(TeamWatch, AFaultOfARankThatMakesStepsIsItsOwn) {
  Processes team(1, kNever, kPatience);
  team.start([](int) -> Script {
    return [](TeamWatch& arrivals, Turns) {
      own_fault = "the link is down";
      for (int i = 0; i < 50; ++i) {
        arrivals.step();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    };
  });
  const auto end = team.end(0);
  EXPECT_EQ(end.said, "");
  EXPECT_EQ(end.status, 0);
}

TEST(TeamWatch, ARankThatIsKilledIsNamedAtOnce) {
  Processes team(3, kNever, kPatience);
  team.start([](int) { return comes_to(5); });
  for (const int rank : {0, 1, 2}) team.await(rank);
  for (const int rank : {0, 1}) team.go(rank);
  team.signal(2, SIGKILL);
  const auto first = team.end(0), second = team.end(1);
  EXPECT_THAT(first.said, HasSubstr(found("rank 2 (node2) ended unexpectedly", "never [] silent [] ended [2]")));
  EXPECT_THAT(first.said, Not(HasSubstr("for 0.0 s")));
  EXPECT_EQ(count(first.said, "FOUND"), 1u);
  EXPECT_EQ(first.status, kLeft);
  EXPECT_EQ(second.status, kLeft);
  EXPECT_THAT(second.said, Not(HasSubstr("FOUND")));
}

TEST(TeamWatch, WhenRank0IsKilledEachSaysSoAndLeaves) {
  Processes team(3, kNever, kPatience);
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
  Processes team(3, 0.3, kPatience);
  team.start([](int) { return comes_to(5); });
  for (const int rank : {0, 1, 2}) team.await(rank);
  for (const int rank : {0, 1, 2}) team.go(rank);
  const auto first = team.end(0);
  EXPECT_THAT(first.said, HasSubstr(found("no progress for 0.3 s: all ranks arrived and none proceeds: the network or a link "
                                          "failed, or this step takes longer than --timeout",
                                          "never [] silent [] ended []")));
  for (const int rank : {1, 2}) EXPECT_THAT(team.end(rank).said, HasSubstr(describe(rank) + " has waited for "));
}

TEST(TeamWatch, NamesAPartUntilTheNextStep) {
  for (const bool further : {false, true}) {
    Processes team(1, 0.3, kPatience);
    team.start([further](int) -> Script {
      return [further](TeamWatch& arrivals, Turns turns) {
        arrivals.step();
        arrivals.named_part("creating a\ncommunicator");
        if (further) arrivals.step();
        while (turns.wait()) {
        }
      };
    });
    EXPECT_THAT(team.end(0).said, HasSubstr(fmt::format(" s in all_reduce/fp32/bytes:8/ranks:1/impl:mpi, timing{}\n",
                                                        further ? "" : ": creating a communicator")));
  }
}

TEST(TeamWatch, ATeamOfOneDoesNotBlameTheNetwork) {
  Processes team(1, 0.3, kPatience);
  team.start([](int) { return comes_to(1); });
  team.await(0);
  team.go(0);
  EXPECT_THAT(team.end(0).said, HasSubstr(found("no progress for 0.3 s", "never [] silent [] ended []")));
}

// Longer than the timeout, which no busy machine keeps a rank from its next step for.
TEST(TeamWatch, SilentWhileAllIsWell) {
  Processes team(3, 3, kPatience);
  team.start([](int) -> Script {
    return [](TeamWatch& arrivals, Turns) {
      for (int i = 0; i < 200; ++i) {
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
  Processes team(3, 0.2, kPatience);
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
  Processes team(3, 0.3, kPatience);
  team.start([](int rank) -> Script {
    if (rank != 2) return comes_to(5);
    return [](TeamWatch& arrivals, Turns turns) {
      make(arrivals, 4);
      arrivals.rest();
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
    Processes team(3, kNever, kPatience);
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
    // The others may leave as soon as it fails.
    for (const int rank : {2 - failing, 1, failing}) team.go(rank);
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
  Processes team(2, 0.3, kPatience);
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
  Processes team(2, 3, kPatience);
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
  std::this_thread::sleep_for(std::chrono::milliseconds(4000));
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

}  // namespace
}  // namespace roofmark
