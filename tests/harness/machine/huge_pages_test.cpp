// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/huge_pages.hpp"

#include <gtest/gtest.h>

#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(HugePages, AreTheShareOfTheMappingThatHoldsTheAddress) {
  const FakeRoot root;
  root.put("proc/self/smaps",
           "55a0e4c00000-55a0e4c21000 rw-p 00000000 00:00 0                          [heap]\n"
           "Size:                132 kB\nRss:                 100 kB\nAnonHugePages:         0 kB\nVmFlags: rd wr mr\n"
           "7f0000000000-7f0000800000 rw-p 00000000 00:00 0 \n"
           "Size:               8192 kB\nRss:                8192 kB\nAnonHugePages:      6144 kB\nVmFlags: rd wr mr\n"
           "7f0000800000-7f0000801000 r--p 00000000 08:01 1234 /lib/a:b.so\n"
           "Size:                  4 kB\nRss:                   0 kB\nAnonHugePages:         0 kB");
  EXPECT_EQ(huge_page_share(root.root, at(0x7f0000000000)), 0.75);
  EXPECT_EQ(huge_page_share(root.root, at(0x7f00007fffff)), 0.75);
  EXPECT_EQ(huge_page_share(root.root, at(0x55a0e4c00010)), 0.0);
  EXPECT_FALSE(huge_page_share(root.root, at(0x7f0000800000))) << "nothing is resident";
  EXPECT_FALSE(huge_page_share(root.root, at(0x1000))) << "not mapped";
}

TEST(HugePages, AreOfTheKernelsSize) {
  const FakeRoot root;
  EXPECT_EQ(huge_page_bytes(root.root), std::size_t{2} << 20);
  root.put("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "536870912");
  EXPECT_EQ(huge_page_bytes(root.root), std::size_t{512} << 20) << "ARM with pages of 64 KiB";
}

TEST(HugePages, AreUnknownWhereTheKernelsFolderCannotBeRead) {
  const FakeRoot root;
  std::filesystem::create_directories(root.root / "sys/kernel");
  std::filesystem::create_symlink("mm", root.root / "sys/kernel/mm");  // it cannot be followed
  EXPECT_EQ(why_no_huge_pages(root.root), "");
}

TEST(HugePages, AreUnknownWhereTheKernelDoesNotSay) {
  const FakeRoot root;
  EXPECT_FALSE(huge_page_share(root.root, at(0x7f0000000000)));
  root.put("proc/self/smaps", "7f0000000000-7f0000800000 rw-p 00000000 00:00 0\nRss:  8192 kB");
  EXPECT_FALSE(huge_page_share(root.root, at(0x7f0000000000)));
}

TEST(HugePages, AreRefusedWithTheReason) {
  const FakeRoot root;
  EXPECT_EQ(why_no_huge_pages(root.root), "") << "unknown";
  root.put("sys/kernel/mm/ksm/run", "0");
  EXPECT_EQ(why_no_huge_pages(root.root), "the kernel has no transparent huge pages");
  const std::string folder = "sys/kernel/mm/transparent_hugepage/";
  for (const char* given : {"[always] madvise never", "always [madvise] never"}) {
    root.put(folder + "enabled", given);
    EXPECT_EQ(why_no_huge_pages(root.root), "") << given;
  }
  root.put("proc/self/status", "Name:\ta\nTHP_enabled:\t0");
  EXPECT_EQ(why_no_huge_pages(root.root), "transparent huge pages are off for this process (prctl PR_SET_THP_DISABLE)");
  root.put("proc/self/status", "Name:\ta\nTHP_enabled:\t1");
  EXPECT_EQ(why_no_huge_pages(root.root), "");
  root.put(folder + "enabled", "always madvise [never]");
  const std::string off = "transparent huge pages are off (/" + folder + "enabled is never)";
  EXPECT_EQ(why_no_huge_pages(root.root), off);
  // Per size.
  root.put(folder + "hugepages-2048kB/enabled", "always [inherit] madvise never");
  EXPECT_EQ(why_no_huge_pages(root.root), off);
  root.put(folder + "hugepages-2048kB/enabled", "always inherit [madvise] never");
  EXPECT_EQ(why_no_huge_pages(root.root), "");
  root.put(folder + "enabled", "[always] madvise never");
  root.put(folder + "hugepages-2048kB/enabled", "always inherit madvise [never]");
  EXPECT_EQ(why_no_huge_pages(root.root), "transparent huge pages are off (/" + folder + "hugepages-2048kB/enabled is never)");
}

}  // namespace
}  // namespace roofmark
