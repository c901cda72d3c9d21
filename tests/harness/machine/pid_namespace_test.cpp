// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/pid_namespace.hpp"

#include <gtest/gtest.h>

#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

TEST(PidNamespace, ProcessesOfOthersAreHiddenInOneOfItsOwn) {
  const FakeRoot fake;
  const std::filesystem::path link = fake.root / "proc/self/ns/pid";
  EXPECT_TRUE(sees_all_processes(fake.root)) << "the kernel does not tell";
  std::filesystem::create_directories(link.parent_path());
  std::filesystem::create_symlink("pid:[4026531836]", link);
  EXPECT_TRUE(sees_all_processes(fake.root));
  std::filesystem::remove(link);
  std::filesystem::create_symlink("pid:[4026532500]", link);
  EXPECT_FALSE(sees_all_processes(fake.root));
}

}  // namespace
}  // namespace roofmark
