// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/program/suite.hpp"
#include "bench/support/listing.hpp"
#include "harness/device/device.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

// What it counts is what it runs, in every run the same.
TEST(Sustained, ATriadRunsOnceBesideAProductWithoutTrials) {
  std::unique_ptr<Device> device;
  try {
    device = open_device("cuda:0");
  } catch (const DeviceError& error) {
    GTEST_SKIP() << error.what();
  }
  int pairs = 0;
  for (const Group& group : list_families({.device = device->info(), .suite = SuiteName::contract}).suite) {
    for (const Case& c : group.cases) {
      if (c.family != "sustained" || c.operation != "gemm_and_triad") continue;
      ++pairs;
      const auto time = [&](const std::vector<Launch>& launches) {
        ADD_FAILURE() << "a trial of " << c.name();
        return std::vector<double>(launches.size(), 1.0);
      };
      const roofmark::Setup setup{.device = *device, .time = time};
      const auto prepared = c.prepare(setup);
      prepared->launch(device->stream(), 0);
      device->synchronize();
      EXPECT_EQ(prepared->verify(0).status, Verification::Status::passed) << c.name();
    }
  }
  EXPECT_GT(pairs, 0);
}

}  // namespace
}  // namespace roofmark
