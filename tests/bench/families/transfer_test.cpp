// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: the cases of all transfers, on the same made-up machines.
#include "bench/families/transfer.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "bench/families/ceilings.hpp"
#include "bench/families/transfer_links.hpp"
#include "bench/families/transfer_notes.hpp"
#include "bench/families/transfer_path.hpp"
#include "harness/judge/theory.hpp"
#include "harness/machine/huge_pages.hpp"
#include "harness/machine/numa.hpp"
#include "harness/measure/runner.hpp"
#include "harness/measure/slots.hpp"
#include "harness/team/json.hpp"
#include "kernels/base/check.hpp"
#include "kernels/ceilings.hpp"
#include "kernels/transfer.hpp"
#include "tests/bench/fabrics.hpp"
#include "tests/on_a_gpu.hpp"

namespace roofmark::transfer {

std::vector<Group> list(const Listing&);

namespace {

using testing::AnyOf;
using testing::Contains;
using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<Case> transfers_of_suite(const DeviceInfo& device, SuiteName suite) {
  std::vector<Case> all;
  for (const Group& group : list({.device = device, .suite = suite})) {
    all.insert(all.end(), group.cases.begin(), group.cases.end());
  }
  return all;
}

std::set<std::string> transfer_names(const DeviceInfo& device, SuiteName suite) {
  std::set<std::string> all;
  for (const Case& c : transfers_of_suite(device, suite)) all.insert(c.name());
  return all;
}

DeviceInfo on_two_nodes(DeviceInfo device, std::optional<int> near) {
  device.host_nodes = {0, 1};
  device.near_node = near;
  return device;
}

TEST(Transfer, QuickMovesPinnedMemoryEachWayAndBothWays) {
  EXPECT_THAT(transfers_of_suite(h200(), SuiteName::quick), SizeIs(2 + 15)) << "two between GPUs, which one GPU has not";
  const std::set<std::string> all = transfer_names(h200(), SuiteName::quick);
  EXPECT_THAT(all, Contains("transfer/host_to_device/int8/bytes:64/memory:pinned/node:near/impl:copy_engine/cache:warm"));
  EXPECT_THAT(all, Contains("transfer/device_to_host/int8/bytes:67108864/memory:pinned/node:near/impl:copy_engine/cache:warm"));
  EXPECT_THAT(all, Contains("transfer/both/int8/bytes:1048576/memory:pinned/node:near/impl:copy_engine/cache:warm"));
  EXPECT_THAT(list({.device = h200(), .suite = SuiteName::quick}).back().cases, SizeIs(3)) << "their blocks alternate";
}

TEST(Transfer, FullHasEveryKindAndSize) {
  const std::set<std::string> all = transfer_names(on_two_nodes(h200(), 0), SuiteName::full);
  for (const char* kind : {"pinned", "pageable", "registered", "write_combined", "managed"}) {
    EXPECT_THAT(all, Contains("transfer/host_to_device/int8/bytes:4294967296/memory:" + std::string(kind) +
                              "/node:near/impl:copy_engine/cache:warm"));
  }
  EXPECT_THAT(all, Contains("transfer/host_to_device/int8/bytes:64/memory:pinned/node:near/impl:sm/cache:warm"));
  EXPECT_THAT(all, Contains("transfer/device_to_host/int8/bytes:64/memory:pinned/node:near/impl:sm/cache:warm"));
  EXPECT_THAT(all, Contains("transfer/both/int8/bytes:4096/memory:pinned/node:near/impl:batched/cache:warm"));
  EXPECT_THAT(all, Contains("transfer/both/int8/bytes:64/memory:pinned/node:1/impl:copy_engine/cache:warm"));
  EXPECT_THAT(all, Each(Not(HasSubstr("node:0")))) << "the near one";
  EXPECT_THAT(transfer_names(on_two_nodes(h200(), {}), SuiteName::full), Contains(HasSubstr("node:0")))
      << "no node is known to be near";
  EXPECT_THAT(all, Contains("transfer/both/int8/bytes:64/memory:pinned/node:near/impl:sm/cache:warm"));
  EXPECT_THAT(transfer_names(h200(), SuiteName::full),
              Each(AnyOf(HasSubstr("node:near"), HasSubstr("/peer/"), HasSubstr("/beside_product/"),
                         HasSubstr("/managed_copy/"), HasSubstr("/host_copy/"))));
  EXPECT_THAT(all, Contains("transfer/both/int8/bytes:64/memory:pinned/node:1/impl:sm/cache:warm"));
  EXPECT_THAT(all, Contains("transfer/host_to_device/int8/bytes:64/memory:pageable/node:1/impl:copy_engine/cache:warm"));
}

TEST(Transfer, TheHostsNodeIsSaidWhereTheGpusOwnIsKnown) {
  DeviceInfo device = on_two_nodes(h200(), 0);
  const auto node_of = [&](std::optional<int> node) {
    return transfer_case(device, {.op = TransferOp::both, .bytes = 64, .node = node}).transfer->host_node;
  };
  EXPECT_EQ(node_of({}), (HostNode{0, HostNode::kOwn}));
  EXPECT_EQ(node_of(1), (HostNode{1, 20})) << "no table";
  device.node_distances = {{{0, 1}, 32}};
  EXPECT_EQ(node_of(1), (HostNode{1, 32}));
  device.host_nodes = {1};
  EXPECT_FALSE(node_of({})) << "this process may not use the GPU's own";
  EXPECT_FALSE(transfer_case(on_two_nodes(h200(), {}), {.bytes = 64}).transfer->host_node) << "unknown";
}

std::vector<std::string> operations_of(const Group& group) {
  std::vector<std::string> all;
  for (const Case& c : group.cases) all.push_back(c.operation + " " + value_of(c.shape, "cache"));
  return all;
}

TEST(Transfer, SmsMoveBothWaysBesideEachWayAlone) {
  for (const SuiteName suite : {SuiteName::baseline, SuiteName::full}) {
    std::set<std::string> sizes;
    for (const Group& group : list({.device = h200(), .suite = suite})) {
      const Case& both = group.cases.back();
      if (both.operation != "both" || value_of(both.shape, "impl") != "sm") continue;
      const std::string bytes = value_of(both.shape, "bytes");
      sizes.insert(bytes);
      EXPECT_EQ(both.transfer->flows,
                (std::vector<Flow>{{host_endpoint(), gpu_endpoint(0)}, {gpu_endpoint(0), host_endpoint()}}));
      EXPECT_EQ(both.work.total(resource::host_to_device), both.work.total(resource::device_to_host));
      if (std::stoul(bytes) > kLargeTransfer) continue;  // each is a group of its own
      EXPECT_THAT(operations_of(group), ElementsAre("host_to_device warm", "device_to_host warm", "both warm"));
    }
    EXPECT_THAT(sizes, SizeIs(transfer_sizes().size()));
  }
}

TEST(Transfer, TheHostsOwnCopiesStandBesideAGpusAndExceedItsCaches) {
  DeviceInfo device = on_two_nodes(h200(), 0);
  device.host_cache_bytes = std::size_t{500} << 20;
  const auto host_copies = [&](bool is_alone) {
    const Listing listing = {device, SuiteName::baseline, {}, 0.9, nullptr, is_alone};
    std::vector<std::string> names;
    for (const Group& group : list(listing)) {
      for (const Case& c : group.cases) {
        if (c.operation != "host_copy") continue;
        names.push_back(value_of(c.shape, "from") + " to " + value_of(c.shape, "to") + ", " + value_of(c.shape, "bytes"));
        EXPECT_EQ(c.work.total(resource::host_dram), 1 << 30);
        EXPECT_EQ(c.slot_bytes, 0U);
        EXPECT_EQ(c.host_slot_bytes, std::size_t{2} << 30);
        EXPECT_EQ(c.protocol.issue, Issue::stream);
      }
    }
    return names;
  };
  EXPECT_THAT(host_copies(true),
              ElementsAre("0 to 0, 1073741824", "0 to 1, 1073741824", "1 to 0, 1073741824", "1 to 1, 1073741824"));
  EXPECT_THAT(host_copies(false), IsEmpty()) << "others measure at the same time";
  DeviceInfo cpu = two_cores();
  cpu.caches = {{"l3", std::size_t{300} << 20, std::size_t{300} << 20}};
  EXPECT_EQ(large_host_copy(cpu), std::size_t{1} << 30);
}

/// An H200 on a host whose last-level cache is known.
DeviceInfo on_host(std::size_t cache_bytes, std::size_t memory_bytes = 500'000'000'000) {
  DeviceInfo device = h200();
  device.host_cache_bytes = cache_bytes;
  device.host_memory_bytes = device.host_free_bytes = memory_bytes;
  device.managed_on_demand = true;
  return device;
}

std::vector<Case> cold_of(const DeviceInfo& device, SuiteName suite) {
  std::vector<Case> all = transfers_of_suite(device, suite);
  std::erase_if(all, [](const Case& c) { return value_of(c.shape, "cache") != "cold"; });
  return all;
}

std::set<std::size_t> sizes_of(const std::vector<Case>& cases) {
  std::set<std::size_t> sizes;
  for (const Case& c : cases) sizes.insert(std::stoul(value_of(c.shape, "bytes")));
  return sizes;
}

constexpr std::size_t kibibytes(std::size_t count) { return count << 10; }
constexpr std::size_t mebibytes(std::size_t count) { return count << 20; }

TEST(Transfer, ColdCachesAreThoseOfTheDeviceAndOfTheHost) {
  // 60 MiB of L2, and 105 MiB of L3 in the host.
  const DeviceInfo device = on_host(mebibytes(105));
  EXPECT_THAT(cold_of(device, SuiteName::quick), IsEmpty());
  const std::vector<Case> baseline = cold_of(device, SuiteName::baseline), full = cold_of(device, SuiteName::full);
  EXPECT_THAT(baseline, SizeIs(8));
  EXPECT_THAT(sizes_of(baseline), ElementsAre(kibibytes(64), mebibytes(1), mebibytes(16), mebibytes(64)));
  // Smaller ones take too many slots; 1 GiB is cold by its size.
  EXPECT_THAT(sizes_of(full), ElementsAre(kibibytes(4), kibibytes(16), kibibytes(64), kibibytes(256), mebibytes(1),
                                          mebibytes(4), mebibytes(16), mebibytes(64), mebibytes(256)));
  for (const Case& c : full) {
    if (&cuda::transfer) {
      EXPECT_EQ(c.unsupported, "") << c.name();
    }
    EXPECT_EQ(c.protocol.cache, Cache::cold);
    const SlotPlan plan = plan_slots(c, last_level_caches(device), device.free_bytes);
    EXPECT_EQ(plan.cache_by, "slots");
    const auto together = static_cast<std::size_t>(plan.slots) * c.transfer->bytes;
    EXPECT_GT(together, 4 * mebibytes(105)) << c.name();
    EXPECT_LE(together - c.transfer->bytes, 4 * mebibytes(105)) << "no more than it takes: " << c.name();
    EXPECT_EQ(c.host_slot_bytes, c.transfer->bytes);
  }
  // The device's cache is the larger one.
  for (const Case& c : cold_of(on_host(mebibytes(16)), SuiteName::baseline)) {
    EXPECT_GT(plan_slots(c, last_level_caches(on_host(mebibytes(16))), device.free_bytes).slots * c.transfer->bytes,
              4 * mebibytes(60));
  }
}

TEST(Transfer, ColdIsComparedWithWarm) {
  if (!&cuda::transfer) GTEST_SKIP() << "this build has no CUDA kernels to compare";
  int compared = 0;
  for (const Group& group : list({.device = on_host(mebibytes(105)), .suite = SuiteName::baseline})) {
    for (const Comparison& comparison : group.comparisons) {
      if (comparison.key != "cache") continue;
      ++compared;
      EXPECT_EQ(comparison.name, "warm against cold");
      EXPECT_EQ(comparison.work_ratio, 1);
      EXPECT_THAT(operations_of(group), ElementsAre("host_to_device warm", "host_to_device cold", "device_to_host warm",
                                                    "device_to_host cold", "both warm"));
    }
  }
  EXPECT_EQ(compared, 8);
}

TEST(Transfer, ColdThatCannotBeSaysWhy) {
  if (!&cuda::transfer) GTEST_SKIP() << "this build has no CUDA kernels";
  for (const Case& c : cold_of(on_host(0), SuiteName::full)) {
    EXPECT_EQ(c.unsupported, "the kernel does not report the size of the host's last-level cache");
  }
  EXPECT_THAT(cold_of(on_host(0), SuiteName::full), SizeIs(8));
  // 4.2 GB of L3 would take 2^18 slots of 64 KiB.
  const std::vector<Case> huge = cold_of(on_host(std::size_t{4} << 30), SuiteName::baseline);
  ASSERT_THAT(huge, SizeIs(8));
  EXPECT_EQ(huge.front().unsupported,
            "more than 131072 copies would have to rotate to exceed 4 times the last-level cache (4.29 GB)");
  EXPECT_EQ(huge.back().unsupported, "");
  for (const Case& c : cold_of(on_host(mebibytes(105), 300'000'000), SuiteName::baseline)) {
    EXPECT_THAT(c.unsupported,
                testing::MatchesRegex("needs 4.. MB, the host has 300 MB and --memory-fraction 0.9 allows 270 MB"));
    EXPECT_FALSE(c.prepare);
  }
}

TEST(Transfer, CacheNamesOneOfTheTwo) {
  const auto caches = [](Cache cache) {
    std::multiset<std::string> all;
    for (const Group& group : list({.device = on_host(mebibytes(105)), .suite = SuiteName::baseline, .cache = cache})) {
      for (const Case& c : group.cases) {
        const bool one_way = c.operation == "host_to_device" || c.operation == "device_to_host";
        const bool pinned = value_of(c.shape, "memory") == "pinned" && value_of(c.shape, "impl") == "copy_engine";
        if (one_way && pinned && value_of(c.shape, "bytes") == "1048576") all.insert(value_of(c.shape, "cache"));
      }
    }
    return all;
  };
  EXPECT_THAT(caches(Cache::warm), ElementsAre("warm", "warm"));
  EXPECT_THAT(caches(Cache::cold), ElementsAre("cold", "cold"));
}

TEST(Transfer, ColdHostCopiesCountInMemory) {
  const DeviceInfo device = two_cores();
  const std::vector<Case> cold = cold_of(device, SuiteName::baseline);
  EXPECT_THAT(sizes_of(cold),
              ElementsAre(kibibytes(64), mebibytes(1), mebibytes(16)));  // 64 MiB there and back are 4 times the L3
  for (const Case& c : cold) {
    EXPECT_EQ(c.work.total(resource::host_dram), std::stod(value_of(c.shape, "bytes"))) << c.name();
    EXPECT_EQ(c.work.phases.front().size(), 1U) << "no cache";
    EXPECT_EQ(c.work.phases.front().front().avoidable, c.work.total(resource::host_dram) / 4) << "in a cold cache";
    EXPECT_EQ(c.host_slot_bytes, 0U) << "the memory is the device's";
    EXPECT_GT(plan_slots(c, last_level_caches(device), device.free_bytes).slots * c.slot_bytes, 4U * (32 << 20));
  }
}

std::vector<Group> managed_copies(const DeviceInfo& device, SuiteName suite = SuiteName::full) {
  std::vector<Group> all = list({.device = device, .suite = suite});
  std::erase_if(all, [](const Group& group) { return group.cases.front().operation != "managed_copy"; });
  return all;
}

TEST(Transfer, MoreManagedMemoryThanTheDeviceHas) {
  if (!&cuda::transfer) GTEST_SKIP() << "this build has no CUDA kernels";
  const DeviceInfo device = on_host(mebibytes(105));
  for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline}) EXPECT_THAT(managed_copies(device, suite), IsEmpty());
  const std::vector<Group> groups = managed_copies(device);
  ASSERT_THAT(groups, SizeIs(2)) << "in one group the pages of one would be in the way of the other's";
  const Case &within = groups[0].cases.front(), &beyond = groups[1].cases.front();
  EXPECT_EQ(within.name(), "transfer/managed_copy/int8/of_memory:0.5/memory:managed/impl:sm/cache:warm");
  EXPECT_EQ(beyond.name(), "transfer/managed_copy/int8/of_memory:1.25/memory:managed/impl:sm/cache:warm");
  const auto memory = static_cast<double>(device.memory_bytes);
  for (const auto& [c, share] : {std::pair(&within, 0.5), std::pair(&beyond, 1.25)}) {
    EXPECT_EQ(c->unsupported, "");
    EXPECT_GE(static_cast<double>(c->host_slot_bytes), share * memory);
    EXPECT_LT(static_cast<double>(c->host_slot_bytes), share * memory + 2 * 4096);
    EXPECT_EQ(c->slot_bytes, 0U) << "none that is allocated on the device";
    EXPECT_EQ(c->work.total(resource::host_to_device), static_cast<double>(c->host_slot_bytes) / 2) << "the copied bytes, once";
    EXPECT_EQ(c->work.phases.front().size(), 1U);
    EXPECT_EQ(c->work.phases.front().front().avoidable, 0) << "every page of the source comes over the link";
    EXPECT_FALSE(c->transfer) << "no point of a series of sizes";
    EXPECT_EQ(c->protocol.launches, 1);
    EXPECT_EQ(c->protocol.issue, Issue::stream);
  }
  ASSERT_THAT(groups[1].comparisons, SizeIs(1));
  EXPECT_EQ(groups[1].comparisons.front().name, "0.5 against 1.25");
  EXPECT_NEAR(groups[1].comparisons.front().work_ratio, 0.4, 1e-6) << "rates are compared";
}

TEST(Transfer, ManagedMemoryThatCannotExceedTheDevicesSaysWhy) {
  if (!&cuda::transfer) GTEST_SKIP() << "this build has no CUDA kernels";
  DeviceInfo device = on_host(mebibytes(105), 150'000'000'000);
  std::vector<Group> groups = managed_copies(device);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].cases.front().unsupported, "");
  EXPECT_EQ(groups[1].cases.front().unsupported, "needs 188 GB, the host has 150 GB and --memory-fraction 0.9 allows 135 GB");
  EXPECT_THAT(groups[1].comparisons, IsEmpty());
  device.managed_on_demand = false;
  for (const Group& group : managed_copies(device)) {
    EXPECT_THAT(group.cases.front().unsupported, HasSubstr("concurrentManagedAccess is 0"));
    EXPECT_THAT(group.comparisons, IsEmpty());
  }
  // Pages may stay on the device when the host reads them: what is not known to cross the link puts no ceiling in doubt.
  device.gpu.host_page_tables = true;
  const Demand demand = managed_copies(device)[0].cases.front().work.phases.front().front();
  EXPECT_EQ(demand.avoidable, demand.amount);
}

TEST(Transfer, AProductIsComparedAloneAndBesideCopies) {
  if (!&cuda::transfer) GTEST_SKIP() << "this build has no CUDA kernels to compare";
  DeviceInfo device = h200();
  device.gpu.pcie = {63e9, "PCIe 5 x16: 16 lanes"};
  const std::vector<Group> groups = list({.device = device, .suite = SuiteName::baseline});
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [](const Group& group) { return group.cases.front().operation == "beside_product"; });
  ASSERT_NE(found, groups.end());
  ASSERT_THAT(found->cases, SizeIs(4));
  ASSERT_THAT(found->comparisons, SizeIs(3));
  for (const Comparison& comparison : found->comparisons) {
    EXPECT_EQ(comparison.key, "copies");
    EXPECT_EQ(comparison.numerator.name(), found->cases.front().name());
  }
  EXPECT_EQ(found->comparisons.back().name, "none against both");
  // 2 x 8192^3 FLOPs take 1.03 ms at the peak of 1070 TFLOP/s; the link carries 64.7 MB in that time.
  EXPECT_EQ(value_of(found->cases.front().shape, "bytes"), std::to_string(std::size_t{3} << 20));
  for (const Case& c : found->cases) EXPECT_THAT(c.work.phases.front(), SizeIs(2)) << "that of the product: " << c.name();
  EXPECT_FALSE(found->cases.back().transfer) << "its time is that of a product";
}

TEST(Transfer, PairsOfGpusAreNotMissing) {
  for (const Case& c : transfers_of_suite(h200(), SuiteName::quick)) {
    EXPECT_EQ(c.unsupported == kNeedsOtherGpus, c.operation == "peer") << c.name();
  }
  Fabric ranks;
  ranks.members.resize(8);
  for (const Group& group : list({.device = h200(), .suite = SuiteName::quick, .fabric = &ranks})) {
    for (const Case& c : group.cases) {
      EXPECT_EQ(c.unsupported == "needs several GPUs in one process, but each process here has one", c.operation == "peer")
          << c.name();
    }
  }
}

std::vector<Case> of_gpus(const Fabric& fabric, SuiteName suite) {
  std::vector<Case> all;
  for (const Group& group : list({.device = h200(), .suite = suite, .fabric = &fabric})) {
    all.insert(all.end(), group.cases.begin(), group.cases.end());
  }
  return all;
}

TEST(PeerTransfer, EveryOrderedPairIsListedOnce) {
  const Fabric fabric = made_up_gpus(8);
  for (const SuiteName suite : {SuiteName::baseline, SuiteName::full}) {
    std::map<std::string, std::multiset<std::pair<std::string, std::string>>> pairs;  // by the rest of the name
    std::map<std::string, int> rounds;
    for (const Case& c : of_gpus(fabric, suite)) {
      if (c.operation == "peer_round") ++rounds[value_of(c.shape, "impl")];
      if (c.operation != "peer") continue;
      const auto key = [&](const char* name) { return value_of(c.shape, name); };
      pairs[key("bytes") + key("access") + key("impl")].emplace(key("from"), key("to"));
      EXPECT_EQ(c.transfer->flows,
                (std::vector<Flow>{{gpu_endpoint(std::stoi(key("from"))), gpu_endpoint(std::stoi(key("to")))}}));
      EXPECT_EQ(c.transfer->path->nvlinks, 18);
    }
    for (const auto& [name, listed] : pairs) {
      // Of many GPUs all pairs are of the largest size: elsewhere the first of a kind of path stands for all.
      const bool is_large = name.starts_with("268435456"), is_read = name.ends_with("copy_engine_read");
      const std::size_t count = is_large && (suite == SuiteName::full || is_read) ? 56 : 2;
      EXPECT_THAT(listed, SizeIs(count)) << name;
      EXPECT_EQ(std::set(listed.begin(), listed.end()).size(), count) << name;
    }
    EXPECT_THAT(pairs, SizeIs(suite == SuiteName::full ? 14 * (4 + 1) : 6));
    EXPECT_THAT(rounds, SizeIs(suite == SuiteName::full ? 4 : 1));
    EXPECT_EQ(rounds["copy_engine_read"], 7);
  }
}

TEST(PeerTransfer, QuickIsTwoCases) {
  const auto names = [](const Fabric& fabric) {
    std::vector<std::string> all;
    for (const Case& c : of_gpus(fabric, SuiteName::quick)) {
      if (c.operation.starts_with("peer")) all.push_back(c.name());
    }
    return all;
  };
  const std::string tail = "/access:on/impl:copy_engine_read/cache:warm";
  EXPECT_THAT(names(made_up_gpus(2)), ElementsAre("transfer/peer/int8/bytes:268435456/from:0/to:1" + tail,
                                                  "transfer/peer/int8/bytes:268435456/from:1/to:0" + tail));
  EXPECT_THAT(names(made_up_gpus(8)), ElementsAre("transfer/peer/int8/bytes:268435456/from:0/to:1" + tail,
                                                  "transfer/peer_round/int8/bytes:268435456/round:0" + tail));
}

TEST(PeerTransfer, WithoutAccessTheWayThroughTheHostIsMeasured) {
  const Fabric fabric = made_up_gpus(2, "the chipset does not support it");
  for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline}) {
    int staged = 0;
    for (const Case& c : of_gpus(fabric, suite)) {
      if (!c.operation.starts_with("peer")) continue;
      if (value_of(c.shape, "access") == "on") {
        EXPECT_EQ(c.unsupported, "cuda:" + std::to_string(c.transfer->flows.front().from.number) +
                                     " and cuda:" + std::to_string(c.transfer->flows.front().to.number) +
                                     " have no access to each other's memory: the chipset does not support it");
        continue;
      }
      ++staged;
      EXPECT_THAT(c.unsupported, Not(HasSubstr("chipset"))) << c.name();
      EXPECT_EQ(c.protocol.issue, Issue::stream) << "the driver may wait";
    }
    EXPECT_EQ(staged, suite == SuiteName::quick ? 2 : 5) << "each way of each size, and both ways of the largest";
  }
}

TEST(PeerTransfer, EveryTransferOfRefusedPairsHasAWayThroughTheHost) {
  const Fabric fabric = made_up_gpus(3, "no");
  for (const SuiteName suite : {SuiteName::baseline, SuiteName::full}) {
    std::map<std::string, std::set<std::string>> refused, staged;  // names without access, by operation
    for (const Case& c : of_gpus(fabric, suite)) {
      const std::string access = value_of(c.shape, "access"), by = value_of(c.shape, "impl");
      if (access.empty() || by != "copy_engine_read") continue;
      EXPECT_EQ(c.transfer->staged, access == "off");
      std::string name = c.name();
      name.erase(name.find("/access:"), std::string("/access:").size() + access.size());
      if (c.operation != "peer_both" || name.find("268435456") != std::string::npos) {
        (access == "on" ? refused : staged)[c.operation].insert(name);
      }
      EXPECT_EQ(c.unsupported.find("no access") != std::string::npos, access == "on") << c.name();
    }
    EXPECT_EQ(refused, staged);
    EXPECT_THAT(staged, SizeIs(5)) << "peer, peer_both, peer_round, one_to_all, all_to_one";
  }
}

/// One GPU that reaches no other is not among the pair that quick measures by itself.
TEST(PeerTransfer, QuickKnowsOfAGpuWithoutAccess) {
  Fabric fabric = made_up_gpus(8);
  fabric.local->path = [](int one, int other) {
    return PeerPath{PathKind::nvlink, 18, one == 5 || other == 5 ? "a setting of the driver disables it" : ""};
  };
  std::set<std::string> rounds;
  for (const Case& c : of_gpus(fabric, SuiteName::quick)) {
    if (c.operation != "peer_round") continue;
    rounds.insert(value_of(c.shape, "access"));
    ASSERT_THAT(c.transfer->refused, SizeIs(1));
    const RefusedAccess& pair = c.transfer->refused.front();
    EXPECT_TRUE(pair.one == gpu_endpoint(5) || pair.other == gpu_endpoint(5));
    EXPECT_EQ(pair.reason, "a setting of the driver disables it");
  }
  EXPECT_THAT(rounds, ElementsAre("off", "on"));
}

TEST(PeerTransfer, StagedCopiesDemandTheLinksToTheHost) {
  const Fabric fabric = made_up_gpus(2, "no");
  for (const Case& c : of_gpus(fabric, SuiteName::quick)) {
    if (value_of(c.shape, "access") != "off") continue;
    EXPECT_EQ(c.work.total(resource::device_to_host), 268435456) << c.name();
    EXPECT_EQ(c.work.total(resource::host_to_device), 268435456);
    EXPECT_EQ(c.work.total(resource::peer_in) + c.work.total(resource::peer_out), 0);
  }
}

TEST(PeerTransfer, SmsNeedAccess) {
  const Fabric fabric = made_up_gpus(2);
  for (const Case& c : of_gpus(fabric, SuiteName::full)) {
    if (value_of(c.shape, "access") != "off") continue;
    EXPECT_EQ(c.unsupported == "SMs reach another GPU's memory only with peer access",
              value_of(c.shape, "impl").starts_with("sm_"))
        << c.name();
  }
}

TEST(PeerTransfer, AllGpusAndTheHost) {
  const Fabric fabric = made_up_gpus(8);
  const std::vector<Case> all = of_gpus(fabric, SuiteName::baseline);
  const auto find = [&](const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](const Case& c) { return c.name() == name; });
  };
  for (const std::string op : {"host_to_device", "device_to_host", "both"}) {
    const std::string name = "transfer/" + op + "/int8/bytes:268435456/memory:pinned/node:near";
    EXPECT_NE(find(name + "/impl:copy_engine/cache:warm"), all.end()) << "of the device itself";
    EXPECT_EQ(find(name + "/gpu:0/impl:copy_engine/cache:warm"), all.end()) << "listed once";
    for (int gpu = 1; gpu < 8; ++gpu)
      EXPECT_NE(find(name + "/gpu:" + std::to_string(gpu) + "/impl:copy_engine/cache:warm"), all.end());
    const auto together = find(name + "/gpu:all/impl:copy_engine/cache:warm");
    ASSERT_NE(together, all.end());
    EXPECT_THAT(together->transfer->flows, SizeIs(op == "both" ? 16 : 8));
    EXPECT_EQ(together->work.total(op == "device_to_host" ? resource::device_to_host : resource::host_to_device), 268435456)
        << "of the busiest link";
  }
}

TEST(PeerTransfer, EveryNumaNodeAndEveryGpuAreListedOnce) {
  Fabric fabric = made_up_gpus(4);
  for (int gpu = 0; gpu < 4; ++gpu) fabric.members[static_cast<std::size_t>(gpu)].numa_node = gpu / 2;
  for (const SuiteName suite : {SuiteName::baseline, SuiteName::full}) {
    for (const bool is_alone : {true, false}) {
      Listing listing = {on_two_nodes(h200(), 0), suite, {}, 0.9, &fabric, is_alone};
      std::multiset<std::string> pairs;
      for (const Group& group : list(listing)) {
        for (const Case& c : group.cases) {
          const auto key = [&](const char* name) { return value_of(c.shape, name); };
          if (key("bytes") != "268435456" || key("memory") != "pinned" || key("impl") != "copy_engine") continue;
          if (c.operation == "both" || c.transfer->flows.size() != 1 || key("cache") != "warm") continue;
          const Flow& flow = c.transfer->flows.front();
          const bool in = c.operation == "host_to_device";
          EXPECT_EQ(c.transfer->host_node->distance == HostNode::kOwn, key("node") == "near") << c.name();
          pairs.insert(c.operation + " " + std::to_string(c.transfer->host_node->number) + " " +
                       name(in ? flow.to : flow.from));
        }
      }
      EXPECT_EQ(pairs.size(), std::set(pairs.begin(), pairs.end()).size());
      EXPECT_THAT(pairs, SizeIs(2 * 4 * (is_alone ? 2 : 1)));
    }
  }
}

TEST(PeerTransfer, AnotherModelHasNoRoof) {
  Fabric fabric = made_up_gpus(3);
  fabric.members[2].device_name = "NVIDIA A10";
  for (const Case& c : of_gpus(fabric, SuiteName::baseline)) {
    if (!c.transfer) continue;  // a product, with or without copies beside it
    const std::vector<Flow>& flows = c.transfer->flows;
    const bool unlike = std::any_of(flows.begin(), flows.end(), [](const Flow& flow) {
      return flow.from == gpu_endpoint(2) || flow.to == gpu_endpoint(2);
    });
    EXPECT_EQ(c.work.phases.empty(), unlike) << c.name();
    EXPECT_EQ(c.transfer->one_model, !unlike) << c.name();
  }
}

TEST(PeerTransfer, AGpuWithLinksOfAnotherRateHasNoRoofAndIsCompared) {
  Fabric fabric = made_up_gpus(3);
  fabric.members[2].pcie_bytes_per_second = 16e9;
  for (const Case& c : of_gpus(fabric, SuiteName::baseline)) {
    if (!c.transfer) continue;  // a product, with or without copies beside it
    const std::vector<Flow>& flows = c.transfer->flows;
    const bool unlike = std::any_of(flows.begin(), flows.end(), [&](const Flow& flow) {
      return (flow.from == gpu_endpoint(2) || flow.to == gpu_endpoint(2)) &&
             (flow.from == host_endpoint() || flow.to == host_endpoint() || c.transfer->staged);
    });
    EXPECT_EQ(c.work.phases.empty(), unlike) << c.name();
    EXPECT_TRUE(c.transfer->one_model) << c.name();
  }
}

TEST(PeerTransfer, AGpuInANarrowerSlotHasNoRoofAmongPeersOverPcie) {
  for (const std::size_t narrow : {0, 2}) {
    Fabric fabric = made_up_gpus(4);
    fabric.local->path = [](int, int) { return PeerPath{PathKind::system}; };
    for (RankInfo& member : fabric.members) member.pcie_bytes_per_second = 63e9;
    fabric.members[narrow].pcie_bytes_per_second = 31.5e9;
    for (const Case& c : of_gpus(fabric, SuiteName::baseline)) {
      if (c.operation != "peer" || c.transfer->staged) continue;
      const Flow& flow = c.transfer->flows.front();
      // The ceilings are those of the first.
      const bool unlike = narrow == 0 || flow.from == gpu_endpoint(2) || flow.to == gpu_endpoint(2);
      EXPECT_EQ(c.work.phases.empty(), unlike) << c.name();
    }
  }
}

TEST(PeerTransfer, AGpuWithAnotherNumberOfNvlinksHasNoRoofAmongPeers) {
  Fabric fabric = made_up_gpus(3);
  for (RankInfo& member : fabric.members) member.nvlinks = member.rank == 2 ? 2 : 4;  // of a rate that no table has
  int without = 0;
  for (const Case& c : of_gpus(fabric, SuiteName::baseline)) {
    if (c.operation != "peer" || c.transfer->staged) continue;
    const Flow& flow = c.transfer->flows.front();
    const bool unlike = flow.from == gpu_endpoint(2) || flow.to == gpu_endpoint(2);
    EXPECT_EQ(c.work.phases.empty(), unlike) << c.name();
    without += unlike;
  }
  EXPECT_GT(without, 0);
}

TEST(PeerTransfer, PairsThatNvlinkDoesNotConnectHaveNotItsRoof) {
  Fabric fabric = made_up_gpus(4);
  for (RankInfo& member : fabric.members) member.nvlink_bytes_per_second = 300e9;
  const auto is_bridged = [](int one, int other) { return one == (other ^ 1); };
  fabric.local->path = [=](int one, int other) {
    return is_bridged(one, other) ? PeerPath{PathKind::nvlink, 12, {}} : PeerPath{PathKind::system, 0, {}};
  };
  EXPECT_TRUE(first_has_nvlink(fabric));
  std::map<std::string, int> with_roof, without;
  for (const Case& c : of_gpus(fabric, SuiteName::baseline)) {
    if (!c.transfer || c.transfer->flows.front().from.kind == Endpoint::Kind::host ||
        c.transfer->flows.front().to.kind == Endpoint::Kind::host || c.transfer->staged) {
      continue;
    }
    const std::vector<Flow>& flows = c.transfer->flows;
    const bool all_bridged =
        std::all_of(flows.begin(), flows.end(), [&](const Flow& flow) { return is_bridged(flow.from.number, flow.to.number); });
    EXPECT_EQ(c.work.phases.empty(), !all_bridged) << c.name();
    ++(c.work.phases.empty() ? without : with_roof)[c.operation];
  }
  EXPECT_TRUE(with_roof["peer"] > 0 && with_roof["peer_round"] == 1 && without["peer"] > 0 && without["one_to_all"] > 0);

  // Of those that the process sees none is bridged to the first.
  fabric.local->path = [](int one, int) {
    return one == 0 ? PeerPath{PathKind::system, 0, {}} : PeerPath{PathKind::nvlink, 12, {}};
  };
  EXPECT_FALSE(first_has_nvlink(fabric));
  fabric.local->path = [](int, int) { return PeerPath(); };
  EXPECT_TRUE(first_has_nvlink(fabric)) << "a driver that does not tell";
}

TEST(PeerTransfer, GpusThatShareALinkToTheHostAreNamed) {
  Fabric fabric = made_up_gpus(5);
  EXPECT_EQ(shared_links(fabric), "");
  const char* const ports[] = {"0000:15:01.0", "0000:15:01.0", "", "0000:97:01.0", "0000:c4:01.0"};
  for (std::size_t gpu = 0; gpu < 5; ++gpu) fabric.members[gpu].root_port = ports[gpu];
  EXPECT_EQ(shared_links(fabric), "cuda:0, cuda:1 by 0000:15:01.0");
  fabric.members[4].root_port = ports[3];
  EXPECT_EQ(shared_links(fabric), "cuda:0, cuda:1 by 0000:15:01.0; cuda:3, cuda:4 by 0000:97:01.0");
  const auto is_noted = [&](TransferPoint point, const std::vector<Flow>& flows) {
    point.bytes = 64;
    const Transfer transfer{.bytes = 64, .flows = flows, .staged = is_between_gpus(point.op) && !point.access};
    const Notes notes = notes_of(h200(), point, transfer, {}, nullptr, {}, &fabric);
    return std::any_of(notes.begin(), notes.end(), [](const auto& note) { return note.first == "shared links"; });
  };
  const Flow there{gpu_endpoint(0), gpu_endpoint(1)}, back{gpu_endpoint(1), gpu_endpoint(0)};
  EXPECT_TRUE(is_noted({.op = TransferOp::both, .all_gpus = true}, {there, back}));
  EXPECT_TRUE(is_noted({.op = TransferOp::peer_both, .access = false}, {there, back})) << "through the host, both at once";
  EXPECT_FALSE(is_noted({.op = TransferOp::peer, .access = false}, {there}));
  EXPECT_FALSE(is_noted({.op = TransferOp::peer_both}, {there, back}));
}

TEST(PeerTransfer, AGpuBehindANarrowerUplinkHasNoRoofWithTheHost) {
  Fabric fabric = made_up_gpus(2);
  fabric.members[0].host_bytes_per_second = 63e9;
  fabric.members[1].host_bytes_per_second = 31.5e9;
  for (const Case& c : of_gpus(fabric, SuiteName::baseline)) {
    const std::string gpu = value_of(c.shape, "gpu");
    if (gpu == "1" || gpu == "all") {
      EXPECT_TRUE(c.work.phases.empty()) << c.name();
    }
  }
}

TEST(PeerTransfer, CeilingsAreProbedByReadsAndWritesOfTheNearestGpuOfTheModel) {
  if (!&cuda::ceilings) GTEST_SKIP() << "this build has no CUDA kernels";
  Fabric fabric = made_up_gpus(4);
  fabric.members[1].device_name = "NVIDIA A10";
  fabric.local->path = [](int, int other) { return PeerPath{other == 3 ? PathKind::pcie_switch : PathKind::system, 0, {}}; };
  DeviceInfo device = h200();
  std::set<std::string> probes;
  for (const Group& group : ceilings::list({.device = device, .suite = SuiteName::quick, .fabric = &fabric})) {
    for (const Case& c : group.cases) {
      if (c.operation == "peer") probes.insert(value_of(c.shape, "from") + value_of(c.shape, "to") + value_of(c.shape, "impl"));
    }
  }
  EXPECT_THAT(probes, ElementsAre("03copy_engine_read", "03copy_engine_write", "30copy_engine_read", "30copy_engine_write"));
}

TEST(PeerTransfer, AGpuInANarrowerSlotSetsNoCeilingOfThePeers) {
  if (!&cuda::ceilings) GTEST_SKIP() << "this build has no CUDA kernels";
  Fabric fabric = made_up_gpus(3);
  fabric.local->path = [](int, int other) { return PeerPath{other == 1 ? PathKind::pcie_switch : PathKind::system}; };
  for (RankInfo& member : fabric.members) member.pcie_bytes_per_second = member.rank == 1 ? 31.5e9 : 63e9;
  for (const Group& group : ceilings::list({.device = h200(), .suite = SuiteName::quick, .fabric = &fabric})) {
    for (const Case& c : group.cases) {
      if (c.operation != "peer") continue;
      EXPECT_EQ(value_of(c.shape, "from") + value_of(c.shape, "to"),
                c.sets_ceiling->resource == resource::peer_in ? "20" : "02");
    }
  }
}

TEST(PeerTransfer, TheProbeUsesAllNvlinksThatLeadToGpusOfTheProcess) {
  DeviceInfo device = h200();
  device.gpu.nvlink_links = 12;
  const auto expect_probes = [&](const Fabric& fabric, const std::map<std::string, double>& expected) {
    if (!&cuda::ceilings) return;  // a build without probes of a GPU
    std::map<std::string, double> all;
    for (const Group& group : ceilings::list({.device = device, .suite = SuiteName::quick, .fabric = &fabric})) {
      for (const Case& c : group.cases) {
        if (value_of(c.shape, "impl") != "copy_engine_read") continue;
        all[c.operation + " " + value_of(c.shape, "others")] =
            c.work.total(resource::peer_in) + c.work.total(resource::peer_out);
        EXPECT_TRUE(c.transfer->flows.size() == 1 || c.transfer->flows.size() == 2) << c.name();
      }
    }
    EXPECT_EQ(all, expected);
  };
  Fabric fabric = made_up_gpus(4);  // two bridged by 4 links each, one behind PCIe
  fabric.local->path = [](int one, int other) {
    return std::min(one, other) == 0 && one + other < 3 ? PeerPath{PathKind::nvlink, 4} : PeerPath{PathKind::system};
  };
  EXPECT_EQ(nvlinks_to_others(fabric, device), std::nullopt) << "switches, for all that is known";
  device.gpu.nvlink_peers = {"of 1", "of 2", "of one that the process does not see"};
  EXPECT_EQ(nvlinks_to_others(fabric, device), 8);
  device.gpu.nvlink_links = 6;
  EXPECT_EQ(nvlinks_to_others(fabric, device), 6) << "no more than it has, whatever NVML says of the paths";
  device.gpu.nvlink_links = 12;
  const double both = 2.0 * kLargeTransfer;
  expect_probes(fabric, {{"all_to_one 1+2", both}, {"one_to_all 1+2", both}});
  fabric.members.resize(3);
  expect_probes(fabric, {{"all_to_one ", both}, {"one_to_all ", both}});
  fabric.members.resize(2);
  EXPECT_EQ(nvlinks_to_others(fabric, device), 4);
  expect_probes(fabric, {{"peer ", kLargeTransfer}});  // has all links that lead to a GPU
  fabric.local->path = [](int, int) { return PeerPath{PathKind::system}; };
  EXPECT_EQ(nvlinks_to_others(fabric, device), 0);
}

TEST(PeerTransfer, APairWithMoreNvlinksThanTheDeviceHasThereHasNoRoof) {
  DeviceInfo device = h200();
  device.gpu.nvlink_links = 6;
  device.gpu.nvlink_peers = {"of 1", "of others"};
  Fabric fabric = made_up_gpus(3);
  fabric.local->path = [](int one, int other) {
    return PeerPath{PathKind::nvlink, one + other == 3 ? 2 : one + other == 1 ? 1 : 0};
  };
  int without = 0;
  for (const Group& group : list({.device = device, .suite = SuiteName::baseline, .fabric = &fabric})) {
    for (const Case& c : group.cases) {
      if (c.operation != "peer" || c.transfer->staged) continue;
      const Flow& flow = c.transfer->flows.front();
      const bool more = flow.from.number + flow.to.number == 3;
      EXPECT_EQ(c.work.phases.empty(), more) << c.name();
      without += more;
    }
  }
  EXPECT_GT(without, 0);
}

TEST(PeerTransfer, APairWithAPartOfTheNvlinksSaysSo) {
  DeviceInfo device = h200();
  device.gpu.nvlink_links = 12;
  device.gpu.nvlink_peers = {"of 1", "of 2"};
  Fabric fabric = made_up_gpus(3);
  fabric.local->path = [](int, int) { return PeerPath{PathKind::nvlink, 4}; };
  const auto note = [&](bool access) {
    const TransferPoint pair{
        .op = TransferOp::peer, .bytes = 64, .by = TransferBy::copy_engine_read, .to = 1, .access = access};
    const Transfer transfer{
        .bytes = 64, .flows = {{gpu_endpoint(0), gpu_endpoint(1)}}, .path = fabric.local->path(0, 1), .staged = !access};
    Phase demands = link_demands(transfer);
    take_part_of_links(demands, transfer, fabric, device);
    for (const auto& [key, value] : notes_of(device, pair, transfer, {{demands}}, nullptr, {}, &fabric)) {
      if (key == "NVLinks") return value;
    }
    return std::string();
  };
  EXPECT_EQ(note(true),
            "4 connect these two: the roof is that part of the ceilings, which are of all 8 of cuda:0 that lead to GPUs");
  EXPECT_EQ(note(false), "") << "the bytes take another way";
  fabric.local->path = [](int, int) { return PeerPath{PathKind::nvlink, 6}; };
  fabric.members.resize(2);
  EXPECT_EQ(note(true), "");
}

// Four GPUs of which each pair has 4 of 12 NVLinks, as in an HGX A100 of four.
TEST(PeerTransfer, APairHasThePartOfTheRoofThatItsNvlinksAre) {
  DeviceInfo device = h200();
  device.gpu.nvlink_links = 12;
  device.gpu.nvlink_peers = {"of 1", "of 2", "of 3"};
  device.gpu.nvlink = {300e9, "12 NVLinks"};
  Fabric fabric = made_up_gpus(4);
  fabric.local->path = [](int, int) { return PeerPath{PathKind::nvlink, 4}; };
  const auto case_of = [&](const TransferPoint& point) { return transfer_case(device, point, &fabric); };
  const auto parts_of = [&](const TransferPoint& point) {
    std::map<std::string_view, double> parts;
    const Case c = case_of(point);
    for (const Demand& demand : c.work.phases.front()) parts[demand.resource.id] = demand.part;
    return parts;
  };
  using Parts = std::map<std::string_view, double>;
  const auto with = [](TransferOp op) {
    return TransferPoint{.op = op, .bytes = 1000, .by = TransferBy::copy_engine_read, .from = 1, .to = 2};
  };
  const Parts third = {{"peer_in", 1.0 / 3}, {"peer_out", 1.0 / 3}};
  EXPECT_EQ(parts_of(with(TransferOp::peer)), third);
  EXPECT_EQ(parts_of(with(TransferOp::peer_both)), third);
  EXPECT_EQ(parts_of(with(TransferOp::peer_round)), third) << "of disjoint pairs";
  EXPECT_EQ(parts_of(with(TransferOp::one_to_all)), (Parts{{"peer_out", 1}, {"peer_in", 1.0 / 3}}));
  EXPECT_EQ(parts_of(with(TransferOp::all_to_one)), (Parts{{"peer_in", 1}, {"peer_out", 1.0 / 3}}));

  const Roofline roofline = theoretical_peer_links(device, true, nvlinks_to_others(fabric, device));
  const Placement placement = place(case_of(with(TransferOp::peer)).work, roofline, 1000 / 93e9, {}, {});
  EXPECT_NEAR(placement.of_theoretical.value(), 0.93, 1e-9);
  EXPECT_DOUBLE_EQ(placement.bytes_per_second.value(), 93e9) << "a rate is of the bytes that moved";

  fabric.local->path = [](int, int) { return PeerPath{PathKind::nvlink, 12}; };
  EXPECT_EQ(parts_of(with(TransferOp::peer)), (Parts{{"peer_in", 1}, {"peer_out", 1}}));
  // No probe uses the NVLinks to GPUs that it may not access.
  fabric.local->path = [](int one, int other) {
    return PeerPath{PathKind::nvlink, 4, one + other == 3 || one * other > 0 ? "no access" : ""};
  };
  EXPECT_EQ(nvlinks_to_others(fabric, device), 8);
}

TEST(PeerTransfer, GpusBelowOnePortHaveTheirPartsOfItsLink) {
  const DeviceInfo device = h200();
  Fabric fabric = made_up_gpus(4);
  for (RankInfo& member : fabric.members) {
    member.host_bytes_per_second = 31.5e9;
    member.root_port = member.rank < 3 ? "0000:15:01.0" : "0000:97:01.0";
    member.root_port_bytes_per_second = 31.5e9;
  }
  const auto parts_of = [&](const TransferPoint& point) {
    std::vector<double> parts;
    const Case c = transfer_case(device, point, &fabric);
    for (const Demand& demand : c.work.phases.front()) {
      EXPECT_EQ(demand.amount, 1000);
      parts.push_back(demand.part);
    }
    return parts;
  };
  const auto all_gpus = [](TransferOp op) { return TransferPoint{.op = op, .bytes = 1000, .all_gpus = true}; };
  const double third = 1.0 / 3;
  EXPECT_THAT(parts_of(all_gpus(TransferOp::host_to_device)), ElementsAre(DoubleEq(third)));
  EXPECT_THAT(parts_of(all_gpus(TransferOp::device_to_host)), ElementsAre(DoubleEq(third)));
  EXPECT_THAT(parts_of(all_gpus(TransferOp::both)), ElementsAre(DoubleEq(third), DoubleEq(third)));
  EXPECT_THAT(parts_of({.op = TransferOp::host_to_device, .bytes = 1000, .gpu = 1}), ElementsAre(1));
  const TransferPoint staged{
      .op = TransferOp::peer_both, .bytes = 1000, .by = TransferBy::copy_engine_read, .from = 0, .to = 1, .access = false};
  EXPECT_THAT(parts_of(staged), ElementsAre(0.5, 0.5));
  for (RankInfo& member : fabric.members) member.root_port_bytes_per_second = 63e9;
  EXPECT_THAT(parts_of(all_gpus(TransferOp::host_to_device)), ElementsAre(DoubleEq(2 * third)))
      << "the port has more than a GPU";
  EXPECT_THAT(parts_of(staged), ElementsAre(1, 1));
  for (RankInfo& member : fabric.members) member.root_port_bytes_per_second.reset();
  EXPECT_THAT(parts_of(all_gpus(TransferOp::host_to_device)), ElementsAre(1)) << "unknown";
}

TEST(Transfer, EachDirectionIsAResourceOfItsOwn) {
  for (const Case& c : transfers_of_suite(h200(), SuiteName::quick)) {
    const std::int64_t bytes = std::stol(value_of(c.shape, "bytes"));
    if (c.operation.starts_with("peer")) continue;
    EXPECT_EQ(c.work.total(resource::host_to_device), c.operation == "device_to_host" ? 0 : bytes) << c.name();
    EXPECT_EQ(c.work.total(resource::device_to_host), c.operation == "host_to_device" ? 0 : bytes) << c.name();
    EXPECT_EQ(c.work.total(resource::dram), 0) << c.name();
  }
}

TEST(Transfer, HostCopiesCountOnceInMemoryAndTwiceInCaches) {
  int in_memory = 0;
  for (const Case& c : transfers_of_suite(two_cores(), SuiteName::quick)) {
    const std::int64_t bytes = std::stol(value_of(c.shape, "bytes"));
    if (bytes <= 8 << 10) {
      EXPECT_EQ(c.work.total(resource::l1), 2 * bytes) << c.name();
    }
    if (bytes == 1 << 20) {
      EXPECT_EQ(c.work.total(resource::l2), 2 * bytes) << c.name();
      EXPECT_EQ(c.work.total(resource::l3), 0) << "L2 holds both arrays";
    }
    if (bytes >= 4 * (32 << 20)) {
      EXPECT_EQ(c.work.total(resource::host_dram), bytes) << c.name();
      ++in_memory;
    }
    EXPECT_EQ(c.work.total(resource::dram), 0) << c.name();
  }
  EXPECT_EQ(in_memory, 1);
}

// The last level has 32 MiB: copies of 64 MiB touch four times as much.
TEST(Transfer, HostCopiesBeyondTheCachesAreAmongThemInPart) {
  std::set<double> bytes;
  for (const Case& c : transfers_of_suite(two_cores(), SuiteName::full)) {
    const double size = std::stod(value_of(c.shape, "bytes"));
    if (c.operation != "host_copy" || c.protocol.cache == Cache::cold) continue;
    const bool beyond = size >= (64 << 20);
    EXPECT_EQ(c.work.total(resource::host_dram), beyond ? size : 0) << c.name();
    if (!beyond) continue;
    EXPECT_EQ(c.work.phases.front().front().avoidable, 32 << 20) << c.name();
    bytes.insert(size);
  }
  EXPECT_EQ(*bytes.begin(), 64 << 20);
}

// The time of preparation counts too.
TEST(Transfer, QuickOnACpuIsFewCopiesOfFewBytes) {
  const auto largest = [](DeviceInfo device) {
    const std::vector<Case> all = transfers_of_suite(device, SuiteName::quick);
    EXPECT_THAT(all, SizeIs(3));
    return std::stoul(value_of(all.back().shape, "bytes"));
  };
  DeviceInfo device = two_cores();
  EXPECT_EQ(largest(device), mebibytes(128)) << "four times the last-level cache";
  device.caches.back() = {"l3", mebibytes(300), mebibytes(300)};
  EXPECT_EQ(largest(device), mebibytes(256)) << "that of a GPU";
  device.caches.clear();
  EXPECT_EQ(largest(device), mebibytes(256)) << "unknown";
}

TEST(Transfer, PairsOfHostNodes) {
  EXPECT_THAT(transfer_names(two_cores(), SuiteName::full), Each(HasSubstr("from:0/to:0")));
  const std::set<std::string> all = transfer_names(on_two_nodes(two_cores(), {}), SuiteName::quick);
  for (const std::string pair : {"from:0/to:0", "from:0/to:1", "from:1/to:0", "from:1/to:1"}) {
    EXPECT_THAT(all, Contains("transfer/host_copy/int8/bytes:134217728/" + pair + "/impl:memcpy/cache:warm"));
  }
}

TEST(Transfer, WhatWaitsForTheStreamIsNeverGated) {
  for (const Case& c : transfers_of_suite(h200(), SuiteName::full)) {
    const std::string kind = value_of(c.shape, "memory");
    if (kind == "pageable" || kind == "managed") {
      EXPECT_EQ(c.protocol.issue, Issue::stream) << c.name();
    }
    if (kind == "managed") {
      EXPECT_EQ(c.protocol.launches, 1) << "after one launch the pages are elsewhere";
    }
  }
}

const Case* case_named(const std::vector<Case>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Case& c) { return c.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

TEST(Transfer, ASampleOfALargeTransferIsSeveralThatFollowOneAnother) {
  DeviceInfo device = h200();
  device.gpu.pcie = {63e9, "PCIe 5 x16"};
  const std::vector<Case> all = transfers_of_suite(device, SuiteName::full);
  const auto launches = [&](const std::string& head, const std::string& tail) {
    const Case* const c = case_named(all, "transfer/" + head + "/memory:" + tail + "/cache:warm");
    EXPECT_TRUE(c) << head;
    return c ? c->protocol.launches : -1;
  };
  // 20 ms at 63 GB/s are 1.26 GB.
  EXPECT_EQ(launches("host_to_device/int8/bytes:268435456", "pinned/node:near/impl:copy_engine"), 5);
  EXPECT_EQ(launches("both/int8/bytes:268435456", "pinned/node:near/impl:copy_engine"), 5);
  EXPECT_EQ(launches("host_to_device/int8/bytes:4294967296", "pinned/node:near/impl:copy_engine"), 1);
  EXPECT_EQ(launches("host_to_device/int8/bytes:16777216", "pinned/node:near/impl:copy_engine"), 16) << "as nvbandwidth";
  EXPECT_EQ(launches("host_to_device/int8/bytes:67108864", "pinned/node:near/impl:batched"), 4) << "of 64 copies each";
  // Below, a sample is as long as the harness makes it; behind a gate are 256 commands at most.
  EXPECT_EQ(launches("host_to_device/int8/bytes:65536", "pinned/node:near/impl:copy_engine"), 0);
  EXPECT_EQ(launches("both/int8/bytes:64", "pinned/node:near/impl:copy_engine"), 256 / 6);
}

TEST(PeerTransfer, WhatForksToAnotherGpuCopiesOneGibibyteOfEachFlow) {
  const std::vector<Case> all = of_gpus(made_up_gpus(8), SuiteName::full);
  const auto executions = [&](const std::string& name) {
    const Case* const c = case_named(all, "transfer/" + name + "/access:on/impl:copy_engine_write/cache:warm");
    EXPECT_TRUE(c && c->protocol.launches == 1) << name;
    return c ? c->protocol.executions : -1;
  };
  EXPECT_EQ(executions("peer/int8/bytes:268435456/from:1/to:0"), 4);
  EXPECT_EQ(executions("peer/int8/bytes:16777216/from:0/to:1"), 16);
  EXPECT_EQ(executions("peer/int8/bytes:4294967296/from:0/to:1"), 1);
  EXPECT_EQ(executions("peer/int8/bytes:64/from:0/to:1"), 251) << "which is as the other way";
  EXPECT_EQ(executions("peer/int8/bytes:64/from:1/to:0"), 251);
  EXPECT_EQ(executions("peer/int8/bytes:4194304/from:1/to:0"), 251);
  for (const Case& c : all) {
    if (!c.transfer) continue;  // beside a product
    EXPECT_LE(c.transfer->flows.size() * static_cast<std::size_t>(c.protocol.executions + 5), 256U) << c.name();
  }
}

TEST(Transfer, WhatSmsReadOfTheHostsMemoryTheirCacheMayHold) {
  const std::vector<Case> all = transfers_of_suite(h200(), SuiteName::full);
  const auto avoidable = [&](const std::string& op, const std::string& bytes, const std::string& by) {
    const Case* const c =
        case_named(all, "transfer/" + op + "/int8/bytes:" + bytes + "/memory:pinned/node:near/impl:" + by + "/cache:warm");
    return c ? c->work.phases.front().front().avoidable : -1;
  };
  EXPECT_EQ(avoidable("host_to_device", "65536", "sm"), 65536);
  EXPECT_EQ(avoidable("host_to_device", "268435456", "sm"), static_cast<double>(h200().last_level_cache_bytes()));
  EXPECT_EQ(avoidable("device_to_host", "65536", "sm"), 0) << "what is written crosses the link";
  EXPECT_EQ(avoidable("host_to_device", "65536", "copy_engine"), 0);
}

TEST(Transfer, ManagedPagesThatMayStayOnTheDevicePutNoCeilingInDoubt) {
  DeviceInfo device = h200();
  for (const bool shared : {false, true}) {
    device.gpu.host_page_tables = shared;
    int managed = 0;
    for (const Case& c : transfers_of_suite(device, SuiteName::full)) {
      if (value_of(c.shape, "memory") != "managed" || c.operation == "managed_copy") continue;
      if (!shared && value_of(c.shape, "impl") == "sm") continue;  // the SMs' cache may hold it
      ++managed;
      for (const Demand& demand : c.work.phases.front()) {
        EXPECT_EQ(demand.avoidable == demand.amount, shared) << c.name() << ", " << demand.resource.id;
      }
    }
    EXPECT_GE(managed, 3);
  }
}

TEST(Transfer, HugePagesAreComparedWithSmallOnes) {
  if (!&cuda::transfer) GTEST_SKIP() << "this build has no CUDA";
  for (const SuiteName suite : {SuiteName::baseline, SuiteName::full}) {
    int compared = 0;
    for (const Group& group : list({.device = h200(), .suite = suite})) {
      if (value_of(group.cases.front().shape, "pages").empty()) continue;
      ++compared;
      ASSERT_THAT(group.comparisons, SizeIs(1));
      EXPECT_EQ(group.comparisons.front().name, "huge against small");
      EXPECT_THAT(value_of(group.cases.front().shape, "memory"), AnyOf("pageable", "registered"));
    }
    EXPECT_EQ(compared, 4) << "each kind each way";
  }
}

TEST(Transfer, WriteCombinedMemoryIsNotReadAndThatIsSaid) {
  if (!&cuda::transfer) GTEST_SKIP() << "this build has no CUDA";
  int listed = 0;
  for (const Case& c : transfers_of_suite(h200(), SuiteName::baseline)) {
    if (value_of(c.shape, "memory") != "write_combined") continue;
    listed += c.operation == "device_to_host";
    EXPECT_EQ(c.unsupported.find("the host reads write-combined memory too slowly") == 0, c.operation == "device_to_host");
  }
  EXPECT_GT(listed, 0);
}

TEST(Transfer, AFarNodeHasEveryKindInFull) {
  const std::set<std::string> all = transfer_names(on_two_nodes(h200(), 0), SuiteName::full);
  for (const char* how : {"pageable/node:1/impl:copy_engine", "registered/node:1/impl:copy_engine",
                          "managed/node:1/impl:copy_engine", "pinned/node:1/impl:batched", "pinned/node:1/impl:sm"}) {
    EXPECT_THAT(all, Contains("transfer/host_to_device/int8/bytes:1048576/memory:" + std::string(how) + "/cache:warm"));
  }
}

/// Two nodes in name, of which the second is the first.
class TwoNodes final : public Device {
 public:
  explicit TwoNodes(std::unique_ptr<Device> device, std::optional<int> near = {}, std::vector<int> nodes = {0, 1})
      : device_(std::move(device)), info_(device_->info()) {
    info_.host_nodes = std::move(nodes);
    info_.near_node = near;
  }
  std::vector<int> asked;
  std::optional<int> refused;
  DeviceInfo& description() { return info_; }

  const DeviceInfo& info() const override { return info_; }
  Memory allocate_host(std::size_t bytes, const HostMemory& wanted) override {
    asked.push_back(wanted.node.value_or(-1));
    if (refused && wanted.node == refused) throw Unsupported("the kernel refuses it");
    return device_->allocate_host(bytes, {wanted.kind, {}, wanted.huge_pages});
  }
  Stream stream() override { return device_->stream(); }
  void synchronize() override { device_->synchronize(); }
  std::size_t free_bytes() override { return device_->free_bytes(); }
  void to_host(void* host, const void* data, std::size_t bytes) override { device_->to_host(host, data, bytes); }
  void to_device(void* data, const void* host, std::size_t bytes) override { device_->to_device(data, host, bytes); }
  void zero(void* data, std::size_t bytes) override { device_->zero(data, bytes); }
  void fill(void* data, DataType type, std::size_t count, const Fill& fill) override { device_->fill(data, type, count, fill); }
  void fill(void* data, const BlockScaledLayout& layout, const Fill& fill) override { device_->fill(data, layout, fill); }
  void poison(void* data, std::size_t bytes) override { device_->poison(data, bytes); }
  std::uint64_t hash(const void* data, std::size_t bytes) override { return device_->hash(data, bytes); }
  void enqueue_hash(Stream stream, const void* data, std::size_t bytes, std::uint64_t* result) override {
    device_->enqueue_hash(stream, data, bytes, result);
  }
  ElementwiseError compare_linear(DataType type, const void* out, std::size_t count, double alpha, const void* x, double beta,
                                  const void* y, double constant) override {
    return device_->compare_linear(type, out, count, alpha, x, beta, y, constant);
  }
  ElementwiseError compare(DataType type, const void* out, std::size_t count, const double* expected,
                           const double* scale) override {
    return device_->compare(type, out, count, expected, scale);
  }
  void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums,
                         double* squares) override {
    device_->signed_block_sums(view, block, seed, sums, squares);
  }
  void fourth_power_sums(const MatrixView& view, double* sums) override { device_->fourth_power_sums(view, sums); }
  void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products) override {
    device_->multiply_fp64(view, right, n, products);
  }
  TermSums sum_terms(DataType type, const void* x, const void* y, std::size_t count) override {
    return device_->sum_terms(type, x, y, count);
  }
  std::unique_ptr<Batch> batch(const BatchPlan& plan, Launch launch) override {
    return device_->batch(plan, std::move(launch));
  }
  std::optional<double> observed_clock_hz(bool) override { return {}; }

 private:
  Memory obtain(std::size_t bytes) override { return device_->allocate(bytes); }

  std::unique_ptr<Device> device_;
  DeviceInfo info_;
};

Setup setup_of(Device& device, int slots = 1) { return {device, slots, Distribution::normal, 42, {}}; }

std::string note(const Prepared& prepared, std::string_view key) {
  for (const auto& [name, text] : prepared.notes()) {
    if (name == key) return text;
  }
  return "none";
}

TEST(Transfer, HostCopyBetweenTwoNodes) {
  TwoNodes device(open_device("cpu"));
  const PagePlacement known = placement_of(device.allocate_host(1, {}).get(), 1);
  const TransferPoint point{.op = TransferOp::host_copy,
                            .bytes = 1009,
                            .memory = HostMemoryKind::pageable,
                            .node = 0,
                            .to_node = 1,
                            .by = TransferBy::memcpy,
                            .offset = 3};
  device.asked.clear();
  const Case c = transfer_case(device.info(), point);
  EXPECT_EQ(c.name(), "transfer/host_copy/int8/bytes:1009/from:0/to:1/offset:3/impl:memcpy/cache:warm");
  if (known.only_node() == 0) {
    EXPECT_THROW(c.prepare(setup_of(device)), Unsupported) << "the pages lie on node 0, as the kernel says";
  } else {
    EXPECT_NO_THROW(c.prepare(setup_of(device))) << "where the kernel does not say, as in many containers";
  }
  EXPECT_THAT(device.asked, Contains(1)) << "which node each end is asked for";
  TransferPoint same = point;
  same.to_node = 0;
  const auto prepared = transfer_case(device.info(), same).prepare(setup_of(device));
  EXPECT_EQ(prepared->verify(0).status, Verification::Status::failed) << "poisoned";
  prepared->launch(device.stream(), 0);
  EXPECT_EQ(prepared->verify(0).status, Verification::Status::passed);
  EXPECT_THAT(note(*prepared, "source pageable memory"), HasSubstr("asked for node 0"));
  EXPECT_THAT(note(*prepared, "bytes counted"), HasSubstr("twice")) << "in a cache";
}

// On caches so small that the slots fit a test: 1 MiB in the host, half of that on the device.
TEST(Transfer, ColdIsMeasuredWithTheSlotsThatExceedTheCaches) {
  for (const std::string id : {"cpu", "cuda:0"}) {
    std::unique_ptr<Device> opened;
    try {
      opened = open_device(id);
    } catch (const DeviceError&) {
      continue;  // the CPU is always there
    }
    TwoNodes device(std::move(opened), {}, {0});
    const bool gpu = id != "cpu";
    device.description().caches = {{"l2", mebibytes(1) / (gpu ? 2 : 1), mebibytes(1) / (gpu ? 2 : 1)}};
    device.description().host_cache_bytes = mebibytes(1);
    Group group;
    for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host, TransferOp::host_copy}) {
      if (gpu == (op == TransferOp::host_copy)) continue;
      for (const Cache cache : {Cache::warm, Cache::cold}) {
        group.cases.push_back(transfer_case(device.info(), {.op = op,
                                                            .bytes = kibibytes(64),
                                                            .memory = gpu ? HostMemoryKind::pinned : HostMemoryKind::pageable,
                                                            .by = gpu ? TransferBy::copy_engine : TransferBy::memcpy,
                                                            .cache = cache}));
      }
    }
    SoloTeam team;
    Settings settings;
    settings.effort = {.max_seconds = 5e-3, .blocks = 2, .gap_seconds = 0, .window_seconds = 1e-3, .warm_up_seconds = 5e-3};
    settings.telemetry = false;
    for (const Record& record : Runner(device, team, settings).run(group, 1)) {
      ASSERT_EQ(record.status, Status::ok) << record.name() << ": " << record.reason;
      const bool cold = record.name().ends_with("cache:cold");
      EXPECT_EQ(record.measurement->cache, cold ? Cache::cold : Cache::warm);
      EXPECT_EQ(record.measurement->cache_by, cold ? "slots" : "warm") << record.name();
      // 4 MiB in slots of 64 KiB and one more; of the CPU both arrays count.
      EXPECT_EQ(record.measurement->slots, !cold ? 1 : gpu ? 65 : 33) << record.name();
      EXPECT_EQ(record.verification_after->status, Verification::Status::passed);
    }
  }
}

class TransferOnAGpu : public OnAGpu {};

TEST_F(TransferOnAGpu, PagesThatMoveAreBroughtBackBeforeEachSample) {
  for (const TransferOp op : {TransferOp::host_to_device, TransferOp::managed_copy}) {
    for (const HostMemoryKind kind : {HostMemoryKind::managed, HostMemoryKind::pinned}) {
      const bool moves = kind == HostMemoryKind::managed;
      if (op == TransferOp::managed_copy && !moves) continue;
      const Case c = transfer_case(device_->info(), {.op = op, .bytes = 1009, .memory = kind, .by = TransferBy::sm});
      if (!c.unsupported.empty()) continue;  // a device that moves no pages while kernels run
      EXPECT_EQ(c.prepare(setup_of(*device_))->needs_reset(), moves) << c.name();
    }
  }
}

TransferPoint copy_of(std::optional<int> from, std::optional<int> to) {
  return {.op = TransferOp::host_copy,
          .bytes = 1009,
          .memory = HostMemoryKind::pageable,
          .node = from,
          .to_node = to,
          .by = TransferBy::memcpy};
}

// As when a job got the CPUs and the memory of the other socket.
TEST(Transfer, NearIsWhereMemoryMayBeUsed) {
  for (const std::vector<int>& nodes : {std::vector{0}, {0, 2}}) {
    TwoNodes device(open_device("cpu"), 1, nodes);
    const auto prepared = transfer_case(device.info(), copy_of({}, {})).prepare(setup_of(device));
    EXPECT_THAT(device.asked, Each(-1));
    EXPECT_THAT(note(*prepared, "near"), HasSubstr(why_without_memory(1, "/") + "; it lies on "));
    prepared->launch(device.stream(), 0);
    EXPECT_EQ(prepared->verify(0).status, Verification::Status::passed);
  }
}

TEST(Transfer, NearIsBestEffortAndAnotherNodeIsNot) {
  TwoNodes device(open_device("cpu"), 1);
  device.refused = 1;
  const auto prepared = transfer_case(device.info(), copy_of({}, {})).prepare(setup_of(device));
  EXPECT_EQ(device.asked, (std::vector{1, -1, 1, -1})) << "both ends";
  EXPECT_THAT(note(*prepared, "near"), HasSubstr("the kernel refuses it; it lies on "));
  EXPECT_THROW(transfer_case(device.info(), copy_of(1, 1)).prepare(setup_of(device)), Unsupported);
  TwoNodes willing(open_device("cpu"), 1);
  EXPECT_EQ(note(*transfer_case(willing.info(), copy_of({}, {})).prepare(setup_of(willing)), "near"), "none");
}

TEST(Transfer, HugePagesThatTheMachineDoesNotGiveAreUnsupported) {
  TwoNodes device(open_device("cpu"), {}, {0});
  device.description().why_no_huge_pages.clear();
  TransferPoint point = copy_of({}, {});
  point.huge_pages = true;
  const Case granted = transfer_case(device.info(), point);
  EXPECT_EQ(granted.unsupported, "");
  // An array that is smaller than a huge page gets none, whatever the settings are.
  if (huge_page_share("/", device.allocate_host(point.bytes, {}).get()) == 0.0) {
    EXPECT_THROW(granted.prepare(setup_of(device)), Unsupported) << "the name would say what is not so";
  }
  device.description().why_no_huge_pages = "transparent huge pages are off";
  EXPECT_EQ(transfer_case(device.info(), point).unsupported, "transparent huge pages are off");
  for (const std::optional<bool> wanted : {std::optional<bool>(), std::optional(false)}) {
    point.huge_pages = wanted;
    EXPECT_EQ(transfer_case(device.info(), point).unsupported, "");
    EXPECT_NE(transfer_case(device.info(), point).prepare(setup_of(device)), nullptr);
  }
}

TEST_F(TransferOnAGpu, CopiesFillTheTimeOfTheProductBesideThem) {
  for (const Group& group : list({.device = device_->info(), .suite = SuiteName::contract})) {
    for (const Case& c : group.cases) {
      if (c.operation != "beside_product" || value_of(c.shape, "copies") == "none") continue;
      roofmark::Setup setup = setup_of(*device_);
      EXPECT_EQ(note(*c.prepare(setup), "beside it"), "none") << "nothing times it: " << c.name();
      // Eight copies alone take 0.39 s, the product 1 s, with copies beside it or without.
      int trials = 0;
      setup.time = [&](const std::vector<Launch>& launches) {
        for (const Launch& launch : launches) launch(device_->stream(), 0);
        device_->synchronize();
        return std::vector<double>(launches.size(), trials++ == 0 ? 0.39 : 1.0);
      };
      const auto prepared = c.prepare(setup);
      EXPECT_EQ(note(*prepared, "beside it"), "19 times, one after the other; alone they take 92.6 % of the time of a launch");
      EXPECT_EQ(prepared->verify(0).status, Verification::Status::failed) << "trials left their outputs";
      prepared->launch(device_->stream(), 0);
      device_->synchronize();
      EXPECT_EQ(prepared->verify(0).status, Verification::Status::passed) << c.name();
    }
    if (group.cases.front().operation != "beside_product") continue;
    SoloTeam team;
    Settings settings;
    settings.effort = {
        .max_seconds = 5e-3, .blocks = 2, .gap_seconds = 0, .max_launches = 4, .window_seconds = 1e-3, .warm_up_seconds = 5e-3};
    for (const Record& record : Runner(*device_, team, settings).run(group, 1)) {
      EXPECT_EQ(record.status, Status::ok) << record.name() << ": " << record.reason;
      const bool alone = value_of(record.shape, "copies") == "none";
      std::string beside;
      for (const auto& [key, text] : record.notes) beside += key == "beside it" ? text : "";
      EXPECT_EQ(beside.empty(), alone) << record.name();
      EXPECT_EQ(beside.find("alone they take") == std::string::npos, alone) << "timed: " << beside;
    }
  }
}

TEST(Transfer, AStagingCopyThatCrossesNodesIsSaid) {
  EXPECT_EQ(staging_note(1, 0), "crosses NUMA nodes: at the end the calling thread is on node 1, the memory on node 0");
  EXPECT_THAT(staging_note(1, 1), IsEmpty());
  EXPECT_THAT(staging_note({}, 0), IsEmpty());
  EXPECT_THAT(staging_note(1, {}), IsEmpty());
}

/// The devices of the two ends; "" is the host.
struct WrongByteWay {
  const char *name, *from, *to;
};

class WrongByte : public testing::TestWithParam<WrongByteWay> {
 protected:
  void SetUp() override {
    try {
      for (const char* id : {GetParam().from, GetParam().to}) devices_.push_back(open_device(*id ? id : "cpu"));
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::vector<std::unique_ptr<Device>> devices_;
};

// At the first byte, in the middle and at the last.
TEST_P(WrongByte, IsNamed) {
  constexpr std::size_t kBytes = 100003, kOffset = 1;
  Device &from_device = *devices_.front(), &to_device = *devices_.back();
  const bool from_host = !*GetParam().from, to_host = !*GetParam().to;
  Device& owner = from_host ? to_device : from_device;  // of the host's end
  const auto end = [&](bool host, Device& device) {
    return TransferEnd{!host, {HostMemoryKind::pageable, {}, false}, host ? &owner : &device, false};
  };
  TransferPath path(setup_of(owner, 2), "one way by hand", kBytes, kOffset, end(from_host, from_device),
                    end(to_host, to_device), 0);
  EXPECT_EQ(path.verify(1).status, Verification::Status::failed) << "poisoned";
  const CopyRange range = path.range(1);
  std::vector<unsigned char> bytes(kBytes);
  from_device.to_host(bytes.data(), range.from, kBytes);
  to_device.to_device(range.to, bytes.data(), kBytes);
  EXPECT_EQ(path.verify(1).status, Verification::Status::passed);
  for (const std::size_t at : {std::size_t{0}, kBytes / 2, kBytes - 1}) {
    bytes[at] ^= 1;
    to_device.to_device(range.to, bytes.data(), kBytes);
    const Verification found = path.verify(1);
    EXPECT_EQ(found.status, Verification::Status::failed);
    EXPECT_EQ(found.wrong, 1U);
    EXPECT_EQ(found.detail, "bytes that differ from the generator's; the first is byte " + std::to_string(at) +
                                " of 100003, one way by hand");
    bytes[at] ^= 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, WrongByte,
                         testing::Values(WrongByteWay{"cpu", "", ""}, WrongByteWay{"cuda_in", "", "cuda:0"},
                                         WrongByteWay{"cuda_out", "cuda:0", ""}, WrongByteWay{"cuda_peer", "cuda:0", "cuda:1"},
                                         WrongByteWay{"cuda_from_others", "cuda:2", "cuda:1"}),
                         [](const testing::TestParamInfo<WrongByteWay>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace roofmark::transfer
