// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/program/suite.hpp"
#include "bench/support/listing.hpp"
#include "tests/on_a_gpu.hpp"

namespace roofmark {
namespace {

class SustainedOnAGpu : public OnAGpu {};

// What it counts is what it runs, in every run the same.
TEST_F(SustainedOnAGpu, ATriadRunsOnceBesideAProductWithoutTrials) {
  int pairs = 0;
  for (const Group& group : list_families({.device = device_->info(), .suite = SuiteName::contract}).suite) {
    for (const Case& c : group.cases) {
      if (c.family != "sustained" || c.operation != "gemm_and_triad") continue;
      ++pairs;
      const auto time = [&](const std::vector<Launch>& launches) {
        ADD_FAILURE() << "a trial of " << c.name();
        return std::vector<double>(launches.size(), 1.0);
      };
      const roofmark::Setup setup{.device = *device_, .time = time};
      const auto prepared = c.prepare(setup);
      prepared->launch(device_->stream(), 0);
      device_->synchronize();
      EXPECT_EQ(prepared->verify(0).status, Verification::Status::passed) << c.name();
    }
  }
  EXPECT_GT(pairs, 0);
}

}  // namespace
}  // namespace roofmark
