// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "harness/measure/runner.hpp"
#include "harness/team/mpi/team.hpp"
#include "tests/harness/fake_measure.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;

/// Every rank has a device whose time is made up; whatever one of them meets, all must come to the same next call.
class MpiMeasureTest : public testing::Test {
 protected:
  bool last() const { return team.rank() == team.size() - 1; }
  Runner runner() { return Runner(device, team, settings_for(device)); }
  // They are together again.
  void TearDown() override { EXPECT_TRUE(team.agree(true)); }

  MpiTeam team{nullptr, [] {}};
  FakeDevice device;
};

TEST_F(MpiMeasureTest, WhatOneRankCannotDoTakesForEverOnAll) {
  for (const int fails_at : {1, 2, 3, 7}) {
    int made = 0;
    const Launch once = [](Stream, int) {};
    const Launch fragile = [&](Stream, int) {
      if (++made == fails_at && last()) throw DeviceError("refused", false);
    };
    const std::vector<double> seconds = time(device, team, {fragile, once});
    ASSERT_EQ(seconds.size(), 2U);
    EXPECT_TRUE(std::isinf(seconds[0])) << fails_at;
    EXPECT_NEAR(seconds[1], 1e-3, 1e-9);
  }
}

TEST_F(MpiMeasureTest, WhatIsProposedOnSomeRanksOnlyIsTakenByNone) {
  const std::vector<Launch> launches(last() ? 1 : 3, [](Stream, int) {});
  const std::vector<double> seconds = time(device, team, launches);
  ASSERT_EQ(seconds.size(), launches.size());
  EXPECT_NEAR(seconds[0], 1e-3, 1e-9);
  for (std::size_t i = 1; i < seconds.size(); ++i) EXPECT_EQ(std::isinf(seconds[i]), team.size() > 1);
  if (team.size() == 1) return;
  EXPECT_THROW(time(device, team, std::vector<Launch>(last() ? 0 : 1, launches[0])), DeviceError);
}

TEST_F(MpiMeasureTest, ARankWhoseDeviceIsLostWhileOthersChooseEndsTheCaseOnAll) {
  Runner r = runner();
  const Case c = fake_case([this](const roofmark::Setup& setup) {
    int made = 0;
    const Launch launch = [&](Stream, int) {
      if (++made == 4 && last()) throw DeviceError("lost", true);
    };
    setup.time({launch, launch});
    return std::make_unique<FakePrepared>();
  });
  const Record record = r.run({{c}, {}}, 1).front();
  EXPECT_EQ(record.status, Status::failed);
  EXPECT_THAT(record.reason, HasSubstr("lost"));
  EXPECT_EQ(r.device_lost(), last());
}

TEST_F(MpiMeasureTest, OfARankThatTakesNoPartNoTimesAreKeptNorAreTheyTheTeams) {
  class Idle final : public Prepared {
   public:
    explicit Idle(bool idle) : idle_(idle) {}
    bool takes_part() const override { return !idle_; }
    void launch(Stream, int) override {}
    Verification verify(int) override { return Verification::nothing("a test"); }

   private:
    bool idle_;
  };
  const bool idle = team.size() > 1 && last();
  device.seconds = [idle](int) { return idle ? 5e-3 : 1e-3; };  // what else its machine does makes it late
  const Case c = fake_case([idle](const roofmark::Setup&) { return std::make_unique<Idle>(idle); });
  const Record record = runner().run({{c}, {}}, 1).front();
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_NEAR(record.measurement->summary.median, 1e-3, 1e-9);
  EXPECT_NEAR(record.measurement->summary.maximum, 1e-3, 1e-9);
  if (team.size() == 1) return;
  ASSERT_EQ(record.measurement->ranks.size(), static_cast<std::size_t>(team.size()));
  for (int rank = 0; rank < team.size(); ++rank) {
    EXPECT_EQ(record.measurement->ranks[static_cast<std::size_t>(rank)].has_value(), rank != team.size() - 1);
  }
}

TEST_F(MpiMeasureTest, WhatRanksCommunicateByIsGathered) {
  class Sender final : public Prepared {
   public:
    explicit Sender(std::set<std::string> by) : by_(std::move(by)) {}
    void launch(Stream, int) override {}
    Verification verify(int) override { return Verification::nothing("a test"); }
    std::set<std::string> transports() const override { return by_; }

   private:
    std::set<std::string> by_;
  };
  const Case c = fake_case([this](const roofmark::Setup&) {
    return std::make_unique<Sender>(team.rank() == 0 ? std::set<std::string>{"NET/IB", "P2P/CUMEM"}
                                                     : std::set<std::string>{"P2P/CUMEM"});
  });
  const Record record = runner().run({{c}, {}}, 1).front();
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  if (team.size() == 1) return;
  std::vector<int> all;
  for (int rank = 0; rank < team.size(); ++rank) all.push_back(rank);
  EXPECT_THAT(record.transports, testing::ElementsAre(std::pair("NET/IB", std::vector{0}), std::pair("P2P/CUMEM", all)));
}

TEST_F(MpiMeasureTest, TheBudgetIsOfTheRankThatTakesLongest) {
  // The first rank takes no part; of the others no two samples agree.
  device.overhead = 1e-6;
  device.seconds = [this](int launch) { return team.rank() == 0 ? 1e-6 : launch % 2 ? 1e-3 : 2e-3; };
  Settings settings = settings_for(device);
  settings.effort.window_seconds = settings.effort.warm_up_seconds = 1e-3;
  settings.effort.max_seconds = 0.1;
  Case c = fake_case([](const roofmark::Setup&) { return std::make_unique<FakePrepared>(); });
  c.protocol.launches = 1;
  const Record record = Runner(device, team, settings).run({{c}, {}}, 1).front();
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  if (team.size() == 1) return;
  EXPECT_EQ(record.measurement->stopped_by, StopReason::budget);
  EXPECT_LE(record.measurement->samples.size(), 100U);
}

TEST_F(MpiMeasureTest, WrongElementsAreCountedOnAllRanksAndAllOfThemNamed) {
  const Case c = fake_case([this](const roofmark::Setup&) {
    auto prepared = std::make_unique<FakePrepared>();
    prepared->on_verify = [this](int) {
      Verification found = Verification::within(team.rank(), 0, "elements");
      found.wrong = static_cast<std::size_t>(team.rank());
      return found;
    };
    return prepared;
  });
  const Record record = runner().run({{c}, {}}, 1).front();
  if (team.size() == 1) return;
  EXPECT_EQ(record.status, Status::wrong);
  ASSERT_TRUE(record.verification_before);
  EXPECT_EQ(record.verification_before->status, Verification::Status::failed);
  EXPECT_EQ(record.verification_before->error, 1);
  EXPECT_EQ(record.verification_before->wrong, static_cast<std::size_t>(team.size() * (team.size() - 1) / 2));
  EXPECT_THAT(record.reason, testing::StartsWith(team.describe(1) + ": wrong result"));
  for (int rank = 2; rank < team.size(); ++rank) EXPECT_THAT(record.reason, HasSubstr(team.describe(rank)));
}

TEST_F(MpiMeasureTest, TheRankThatDiffersFromMostIsNamedAlsoWhereItDiffersFromItself) {
  for (const bool unsteady : {false, true}) {
    int made = 0;
    device.hash_value = [&] { return last() ? 7U + (unsteady ? ++made : 0) : 1U; };
    Case c;
    c.family = "test";
    c.operation = "fake";
    c.slot_bytes = 50;
    c.prepare = [](const roofmark::Setup&) { return std::make_unique<FakePrepared>(); };
    const Record record = runner().run({{c}, {}}, 1).front();
    ASSERT_TRUE(record.fingerprint);
    std::vector<int> differing;
    if (team.size() > 2) differing = {team.size() - 1};
    if (team.size() == 2 && !unsteady) differing = {0, 1};  // nobody can tell
    EXPECT_EQ(record.fingerprint->differing_ranks, differing) << unsteady;
  }
}

}  // namespace
}  // namespace roofmark
