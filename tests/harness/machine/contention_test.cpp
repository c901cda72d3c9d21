// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/contention.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <utility>

#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Of a run of 100 s.
CpuShare process(double own, double busy, double stolen, int cores, bool limited = false, const std::string& host = "a",
                 std::vector<int> cpus = {0, 1, 2, 3, 4, 5, 6, 7}) {
  const CpuTime begin{1000, 5, 70000, 300, 8};
  return {host,  begin,  {begin.at + 100, begin.own + own, begin.busy + busy, begin.stolen + stolen, 8}, std::move(cpus),
          cores, limited};
}

std::optional<std::string> found(double busy, double stolen, int cores, bool limited = false) {
  const std::vector<Contention> all = find_contention({process(180, busy, stolen, cores, limited)});
  return all.empty() ? std::nullopt : std::optional(all.front().text);
}

TEST(Contention, AQuietMachineIsNoFinding) {
  EXPECT_FALSE(found(180, 0, 2));
  EXPECT_FALSE(found(189, 3.9, 2));  // 0.09 cores, 1.95 %
  EXPECT_FALSE(found(170, 0, 2));    // counted by ticks, a little less than the run's own
}

TEST(Contention, ATenthOfACoreIsOneOnFewCoresAndTwoPercentOnMany) {
  EXPECT_TRUE(found(191, 0, 2));
  EXPECT_FALSE(found(180 + 199, 0, 100));
  EXPECT_TRUE(found(180 + 201, 0, 100));
}

TEST(Contention, SaysHowManyCoresAndWhatItMeans) {
  const auto finding = found(180 + 131, 0, 2);
  ASSERT_TRUE(finding);
  EXPECT_THAT(*finding, AllOf(HasSubstr("1.31 cores on average, beside the 2"), Not(HasSubstr("container")),
                              Not(HasSubstr("hypervisor"))));
}

TEST(Contention, InsideALimitTheWholeMachineCountsAndItIsSaid) {
  EXPECT_THAT(*found(180 + 131, 0, 2, true), AllOf(HasSubstr("all 8 CPUs"), HasSubstr("outside this container")));
}

TEST(Contention, TimeThatTheHypervisorTakesIsOneToo) {
  EXPECT_FALSE(found(180, 4, 2));
  const auto finding = found(180, 5, 2);
  ASSERT_TRUE(finding);
  EXPECT_THAT(*finding, AllOf(HasSubstr("0.05 cores for other virtual machines, 2.5 %"), Not(HasSubstr("other programs"))));
  EXPECT_THAT(*found(400, 5, 2), AllOf(HasSubstr("2.20 cores on average"), HasSubstr("hypervisor")));
}

TEST(Contention, TimeTakenFromSharedCpusCountsOnce) {
  const auto both = [](std::vector<int> one, std::vector<int> other) {
    return find_contention(
        {process(90, 180, 5, 1, false, "a", std::move(one)), process(90, 180, 5, 1, false, "a", std::move(other))});
  };
  EXPECT_THAT(both({0}, {0}).at(0).text, HasSubstr("0.05 cores for other virtual machines, 5.0 %"));
  EXPECT_THAT(both({0}, {1}).at(0).text, HasSubstr("0.10 cores for other virtual machines, 5.0 %"));
}

TEST(Contention, NoTimeAndNoCoresGiveNone) {
  EXPECT_TRUE(find_contention({CpuShare{"a", {1000, 5, 70000, 300, 8}, {1000, 5, 70000, 300, 8}, {0, 1}, 2, false}}).empty());
  EXPECT_FALSE(found(1000, 1000, 0));
}

TEST(Contention, TheRanksOfAHostAreNotForeignToOneAnother) {
  EXPECT_TRUE(find_contention({process(90, 190, 0, 1), process(95, 190, 0, 1)}).empty());
  const auto all = find_contention(
      {process(90, 240, 0, 1, false, "a", {0}), process(90, 240, 0, 1, false, "a", {0}), process(90, 240, 0, 1, false, "b")});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].host, "a");
  EXPECT_NEAR(all[0].cores, 0.6, 1e-9);
  // Both may use the same core, and no other.
  EXPECT_THAT(all[0].text, AllOf(HasSubstr("0.60 cores on average, beside the 1 of"), HasSubstr("all 8 CPUs")));
  EXPECT_THAT(all[1].text, Not(HasSubstr("CPUs")));
  EXPECT_EQ(all[1].host, "b");
  EXPECT_NEAR(all[1].cores, 1.5, 1e-9);
}

class CpuTimeTest : public testing::Test, protected FakeRoot {
 protected:
  void put_stat(const std::string& text) const { put("proc/stat", text); }
};

TEST_F(CpuTimeTest, BusyIsAllButIdleWaitingAndStolen) {
  put_stat(
      "cpu  100 20 3 100000 50000 4 5 600 70 8\n"
      "cpu0 50 10 1 50000 25000 2 2 100 35 4\n"
      "cpu1 50 10 2 50000 25000 2 3 500 35 4\n"
      "intr 1 2 3\nctxt 9\ncpufreq 7\n");
  const auto time = cpu_time(root, {1});
  ASSERT_TRUE(time);
  const double ticks = double(::sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(time->busy, 132 / ticks);
  EXPECT_DOUBLE_EQ(time->stolen, 500 / ticks) << "of CPU 1 alone";
  EXPECT_DOUBLE_EQ(cpu_time(root, {0, 1, 64})->stolen, 600 / ticks);
  EXPECT_EQ(time->cpus, 2);
}

TEST_F(CpuTimeTest, OwnTimeAndTheClockRunOn) {
  put_stat("cpu 1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\n");
  const auto begin = cpu_time(root, {0});
  ASSERT_TRUE(begin);
  auto end = begin;
  while (end->own <= begin->own) end = cpu_time(root, {0});
  EXPECT_GT(end->at, begin->at);
}

TEST_F(CpuTimeTest, WhatIsNotThereOrOfAnotherFormIsAbsent) {
  EXPECT_FALSE(cpu_time(root, {0}));
  for (const char* text : {"", "intr 1\n", "cpu 1 2 3\ncpu0 1 2 3\n", "cpu  100 20 3 100000 50000 4 5 600\n", "cpu"}) {
    put_stat(text);
    EXPECT_FALSE(cpu_time(root, {0})) << text;
  }
}

}  // namespace
}  // namespace roofmark
