// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: the cases of all collectives, on the same made-up fabrics.
#include "bench/families/collectives.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "bench/program/suite.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"
#include "harness/device/cpu_device.hpp"
#include "harness/model/units.hpp"
#include "kernels/base/check.hpp"
#include "tests/bench/fabrics.hpp"

namespace roofmark::collectives {

std::optional<Case> make(const Listing&, const CaseRequest&);

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class CollectiveSuites : public testing::Test {
 protected:
  void make(int hosts, int ranks_per_host, Backend backend) {
    info.backend = backend;
    info.compute_capability = backend == Backend::cuda ? 90 : 0;
    info.memory_bytes = info.free_bytes = std::size_t{130} << 30;
    fabric = made_up_ranks(hosts, ranks_per_host, backend);
  }
  std::vector<Case> cases(SuiteName suite) {
    std::vector<Case> all;
    for (const Group& group : list({info, suite, {}, 0.9, &fabric})) {
      for (const Case& c : group.cases) all.push_back(c);
    }
    return all;
  }

  Case chosen(const std::string& name) {
    return *collectives::make({info, SuiteName::quick, {}, 0.9, &fabric}, CaseRequest(parse_case_name(name)));
  }
  std::string refusal(const std::string& name) {
    try {
      chosen(name);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return {};
  }

  DeviceInfo info;
  Fabric fabric;
};

TEST_F(CollectiveSuites, QuickIsTheAllReduceInEightSizes) {
  make(1, 8, Backend::cuda);
  std::set<std::size_t> sizes;
  for (const Case& c : cases(SuiteName::quick)) {
    EXPECT_EQ(c.family, "all_reduce");
    EXPECT_EQ(c.type, DataType::fp32);
    EXPECT_EQ(c.message->reduction, "sum");
    sizes.insert(c.message->bytes);
  }
  EXPECT_EQ(sizes.size(), 8U);
}

TEST_F(CollectiveSuites, WhatLastsIsAnAllReduceAndAnAllToAllOfAllRanks) {
  const auto lasting = [&] {
    std::vector<std::string> names;
    for (const NamedFamily& family : families()) {
      if (family.reach != Reach::between_ranks) continue;
      for (const Group& group : family.list({info, SuiteName::sustained, {}, 0.9, &fabric})) {
        for (const Case& c : group.cases) {
          if (c.family == "ceilings") continue;
          EXPECT_EQ(c.protocol.seconds, 1) << "equal shares";
          names.push_back(c.name());
        }
      }
    }
    return names;
  };
  make(2, 8, Backend::cuda);
  EXPECT_THAT(lasting(), ElementsAre("sustained/all_reduce/bf16/bytes:1073741824/ranks:16/op:sum/place:out/impl:" + fabric.how,
                                     "sustained/all_to_all/bf16/bytes:1073741824/ranks:16/place:out/impl:" + fabric.how));
  fabric.local.emplace();
  EXPECT_THAT(lasting(), IsEmpty()) << "run loads each GPU";
  make(1, 2, Backend::cpu);
  EXPECT_THAT(lasting(), ElementsAre(StartsWith("sustained/all_reduce/fp32/bytes:4194304/ranks:2/"),
                                     StartsWith("sustained/all_to_all/fp32/bytes:4194304/ranks:2/")));
}

TEST_F(CollectiveSuites, FullHasEveryCollectiveTypeReductionAndSize) {
  make(2, 8, Backend::cuda);
  std::map<std::string, std::set<std::size_t>> sizes;
  std::set<std::string> seen;
  for (const Case& c : cases(SuiteName::full)) {
    seen.insert(c.family + " " + std::string(name(c.type)) + " " + c.message->reduction + " " + c.message->place);
    if (c.message->groups.all().empty()) sizes[c.family].insert(c.message->bytes);
  }
  for (const char* family : {"all_gather", "all_to_all", "gather", "scatter"}) {
    for (const char* type : {"fp32", "fp16", "bf16", "fp8"}) {
      EXPECT_THAT(seen, Contains(std::string(family) + " " + type + "  out"));
    }
  }
  for (const char* family : {"all_reduce", "reduce_scatter", "reduce"}) {
    for (const char* type : {"fp32", "fp16", "bf16", "fp8"}) {
      for (const char* reduction : {"sum", "max", "avg"}) {
        for (const char* place : {"in", "out"}) {
          EXPECT_THAT(seen, Contains(std::string(family) + " " + type + " " + reduction + " " + place));
        }
      }
    }
  }
  for (const Collective op : kCollectives) {
    if (op == Collective::ping_pong) continue;
    EXPECT_GE(sizes[std::string(name(op))].size(), 28U) << name(op);  // 8 B, or what all ranks' chunks make, to 16 GiB
    EXPECT_EQ(*sizes[std::string(name(op))].rbegin(), std::size_t{16} << 30) << name(op);
  }
}

TEST_F(CollectiveSuites, ScalingGroupsPairsAndWaysToCallAreInTheBaseline) {
  make(2, 4, Backend::cuda);
  std::string names;
  std::set<int> ranks;
  std::set<std::pair<int, int>> pairs;
  for (const Case& c : cases(SuiteName::baseline)) {
    names += c.name() + "\n";
    if (c.family == "all_reduce") ranks.insert(c.message->ranks);
    if (c.family != "ping_pong") continue;
    for (const std::vector<int>& pair : c.message->groups.all()) pairs.emplace(pair[0], pair[1]);
  }
  for (const char* part : {"/group:node", "/group:cross", "/group:rail", "/issue:graph", "/buffer:registered",
                           "/buffer:symmetric", "/op:sum/place:in"}) {
    EXPECT_TRUE(names.find(part) != std::string::npos) << part;
  }
  EXPECT_THAT(ranks, testing::IsSupersetOf({1, 2, 4, 8}));
  EXPECT_EQ(pairs.size(), 28U);  // of 8 ranks every two
}

TEST_F(CollectiveSuites, BaselineHasASampleOfThePairsBetweenManyHosts) {
  const auto rounds = [&](SuiteName suite) {
    std::set<std::string> found;
    for (const Case& c : cases(suite)) {
      if (c.family == "ping_pong") found.insert(value_of(c.shape, "round"));
    }
    return found.size();
  };
  make(8, 8, Backend::cuda);
  EXPECT_EQ(rounds(SuiteName::baseline), 63U) << "all";
  make(32, 8, Backend::cuda);
  EXPECT_EQ(rounds(SuiteName::baseline), 7U + 2 * 31U) << "of two whole steps";
  EXPECT_EQ(rounds(SuiteName::full), 255U);
}

// With a thousand ranks a round's pairs are tens of kilobytes, and every process lists thousands of cases.
TEST_F(CollectiveSuites, TheCasesOfARoundShareItsPairs) {
  make(4, 4, Backend::cuda);
  std::map<std::string, std::set<const void*>> pairs;
  std::map<std::string, int> sizes;
  for (const Case& c : cases(SuiteName::full)) {
    if (c.family != "ping_pong") continue;
    pairs[value_of(c.shape, "round")].insert(&c.message->groups.all());
    ++sizes[value_of(c.shape, "round")];
  }
  EXPECT_EQ(pairs.size(), 15U);
  for (const auto& [round, addresses] : pairs) {
    EXPECT_EQ(addresses.size(), 1U) << round;
    EXPECT_GT(sizes[round], 10) << round;
  }
}

// So that what disturbs a network for some seconds does not slow a pair at several sizes; within what is kept of communicators.
TEST_F(CollectiveSuites, OtherRoundsAreBetweenTheSizesOfARound) {
  make(32, 8, Backend::cuda);
  std::map<std::string, std::vector<std::size_t>> places;
  std::size_t place = 0;
  for (const Case& c : cases(SuiteName::baseline)) {
    if (c.family == "ping_pong") places[value_of(c.shape, "round")].push_back(place++);
  }
  int apart = 0;
  for (const auto& [round, all] : places) {
    ASSERT_THAT(all, testing::SizeIs(5));
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_LT(all[i] - all[i - 1], kKeptCommunicators);
      apart += all[i] - all[i - 1] == 8;
    }
  }
  EXPECT_EQ(apart, 4 * 64) << "of 69 rounds, those of whole groups of eight";
}

TEST_F(CollectiveSuites, CountsAndRootsAreThoseOfNcclTests) {
  make(1, 4, Backend::cuda);
  std::set<std::string> rooted;
  for (const Case& c : cases(SuiteName::baseline)) {
    const Message& message = *c.message;
    // all_gather.cu and the like print paramcount, which is of one rank's part.
    const bool of_parts = c.family == "all_gather" || c.family == "reduce_scatter" || c.family == "all_to_all" ||
                          c.family == "gather" || c.family == "scatter";
    EXPECT_EQ(message.count * size_of(c.type) * static_cast<std::size_t>(of_parts ? message.ranks : 1), message.bytes)
        << c.name();
    if (message.root >= 0) rooted.insert(c.family);
  }
  EXPECT_THAT(rooted, testing::ElementsAre("broadcast", "gather", "reduce", "scatter"));
}

// NCCL copies single elements where any pointer of a call is not at a multiple of 16 bytes: a rank's chunk begins at one.
TEST_F(CollectiveSuites, ChunksAreWholePacksForAnyNumberOfRanks) {
  for (const int ranks : {2, 3, 5, 6, 12, 24, 48, 72}) {
    fabric = {};
    make(1, ranks, Backend::cuda);
    std::set<std::pair<std::string, int>> sizes;
    for (const Case& c : cases(SuiteName::baseline)) {
      const std::size_t bytes = c.message->count * size_of(c.type);
      if (bytes >= 16) {
        EXPECT_EQ(bytes % 16, 0U) << c.name();
      }
      if (c.family == "all_gather" && c.type == DataType::bf16 && c.message->ranks == ranks) sizes.emplace(c.name(), bytes);
    }
    EXPECT_GE(sizes.size(), 26U) << ranks;  // of both places
  }
  fabric = {};
  make(1, 3, Backend::cuda);
  std::set<std::size_t> odd;
  for (const Case& c : cases(SuiteName::contract)) {
    if (c.family == "all_to_all" && c.type == DataType::fp32 && c.message->root < 0) odd.insert(c.message->count);
  }
  EXPECT_EQ(odd, (std::set<std::size_t>{1, 2, 333, 1366})) << "the contract verifies any chunk";
}

TEST_F(CollectiveSuites, WithoutAFabricThereAreNone) {
  for (const SuiteName suite : {SuiteName::quick, SuiteName::contract}) {
    EXPECT_TRUE(list({info, suite}).empty());
    EXPECT_TRUE(link_ceilings::list({info, suite}).empty());
  }
}

TEST_F(CollectiveSuites, EverySizeThatExceedsTheMemoryIsListedAsUnsupported) {
  if (!&cuda::collective_data) GTEST_SKIP() << "this build has no CUDA: every case on a GPU is unsupported for that";
  make(1, 2, Backend::cuda);
  info.memory_bytes = info.free_bytes = std::size_t{3} << 30;
  std::set<std::size_t> supported, unsupported;
  for (const Case& c : cases(SuiteName::full)) {
    if (c.family != "all_reduce" || c.message->place != "out") continue;
    (c.unsupported.empty() ? supported : unsupported).insert(c.message->bytes);
    if (c.unsupported.empty()) continue;
    EXPECT_THAT(c.unsupported, testing::HasSubstr(", the device has 3.22 GB")) << c.name();
    if (c.message->bytes == kGiB << 1) {
      EXPECT_THAT(c.unsupported, testing::StartsWith("needs 4.36 GB"));
    }
    EXPECT_FALSE(c.prepare);
  }
  // In and out take twice the size; the verification's doubles are beside them.
  EXPECT_EQ(*supported.rbegin(), std::size_t{1} << 30);
  EXPECT_EQ(unsupported, (std::set{kGiB << 1, kGiB << 2, kGiB << 3, kGiB << 4}));
}

TEST_F(CollectiveSuites, MoreElementsThanTheLibraryCountsAreLeftOut) {
  make(1, 2, Backend::cpu);
  fabric.split = [](const std::vector<int>&) {
    class Counting final : public SilentCommunicator {
      std::size_t most_elements() const override { return 1000; }
    };
    return std::make_shared<Counting>();
  };
  std::size_t most = 0;
  for (const Case& c : cases(SuiteName::full)) most = std::max(most, c.message->count);
  EXPECT_LE(most, 1000U);
  EXPECT_GE(most, 512U);
}

TEST_F(CollectiveSuites, WhatTheLibraryReportsAfterACallIsSeenWithoutVerifyingAnew) {
  class Failing final : public SilentCommunicator {
   public:
    void enqueue(const CollectiveCall&, Stream) override { failed_ = true; }
    void check_health() override {
      if (failed_) throw DeviceError("a peer is gone", true);
    }

   private:
    bool failed_ = false;
  };
  make(1, 1, Backend::cpu);
  fabric.split = [](const std::vector<int>&) { return std::make_shared<Failing>(); };
  const auto device = open_cpu_device();
  const auto prepared = cases(SuiteName::quick).front().prepare({*device, 1, Distribution::normal, 1, {}});
  EXPECT_EQ(prepared->outputs(0).size(), 1U);
  prepared->launch(device->stream(), 0);
  EXPECT_THROW(prepared->outputs(0), DeviceError);
}

TEST_F(CollectiveSuites, AProductAndAnAllReduceTogetherTakeTheMemoryOfBoth) {
  make(1, 2, Backend::cpu);
  const std::vector<Group> groups = overlap::list({info, SuiteName::contract, {}, 0.9, &fabric});
  ASSERT_EQ(groups.size(), 1U);
  const std::vector<Case>& all = groups.front().cases;
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].slot_bytes, all[0].slot_bytes + all[1].slot_bytes);
  EXPECT_EQ(all[2].shared_bytes, all[0].shared_bytes + all[1].shared_bytes);
  EXPECT_GT(all[1].shared_bytes, 0U);
}

// 256 MiB by rings take 1.1 ms over NVLink, 1.3 ms over 8 ports of 50 GB/s, 10 ms over one; a product of 8192 takes 1.6 ms, one
// of 16384 12.6 ms.
TEST_F(CollectiveSuites, TheProductIsAsLongAsTheAllReduceThatItHides) {
  const auto listed = [&](int hosts, std::size_t ports, double port) {
    make(hosts, 8, Backend::cuda);
    for (RankInfo& member : fabric.members) {
      member.nvlink_source = "18 links";
      member.nics.assign(ports, {"mlx5", "InfiniBand", port, {}});
    }
    const std::vector<Group> groups = overlap::list({info, SuiteName::baseline, {}, 0.9, &fabric});
    const Shape& shape = groups.at(0).cases.at(2).shape;
    return std::pair(value_of(shape, "m"), value_of(shape, "bytes"));
  };
  const std::string all = std::to_string(256 * kMiB);
  EXPECT_EQ(listed(1, 0, 0), std::pair(std::string("8192"), all));
  EXPECT_EQ(listed(2, 8, 50e9), std::pair(std::string("8192"), all));
  EXPECT_EQ(listed(2, 1, 50e9), std::pair(std::string("16384"), all));
  EXPECT_EQ(listed(2, 1, 12.5e9), std::pair(std::string("16384"), std::to_string(64 * kMiB)));
  EXPECT_EQ(listed(2, 1, 1.25e9), std::pair(std::string("16384"), std::to_string(32 * kMiB))) << "that is all it can hide";
}

TEST_F(CollectiveSuites, NothingIsListedTwice) {
  make(2, 3, Backend::cpu);
  for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline, SuiteName::full}) {
    std::set<std::string> names;
    for (const Case& c : cases(suite)) EXPECT_TRUE(names.insert(c.name()).second) << c.name();
  }
}

TEST_F(CollectiveSuites, AnOddRankRestsInEachRound) {
  make(1, 3, Backend::cpu);
  std::set<std::pair<int, int>> pairs;
  for (const Case& c : cases(SuiteName::baseline)) {
    if (c.family != "ping_pong") continue;
    ASSERT_EQ(c.message->groups.all().size(), 1U);
    pairs.emplace(c.message->groups.all()[0][0], c.message->groups.all()[0][1]);
  }
  EXPECT_EQ(pairs, (std::set<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 2}}));
}

// A slow link is named by two sizes that depend on its rate; over NVLink 1 MiB is a matter of latency.
TEST_F(CollectiveSuites, PairsOfGpusHaveTwoLargeSizes) {
  make(1, 8, Backend::cuda);
  std::set<std::size_t> sizes;
  for (const Case& c : cases(SuiteName::baseline)) {
    if (c.family == "ping_pong") sizes.insert(c.message->bytes);
  }
  EXPECT_THAT(sizes, testing::ElementsAre(8, 64 << 10, 1 << 20, 32 << 20, 64 << 20));
}

/// Bytes on a resource, without what its switches can save.
double unavoidable(const Case& c, const Resource& resource) {
  double bytes = 0;
  for (const Phase& phase : c.work.phases) {
    for (const Demand& demand : phase) bytes += demand.resource.id == resource.id ? demand.amount - demand.avoidable : 0;
  }
  return bytes;
}

TEST_F(CollectiveSuites, ReducedInTheSwitchLessIsOnTheWire) {
  make(1, 8, Backend::cuda);
  for (const Case& c : cases(SuiteName::quick)) {
    EXPECT_DOUBLE_EQ(c.work.total(resource::nvlink), static_cast<double>(c.message->bytes) * 1.75);
    EXPECT_DOUBLE_EQ(unavoidable(c, resource::nvlink), static_cast<double>(c.message->bytes) * 1.125);
  }
  info.compute_capability = 80;  // its NVSwitch only forwards
  for (const Case& c : cases(SuiteName::quick)) {
    EXPECT_DOUBLE_EQ(unavoidable(c, resource::nvlink), static_cast<double>(c.message->bytes) * 1.75);
  }
}

// 8 GPUs that NVLink bridges connect two and two: a ring of all crosses PCIe between the pairs.
TEST_F(CollectiveSuites, GpusThatAreBridgedInPairsAreBoundByPcie) {
  make(1, 8, Backend::cuda);
  info.compute_capability = 80;
  for (RankInfo& member : fabric.members) {
    member.pci_bus_id = "0000:0" + std::to_string(member.rank) + ":00.0";
    member.nvlink_peers = {"0000:0" + std::to_string(member.rank ^ 1) + ":00.0"};
    member.pcie_bytes_per_second = 31.5e9;
  }
  for (const Case& c : cases(SuiteName::quick)) {
    EXPECT_EQ(c.work.total(resource::nvlink), 0) << c.name();
    EXPECT_DOUBLE_EQ(c.work.total(resource::pcie), static_cast<double>(c.message->bytes) * 1.75) << "a ring's: " << c.name();
    // Four pairs exchange their sums over the links of both GPUs.
    EXPECT_DOUBLE_EQ(unavoidable(c, resource::pcie), static_cast<double>(c.message->bytes) * 1.5 / 2) << c.name();
  }
  int pairs = 0;
  for (const Case& c : cases(SuiteName::baseline)) {
    if (c.message->ranks == 2 && c.family == "all_reduce") {
      EXPECT_GT(c.work.total(resource::nvlink), 0) << c.name();
    }
    if (c.family != "ping_pong") continue;
    ++pairs;
    const auto& groups = c.message->groups.all();
    const bool bridged = std::all_of(groups.begin(), groups.end(), [](const auto& pair) { return pair[0] == (pair[1] ^ 1); });
    EXPECT_EQ(c.work.total(resource::nvlink) > 0, bridged) << c.name();
    EXPECT_EQ(c.work.total(resource::pcie) > 0, !bridged) << c.name();
  }
  EXPECT_GT(pairs, 0);
  std::map<std::string, std::vector<std::vector<int>>> probed;
  for (const Group& group : link_ceilings::list({info, SuiteName::quick, {}, 0.9, &fabric})) {
    const Case& c = group.cases.front();
    probed[c.operation] = c.message->groups.all();
  }
  EXPECT_EQ(probed.size(), 2U);
  EXPECT_EQ(probed["nvlink"], (std::vector<std::vector<int>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_TRUE(probed.contains("pcie"));
}

// 64 GPUs whose network reduces between the hosts: more than the ports of a host carry is possible by a ring's count alone.
TEST_F(CollectiveSuites, InNetworkReductionBetweenHostsIsWithinThePortsOfAHost) {
  make(8, 8, Backend::cuda);
  for (RankInfo& member : fabric.members) member.nics.assign(8, {"mlx5", "InfiniBand", 50e9, {}});
  const double ports = *theoretical_links(fabric.members).find(resource::network)->theoretical;
  EXPECT_DOUBLE_EQ(ports, 400e9);
  for (const Case& c : cases(SuiteName::quick)) {
    const double seconds = static_cast<double>(c.message->bytes) * c.message->bus_factor / 480e9;
    EXPECT_GT(c.work.total(resource::network) / seconds, ports) << c.name();
    EXPECT_LT(unavoidable(c, resource::network) / seconds, ports) << c.name();
    EXPECT_LT(unavoidable(c, resource::nvlink) / seconds, 450e9) << c.name();
  }
}

TEST_F(CollectiveSuites, AnNvlinkDomainOfManyHostsCrossesNoNetwork) {
  make(18, 4, Backend::cuda);
  for (RankInfo& member : fabric.members) {
    member.nvlink_domain = "8f6a3c1e-0000-4000-8000-000000000001/32766";
    member.nics.assign(4, {"mlx5", "InfiniBand", 50e9, {}});
  }
  EXPECT_FALSE(theoretical_links(fabric.members).find(resource::network));
  for (const Group& group : link_ceilings::list({info, SuiteName::quick, {}, 0.9, &fabric})) {
    EXPECT_EQ(group.cases.front().operation, resource::nvlink.id);
    EXPECT_EQ(group.cases.front().message->ranks, 72);
  }
  for (const Case& c : cases(SuiteName::quick)) {
    EXPECT_EQ(c.work.total(resource::network), 0) << c.name();
    EXPECT_DOUBLE_EQ(c.work.total(resource::nvlink), static_cast<double>(c.message->bytes) * 2 * 71 / 72) << c.name();
  }
}

TEST_F(CollectiveSuites, TheNetworkProbeLinksEqualPlacesOfNvlinkDomains) {
  make(4, 2, Backend::cuda);
  for (RankInfo& member : fabric.members) member.nvlink_domain = member.rank < 4 ? "a/1" : "b/1";
  std::set<std::string> probed;
  for (const Group& group : link_ceilings::list({info, SuiteName::quick, {}, 0.9, &fabric})) {
    const Case& c = group.cases.front();
    probed.insert(c.operation);
    if (c.operation != resource::network.id) continue;
    EXPECT_EQ(c.message->groups.all(), (std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
    EXPECT_DOUBLE_EQ(c.work.total(resource::network), 2.0 * static_cast<double>(c.message->bytes));  // of a host's two ranks
  }
  EXPECT_THAT(probed, testing::ElementsAre("network", "network_of_rank", "nvlink"));
}

// The probes have all ranks send and receive at once, of `network_of_rank` one per host.
TEST_F(CollectiveSuites, WhatLoadsALinkLessThanItsProbeMayExceedIt) {
  make(2, 4, Backend::cuda);
  std::map<std::string, std::set<bool>> lighter;
  for (const Case& c : cases(SuiteName::full)) {
    const std::string group = value_of(c.shape, "group");
    const std::string ranks =
        group.empty() && c.family != "ping_pong"
            ? fmt::format("/{}{}", c.message->ranks, value_of(c.shape, "imbalance").empty() ? "" : "uneven")
            : "";
    for (const Phase& phase : c.work.phases) {
      for (const Demand& demand : phase) lighter[c.family + ranks + group].insert(demand.lighter);
    }
  }
  for (const char* same : {"all_reduce/8", "all_gather/8", "reduce_scatter/8", "all_to_all/8", "send_recv/8", "all_reducenode",
                           "all_reducerail", "all_reducecross"}) {
    EXPECT_EQ(lighter[same], std::set{false}) << same;
  }
  for (const char* less : {"ping_pong", "all_reduce/2", "all_reduce/4", "all_gather/4", "broadcast/8", "gather/8", "reduce/8",
                           "all_to_all/8uneven"}) {
    EXPECT_EQ(lighter[less], std::set{true}) << less;
  }
  for (const Group& group : link_ceilings::list({info, SuiteName::full, {}, 0.9, &fabric})) {
    for (const Case& c : group.cases) EXPECT_FALSE(c.work.phases.front().front().lighter) << c.name();
  }
}

// A ring takes more than the least only where several hosts have several ranks each, and only all ranks use all ports.
TEST_F(CollectiveSuites, RingsOfAllRanksOverSeveralHostsHaveATimeOfTheirOwn) {
  make(2, 6, Backend::cuda);  // the first 8 are on both hosts
  std::set<std::string> with;
  for (const Case& c : cases(SuiteName::full)) {
    const Work& ring = c.message->ring;
    if (ring.phases.empty()) continue;
    with.insert(c.family);
    EXPECT_TRUE(c.message->groups.all().empty()) << c.name();
    const double carried = static_cast<double>(c.message->bytes) * c.message->bus_factor;
    EXPECT_DOUBLE_EQ(ring.total(resource::nvlink), carried) << c.name();
    EXPECT_DOUBLE_EQ(ring.total(resource::network), carried) << c.name();
  }
  EXPECT_THAT(with, testing::ElementsAre("all_gather", "all_reduce", "reduce_scatter"));
  for (const auto& [hosts, ranks] : {std::pair{1, 8}, {8, 1}}) {
    make(hosts, ranks, Backend::cuda);
    for (const Case& c : cases(SuiteName::full)) EXPECT_TRUE(c.message->ring.phases.empty()) << c.name();
  }
}

TEST_F(CollectiveSuites, AnImbalancedAllToAllSendsAMultipleOfTheAverage) {
  make(1, 8, Backend::cuda);
  const Case even = chosen("all_to_all/bf16/bytes:8388608"), same = chosen("all_to_all/bf16/bytes:8388608/imbalance:1"),
             uneven = chosen("all_to_all/bf16/bytes:8388608/imbalance:3/root:5");
  EXPECT_EQ(same.name(), even.name());
  // 5/56 of each rank's 8 MiB to each other rank, in whole packs of 16 bytes, and 3/8 to rank 5, with what that leaves.
  const std::size_t to_others = 5 * 1048576 / 7 / 16 * 16, to_root = 8388608 - 7 * to_others;
  EXPECT_LT(to_root - 3 * 1048576, 7U * 16);
  EXPECT_EQ(uneven.name(), "all_to_all/bf16/bytes:8388608/ranks:8/imbalance:3/root:5/place:out/impl:nccl");
  EXPECT_EQ(uneven.message->root, 5);
  EXPECT_EQ(uneven.message->count, to_others / 2);
  EXPECT_DOUBLE_EQ(uneven.message->bus_factor * static_cast<double>(uneven.message->bytes), 7.0 * to_root);
  ASSERT_EQ(uneven.work.phases.size(), 1U);
  EXPECT_NEAR(uneven.work.phases[0].at(0).amount, 7.0 * to_root, 1) << "what the root receives";
  EXPECT_TRUE(uneven.work.phases[0].at(0).lighter) << "the others' links are idle meanwhile";
  EXPECT_NEAR(static_cast<double>(uneven.slot_bytes), static_cast<double>(uneven.message->bytes + 8 * to_root), 256)
      << "of the root";
  for (const std::size_t bytes : {2, 16, 100, 1000}) {
    const Case tiny = chosen(fmt::format("all_to_all/bf16/bytes:{}/imbalance:7", bytes));
    EXPECT_GT(tiny.message->count, 0U) << bytes;
  }

  EXPECT_EQ(refusal("all_to_all/bf16/bytes:1024/imbalance:8"), "imbalance:8 is not a whole number from 1 to 7");
  EXPECT_EQ(refusal("all_to_all/bf16/bytes:1024/imbalance:3/group:div_2"), "imbalance:3 is not a whole number from 1 to 1");
  EXPECT_THAT(refusal("all_to_all/bf16/bytes:1024/imbalance:2/root:8"), StartsWith("root:8 is not a whole number from 0 to 7"));
  EXPECT_EQ(refusal("all_reduce/bf16/bytes:1024/imbalance:2"), "only all_to_all has an imbalance");
  std::set<std::string> imbalances;
  for (const Case& c : cases(SuiteName::full)) {
    if (c.message && c.name().find("/imbalance:") != std::string::npos)
      imbalances.insert(c.name().substr(c.name().find("imbalance:"), 11));
  }
  EXPECT_THAT(imbalances, ElementsAre("imbalance:2", "imbalance:4"));
}

TEST_F(CollectiveSuites, AnImbalancedAllToAllOfMoreElementsThanTheLibraryCountsIsUnsupported) {
  class Counting final : public SilentCommunicator {
    std::size_t most_elements() const override { return 1000; }
  };
  make(1, 4, Backend::cpu);
  fabric.split = [](const std::vector<int>&) { return std::make_shared<Counting>(); };
  EXPECT_EQ(chosen("all_to_all/fp32/bytes:1920/imbalance:2").unsupported, "") << "4 x 240 elements";
  EXPECT_EQ(chosen("all_to_all/fp32/bytes:2048/imbalance:2").unsupported,
            "silent has no all_to_all of more than 1000 elements");
}

// A window is of one size on all ranks, and its parts are used at the same places.
TEST_F(CollectiveSuites, RegisteredBuffersAreAlikeOnAllRanks) {
  struct Given {
    std::size_t bytes = 0;
    const std::byte* memory = nullptr;
    CollectiveCall call;
  };
  class One final : public SilentCommunicator {
   public:
    One(int rank, Given& given) : rank_(rank), given_(given) {}
    int size() const override { return 3; }
    int rank() const override { return rank_; }
    void enqueue(const CollectiveCall& call, Stream) override { given_.call = call; }
    std::unique_ptr<void, std::function<void(void*)>> allocate(std::size_t bytes, Buffer) override {
      auto* memory = new std::byte[bytes];
      given_.bytes = bytes;
      given_.memory = memory;
      return {memory, [](void* all) { delete[] static_cast<std::byte*>(all); }};
    }

   private:
    int rank_;
    Given& given_;
  };
  make(1, 3, Backend::cpu);
  const auto device = open_cpu_device();
  for (const char* name : {"broadcast/fp32/bytes:960", "reduce/fp32/bytes:960", "gather/fp32/bytes:960",
                           "scatter/fp32/bytes:960", "all_to_all/fp32/bytes:960/imbalance:2"}) {
    for (const char* buffer : {"registered", "symmetric"}) {
      std::set<std::size_t> sizes;
      std::set<std::ptrdiff_t> inputs, outputs;
      for (int rank = 0; rank < 3; ++rank) {
        Given given;
        fabric.rank = rank;
        fabric.split = [&](const std::vector<int>&) { return std::make_shared<One>(rank, given); };
        const auto prepared =
            chosen(fmt::format("{}/root:1/buffer:{}", name, buffer)).prepare({*device, 2, Distribution::normal, 1, {}});
        prepared->launch(device->stream(), 1);
        sizes.insert(given.bytes);
        inputs.insert(static_cast<const std::byte*>(given.call.in) - given.memory);
        outputs.insert(static_cast<const std::byte*>(given.call.out) - given.memory);
      }
      EXPECT_EQ(sizes.size(), 1U) << name << " " << buffer;
      EXPECT_EQ(inputs.size(), 1U) << name << " " << buffer;
      EXPECT_EQ(outputs.size(), 1U) << name << " " << buffer;
    }
  }
}

using Groups = std::vector<std::vector<int>>;

TEST_F(CollectiveSuites, GroupsOfAnySizeAreThoseOfNcclTestsSplit) {
  make(1, 8, Backend::cuda);
  const Case tensor = chosen("all_reduce/bf16/bytes:67108864/group:div_4"),
             data = chosen("all_reduce/bf16/bytes:67108864/group:mod_4");
  EXPECT_EQ(tensor.name(), "all_reduce/bf16/bytes:67108864/ranks:4/op:sum/place:out/group:div_4/impl:nccl");
  EXPECT_EQ(tensor.message->groups.all(), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(data.name(), "all_reduce/bf16/bytes:67108864/ranks:2/op:sum/place:out/group:mod_4/impl:nccl");
  EXPECT_EQ(data.message->groups.all(), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(chosen(tensor.name()).name(), tensor.name());
  EXPECT_EQ(chosen("all_gather/bf16/bytes:1048576/group:div_8").message->ranks, 8);
  EXPECT_EQ(chosen("broadcast/bf16/bytes:1048576/root:3/group:div_4").message->root, 3);
  fabric = made_up_gpus(4);
  EXPECT_EQ(chosen("all_reduce/fp32/bytes:1048576/group:div_2").message->groups.all(), (Groups{{0, 1}, {2, 3}}))
      << "of one process";
}

TEST_F(CollectiveSuites, GroupsThatRanksDoNotFormAreRefused) {
  make(1, 6, Backend::cpu);
  const auto why = [&](const std::string& group) { return refusal("all_reduce/fp32/bytes:1024/group:" + group); };
  EXPECT_EQ(why("div_4"), "group:div_4: 6 ranks are no whole groups of 4");
  EXPECT_EQ(why("mod_4"), "group:mod_4: 6 ranks are no whole groups by remainders of 4");
  EXPECT_EQ(why("div_12"), "group:div_12: 6 ranks are no whole groups of 12");
  for (const char* alone : {"div_1", "mod_6"}) {
    EXPECT_EQ(why(alone), fmt::format("group:{}: a group of one rank communicates with nobody", alone));
  }
  for (const char* unknown : {"node", "div_", "div_0", "mod_-2", "div_02", "div_2x", "div_99999999999", "every_2", "x"}) {
    EXPECT_THAT(why(unknown), StartsWith(fmt::format("group:{}: these ranks form no such group: node, cross", unknown)));
  }
  for (const char* known : {"div_2", "div_3", "div_6", "mod_1", "mod_2", "mod_3"}) EXPECT_EQ(why(known), "");
  EXPECT_EQ(refusal("all_reduce/fp32/bytes:1024/ranks:6/group:div_2"), "these groups are of 2 ranks");
  EXPECT_EQ(refusal("ping_pong/int8/bytes:8/round:0/group:div_2"), "ping_pong has rounds of pairs, and no groups");
}

TEST_F(CollectiveSuites, APairAlone) {
  make(2, 3, Backend::cpu);
  const Case pair = chosen("ping_pong/int8/bytes:64/from:4/to:1");
  EXPECT_EQ(pair.name(), "ping_pong/int8/bytes:64/ranks:2/from:1/to:4/impl:mpi") << "the lower rank begins";
  EXPECT_EQ(pair.message->groups.all(), (Groups{{1, 4}}));
  EXPECT_EQ(pair.message->trips, 2);
  EXPECT_EQ(refusal("ping_pong/int8/bytes:64/from:4"), "a pair has two ranks: from:A/to:B");
  EXPECT_EQ(refusal("ping_pong/int8/bytes:64/from:4/to:4"), "from and to are the same rank");
  EXPECT_EQ(refusal("ping_pong/int8/bytes:64/from:4/to:6"), "to:6 is not a whole number from 0 to 5");
  EXPECT_EQ(refusal("ping_pong/int8/bytes:64/from:4/to:1/round:0"), "name a round or a pair, not both");
  EXPECT_EQ(refusal("all_reduce/fp32/bytes:64/from:4/to:1"), "only ping_pong has rounds and pairs");
}

// As other families say it of a type that their device has no operation for.
TEST_F(CollectiveSuites, WhatTheLibraryLacksIsUnsupported) {
  class Mpi final : public SilentCommunicator {
    bool supports(Collective, DataType type, Reduction) const override { return type == DataType::fp32; }
  };
  make(1, 2, Backend::cpu);
  fabric.split = [](const std::vector<int>&) { return std::make_shared<Mpi>(); };
  const Case half = chosen("all_reduce/bf16/bytes:1024/op:max");
  EXPECT_EQ(half.name(), "all_reduce/bf16/bytes:1024/ranks:2/op:max/place:out/impl:mpi");
  EXPECT_EQ(half.unsupported, "silent has no all_reduce by max of bf16");
  EXPECT_EQ(chosen("all_reduce/fp32/bytes:1024").unsupported, "");
  const Case inside = chosen("all_to_all/fp32/bytes:1024/place:in");
  EXPECT_EQ(inside.name(), "all_to_all/fp32/bytes:1024/ranks:2/place:in/impl:mpi");
  EXPECT_EQ(inside.unsupported, "silent has no all_to_all in place");
  EXPECT_EQ(chosen("all_to_all/fp32/bytes:1024").unsupported, "");
}

/// The bytes of a case on each resource; of what it loads less than the probe, negative.
std::map<std::string_view, double> loads(const Case& c) {
  std::map<std::string_view, double> bytes;
  for (const Demand& demand : c.work.phases.at(0)) bytes[demand.resource.id] = demand.amount * (demand.lighter ? -1 : 1);
  return bytes;
}

TEST_F(CollectiveSuites, TheRoofOfGroupsIsThatOfTheLinksTheyCross) {
  using testing::Pair;
  const auto of = [&](const std::string& group) { return loads(chosen("all_reduce/fp32/bytes:1200/group:" + group)); };
  make(1, 8, Backend::cuda);
  EXPECT_THAT(of("div_4"), ElementsAre(Pair("nvlink", 1800)));  // 2 (m-1)/m
  EXPECT_THAT(of("mod_4"), ElementsAre(Pair("nvlink", 1200)));
  make(2, 4, Backend::cuda);
  EXPECT_THAT(of("div_4"), ElementsAre(Pair("nvlink", 1800))) << "a host each";
  EXPECT_THAT(of("mod_4"), ElementsAre(Pair("network", 4 * 1200))) << "four groups share the ports of a host";
  EXPECT_THAT(of("mod_2"), ElementsAre(Pair("network", 2 * 1200), Pair("nvlink", 1200)));
  make(3, 4, Backend::cuda);
  EXPECT_THAT(of("div_6"), ElementsAre(Pair("network", 2 * 1200), Pair("nvlink", 1800))) << "both cross the second host";
  // Without NVLink the ways of two neighbours and of a ring of all may differ.
  make(2, 4, Backend::cuda);
  for (RankInfo& member : fabric.members) member.nvlink_bytes_per_second.reset();
  EXPECT_THAT(of("div_2"), ElementsAre(Pair("pcie", -1200)));
  EXPECT_THAT(of("div_4"), ElementsAre(Pair("pcie", 1800))) << "all ranks of a host, as in the probe";
  make(1, 4, Backend::cpu);
  EXPECT_THAT(of("mod_2"), ElementsAre(Pair("interprocess", -1200)));
  // GPUs that NVLink bridges in pairs.
  make(1, 4, Backend::cuda);
  for (RankInfo& member : fabric.members) {
    member.pci_bus_id = "0000:0" + std::to_string(member.rank) + ":00.0";
    member.nvlink_peers = {"0000:0" + std::to_string(member.rank ^ 1) + ":00.0"};
  }
  EXPECT_THAT(of("div_2"), ElementsAre(Pair("nvlink", 1200)));
  EXPECT_THAT(of("mod_2"), ElementsAre(Pair("pcie", -1200)));
}

// All ranks of a host carry more than one does: eight rails, and one rank per host has one of them.
TEST_F(CollectiveSuites, OneRankPerHostIsHeldAgainstWhatOneHas) {
  make(2, 4, Backend::cuda);
  std::map<std::string, std::set<std::string>> bound;
  for (const Case& c : cases(SuiteName::baseline)) {
    for (const Phase& phase : c.work.phases) {
      for (const Demand& demand : phase) {
        if (c.name().find("/group:cross") != std::string::npos) bound["cross"].emplace(demand.resource.id);
        if (c.name().find("/group:rail") != std::string::npos) bound["rail"].emplace(demand.resource.id);
      }
    }
  }
  EXPECT_THAT(bound["cross"], testing::ElementsAre("network_of_rank"));
  EXPECT_THAT(bound["rail"], testing::ElementsAre("network"));
  const auto probes = [&](SuiteName suite) {
    std::map<std::string, std::vector<std::vector<int>>> probed;
    for (const Group& group : link_ceilings::list({info, suite, {}, 0.9, &fabric})) {
      probed[group.cases.front().operation] = group.cases.front().message->groups.all();
    }
    return probed;
  };
  EXPECT_EQ(probes(SuiteName::baseline)["network_of_rank"], (std::vector<std::vector<int>>{{0, 4}}));
  EXPECT_EQ(probes(SuiteName::baseline)["network"].size(), 4U);
  EXPECT_TRUE(probes(SuiteName::quick).contains("network_of_rank")) << "a case chosen by name may need it";
  fabric = {};
  make(8, 1, Backend::cuda);
  EXPECT_FALSE(probes(SuiteName::baseline).contains("network_of_rank")) << "the ranks of a host are one";
}

// The size of an all-reduce is each rank's buffer.
TEST_F(CollectiveSuites, AllReducesScaleAtTheSameSize) {
  make(1, 8, Backend::cuda);
  std::map<std::string, std::map<int, std::set<std::size_t>>> sizes;
  for (const Case& c : cases(SuiteName::full)) {
    if (c.message->ranks == 2 || c.message->ranks == 4) {
      if (c.message->groups.all().size() == 1 && c.type == DataType::fp32)
        sizes[c.family][c.message->ranks].insert(c.message->bytes);
    }
  }
  constexpr std::size_t kMi = std::size_t{1} << 20;
  for (const int ranks : {2, 4}) EXPECT_EQ(sizes["all_reduce"][ranks], (std::set{kMi, 64 * kMi})) << ranks;
  EXPECT_EQ(sizes["all_gather"][4], (std::set{kMi, 64 * kMi, 256 * kMi}));
}

TEST_F(CollectiveSuites, RanksThatShareAGpuHaveNoLink) {
  make(1, 4, Backend::cuda);
  const auto probes = [&] { return link_ceilings::list({info, SuiteName::quick, {}, 0.9, &fabric}).size(); };
  EXPECT_GT(probes(), 0U);
  fabric.members[3].uuid = fabric.members[1].uuid;
  EXPECT_EQ(probes(), 0U);
  for (const Case& c : cases(SuiteName::baseline)) {
    EXPECT_TRUE(c.work.phases.empty()) << c.name();
  }
  const std::vector<Group> beside = overlap::list({info, SuiteName::baseline, {}, 0.9, &fabric});
  ASSERT_EQ(beside.size(), 1U);
  EXPECT_EQ(beside.front().cases.back().work.total(resource::nvlink), 0);
}

TEST_F(CollectiveSuites, RanksThatShareAGpuSpeakToOtherHostsOverTheNetwork) {
  make(2, 2, Backend::cuda);
  fabric.members[1].uuid = fabric.members[0].uuid;
  for (const Group& group : link_ceilings::list({info, SuiteName::quick, {}, 0.9, &fabric})) {
    EXPECT_THAT(group.cases.front().operation, testing::StartsWith("network"));
  }
  for (const Case& c : cases(SuiteName::quick)) {
    EXPECT_DOUBLE_EQ(c.work.total(resource::network), static_cast<double>(c.message->bytes));
    EXPECT_EQ(c.work.total(resource::nvlink), 0);
  }
}

/// All-reduces over ranks of this process, on host memory. One rank's last element may become wrong.
class RankOfProcess final : public SilentCommunicator {
 public:
  RankOfProcess(int size, int rank) : size_(size), rank_(rank) {}
  int size() const override { return size_; }
  int rank() const override { return rank_; }

  static void enqueue_all(const std::vector<RankCall>& calls, int wrong_rank) {
    const std::size_t count = calls.front().call.chunk;
    std::vector<float> sum(count);
    for (const auto& [communicator, call] : calls) {
      for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<const float*>(call.in)[i];
    }
    for (const auto& [communicator, call] : calls) {
      auto* out = static_cast<float*>(call.out);
      std::copy(sum.begin(), sum.end(), out);
      if (communicator->rank() == wrong_rank) out[count - 1] += 1;
    }
  }

 private:
  int size_, rank_;
};

/// The GPUs of one process, as CPU devices.
class CollectivesOfAProcess : public CollectiveSuites {
 protected:
  void SetUp() override {
    make(1, 3, Backend::cuda);
    for (RankInfo& member : fabric.members) member.device_id = "cuda:" + std::to_string(member.rank);
    fabric.split = nullptr;
    fabric.local =
        LocalRanks{[this](int rank) -> Device& { return *devices.at(static_cast<std::size_t>(rank)); },
                   [](int, int) { return PeerPath(); },
                   [this](const std::vector<int>& colours) {
                     ++connections;
                     std::vector<std::shared_ptr<Communicator>> all;
                     const auto size = static_cast<int>(colours.size());
                     for (int r = 0; r < size; ++r) all.push_back(std::make_shared<RankOfProcess>(size, r));
                     return all;
                   },
                   [this](const std::vector<RankCall>& calls, Stream) { RankOfProcess::enqueue_all(calls, wrong_rank); }};
    for (int rank = 0; rank < 3; ++rank) devices.push_back(open_cpu_device());
  }

  std::vector<std::unique_ptr<Device>> devices;
  int connections = 0, wrong_rank = -1;
};

TEST_F(CollectivesOfAProcess, AreTheAllReduceAloneAndListedWithoutConnecting) {
  std::map<SuiteName, std::set<std::string>> names;
  for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline, SuiteName::full}) {
    for (const Case& c : cases(suite)) {
      EXPECT_EQ(c.family, "all_reduce");
      EXPECT_EQ(c.work.total(resource::nvlink), static_cast<double>(c.message->bytes) * 4 / 3) << c.name();
      names[suite].insert(c.name());
    }
  }
  EXPECT_EQ(names[SuiteName::quick].size(), 8U);
  EXPECT_EQ(names[SuiteName::baseline].size(), 2 * 16U);
  EXPECT_EQ(names[SuiteName::full].size(), 2 * 32U + 2 * 16U + 2 * 8U);
  EXPECT_THAT(names[SuiteName::quick], Contains("all_reduce/fp32/bytes:8/ranks:3/op:sum/place:out/impl:nccl"));
  EXPECT_THAT(names[SuiteName::full], Contains("all_reduce/fp32/bytes:17179869184/ranks:3/op:sum/place:in/impl:nccl"));
  EXPECT_THAT(names[SuiteName::full], Contains("all_reduce/fp32/bytes:2147483648/ranks:3/op:avg/place:out/impl:nccl"));
  EXPECT_FALSE(link_ceilings::list({info, SuiteName::quick, {}, 0.9, &fabric}).empty());
  EXPECT_EQ(connections, 0);
}

TEST_F(CollectivesOfAProcess, LargeSizesAreNotBoundByIssuing) {
  info.backend = Backend::cpu;
  fabric.how = "mpi";
  for (const Case& one : cases(SuiteName::quick)) {
    if (one.message->bytes < (std::size_t{1} << 20) || one.message->bytes > (std::size_t{8} << 20)) continue;
    const auto notes = one.prepare({*devices[0], 1, Distribution::normal, 1, {}})->notes();
    for (const auto& [key, text] : notes) EXPECT_NE(key, kSmallSizesNote) << one.name();
  }
}

TEST_F(CollectivesOfAProcess, EveryRankIsVerifiedAndTheWrongOneIsNamed) {
  info.backend = Backend::cpu;
  fabric.how = "mpi";
  Case c;
  for (const Case& one : cases(SuiteName::quick)) {
    if (one.message->bytes == 1024) c = one;
  }
  ASSERT_TRUE(c.prepare);
  const auto prepared = c.prepare({*devices[0], 2, Distribution::normal, 1, {}});
  using Status = Verification::Status;
  const auto launched = [&] {
    prepared->reset(1);
    prepared->launch(devices[0]->stream(), 1);
    return prepared->verify(1);
  };
  EXPECT_EQ(prepared->verify(1).status, Status::failed) << "before a launch";
  EXPECT_EQ(launched().status, Status::passed);
  EXPECT_EQ(prepared->verify(0).status, Status::failed) << "a slot that was not launched";
  wrong_rank = 2;
  const Verification found = launched();
  EXPECT_EQ(found.status, Status::failed);
  EXPECT_EQ(found.wrong, 1U);
  EXPECT_THAT(found.detail, testing::StartsWith("cuda:2: 1 of 256 elements are wrong; element 255 of its output is "));
  const auto notes = prepared->notes();
  ASSERT_EQ(notes.back().first, kSmallSizesNote);
  EXPECT_THAT(notes.back().second, testing::StartsWith("one host thread issues the calls of all 3 GPUs one after the other"));
  // The bits of the first rank alone do not stand for all.
  EXPECT_FALSE(prepared->outputs_are_all());
  EXPECT_EQ(prepared->outputs(1).size(), 1U);
}

}  // namespace
}  // namespace roofmark::collectives
