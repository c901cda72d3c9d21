// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/program/suite.hpp"
#include "bench/support/listing.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark {

std::vector<Group> latency(const Listing&);

namespace {

struct LatencyCases : testing::Test {
  static constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
};

/// The chases of a suite, by size; of a GPU those that may hit L1.
std::map<std::size_t, Case> chases(const DeviceInfo& device, SuiteName suite, const std::string& load = "ca") {
  std::map<std::size_t, Case> found;
  for (const Group& group : latency({device, suite})) {
    for (const Case& c : group.cases) {
      if (c.operation != "chase" || (device.backend == Backend::cuda && value_of(c.shape, "load") != load)) continue;
      found.emplace(std::stoull(value_of(c.shape, "bytes")), c);
    }
  }
  return found;
}

const Demand& demand(const Case& c) { return c.work.phases.at(0).at(0); }

TEST_F(LatencyCases, DemandTheInnermostLevelThatOneThreadReaches) {
  for (const auto& [bytes, c] : chases(two_cores(), SuiteName::full)) {
    // 32 KiB and 1 MiB per core, 32 MiB for both.
    const char* level = bytes <= 32 * kKiB   ? "l1_access"
                        : bytes <= kMiB      ? "l2_access"
                        : bytes <= 32 * kMiB ? "l3_access"
                                             : "dram_access";
    EXPECT_EQ(demand(c).resource.id, level) << c.name();
  }
  for (const auto& [bytes, c] : chases(h200(), SuiteName::full)) {
    const char* level = bytes <= 256 * kKiB ? "l1_access" : bytes <= 60 * kMiB ? "l2_access" : "dram_access";
    EXPECT_EQ(demand(c).resource.id, level) << c.name();
  }
  const auto past_l1 = chases(h200(), SuiteName::full, "cg");
  EXPECT_EQ(demand(past_l1.at(4 * kKiB)).resource.id, "l2_access");
}

TEST_F(LatencyCases, HaveNoMoreLinesBeyond512MiBButWiderStrides) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    for (const auto& [bytes, c] : chases(device, SuiteName::full)) {
      const std::size_t stride = std::stoull(value_of(c.shape, "stride"));
      EXPECT_EQ(bytes % stride, 0U) << c.name();
      EXPECT_EQ(stride % sizeof(void*), 0U) << c.name();
      EXPECT_EQ(stride == 128, bytes <= 512 * kMiB) << c.name();
      EXPECT_LE(bytes / stride, std::size_t{1} << 22) << c.name();
      EXPECT_GE(bytes / stride, std::min(bytes / 128, std::size_t{1} << 22)) << c.name();
    }
  }
  EXPECT_EQ(value_of(chases(h200(), SuiteName::baseline).at(64 * kGiB).shape, "stride"), "16384");
}

TEST_F(LatencyCases, MakeWholeLapsOrAPartOfALongOne) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    for (const auto& [bytes, c] : chases(device, SuiteName::baseline)) {
      const std::size_t lines = bytes / std::stoull(value_of(c.shape, "stride"));
      const auto steps = static_cast<std::size_t>(demand(c).amount);
      EXPECT_TRUE(steps < lines || steps % lines == 0) << c.name();
      EXPECT_GE(steps, 1000U) << c.name();
      EXPECT_LE(steps, 1000000U) << c.name();
    }
  }
}

TEST_F(LatencyCases, CoverTheRangeFrom4KiBToNearlyAllMemory) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    const auto all = chases(device, SuiteName::baseline);
    EXPECT_EQ(all.begin()->first, 4 * kKiB);
    const double least = device.backend == Backend::cuda ? 0.8 * 0.9 * static_cast<double>(device.memory_bytes) : 15.9 * kGiB;
    EXPECT_GT(static_cast<double>(all.rbegin()->first), least);
    std::size_t before = 4 * kKiB;
    for (const auto& [bytes, c] : all) {
      EXPECT_TRUE(c.unsupported.empty() || c.unsupported.find("this build") == 0) << c.name() << ": " << c.unsupported;
      const double factor = static_cast<double>(bytes) / static_cast<double>(before);
      EXPECT_LE(factor, device.backend == Backend::cuda || bytes <= 8 * device.last_level_cache_bytes() ? 1.5 : 2.1)
          << c.name();
      before = bytes;
    }
  }
}

// The fit needs two sizes on each level; of DRAM, at least four times the last-level cache.
TEST_F(LatencyCases, QuickHasTwoSizesOfEachLevel) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    std::map<std::string_view, int> sizes;
    const auto all = chases(device, SuiteName::quick);
    for (const auto& [bytes, c] : all) ++sizes[demand(c).resource.id];
    EXPECT_EQ(sizes.size(), device.caches.size() + 1);
    for (const auto& [level, count] : sizes) EXPECT_GE(count, 2) << level;
    EXPECT_LE(all.size(), 11U);
    EXPECT_GE(all.rbegin()->first, 4 * device.last_level_cache_bytes());
  }
}

TEST_F(LatencyCases, KeepWithinAnyMemoryAndAnyCache) {
  DeviceInfo small = h200();
  small.memory_bytes = small.free_bytes = 7 * kMiB;
  DeviceInfo liar = two_cores();
  liar.caches.back() = {"l3", 480 * kMiB, 480 * kMiB};
  DeviceInfo unknown = two_cores();
  unknown.caches.clear();
  for (const DeviceInfo& device : {small, liar, unknown}) {
    const auto quick = chases(device, SuiteName::quick);
    ASSERT_FALSE(quick.empty());
    EXPECT_LE(quick.rbegin()->first, kGiB);
    EXPECT_LE(4 * quick.rbegin()->first, device.memory_bytes);
    EXPECT_FALSE(chases(device, SuiteName::baseline).empty());
  }
}

TEST_F(LatencyCases, SharedMemoryHasWhatOneBlockCanHave) {
  std::set<std::size_t> sizes;
  for (const Group& group : latency({h200(), SuiteName::baseline})) {
    for (const Case& c : group.cases) {
      if (c.operation != "shared") continue;
      EXPECT_EQ(demand(c).resource.id, "shared_access");
      sizes.insert(std::stoull(value_of(c.shape, "bytes")));
    }
  }
  EXPECT_EQ(*sizes.begin(), 4 * kKiB);
  EXPECT_EQ(*sizes.rbegin(), 227 * kKiB);
}

}  // namespace
}  // namespace roofmark
