// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/last_used.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace roofmark {
namespace {

TEST(LastUsed, KeepsThoseThatWereUsedLast) {
  LastUsed<int, std::shared_ptr<int>> kept(2);
  EXPECT_EQ(kept.use(1), nullptr);
  EXPECT_FALSE(kept.is_full());
  const std::weak_ptr<int> one = kept.add(1, std::make_shared<int>(10)), two = kept.add(2, std::make_shared<int>(20));
  EXPECT_TRUE(kept.is_full());
  ASSERT_NE(kept.use(1), nullptr);
  EXPECT_EQ(**kept.use(1), 10);
  EXPECT_EQ(*kept.add(3, std::make_shared<int>(30)), 30);
  EXPECT_TRUE(two.expired()) << "used before 1";
  EXPECT_EQ(kept.use(2), nullptr);
  EXPECT_FALSE(one.expired());
  kept.erase(1);
  EXPECT_TRUE(one.expired());
  kept.erase(1);
  EXPECT_EQ(kept.use(1), nullptr);
  EXPECT_NE(kept.use(3), nullptr);
}

}  // namespace
}  // namespace roofmark
