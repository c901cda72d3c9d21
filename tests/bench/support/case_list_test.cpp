// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/case_list.hpp"

#include <gmock/gmock.h>

#include "tests/bench/devices.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;

/// A warm case, of `slot_bytes` and `shared_bytes`.
Case named(const std::string& impl, std::size_t slot_bytes = 100, std::size_t shared_bytes = 0) {
  Case made;
  made.family = "f";
  made.shape = {{"impl", impl}};
  made.protocol.cache = Cache::warm;
  made.slot_bytes = slot_bytes;
  made.shared_bytes = shared_bytes;
  made.prepare = [](const Setup&) { return std::unique_ptr<Prepared>(); };
  return made;
}
Comparison compared(const std::string& numerator, const std::string& denominator) {
  return compare(named(numerator), named(denominator));
}

std::vector<std::vector<std::string>> impls(const std::vector<Group>& groups) {
  std::vector<std::vector<std::string>> all;
  for (const Group& group : groups) {
    all.emplace_back();
    for (const Case& c : group.cases) all.back().push_back(value_of(c.shape, "impl"));
  }
  return all;
}

DeviceInfo with_memory(std::size_t bytes, std::size_t free_bytes) {
  DeviceInfo device = two_cores();
  device.memory_bytes = bytes;
  device.free_bytes = free_bytes;
  device.caches = {{"l2", 50, 50}};
  return device;
}

std::vector<Group> listed(const DeviceInfo& device, Group group, double memory_fraction = 1) {
  const Listing listing = {device, SuiteName::quick, {}, memory_fraction};
  CaseList list(listing);
  list.add(std::move(group));
  return list.take();
}

TEST(CaseList, WhatExceedsTheMemoryIsUnsupportedAndSaysTheBytes) {
  const DeviceInfo device = with_memory(2'000'000, 2'000'000);
  const std::vector<Group> all =
      listed(device, {{named("a", 900'000, 100'000), named("b", 900'000, 100'001)}, {compared("a", "b")}}, 0.5);
  EXPECT_THAT(impls(all), ElementsAre(ElementsAre("a", "b")));
  const Case &a = all[0].cases[0], &b = all[0].cases[1];
  EXPECT_EQ(a.unsupported, "");
  EXPECT_TRUE(a.prepare);
  EXPECT_EQ(b.unsupported, "needs 1.00 MB, the device has 2.00 MB and --memory-fraction 0.5 allows 1.00 MB");
  EXPECT_FALSE(b.prepare);
  EXPECT_TRUE(all[0].comparisons.empty());
}

TEST(CaseList, AnotherReasonStays) {
  Case made = named("a", 5000);
  made.unsupported = "no such unit";
  EXPECT_EQ(listed(with_memory(1000, 1000), {{made}, {}})[0].cases[0].unsupported, "no such unit");
}

// Of 1000 bytes 600 are taken when the third comes.
TEST(CaseList, WhatDoesNotFitBesideTheOthersIsMeasuredAlone) {
  const std::vector<Group> all =
      listed(with_memory(1000, 1000), {{named("a", 300), named("b", 200, 100), named("c", 401), named("d", 400)},
                                       {compared("a", "b"), compared("a", "c"), compared("a", "d")}});
  EXPECT_THAT(impls(all), ElementsAre(ElementsAre("a", "b", "d"), ElementsAre("c")));
  ASSERT_EQ(all[0].comparisons.size(), 2U);
  EXPECT_EQ(all[0].comparisons[0].name, "a against b");
  EXPECT_EQ(all[0].comparisons[1].name, "a against d");
  EXPECT_TRUE(all[1].comparisons.empty());
}

TEST(CaseList, WhatIsNotFreeNowIsListedAllTheSame) {
  const std::vector<Group> all = listed(with_memory(1000, 300), {{named("a", 800), named("b", 10)}, {}});
  EXPECT_THAT(impls(all), ElementsAre(ElementsAre("a"), ElementsAre("b")));
  for (const Group& group : all) EXPECT_EQ(group.cases[0].unsupported, "");
}

// The cache holds 50 bytes, so that 200 are cold by their size.
TEST(CaseList, ColdSlotsThatRotateAreTwo) {
  const auto supported = [](std::size_t slot_bytes, std::size_t memory_bytes) {
    Case cold = named("a", slot_bytes);
    cold.protocol.cache = Cache::cold;
    return listed(with_memory(memory_bytes, memory_bytes), {{cold}, {}})[0].cases[0].unsupported.empty();
  };
  EXPECT_TRUE(supported(199, 398));
  EXPECT_FALSE(supported(199, 397));
  EXPECT_TRUE(supported(200, 200));
}

// Of 1000 free bytes of the host 600 are taken when the second comes.
TEST(CaseList, TheHostsMemoryIsCountedToo) {
  const auto on_host = [](const std::string& impl, std::size_t host_slot_bytes, Cache cache = Cache::warm) {
    Case made = named(impl, 200);
    made.host_slot_bytes = host_slot_bytes;
    made.protocol.cache = cache;
    return made;
  };
  DeviceInfo device = with_memory(100'000, 100'000);
  device.host_memory_bytes = 1500;
  device.host_free_bytes = 1000;
  device.host_cache_bytes = 50;
  const std::vector<Group> all = listed(device, {{on_host("a", 600), on_host("b", 401), on_host("c", 400), on_host("d", 1501),
                                                  on_host("e", 150, Cache::cold), on_host("f", 51, Cache::cold)},
                                                 {compared("a", "b"), compared("a", "c")}});
  EXPECT_THAT(impls(all), ElementsAre(ElementsAre("a", "c", "d"), ElementsAre("b"), ElementsAre("e"), ElementsAre("f")));
  EXPECT_EQ(all[0].cases[2].unsupported, "needs 1.50 kB, the host has 1.50 kB and --memory-fraction 1 allows 1.50 kB");
  ASSERT_EQ(all[0].comparisons.size(), 1U);
  EXPECT_EQ(all[0].comparisons[0].name, "a against c");
  // Two slots of 150 bytes exceed 4 times the cache, and are all there is room for.
  device.host_memory_bytes = device.host_free_bytes = 299;
  EXPECT_EQ(listed(device, {{on_host("e", 150, Cache::cold)}, {}})[0].cases[0].unsupported,
            "needs 300 B, the host has 299 B and --memory-fraction 1 allows 299 B");
  device.host_free_bytes = 0;
  EXPECT_EQ(listed(device, {{on_host("e", 149, Cache::cold)}, {}})[0].cases[0].unsupported, "") << "what is free may change";
  device.host_memory_bytes = 0;
  EXPECT_EQ(listed(device, {{on_host("g", 5000)}, {}})[0].cases[0].unsupported, "") << "what it has is unknown";
}

TEST(CaseList, CasesOfDifferentGroupsAreComparedOnRequest) {
  const DeviceInfo device = with_memory(1000, 1000);
  const Listing listing = {device, SuiteName::quick, {}, 1};
  CaseList list(listing);
  list.add(named("a"));
  list.add(named("b"));
  list.add(named("c", 5000));
  list.add(named("d"));
  list.add_across_groups(compared("b", "a"));
  list.add_across_groups(compared("a", "c"));  // unsupported
  list.add_across_groups(compared("a", "e"));  // not listed
  const std::vector<Group> all = list.take();
  EXPECT_TRUE(all[0].comparisons.empty());
  ASSERT_EQ(all[1].comparisons.size(), 1U);
  EXPECT_EQ(all[1].comparisons[0].name, "b against a");
  EXPECT_TRUE(all[2].comparisons.empty() && all[3].comparisons.empty());
}

TEST(CaseList, ListsACaseOnce) {
  const DeviceInfo device = with_memory(1000, 1000);
  const Listing listing = {device, SuiteName::quick, {}, 1};
  CaseList list(listing);
  list.add({{named("a"), named("b")}, {compared("a", "b")}});
  list.add({{named("b"), named("c")}, {compared("b", "c")}});
  list.add(named("a"));
  const std::vector<Group> all = list.take();
  EXPECT_THAT(impls(all), ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
  EXPECT_TRUE(all[1].comparisons.empty());
}

TEST(CaseList, TakesTheCasesOfTheSuiteAndTheDevice) {
  const auto chosen = [](const DeviceInfo& device, SuiteName suite) {
    return impls(list_cases(
        {device, suite, {}, 1}, [](CaseList& list) { list.add(named("contract")); },
        [](CaseList& list) { list.add(named("cpu")); }, [](CaseList& list) { list.add(named("gpu")); }));
  };
  EXPECT_THAT(chosen(h200(), SuiteName::full), ElementsAre(ElementsAre("gpu")));
  EXPECT_THAT(chosen(two_cores(), SuiteName::quick), ElementsAre(ElementsAre("cpu")));
  EXPECT_THAT(chosen(h200(), SuiteName::contract), ElementsAre(ElementsAre("contract")));
  EXPECT_THAT(chosen(two_cores(), SuiteName::contract), ElementsAre(ElementsAre("contract")));
}

}  // namespace
}  // namespace roofmark
