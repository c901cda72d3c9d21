// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/traffic.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::UnorderedElementsAre;

auto demand(const Resource& resource, double amount, double avoidable = 0) {
  return ::testing::AllOf(Field("resource", &Demand::resource, resource), Field("amount", &Demand::amount, amount),
                          Field("avoidable", &Demand::avoidable, avoidable));
}

DeviceInfo device(Backend backend, std::vector<CacheLevel> caches) {
  DeviceInfo info;
  info.backend = backend;
  info.caches = std::move(caches);
  return info;
}

const DeviceInfo kCpu = device(Backend::cpu, {{"l1", 100, 50}, {"l2", 1000, 500}, {"l3", 10000, 10000}});
const DeviceInfo kGpu = device(Backend::cuda, {{"l1", 8000, 80}, {"l2", 10000, 10000}});

TEST(Traffic, AWarmSetDemandsTheInnermostCacheThatHoldsIt) {
  EXPECT_THAT(memory_demands(kCpu, 50, 50, Cache::warm), ElementsAre(demand(resource::l1, 50)));
  EXPECT_THAT(memory_demands(kCpu, 51, 51, Cache::warm), ElementsAre(demand(resource::l2, 51)));
  EXPECT_THAT(memory_demands(kCpu, 500, 500, Cache::warm), ElementsAre(demand(resource::l2, 500)));
  EXPECT_THAT(memory_demands(kCpu, 5000, 5000, Cache::warm), ElementsAre(demand(resource::l3, 5000)));
}

TEST(Traffic, AGpuForgetsItsInnerCachesBetweenLaunches) {
  EXPECT_THAT(memory_demands(kGpu, 50, 50, Cache::warm), ElementsAre(demand(resource::l2, 50)));
}

TEST(Traffic, ASetAroundTheLastLevelDemandsBoth) {
  EXPECT_THAT(memory_demands(kGpu, 5001, 5001, Cache::warm), ElementsAre(demand(resource::l2, 5001)));
  EXPECT_THAT(memory_demands(kGpu, 39999, 39999, Cache::warm),
              UnorderedElementsAre(demand(resource::l2, 39999), demand(resource::dram, 29999)));
}

TEST(Traffic, ALargeSetDemandsDramAndTheCacheMayServeItsSize) {
  EXPECT_THAT(memory_demands(kGpu, 40000, 40000, Cache::warm), ElementsAre(demand(resource::dram, 40000, 10000)));
}

TEST(Traffic, MovedAndTouchedAreTwoNumbers) {
  EXPECT_THAT(memory_demands(kGpu, 50000, 4000, Cache::warm), ElementsAre(demand(resource::dram, 4000, 4000)));
  EXPECT_THAT(memory_demands(kGpu, 4000, 9000, Cache::warm), ElementsAre(demand(resource::l2, 9000)));
}

TEST(Traffic, ColdComesFromDramWhateverItsSize) {
  EXPECT_THAT(memory_demands(kGpu, 400, 400, Cache::cold), ElementsAre(demand(resource::dram, 400, 100)));
  EXPECT_THAT(memory_demands(kGpu, 80000, 80000, Cache::cold), ElementsAre(demand(resource::dram, 80000, 10000)));
}

TEST(Traffic, WithoutAKnownCacheAllIsDram) {
  const DeviceInfo unknown = device(Backend::cuda, {});
  EXPECT_THAT(memory_demands(unknown, 7, 7, Cache::warm), ElementsAre(demand(resource::dram, 7)));
  EXPECT_THAT(memory_demands(unknown, 7, 7, Cache::cold), ElementsAre(demand(resource::dram, 7)));
}

}  // namespace
}  // namespace roofmark
