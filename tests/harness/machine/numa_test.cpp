// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/numa.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "harness/machine/facts.hpp"
#include "kernels/base/check.hpp"
#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kPage = 4096, kPages = 64;

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
}

TEST_F(Pages, LieNowhereUntilTheyAreTouched) {
  if (const std::string refused = placement_of(data_, 1).error; !refused.empty()) GTEST_SKIP() << "move_pages: " << refused;
  EXPECT_EQ(placement_of(data_, kPages * kPage).unknown, kPages);
  EXPECT_EQ(in_words(placement_of(data_, kPages * kPage)), "unknown: the kernel tells of none of them");
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
    {
      const NodeScope scope(node);
      std::memset(data_, 1, kPages * kPage);
    }
    const PagePlacement placed = placement_of(data_, kPages * kPage);
    if (placed.error.empty()) {
      EXPECT_EQ(placed.only_node(), node);
    }
    EXPECT_EQ(allowed_cpus(), before) << "the thread goes back to its CPUs";
  }
}

TEST(Numa, ANodeThatIsNotThereIsRefused) {
  EXPECT_THROW(NodeScope(std::optional(1000)), Unsupported);
  EXPECT_THROW(NodeScope(std::optional(100000)), Unsupported);
  EXPECT_NO_THROW(NodeScope(std::nullopt));
}

TEST(Numa, WordsForPagesOfSeveralNodes) {
  EXPECT_EQ(in_words({{{0, 3}, {1, 1}}, 0, 4, 4, ""}), "node 0 75.0 %, node 1 25.0 % of 4 pages");
  EXPECT_EQ(in_words({{{1, 3}}, 1, 4, 8, ""}), "node 1 75.0 %, unknown 25.0 % of a sample of 4 pages");
  EXPECT_EQ(in_words({{}, 4, 4, 4, "Operation not permitted"}), "unknown: Operation not permitted");
  EXPECT_EQ((PagePlacement{{{0, 3}, {1, 1}}, 0, 4, 4, ""}).only_node(), std::nullopt);
}

TEST(Numa, HugePagesOfAWholeMapping) {
  const FakeRoot fake;
  fake.put("proc/self/smaps",
           "100000-300000 rw-p 00000000 00:00 0 \nSize: 2048 kB\nAnonHugePages:      2048 kB\n"
           "400000-c00000 rw-p 00000000 00:00 0 \nSize: 8192 kB\nAnonHugePages:      4096 kB\n");
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  EXPECT_EQ(huge_page_bytes(at(0x100000), 0x1fffff, fake.root), 0x1fffffU);
  EXPECT_EQ(huge_page_bytes(at(0x400000), 0x800000, fake.root), 0x400000U);
  EXPECT_EQ(huge_page_bytes(at(0x400000), 0x200000, fake.root), std::nullopt) << "the mapping holds more";
  EXPECT_EQ(huge_page_bytes(at(0x500000), 0x100000, fake.root), std::nullopt) << "the mapping begins before";
}

}  // namespace
}  // namespace roofmark
