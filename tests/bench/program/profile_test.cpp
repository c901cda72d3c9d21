// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/acceptance/profile.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "bench/families/collectives.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/process_fabric.hpp"
#include "harness/judge/gpu_table.hpp"
#include "harness/judge/theory.hpp"
#include "harness/model/expression.hpp"

namespace roofmark {
namespace {

/// `profile check` compares names too, but only in a build with kernels for GPUs.
TEST(ShippedProfiles, JudgeTheLargestAllReduceThatQuickListsForTheirNode) {
  int judged = 0;
  for (const std::string& name : shipped_profiles()) {
    SCOPED_TRACE(name);
    const Profile profile = read_profile(name);
    const auto rule =
        std::find_if(profile.rules.begin(), profile.rules.end(), [](const Rule& one) { return one.id == "all_reduce"; });
    if (rule == profile.rules.end()) continue;
    ++judged;
    ASSERT_TRUE(profile.node_gpus);
    const DeviceInfo device = specified_device(profile.example, *find_sku(profile.example));
    const Fabric fabric = specified_fabric(device, *profile.node_gpus);
    std::size_t largest = 0;
    std::vector<std::size_t> matched;
    for (const Group& group : collectives::list({.device = device, .suite = SuiteName::quick, .fabric = &fabric})) {
      for (const Case& c : group.cases) {
        largest = std::max(largest, c.message->bytes);
        EXPECT_GT(c.work.total(resource::nvlink), 0) << c.name();
        if (Expression(rule->cases).is_found_in(c.name())) matched.push_back(c.message->bytes);
      }
    }
    EXPECT_THAT(matched, testing::ElementsAre(largest));
  }
  EXPECT_EQ(judged, 7);
}

}  // namespace
}  // namespace roofmark
