// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/suite.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace roofmark {
namespace {

TEST(Suites, AreFoundByTheirIdAndThoseOfferedByTheirName) {
  std::set<std::string_view> names;
  for (const Suite& suite : suites()) {
    EXPECT_EQ(&facts_of(suite.id), &suite);
    EXPECT_TRUE(names.insert(name(suite.id)).second) << suite.name;
    EXPECT_EQ(find_suite(suite.name), suite.offered ? &suite : nullptr);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"smoke", "quick", "baseline", "full", "sustained", "contract"}));
  EXPECT_EQ(find_suite("quikc"), nullptr);
}

TEST(Suites, TheTestsOwnIsNotOffered) {
  EXPECT_FALSE(facts_of(SuiteName::contract).offered);
  EXPECT_EQ(find_suite("contract"), nullptr);
}

TEST(Suites, ALargerOneHasMoreTimeForEachCase) {
  for (const Suite& one : suites()) {
    for (const Suite& other : suites()) {
      if (one.size == 0 || one.size >= other.size) continue;
      EXPECT_LT(one.case_seconds, other.case_seconds) << other.name;
    }
  }
  EXPECT_LT(facts_of(SuiteName::quick).size, facts_of(SuiteName::baseline).size);
  EXPECT_LT(facts_of(SuiteName::baseline).size, facts_of(SuiteName::full).size);
}

TEST(Suites, SmokeAndSustainedHaveATimeOfTheirOwn) {
  for (const Suite& suite : suites()) {
    EXPECT_EQ(suite.has_its_own_time(), suite.name == "smoke" || suite.name == "sustained") << suite.name;
    if (!suite.limit) continue;
    EXPECT_LT(suite.limit->on(Backend::cpu), suite.limit->on(Backend::cuda)) << suite.name;
  }
}

}  // namespace
}  // namespace roofmark
