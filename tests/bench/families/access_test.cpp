// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/program/suite.hpp"
#include "bench/support/listing.hpp"
#include "harness/measure/slots.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark {

std::vector<Group> access(const Listing&);

namespace {

std::vector<Case> cases(const DeviceInfo& device, SuiteName suite, const std::string& operation) {
  std::vector<Case> found;
  for (const Group& group : access({device, suite})) {
    for (const Case& c : group.cases) {
      if (c.operation == operation) found.push_back(c);
    }
  }
  return found;
}

std::size_t number(const Case& c, std::string_view key) { return std::stoull(value_of(c.shape, key)); }

TEST(AccessCases, OfStridesUseAnElementOfEachLineAndFindNoneInTheCache) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    const bool gpu = device.backend == Backend::cuda;
    const std::vector<Case> all = cases(device, SuiteName::full, "stride");
    ASSERT_EQ(all.size(), 11U);
    for (const Case& c : all) {
      SCOPED_TRACE(c.name());
      const std::size_t stride = number(c, "stride"),
                        elements = number(c, "bytes") / std::min<std::size_t>(stride, gpu ? 128 : 64);
      const double sums = c.work.total(resource::dram) - 4.0 * static_cast<double>(elements);
      EXPECT_EQ(sums, 4.0 * static_cast<double>(elements) / 1024);
      EXPECT_EQ(static_cast<double>(c.touched_bytes),
                static_cast<double>(elements * std::min<std::size_t>(stride, gpu ? 32 : 64)) + sums);
      EXPECT_EQ(plan_slots(c, device.last_level_cache_bytes(), device.free_bytes).cache_by, "size");
    }
    EXPECT_EQ(number(all.front(), "stride"), 4U);
    EXPECT_EQ(number(all.back(), "stride"), 4096U);
  }
}

TEST(AccessCases, AreInNoQuickSuite) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    EXPECT_TRUE(access({device, SuiteName::quick}).empty());
    EXPECT_FALSE(access({device, SuiteName::baseline}).empty());
  }
}

}  // namespace
}  // namespace roofmark
