// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/gpu_model/tests/compiled_kernels.hpp"

namespace gpu_model {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The `divergent` kernel, lane by lane.
std::vector<int> divergent_lanes() {
  std::vector<int> s(128);
  for (int t = 0; t < 128; ++t) {
    for (int k = 0; k < t % 7; ++k) {
      s[t] += (k + t) & 1 ? k : -3;
      if (s[t] > 40) break;
    }
    s[t] += t & 1 ? t ^ 2 : 1000 * (t % 32 >= 4 ? t - 4 : t);
  }
  std::vector<int> result = s;
  for (int t = 0; t < 128; ++t) {
    unsigned ballot = 0;
    for (int lane = 0; lane < 32; ++lane) ballot |= static_cast<unsigned>(s[t / 32 * 32 + lane] > 10) << lane;
    int& v = result[t];
    if (t % 6 == 0) {
      v += std::popcount(ballot);
    } else if (t % 5 == 2) {
      v ^= static_cast<int>(ballot);
    }
    const int cases[] = {v + 5, v * 3, v - 9, v ^ 0x55, -v, v + (v >> 2)};
    v = cases[t % 6];
  }
  return result;
}

TEST(Control, LanesDivergeAndMeetAgain) {
  DeviceArray<int> out(128);
  launch("divergent", {{1}, {128}}, out.data());
  EXPECT_EQ(out.values(), divergent_lanes());
}

TEST(Control, SpecialRegisters) {
  DeviceArray<int> out(24 * 48);
  launch("indices", {{4, 3, 2}, {4, 6, 2}}, out.data());
  for (int block = 0; block < 24; ++block) {
    for (int thread = 0; thread < 48; ++thread) {
      EXPECT_EQ(out[block * 48 + thread], block * 1000000 + thread * 1000 + thread / 32 * 100 + thread % 32);
    }
  }
}

TEST(Control, NamedBarriersOrderTheThreadsThatNameThem) {
  const Setting race("GPUMODEL_RACE", "1");
  DeviceArray<int> out(3 * 128);
  const Counters counters = launch("named_barriers", {{1}, {128}}, out.data());
  EXPECT_EQ(counters.races, 0u);
  for (int i = 0; i < 3 * 128; ++i) {
    const int t = i % 128, other = t / 64 * 64 + 63 - t % 64;
    EXPECT_EQ(out[i], other * 10 + i / 128);
  }
}

TEST(Control, ABarrierDoesNotWaitForWarpsThatHaveExited) {
  // Warps run in order: warp 3 exits when all others wait, the rest exit before some have arrived.
  const Setting race("GPUMODEL_RACE", "1");
  for (int exiting = 0; exiting < 4; ++exiting) {
    DeviceArray<int> out(128, -1);
    EXPECT_EQ(launch("exit_before_barrier", {{1}, {128}}, out.data(), exiting).races, 0u) << "warp " << exiting << " exits";
    for (int t = 0; t < 128; ++t) {
      const int next = (t + 32) % 128, read = next / 32 == exiting ? (next + 32) % 128 : next;
      EXPECT_EQ(out[t], t / 32 == exiting ? -1 : read) << "warp " << exiting << " exits";
    }
  }
}

TEST(Control, ADeadlockNamesWhatEachWarpWaitsFor) {
  DeviceArray<int> out(1);
  EXPECT_THAT(
      text_of_fault(Fault::Kind::deadlock,
                    [&] {
                      launch("deadlock", {{1}, {64}}, out.data());
                    }),
      AllOf(HasSubstr("deadlock"), HasSubstr("warp 0"), HasSubstr("warp 1"), HasSubstr("mbarrier"), HasSubstr("at a barrier")));
  text_of_fault(Fault::Kind::deadlock, [&] { launch("barrier_without_partner", {{1}, {32}}, out.data()); });
  EXPECT_EQ(out[0], 0);
  launch("barrier_without_partner", {{1}, {64}}, out.data());
  EXPECT_EQ(out[0], 1);
}

TEST(Control, ALoopWithoutEffectIsADeadlockAtTheSpinLimit) {
  const Setting limit("GPUMODEL_SPIN_LIMIT", "100000");
  DeviceArray<int> flag(1);
  text_of_fault(Fault::Kind::deadlock, [&] { launch("endless_loop", {{1}, {32}}, flag.data()); });
  flag[0] = 1;
  launch("endless_loop", {{1}, {32}}, flag.data());
}

TEST(Control, TheSpinLimitIsAsSet) {
  constexpr int iterations = 100'000;
  DeviceArray<float> out(32);
  launch("fma_loop", {{1}, {32}}, out.data(), iterations);
  const Setting limit("GPUMODEL_SPIN_LIMIT", "100000");
  EXPECT_THAT(text_of_fault(Fault::Kind::deadlock,
                            [&] {
                              launch("fma_loop", {{1}, {32}}, out.data(), iterations);
                            }),
              HasSubstr("fma_loop"));
  launch("fma_loop", {{1}, {32}}, out.data(), iterations / 10);
}

TEST(Control, ATrapEndsTheLaunch) {
  text_of_fault(Fault::Kind::trap, [] { launch("trap", {{1}, {1}}); });
}

TEST(Control, InstructionsAndFlopsAreCounted) {
  constexpr int n = 3000;
  DeviceArray<float> out(256);
  const Counters counters = launch("fma_loop", {{2}, {128}}, out.data(), n);
  EXPECT_EQ(counters.fma_flops[1], 256u * (4 * n + 1));
  EXPECT_GE(counters.warp_instructions, 8u * 2 * n);
  EXPECT_LE(counters.thread_instructions, 32 * counters.warp_instructions);
  EXPECT_GE(counters.thread_instructions, 31 * counters.warp_instructions);
  float a = 5, b = 0.5f;
  for (int i = 0; i < n; ++i) {
    a = a * 0.5f + b;
    b = b * 0.25f + a;
  }
  EXPECT_FLOAT_EQ(out[5], a + b);
}

TEST(Control, ClocksGoOnFromTheLaunchsTime) {
  DeviceArray<unsigned long long> out(5);
  unsigned long long* argument = out.data();
  void* parameters[] = {static_cast<void*>(&argument)};
  Time time;
  time.clock64 = 5000, time.globaltimer_ns = 70000, time.clock_mhz = 1000;
  Counters counters;
  run(compiled_kernels().find("clocks"), {1}, {1}, {1}, 0, parameters, time, counters);
  EXPECT_GE(out[0], 5000u);
  EXPECT_GE(out[1], 70000u);
  EXPECT_GE(out[2] - out[0], 1000u) << "a cycle at least for each of 1000 dependent instructions";
  EXPECT_NEAR(static_cast<double>(out[3] - out[1]), static_cast<double>(out[2] - out[0]), 64.0) << "1 ns per cycle at 1 GHz";
}

TEST(Control, FunctionInfo) {
  const FunctionInfo& about = info(compiled_kernels().find("named_barriers"));
  EXPECT_EQ(about.name, "named_barriers");
  EXPECT_EQ(about.static_shared, 512u);
  EXPECT_THAT(about.param_sizes, testing::ElementsAre(8));
  EXPECT_EQ(compiled_kernels().find("no_such_kernel"), nullptr);
}

}  // namespace
}  // namespace gpu_model
