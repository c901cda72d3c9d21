// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cost.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "bench/support/listing.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark::cost {

std::vector<Group> list(const Listing&);

namespace {

using testing::AllOf;
using testing::Contains;
using testing::IsSupersetOf;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::vector<Group> groups_of(const DeviceInfo& device, SuiteName suite) { return list({.device = device, .suite = suite}); }

/// Without the family, the type and the means: "launch/kernel:empty/until:return".
std::set<std::string> names_of(const DeviceInfo& device, SuiteName suite) {
  std::set<std::string> names;
  for (const Group& group : groups_of(device, suite)) {
    for (const Case& c : group.cases) {
      std::string name = c.operation;
      for (const auto& [key, value] : c.shape) {
        if (key != "impl") name += "/" + key + ":" + value;
      }
      EXPECT_TRUE(names.insert(name).second) << name << " twice";
      EXPECT_EQ(c.family, "cost");
    }
  }
  return names;
}

class CostOfAGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!&cuda::cost) GTEST_SKIP() << "this build has no CUDA";
  }
};

TEST_F(CostOfAGpu, QuickIsWhatAStepPaysAgainAndAgain) {
  EXPECT_THAT(
      names_of(h200(), SuiteName::quick),
      UnorderedElementsAre("launch/kernel:empty/until:return", "launch/kernel:empty/until:finish", "launch_and_wait/by:stream",
                           "launch_and_wait/by:blocking_event", "synchronize/idle:stream", "copy_to_host/bytes:4/memory:pinned",
                           "allocate/bytes:2097152/from:malloc", "allocate/bytes:2097152/from:pool_warm/until:return",
                           "allocate/bytes:2097152/from:pool_warm/until:finish", "graph_launch/nodes:100/width:1/until:return",
                           "graph_launch/nodes:100/width:1/until:finish"));
}

TEST_F(CostOfAGpu, EveryLaunchIsTimedUntilItReturnsAndUntilItFinishes) {
  const std::set<std::string> all = names_of(h200(), SuiteName::full);
  for (const char* kernel : {"empty", "full_grid", "arguments_4096", "cluster_2", "cooperative"}) {
    for (const char* until : {"return", "finish"}) {
      EXPECT_THAT(all, Contains(fmt::format("launch/kernel:{}/until:{}", kernel, until)));
    }
  }
  for (const char* flags : {"spin", "yield", "block"}) {
    for (const char* stream : {"idle", "empty_kernel", "kernel_of_50us"}) {
      EXPECT_THAT(all, Contains(fmt::format("wait_by_flags/flags:{}/by:event/stream:{}", flags, stream)));
    }
  }
  EXPECT_THAT(all,
              IsSupersetOf({"synchronize/idle:stream", "synchronize/idle:event", "synchronize/idle:device", "query_event",
                            "record_event/until:return", "two_streams/kernels:3/until:return", "host_function/until:finish",
                            "new_process/from:start/until:first_kernel", "new_process/from:context/until:first_kernel"}));
}

TEST_F(CostOfAGpu, MemoryOfThreeSizesComesFromEachSource) {
  const std::set<std::string> all = names_of(h200(), SuiteName::full);
  for (const char* call : {"allocate", "free"}) {
    for (const long bytes : {4096L, 2097152L, 1073741824L}) {
      for (const char* source : {"malloc", "pool_warm/until:finish", "pool_cold/until:finish", "pinned_host"}) {
        EXPECT_THAT(all, Contains(fmt::format("{}/bytes:{}/from:{}", call, bytes, source)));
      }
    }
  }
}

TEST_F(CostOfAGpu, GraphsHaveEveryStepOfTheirLifeInAChainAndInThirtyTwo) {
  const std::set<std::string> all = names_of(h200(), SuiteName::full);
  for (const char* graph : {"nodes:1/width:1", "nodes:10/width:1", "nodes:100/width:1", "nodes:1000/width:1",
                            "nodes:32/width:32", "nodes:100/width:32", "nodes:1000/width:32"}) {
    for (const char* step : {"capture", "instantiate", "update"}) {
      EXPECT_THAT(all, Contains(fmt::format("graph_{}/{}", step, graph)));
    }
    for (const char* step : {"upload", "first_launch", "launch"}) {
      EXPECT_THAT(all, AllOf(Contains(fmt::format("graph_{}/{}/until:return", step, graph)),
                             Contains(fmt::format("graph_{}/{}/until:finish", step, graph))));
    }
  }
  for (const int nodes : {1, 10, 100, 1000}) {
    EXPECT_THAT(all, Contains(fmt::format("graph_set_parameters/nodes:{}/width:1", nodes)));
  }
}

TEST_F(CostOfAGpu, GraphAndStreamDependentAndSerialAreCompared) {
  std::multiset<std::string> compared;
  for (const Group& group : groups_of(h200(), SuiteName::full)) {
    for (const Comparison& comparison : group.comparisons) {
      compared.insert(group.cases.front().operation + " " + comparison.name);
    }
  }
  EXPECT_EQ(compared.count("launch_all graph against stream"), 2U * 6) << "until return and finish, of 1 to 100 kernels";
  EXPECT_EQ(compared.count("back_to_back dependent against stream"), 4U);
  EXPECT_EQ(compared.count("graph 32 against 1"), 4U) << "chains";
}

TEST(CostOfTheHost, QuickAndFull) {
  EXPECT_THAT(names_of(two_cores(), SuiteName::quick),
              UnorderedElementsAre("system_call", "fork_join/threads:2", "wake/wakes:2", "first_touch/bytes:2097152"));
  EXPECT_THAT(names_of(two_cores(), SuiteName::full), AllOf(SizeIs(9), Contains("malloc_and_free/bytes:64")));
}

TEST(CostOfTheHost, SingleCallsAreSampledAThousandTimes) {
  for (const Group& group : groups_of(two_cores(), SuiteName::full)) {
    for (const Case& c : group.cases) EXPECT_EQ(c.protocol.samples, 1000) << c.name();
  }
}

}  // namespace
}  // namespace roofmark::cost
