// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/traffic.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::UnorderedElementsAre;

auto demand(const Resource& resource, double amount, double avoidable = 0) {
  return ::testing::AllOf(Field("resource", &Demand::resource, resource), Field("amount", &Demand::amount, DoubleEq(amount)),
                          Field("avoidable", &Demand::avoidable, DoubleEq(avoidable)));
}

DeviceInfo device(Backend backend, std::vector<CacheLevel> caches) {
  DeviceInfo info;
  info.backend = backend;
  info.caches = std::move(caches);
  return info;
}

const DeviceInfo kCpu = device(Backend::cpu, {{"l1", 100, 50}, {"l2", 1000, 500}, {"l3", 10000, 10000}});
const DeviceInfo kGpu = device(Backend::cuda, {{"l1", 8000, 80}, {"l2", 10000, 10000}});

TEST(Traffic, AWarmSetDemandsTheCachesThatHoldIt) {
  EXPECT_THAT(memory_demands(kCpu, 50, 50, Cache::warm), ElementsAre(demand(resource::l1, 50)));
  EXPECT_THAT(memory_demands(kCpu, 100, 100, Cache::warm), ElementsAre(demand(resource::l1, 100)));
  EXPECT_THAT(memory_demands(kCpu, 500, 500, Cache::warm), ElementsAre(demand(resource::l2, 500)));
  EXPECT_THAT(memory_demands(kCpu, 5000, 5000, Cache::warm), ElementsAre(demand(resource::l3, 5000)));
}

TEST(Traffic, ALevelDoesNotDeliverWhatThoseInsideItHold) {
  EXPECT_THAT(memory_demands(kCpu, 250, 250, Cache::warm), ElementsAre(demand(resource::l1, 250), demand(resource::l2, 150)));
  EXPECT_THAT(memory_demands(kCpu, 1500, 1500, Cache::warm),
              ElementsAre(demand(resource::l2, 1000), demand(resource::l3, 400)));
  EXPECT_THAT(memory_demands(kCpu, 20000, 20000, Cache::warm),
              ElementsAre(demand(resource::l3, 10000), demand(resource::dram, 8900)))
      << "a level that is not inclusive holds other bytes than those inside it";
  // An L2 as large as the L3, of which a core has 2 MiB and 1.875 MiB.
  const DeviceInfo large_l2 = device(Backend::cpu, {{"l1", 3, 1}, {"l2", 112, 2}, {"l3", 105, 105}});
  EXPECT_THAT(memory_demands(large_l2, 96, 96, Cache::warm), ElementsAre(demand(resource::l2, 96)));
  EXPECT_THAT(memory_demands(large_l2, 200, 200, Cache::warm),
              ElementsAre(demand(resource::l2, 112), demand(resource::l3, 85)));
}

TEST(Traffic, AGpuForgetsItsInnerCachesBetweenLaunches) {
  EXPECT_THAT(memory_demands(kGpu, 50, 50, Cache::warm), ElementsAre(demand(resource::l2, 50)));
  EXPECT_EQ(lasting_cache_bytes(kGpu), 10000);
  EXPECT_EQ(lasting_cache_bytes(kCpu), 11100);
}

TEST(Traffic, ASetBeyondTheLastLevelDemandsBoth) {
  EXPECT_THAT(memory_demands(kGpu, 10000, 10000, Cache::warm), ElementsAre(demand(resource::l2, 10000)));
  EXPECT_THAT(memory_demands(kGpu, 39999, 39999, Cache::warm),
              UnorderedElementsAre(demand(resource::l2, 39999), demand(resource::dram, 29999)));
}

TEST(Traffic, ALargeSetDemandsDramAndTheCacheMayServeItsSize) {
  EXPECT_THAT(memory_demands(kGpu, 40000, 40000, Cache::warm), ElementsAre(demand(resource::dram, 40000, 10000)));
  EXPECT_THAT(memory_demands(kCpu, 44400, 44400, Cache::warm), ElementsAre(demand(resource::dram, 44400, 11100)));
}

TEST(Traffic, OfWhatIsFetchedInPartOnlyThePartMoves) {
  EXPECT_THAT(memory_demands(kGpu, 50000, 4000, Cache::warm), ElementsAre(demand(resource::dram, 4000, 4000)));
  EXPECT_THAT(memory_demands(kGpu, 20000, 15000, Cache::warm),
              ElementsAre(demand(resource::l2, 15000), demand(resource::dram, 5000)));
}

// In whatever order: a launch whose blocks share what they read has it fetched once.
TEST(Traffic, WhatIsReadSeveralTimesIsFetchedOnce) {
  EXPECT_THAT(memory_demands(kGpu, 4000, 9000, Cache::warm), ElementsAre(demand(resource::l2, 9000)));
  EXPECT_THAT(memory_demands(kGpu, 9999, 900000, Cache::warm), ElementsAre(demand(resource::l2, 900000)));
  EXPECT_THAT(memory_demands(kGpu, 15000, 900000, Cache::warm),
              ElementsAre(demand(resource::l2, 900000), demand(resource::dram, 5000)));
  EXPECT_THAT(memory_demands(kGpu, 50000, 900000, Cache::warm),
              ElementsAre(demand(resource::l2, 900000), demand(resource::dram, 50000, 10000)));
}

TEST(Traffic, ACacheSavesReadingAndWritingOfWhatIsUpdated) {
  EXPECT_THAT(memory_demands(kGpu, 9999, 17000, Cache::warm, 7001), ElementsAre(demand(resource::l2, 17000)));
  EXPECT_THAT(memory_demands(kGpu, 16000, 28000, Cache::warm, 12000),
              ElementsAre(demand(resource::l2, 28000), demand(resource::dram, 8000)));
  EXPECT_THAT(memory_demands(kGpu, 12000, 20000, Cache::warm, 8000),
              ElementsAre(demand(resource::l2, 20000), demand(resource::dram, 2000)))
      << "no more than there is";
  EXPECT_THAT(memory_demands(kGpu, 64000, 112000, Cache::warm, 48000), ElementsAre(demand(resource::dram, 112000, 20000)));
  EXPECT_THAT(memory_demands(kGpu, 1600, 2800, Cache::cold, 1200), ElementsAre(demand(resource::dram, 2800, 800)));
  EXPECT_THAT(memory_demands(kCpu, 350, 600, Cache::warm, 250),
              ElementsAre(demand(resource::l1, 600), demand(resource::l2, 400)));
}

TEST(Traffic, ColdComesFromDramWhateverItsSize) {
  EXPECT_THAT(memory_demands(kGpu, 400, 400, Cache::cold), ElementsAre(demand(resource::dram, 400, 100)));
  EXPECT_THAT(memory_demands(kGpu, 80000, 80000, Cache::cold), ElementsAre(demand(resource::dram, 80000, 10000)));
  EXPECT_THAT(memory_demands(kCpu, 400, 400, Cache::cold), ElementsAre(demand(resource::dram, 400, 111)))
      << "slots exceed four times the last level, and all levels hold more";
}

TEST(Traffic, WithoutAKnownCacheAllIsDram) {
  const DeviceInfo unknown = device(Backend::cuda, {});
  EXPECT_THAT(memory_demands(unknown, 7, 7, Cache::warm), ElementsAre(demand(resource::dram, 7)));
  EXPECT_THAT(memory_demands(unknown, 7, 7, Cache::cold), ElementsAre(demand(resource::dram, 7)));
}

}  // namespace
}  // namespace roofmark
