// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace roofmark::cuda {
namespace {

using testing::HasSubstr;

TEST(GateObstacle, NoneInAnOrdinaryEnvironment) {
  EXPECT_EQ(gate_obstacle({}), "");
  EXPECT_EQ(gate_obstacle({"PATH=/usr/bin", "CUDA_VISIBLE_DEVICES=0", "CUDA_LAUNCH_BLOCKING=0", "NVIDIA_TF32_OVERRIDE=0"}), "");
}

TEST(GateObstacle, LaunchesThatWait) {
  EXPECT_THAT(gate_obstacle({"HOME=/", "CUDA_LAUNCH_BLOCKING=1"}), HasSubstr("CUDA_LAUNCH_BLOCKING"));
}

TEST(GateObstacle, Profilers) {
  for (const char* variable :
       {"CUDA_INJECTION64_PATH=/opt/libinjection.so", "NSYS_PROFILING_SESSION_ID=1", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE=uds",
        "NV_COMPUTE_PROFILER_PERFWORKS_DIR=/opt", "NV_SANITIZER_INJECTION_PORT_BASE=49152", "NVPROF_ID=1"}) {
    EXPECT_THAT(gate_obstacle({variable}), HasSubstr("profiler")) << variable;
  }
}

}  // namespace
}  // namespace roofmark::cuda
