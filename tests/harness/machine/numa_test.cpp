// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/numa.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "harness/machine/facts.hpp"
#include "kernels/base/check.hpp"
#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

using testing::AnyOfArray;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr std::size_t kPages = 64;
const auto kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

/// Pages that nobody has touched.
class Pages : public testing::Test {
 protected:
  ~Pages() override { munmap(data_, kPages * kPage); }
  void* data_ = mmap(nullptr, kPages* kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

TEST(Numa, NodesOfMemoryAlone) {
  const FakeRoot fake;
  EXPECT_THAT(nodes_with_memory(fake.root), IsEmpty());
  fake.put("sys/devices/system/node/online", "0-3");
  EXPECT_THAT(nodes_with_memory(fake.root), ElementsAre(0, 1, 2, 3));
  fake.put("sys/devices/system/node/has_memory", "0,2");
  fake.put("sys/devices/system/node/node0/cpulist", "0-1,4");
  fake.put("sys/devices/system/node/node2/cpulist", "");
  EXPECT_THAT(nodes_with_memory(fake.root), ElementsAre(0, 2));
  EXPECT_THAT(cpus_of_node(0, fake.root), ElementsAre(0, 1, 4));
  EXPECT_THAT(cpus_of_node(2, fake.root), IsEmpty());
  EXPECT_THAT(cpus_of_node(7, fake.root), IsEmpty());
  EXPECT_THAT(nodes_of_cpus({4, 7}, fake.root), ElementsAre(0));
  fake.put("sys/devices/system/node/node3/cpulist", "6-7");
  EXPECT_THAT(nodes_of_cpus({4, 7}, fake.root), ElementsAre(0, 3));
  EXPECT_THAT(nodes_of_cpus({5}, fake.root), IsEmpty());
}

TEST(Numa, NodesThatThisProcessMayUse) {
  const FakeRoot fake;
  fake.put("sys/devices/system/node/has_memory", "0-3");
  EXPECT_THAT(nodes_with_memory(fake.root), ElementsAre(0, 1, 2, 3)) << "a kernel without cpusets says nothing of them";
  fake.put("proc/self/status", "Name:\tprogram\nMems_allowed:\t0000000c\nMems_allowed_list:\t1-2");
  EXPECT_THAT(nodes_with_memory(fake.root), ElementsAre(1, 2));
  fake.put("proc/self/status", "Mems_allowed_list:\t3");
  EXPECT_THAT(nodes_with_memory(fake.root), ElementsAre(3));
}

TEST(Numa, WhyANodeHasNoMemoryForThisProcess) {
  const FakeRoot fake;
  EXPECT_EQ(why_without_memory(1, fake.root), "this process may not use memory of NUMA node 1");
  fake.put("sys/devices/system/node/possible", "0-3");
  fake.put("sys/devices/system/node/online", "0-2");
  fake.put("sys/devices/system/node/has_memory", "0-1");
  EXPECT_EQ(why_without_memory(3, fake.root), "NUMA node 3 is offline");
  EXPECT_EQ(why_without_memory(2, fake.root), "NUMA node 2 has no memory");
  EXPECT_EQ(why_without_memory(1, fake.root), "this process may not use memory of NUMA node 1");
}

TEST(Numa, MemoryOfAGpuIsNoNodeOfTheHost) {
  const FakeRoot fake;
  fake.put("sys/devices/system/node/has_memory", "0-2,4,12");
  fake.put("sys/devices/system/node/node0/cpulist", "0-71");
  fake.put("sys/devices/system/node/node1/cpulist", "72-143");
  for (const char* node : {"2", "4", "12"}) fake.put(std::string("sys/devices/system/node/node") + node + "/cpulist", "");
  EXPECT_THAT(nodes_with_memory(fake.root), ElementsAre(0, 1, 2, 4, 12)) << "memory alone may be the host's, by CXL";
  fake.put("proc/driver/nvidia/gpus/0009:01:00.0/numa_status", "Node:      4\nStatus:    online\nAddress:   0\nSize:      0");
  EXPECT_THAT(nodes_with_memory(fake.root), ElementsAre(0, 1, 2, 12));
  EXPECT_THAT(nodes_with_memory(fake.root, {12}), ElementsAre(0, 1, 2));
  EXPECT_THAT(nodes_with_memory(fake.root, {0}), ElementsAre(0, 1, 2, 12)) << "no GPU has CPUs";
  fake.put("proc/driver/nvidia/gpus/0019:01:00.0/numa_status", "Node:      -1\nStatus:    disabled");
  EXPECT_THAT(nodes_with_memory(fake.root), ElementsAre(0, 1, 2, 12));
  fake.put("sys/devices/system/node/has_generic_initiator", "1,4-19");
  EXPECT_THAT(nodes_with_memory(fake.root), ElementsAre(0, 1, 2)) << "a GPU that the container does not see";
}

TEST_F(Pages, LieNowhereUntilTheyAreTouched) {
  if (const std::string refused = placement_of(data_, 1).error; !refused.empty()) GTEST_SKIP() << "move_pages: " << refused;
  EXPECT_EQ(placement_of(data_, kPages * kPage).unknown, kPages);
  EXPECT_EQ(in_words(placement_of(data_, kPages * kPage)), "unknown: the kernel reports no page");
  std::memset(data_, 1, kPage + 1);
  const PagePlacement some = placement_of(data_, kPages * kPage);
  EXPECT_EQ(some.unknown, kPages - 2);
  EXPECT_EQ(some.asked, kPages);
  const PagePlacement two = placement_of(static_cast<char*>(data_) + kPage - 1, 2);
  EXPECT_EQ(two.total, 2U);
  ASSERT_TRUE(two.only_node());
  EXPECT_EQ(in_words(two), "node " + std::to_string(*two.only_node()) + ", all of 2 pages");
}

TEST_F(Pages, AreTouchedOnANode) {
  const std::vector<int> nodes = nodes_with_memory("/");
  if (nodes.empty()) GTEST_SKIP() << "the kernel names no nodes";
  const std::vector<int> before = allowed_cpus();
  for (const int node : nodes) {
    madvise(data_, kPages * kPage, MADV_DONTNEED);
    try {
      const NodeScope scope(node);
      std::memset(data_, 1, kPages * kPage);
    } catch (const Unsupported&) {
      EXPECT_THAT(cpus_of_node(node, "/"), Each(Not(AnyOfArray(before)))) << "some way there is";
      continue;
    }
    const PagePlacement placed = placement_of(data_, kPages * kPage);
    if (placed.error.empty()) {
      EXPECT_EQ(placed.only_node(), node);
    }
    EXPECT_EQ(allowed_cpus(), before) << "the thread goes back to its CPUs";
  }
}

TEST_F(Pages, AreBoundToANodeForGood) {
  for (const int node : nodes_with_memory("/")) {
    madvise(data_, kPages * kPage, MADV_DONTNEED);
    if (!bind_pages(data_, kPages * kPage, node)) GTEST_SKIP() << "mbind: " << std::strerror(errno);
    std::memset(data_, 1, kPages * kPage);
    if (const PagePlacement placed = placement_of(data_, kPages * kPage); placed.error.empty()) {
      EXPECT_EQ(placed.only_node(), node);
    }
    std::ifstream maps("/proc/self/numa_maps");
    const std::string start = fmt::format("{:x} ", reinterpret_cast<std::uintptr_t>(data_));
    for (std::string line; std::getline(maps, line);) {
      if (line.starts_with(start)) {
        EXPECT_TRUE(line.starts_with(start + fmt::format("bind:{}", node))) << line;
      }
    }
  }
  EXPECT_FALSE(bind_pages(data_, kPages * kPage, 1000));
  EXPECT_FALSE(bind_pages(data_, kPages * kPage, 100000));
}

TEST(Numa, ANodeThatIsNotThereIsRefused) {
  EXPECT_THROW(NodeScope(std::optional(1000)), Unsupported);
  EXPECT_THROW(NodeScope(std::optional(100000)), Unsupported);
  EXPECT_NO_THROW(NodeScope{std::optional<int>()});
}

TEST(Numa, WordsForPagesOfSeveralNodes) {
  EXPECT_EQ(in_words({{{0, 3}, {1, 1}}, 0, 4, 4, ""}), "node 0 75.0 %, node 1 25.0 % of 4 pages");
  EXPECT_EQ(in_words({{{1, 3}}, 1, 4, 8, ""}), "node 1 75.0 %, unknown 25.0 % of a sample of 4 pages");
  EXPECT_EQ(in_words({{}, 4, 4, 4, "Operation not permitted"}), "unknown: Operation not permitted");
  EXPECT_EQ((PagePlacement{{{0, 3}, {1, 1}}, 0, 4, 4, ""}).only_node(), std::nullopt);
}

TEST(Numa, PagesElsewhere) {
  EXPECT_FALSE((PagePlacement{{{0, 3}}, 1, 4, 4, ""}).has_others_than(0)) << "what is unknown may be there";
  EXPECT_TRUE((PagePlacement{{{0, 3}}, 1, 4, 4, ""}).has_others_than(1));
  EXPECT_TRUE((PagePlacement{{{0, 3}, {1, 1}}, 0, 4, 4, ""}).has_others_than(0));
  EXPECT_FALSE((PagePlacement{{}, 4, 4, 4, "Operation not permitted"}).has_others_than(0));
}

TEST(NumaDistance, IsThatOfTheFirmwaresTableOrWhatLinuxAssumes) {
  const FakeRoot root;
  EXPECT_TRUE(node_distances(root.root).empty());
  root.put("sys/devices/system/node/online", "0,2");
  root.put("sys/devices/system/node/node0/distance", "10 32");
  root.put("sys/devices/system/node/node2/distance", "31 10");
  const NodeDistances distances = node_distances(root.root);
  EXPECT_EQ(distances, (NodeDistances{{{0, 0}, 10}, {{0, 2}, 32}, {{2, 0}, 31}, {{2, 2}, 10}}));
  EXPECT_EQ(distance_between(0, 2, distances), 32);
  EXPECT_EQ(distance_between(0, 1, distances), 20);
  EXPECT_EQ(distance_between(1, 1, distances), 10);
}

}  // namespace
}  // namespace roofmark
