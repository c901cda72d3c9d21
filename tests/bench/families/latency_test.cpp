// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/families/prepared_chase.hpp"
#include "bench/program/suite.hpp"
#include "bench/support/fabric.hpp"
#include "bench/support/listing.hpp"
#include "harness/device/cpu_device.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark::latency {

std::vector<Group> list(const Listing&);

namespace {

struct LatencyCases : testing::Test {
  static constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
};

/// A chase from any SM and any node, beside nothing.
bool plain(const Case& c) {
  return value_of(c.shape, "sm").empty() && value_of(c.shape, "background").empty() && value_of(c.shape, "node").empty();
}

/// The cases of a suite that have a key.
std::vector<Case> cases_with(const DeviceInfo& device, SuiteName suite, const std::string& key) {
  std::vector<Case> found;
  for (const Group& group : list({device, suite})) {
    std::copy_if(group.cases.begin(), group.cases.end(), std::back_inserter(found),
                 [&](const Case& c) { return !value_of(c.shape, key).empty(); });
  }
  return found;
}
/// The cases of a suite of an operation, by size.
std::map<std::size_t, Case> cases_of(const DeviceInfo& device, SuiteName suite, const std::string& operation) {
  std::map<std::size_t, Case> found;
  for (const Group& group : list({device, suite})) {
    for (const Case& c : group.cases) {
      if (c.operation == operation) found.emplace(std::stoull(value_of(c.shape, "bytes")), c);
    }
  }
  return found;
}

/// The chases of a suite, by size; of a GPU those that may hit L1.
std::map<std::size_t, Case> chases(const DeviceInfo& device, SuiteName suite, const std::string& load = "ca") {
  std::map<std::size_t, Case> found;
  for (const Group& group : list({device, suite})) {
    for (const Case& c : group.cases) {
      if (c.operation != "chase" || !plain(c) || (device.backend == Backend::cuda && value_of(c.shape, "load") != load))
        continue;
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
    const char* level = bytes <= 248 * kKiB ? "l1_access" : bytes <= 60 * kMiB ? "l2_access" : "dram_access";
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
  const auto cpu = [](std::size_t l1, std::size_t l2, std::size_t l3) {
    DeviceInfo device = two_cores();
    device.caches = {{"l1", 2 * l1, l1}, {"l2", 2 * l2, l2}, {"l3", l3, l3}};
    return device;
  };
  EXPECT_THAT(chases(two_cores(), SuiteName::quick), testing::SizeIs(9)) << "no more than the ladder needs";
  for (const DeviceInfo& device :
       {h200(), two_cores(), cpu(32 * kKiB, 256 * kKiB, 16 * kMiB), cpu(48 * kKiB, 2 * kMiB, 105 * kMiB),
        cpu(64 * kKiB, kMiB, 114 * kMiB), cpu(32 * kKiB, 512 * kKiB, 8 * kMiB)}) {
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
  for (const auto& [operation, resource] : {std::pair{"shared", "shared_access"}, {"dsmem", "dsmem_access"}}) {
    const auto all = cases_of(h200(), SuiteName::baseline, operation);
    for (const auto& [bytes, c] : all) EXPECT_EQ(demand(c).resource.id, resource);
    EXPECT_EQ(all.begin()->first, 4 * kKiB);
    EXPECT_EQ(all.rbegin()->first, 227 * kKiB);
  }
}

TEST_F(LatencyCases, ANeighboursMemoryTakesClusters) {
  DeviceInfo a100 = h200();
  a100.compute_capability = 80;
  const auto all = cases_of(a100, SuiteName::baseline, "dsmem");
  ASSERT_FALSE(all.empty());
  for (const auto& [bytes, c] : all) EXPECT_NE(c.unsupported, "");
}

TEST_F(LatencyCases, ConstantMemoryGoesTo64KiBInManyLaps) {
  const auto all = cases_of(h200(), SuiteName::full, "constant");
  EXPECT_EQ(all.begin()->first, 512U);
  EXPECT_EQ(all.rbegin()->first, 64 * kKiB);
  for (const auto& [bytes, c] : all) {
    EXPECT_EQ(demand(c).resource.id, "constant_access");
    EXPECT_GE(demand(c).amount, 64.0 * static_cast<double>(bytes) / 64) << c.name();
  }
}

TEST_F(LatencyCases, FullHasEverySmAndBaselineSomeThatLieApart) {
  for (const auto& [suite, count] : {std::pair{SuiteName::quick, 0}, {SuiteName::baseline, 16}, {SuiteName::full, 132}}) {
    std::map<std::string, std::set<int>> sms;
    for (const Case& c : cases_with(h200(), suite, "sm")) {
      EXPECT_EQ(value_of(c.shape, "bytes"), "128");
      EXPECT_EQ(demand(c).resource.id, "l2_access");
      sms[value_of(c.shape, "load")].insert(std::stoi(value_of(c.shape, "sm")));
    }
    ASSERT_EQ(sms.size(), count == 0 ? 0U : 2U);
    for (const auto& [load, numbers] : sms) {
      EXPECT_EQ(static_cast<int>(numbers.size()), count) << load;
      EXPECT_EQ(*numbers.begin(), 0);
      EXPECT_GE(*numbers.rbegin(), 131 - 132 / count);
      EXPECT_LE(*numbers.rbegin(), 131);
    }
  }
}

TEST_F(LatencyCases, ReadersArePacedByTheRateOfDram) {
  DeviceInfo device = h200();
  device.memory_clock_hz = 3201e6;
  device.memory_bus_bits = 6144;
  const std::vector<Case> all = cases_with(device, SuiteName::baseline, "background");
  ASSERT_EQ(all.size(), 5U);
  for (const Case& c : all) {
    EXPECT_EQ(c.unsupported.find("this build"), c.unsupported.empty() ? std::string::npos : 0) << c.unsupported;
    EXPECT_GE(std::stoull(value_of(c.shape, "bytes")), 4 * device.caches.back().instance_bytes);
  }
  device.memory_clock_hz.reset();
  for (const Case& c : cases_with(device, SuiteName::baseline, "background")) {
    const std::string percent = value_of(c.shape, "background");
    EXPECT_EQ(c.unsupported.find("the DRAM rate") != std::string::npos, percent != "0" && percent != "100") << percent;
  }
}

TEST_F(LatencyCases, APeerIsSaidToBeMissing) {
  const auto all = cases_of(h200(), SuiteName::baseline, "peer");
  ASSERT_EQ(all.size(), 2U);
  for (const auto& [bytes, c] : all) {
    EXPECT_EQ(demand(c).resource.id, "peer_access");
    EXPECT_EQ(c.unsupported, kNeedsOtherGpus);
  }
}

TEST_F(LatencyCases, AnInterruptEndsTheLinkingOfALargeSetBetweenItsParts) {
  struct Interrupted {};
  const std::unique_ptr<Device> device = open_cpu_device();
  int calls = 0;
  device->on_progress([&] {
    if (++calls == 2) throw Interrupted();
  });
  const roofmark::Setup setup{.device = *device, .time = {}};
  EXPECT_THROW(prepare_chase(setup, cpu::latency, {.set = {3 * 4096, 64 * kKiB}}), Interrupted) << "three parts of 256 MiB";
  EXPECT_EQ(calls, 2);
}

TEST_F(LatencyCases, APeerThatIsOutOfReachIsSaidWithItsReason) {
  Fabric fabric;
  fabric.members.resize(2);
  fabric.local.emplace();
  fabric.local->path = [](int, int) { return PeerPath{PathKind::system, 0, "a setting of the driver disables it"}; };
  int peers = 0;
  for (const Group& group : list({.device = h200(), .suite = SuiteName::baseline, .fabric = &fabric})) {
    for (const Case& c : group.cases) {
      if (c.operation != "peer") continue;
      ++peers;
      EXPECT_EQ(c.unsupported, "cuda:0 and cuda:1 have no access to each other's memory: a setting of the driver disables it");
    }
  }
  EXPECT_EQ(peers, 2);
}

TEST_F(LatencyCases, NodesAreToldApartWhereThereAreSeveral) {
  EXPECT_TRUE(cases_with(two_cores(), SuiteName::baseline, "node").empty());
  DeviceInfo two_nodes = two_cores();
  two_nodes.host_nodes = {0, 1};
  std::map<std::string, int> cases;
  for (const Case& c : cases_with(two_nodes, SuiteName::baseline, "node")) ++cases[value_of(c.shape, "node")];
  EXPECT_EQ(cases, (std::map<std::string, int>{{"0", 3}, {"1", 3}}));
}

TEST_F(LatencyCases, StridesAreComparedInOrderAndAtRandom) {
  const auto strides_of = [](SuiteName suite) {
    std::set<std::size_t> strides;
    for (const Group& group : list({two_cores(), suite})) {
      if (group.cases.front().operation != "stride") continue;
      EXPECT_EQ(group.comparisons.at(0).name, "sequential against random");
      strides.insert(std::stoull(value_of(group.cases.front().shape, "stride")));
    }
    return strides;
  };
  EXPECT_EQ(strides_of(SuiteName::baseline), (std::set<std::size_t>{64, 512, 4096}));
  EXPECT_EQ(strides_of(SuiteName::full), (std::set<std::size_t>{64, 128, 256, 512, 1024, 2048, 4096}));
}

}  // namespace
}  // namespace roofmark::latency
