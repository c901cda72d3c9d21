// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cost.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

std::string value_in(const std::vector<std::pair<std::string, std::string>>& keys, const std::string& key) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& one) { return one.first == key; });
  return found == keys.end() ? "" : found->second;
}

class Cost : public KernelTest<CostKernels> {
 protected:
  Cost() : KernelTest(&cuda::cost, nullptr) {}

  CostTarget target() { return {device_->info().compute_capability, device_->info().multiprocessors}; }
  std::vector<DeviceCostPlan> device_costs() {
    std::vector<DeviceCostPlan> plans = kernels_->device_costs(target());
    std::erase_if(plans, [](const DeviceCostPlan& plan) { return !plan.unsupported.empty(); });
    return plans;
  }
  Memory zeroed(std::size_t bytes) {
    Memory memory = device_->allocate(bytes);
    device_->zero(memory.get(), bytes);
    return memory;
  }
  std::vector<std::uint32_t> read(const Memory& memory, int count) {
    std::vector<std::uint32_t> values(static_cast<std::size_t>(count));
    device_->to_host(values.data(), memory.get(), values.size() * sizeof(values[0]));
    return values;
  }
};

TEST_P(Cost, EachBlockPassesEveryBarrierBehindAllOthers) {
  for (const DeviceCostPlan& plan : device_costs()) {
    if (plan.barriers == 0 || plan.barriers > 100) continue;
    SCOPED_TRACE(value_in(plan.keys, "scope") + " " + value_in(plan.keys, "by"));
    const Memory arrivals = zeroed(sizeof(std::uint64_t)), passed = zeroed(plan.blocks * sizeof(std::uint32_t));
    for (int launch = 1; launch <= 3; ++launch) {
      const Memory rounds = zeroed(plan.blocks * sizeof(std::uint32_t));
      const bool checked = launch != 2;
      device_->poison(passed.get(), plan.blocks * sizeof(std::uint32_t));
      plan.launch({static_cast<std::uint64_t*>(arrivals.get()), static_cast<std::uint32_t*>(passed.get()),
                   checked ? static_cast<std::uint32_t*>(rounds.get()) : nullptr},
                  device_->stream());
      device_->synchronize();
      const std::vector<std::uint32_t> all(plan.blocks, static_cast<std::uint32_t>(plan.barriers));
      EXPECT_EQ(read(passed, plan.blocks), all);
      EXPECT_EQ(read(rounds, plan.blocks), checked ? all : std::vector<std::uint32_t>(all.size(), 0));
    }
  }
}

TEST_P(Cost, FlagsAreRestored) {
  unsigned before = 0, during = 0, after = 0;
  device_->stream();
  ASSERT_EQ(cudaGetDeviceFlags(&before), cudaSuccess);
  const std::map<std::string, unsigned> flags = {
      {"spin", cudaDeviceScheduleSpin}, {"yield", cudaDeviceScheduleYield}, {"block", cudaDeviceScheduleBlockingSync}};
  int seen = 0;
  for (const HostCallPlan& plan : kernels_->calls(target())) {
    const std::string wanted = value_in(plan.keys, "flags");
    if (wanted.empty()) continue;
    {
      const auto one = plan.make(device_->stream()), other = plan.make(device_->stream());
      ASSERT_EQ(cudaGetDeviceFlags(&during), cudaSuccess);
      EXPECT_EQ(during & cudaDeviceScheduleMask, flags.at(wanted));
      one->call();
      other->call();
    }
    ASSERT_EQ(cudaGetDeviceFlags(&after), cudaSuccess);
    EXPECT_EQ(after, before) << wanted;
    ++seen;
  }
  EXPECT_EQ(seen, 27);
}

TEST_P(Cost, WaitsByEveryFlagInEveryWayForEveryStream) {
  std::set<std::string> ways;
  for (const HostCallPlan& plan : kernels_->calls(target())) {
    if (plan.operation == "wait_by_flags") {
      ways.insert(value_in(plan.keys, "flags") + " " + value_in(plan.keys, "by") + " " + value_in(plan.keys, "stream"));
    }
  }
  std::set<std::string> expected;
  for (const char* flags : {"spin", "yield", "block"}) {
    for (const char* by : {"stream", "event", "device"}) {
      for (const char* stream : {"idle", "empty_kernel", "kernel_of_50us"}) {
        expected.insert(std::string(flags) + " " + by + " " + stream);
      }
    }
  }
  EXPECT_EQ(ways, expected);
}

/// A wait is over when the kernel is.
TEST_P(Cost, NothingIsLeftInTheStreamBehindAWait) {
  for (const HostCallPlan& plan : kernels_->calls(target())) {
    if (plan.operation != "wait_by_flags") continue;
    const auto call = plan.make(device_->stream());
    for (int i = 0; i < 2; ++i) {
      call->call();
      EXPECT_EQ(cudaStreamQuery(device_->stream()), cudaSuccess)
          << value_in(plan.keys, "by") << ", " << value_in(plan.keys, "stream");
      cudaGetLastError();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Cost, testing::Values("cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
