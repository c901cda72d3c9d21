// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/mpi/team.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "harness/team/gather.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;

class MpiTeamTest : public testing::Test {
 protected:
  bool last() const { return team.rank() == team.size() - 1; }

  std::atomic<bool> stop{false};
  MpiTeam team{&stop, [] {}};
};

TEST_F(MpiTeamTest, TheRanksAgreeOnlyWhenAllSayYes) {
  EXPECT_TRUE(team.agree(true));
  EXPECT_FALSE(team.agree(!last()));
}

TEST_F(MpiTeamTest, RankZeroDecides) { EXPECT_EQ(team.decide(100 + team.rank()), 100); }

TEST_F(MpiTeamTest, TheGreatestAndTheLeastCount) {
  const double rank = team.rank();
  EXPECT_EQ(team.max({rank, -rank}), (std::vector<double>{team.size() - 1.0, 0.0}));
  EXPECT_EQ(team.min(5 - rank), 6 - team.size());
}

TEST_F(MpiTeamTest, TextsOfAnyLengthArriveInOrder) {
  const std::vector<std::string> texts = team.gather(std::string(static_cast<std::size_t>(team.rank()), 'x'));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(team.size()));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) EXPECT_EQ(texts[rank].size(), rank);
}

TEST_F(MpiTeamTest, WhereOneRankFailsTheOthersAreToldInWhateverTheyCall) {
  if (team.size() == 1) GTEST_SKIP() << "needs two ranks";
  for (int call = 0; call < 4; ++call) {
    if (last()) {
      EXPECT_FALSE(team.agree(false));
    } else if (call == 0) {
      EXPECT_THROW(team.barrier(), PeerFailed);
    } else if (call == 1) {
      EXPECT_THROW(team.decide(1), PeerFailed);
    } else if (call == 2) {
      EXPECT_THROW(team.max({1, 2, 3}), PeerFailed);
    } else {
      EXPECT_THROW(team.gather(std::string("text")), PeerFailed);
    }
  }
  EXPECT_TRUE(team.agree(true));  // and all are together again
}

TEST_F(MpiTeamTest, ASignalToOneRankInterruptsAll) {
  stop = last();
  EXPECT_THROW(team.barrier(), Interrupted);
  stop = false;
  EXPECT_NO_THROW(team.barrier());
}

TEST_F(MpiTeamTest, ARankIsDescribedWithItsHost) { EXPECT_THAT(team.describe(0), HasSubstr("rank 0 (")); }

TEST(LauncherCounts, OpenMpisVariableAgreesWithTheWorld) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::optional<LauncherCount> count = launcher_count();
  ASSERT_TRUE(count) << "MPI's own launcher starts this test";
  EXPECT_EQ(count->ranks, size) << count->variable;
}

}  // namespace
}  // namespace roofmark
