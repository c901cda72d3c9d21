// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <string>

#include "harness/judge/ranks/communication.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Between rails, of ranks with different places on their hosts, a message passes one switch more, or NVLink.
TEST(SampledPairs, NobodyIsSlowForBeingOnTwoRails) {
  constexpr int kHosts = 10, kRanks = 4;
  std::vector<std::string> hosts;
  for (int rank = 0; rank < kHosts * kRanks; ++rank) hosts.push_back("node" + std::to_string(rank / kRanks));
  const auto all = rounds_of_pairs(members(hosts));
  const auto scatter = [](int a, int b) { return 1 + 0.01 * std::sin(12.9898 * a + 78.233 * b); };
  const auto found = [&](std::size_t most_between, double slower) {
    std::vector<std::vector<int>> sample;
    for (const std::size_t round : sample_of_rounds(members(hosts), most_between)) sample.push_back(all[round]);
    const auto records = ping_pong(sample, {8, 1024, 1'000'000}, [&](int a, int b, std::size_t bytes) {
      const double once = (1e-5 + double(bytes) / 50e9) * scatter(a, b) * (a == 2 && b == 6 ? slower : 1);
      return once * (a / kRanks == b / kRanks ? 0.5 : a % kRanks == b % kRanks ? 1 : 1.4);
    });
    return analyze_communication(records, members(hosts)).findings;
  };
  for (std::size_t most_between = 1; most_between <= kRanks * (kHosts - 1); ++most_between) {
    EXPECT_THAT(found(most_between, 1), IsEmpty()) << most_between;
  }
  // Relative to the way that most pairs of its ranks take.
  for (const auto& [most_between, times] : std::map<std::size_t, std::string>{{12, "2.4"}, {36, "1.7"}}) {
    ASSERT_THAT(found(most_between, 2.5), SizeIs(1));
    EXPECT_THAT(found(most_between, 2.5)[0].text, HasSubstr("rank 2 (node0) and rank 6 (node1): this pair takes " + times));
  }
}

}  // namespace
}  // namespace roofmark
