// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/launch_check.hpp"

#include <gmock/gmock.h>

#include <tuple>
#include <vector>

#include "tests/harness/fake_device.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;

/// Two outputs in host memory, whose bytes are hashed for real.
class TwoOutputs final : public Prepared {
 public:
  std::vector<unsigned char> first = std::vector<unsigned char>(20'000, 1), second = std::vector<unsigned char>(10'000, 2);
  void launch(Stream, int) override {}
  Verification verify(int) override { return Verification::nothing("a test"); }
  std::vector<Output> outputs(int) override {
    return {{first.data(), DataType::int8, first.size()}, {second.data(), DataType::int8, second.size()}};
  }
};

/// A device that hashes 100 MB/s.
class Windows : public testing::Test {
 protected:
  Windows() {
    device.hash_seconds_per_byte = 1e-8;
    device.hashes_bytes = true;
  }
  FakeDevice device;
  TwoOutputs outputs;
};

TEST_F(Windows, WhereAllIsHashedWithinThreePercentEachLaunchIsCheckedWhole) {
  LaunchCheck check(device, outputs, 0.02, 10);
  check.check(0);
  outputs.second[9'999] ^= 1;
  check.check(0);
  outputs.second[9'999] ^= 1;
  check.check(0);
  EXPECT_THAT(check.differing(), ElementsAre(1));
  EXPECT_THAT(check.differing(), ElementsAre());
  EXPECT_EQ(check.checks(), 3);
  EXPECT_DOUBLE_EQ(check.share_checked(), 1);
  EXPECT_NEAR(check.seconds(), 3 * 3e-4, 1e-9);
}

// 2.7 % of 5.5 ms hash about 15 kB: the 30 kB take two launches, and the second window begins in the first output.
TEST_F(Windows, ElseTheWindowMovesOverAllOutputs) {
  LaunchCheck check(device, outputs, 0.0055, 10);
  for (const auto& [output, byte, found] : {std::tuple(&outputs.first, 0, 0u),
                                            {&outputs.first, 19'999, 1u},
                                            {&outputs.second, 0, 1u},
                                            {&outputs.second, 9'999, 1u}}) {
    unsigned char& flipped = output->at(static_cast<std::size_t>(byte));
    flipped ^= 0x80;
    check.check(0);
    check.check(0);
    flipped ^= 0x80;
    check.check(0);
    check.check(0);
    EXPECT_THAT(check.differing(), ElementsAre(found)) << byte;
  }
  EXPECT_NEAR(check.share_checked(), 0.5, 0.001);
  EXPECT_LE(check.seconds() / (16 * 0.0055), 0.031);
}

// The device becomes ten times slower at hashing than it was when the windows were planned.
TEST_F(Windows, HashingThatGetsSlowerTakesThreePercentAllTheSame) {
  LaunchCheck check(device, outputs, 0.02, 10);
  const auto launch = [&](int launches) {
    for (int i = 0; i < launches; ++i) {
      if (check.due(0.02)) check.check(0);
      EXPECT_THAT(check.differing(), ElementsAre());
      check.rescale();
    }
  };
  launch(10);
  EXPECT_EQ(check.checks(), 10);
  device.hash_seconds_per_byte *= 10;
  launch(1000);
  EXPECT_LE(check.seconds() / (1010 * 0.02), 0.031);
  // Nearly all 1010; fewer where the machine is busy, as new windows are hashed in real time. With the old ones about 200.
  EXPECT_GT(check.checks(), 500) << "windows got smaller";
  EXPECT_LT(check.share_checked(), 0.25);
  outputs.second[9'999] ^= 1;
  for (int i = 0; i < 6; ++i) check.check(0);
  EXPECT_EQ(check.differing().size(), 1u) << "each of six windows comes once";
}

// A hash during which another program had the core says nothing of the next ones.
TEST_F(Windows, OneDisturbedHashDoesNotMakeWindowsSmaller) {
  LaunchCheck check(device, outputs, 0.02, 100);
  for (int i = 0; i < 9; ++i) check.check(0);
  device.hash_seconds_per_byte *= 100;
  check.check(0);
  device.hash_seconds_per_byte /= 100;
  EXPECT_THAT(check.differing(), ElementsAre());
  check.rescale();
  EXPECT_NEAR(check.seconds(), 9 * 3e-4 + 3e-2, 1e-9);
  check.check(0);
  EXPECT_DOUBLE_EQ(check.share_checked(), 1);
}

TEST_F(Windows, OtherBitsAreNeverTakenForVerifiedOnesWhenWindowsGetSmaller) {
  LaunchCheck check(device, outputs, 0.02, 100);
  device.hash_seconds_per_byte *= 10;
  check.check(0);
  EXPECT_THAT(check.differing(), ElementsAre());
  outputs.second[9'999] ^= 1;
  check.rescale();
  for (int i = 0; i < 100; ++i) check.check(0);
  EXPECT_GT(check.differing().size(), 0u);
}

}  // namespace
}  // namespace roofmark
