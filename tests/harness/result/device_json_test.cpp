// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/device_json.hpp"

#include <gtest/gtest.h>

#include "harness/machine/json.hpp"

namespace roofmark {
namespace {

TEST(DeviceJson, ACeilingHasTheLinesThatItIsTheSlopeOf) {
  Roofline roofline;
  Ceiling& ceiling = roofline.at(resource::graph_launch);
  ceiling.first = ceiling.last = 8e5;
  ceiling.first_line = CeilingLine{5e-6, 0.999, 3};
  ceiling.last_line = CeilingLine{6e-6, {}, 2};
  const Json json = to_json(roofline).at(0);
  EXPECT_EQ(json.at("first_line"), (Json{{"fixed_seconds", 5e-6}, {"points", 3}, {"r2", 0.999}}));
  EXPECT_EQ(json.at("last_line"), (Json{{"fixed_seconds", 6e-6}, {"points", 2}}));
  ceiling.first_line.reset();
  EXPECT_FALSE(to_json(roofline).at(0).contains("first_line"));
}

}  // namespace
}  // namespace roofmark
