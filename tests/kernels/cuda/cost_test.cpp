// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cost.hpp"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/base/cuda.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

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
    const DeviceCostLaunch launch_barriers = plan.prepare();
    const Memory arrivals = zeroed(sizeof(std::uint64_t)), passed = zeroed(plan.blocks * sizeof(std::uint32_t));
    for (int launch = 1; launch <= 3; ++launch) {
      const Memory rounds = zeroed(plan.blocks * sizeof(std::uint32_t));
      const bool checked = launch != 2;
      device_->poison(passed.get(), plan.blocks * sizeof(std::uint32_t));
      launch_barriers({static_cast<std::uint64_t*>(arrivals.get()), static_cast<std::uint32_t*>(passed.get()),
                       checked ? static_cast<std::uint32_t*>(rounds.get()) : nullptr},
                      device_->stream());
      device_->synchronize();
      const std::vector<std::uint32_t> all(plan.blocks, static_cast<std::uint32_t>(plan.barriers));
      EXPECT_EQ(read(passed, plan.blocks), all);
      EXPECT_EQ(read(rounds, plan.blocks), checked ? all : std::vector<std::uint32_t>(all.size(), 0));
    }
  }
}

TEST_P(Cost, GraphsHaveTheirKernelsInAsManyChains) {
  std::map<std::pair<int, int>, float> milliseconds;  // by nodes and width
  for (const DeviceCostPlan& plan : device_costs()) {
    if (plan.operation != "graph") continue;
    const DeviceCostLaunch launch_graph = plan.prepare();
    const cuda::OwnedEvent begin = cuda::make_event(cudaEventDefault), end = cuda::make_event(cudaEventDefault);
    std::vector<float> times(9);
    for (float& time : times) {  // the first launch uploads the graph, and a launch may be disturbed
      ASSERT_EQ(cudaEventRecord(begin.get(), device_->stream()), cudaSuccess);
      launch_graph({}, device_->stream());
      ASSERT_EQ(cudaEventRecord(end.get(), device_->stream()), cudaSuccess);
      device_->synchronize();
      ASSERT_EQ(cudaEventElapsedTime(&time, begin.get(), end.get()), cudaSuccess);
    }
    milliseconds[{plan.kernels, std::stoi(value_in(plan.keys, "width"))}] = *std::min_element(times.begin(), times.end());
  }
  ASSERT_EQ(milliseconds.size(), 8U);
  const float shortest = milliseconds.at({32, 1}), longest = milliseconds.at({192, 1});
  EXPECT_GT(longest, 3 * shortest);
  EXPECT_LT((milliseconds.at({192, 32})), longest);
}

TEST_P(Cost, NewParametersOfAGraphAreUsedByItsKernels) {
  int seen = 0;
  for (const HostCallPlan& plan : kernels_->calls(target())) {
    if (plan.operation != "graph_set_parameters" || std::stoi(value_in(plan.keys, "nodes")) > 10) continue;
    ++seen;
    const auto call = plan.make(device_->stream());
    EXPECT_EQ(call->effect(), HostCall::Effect::missing) << "as it was captured";
    for (int i = 0; i < 3; ++i) {
      call->restore();
      EXPECT_EQ(call->effect(), HostCall::Effect::missing) << i;
      call->call();
      EXPECT_EQ(call->effect(), HostCall::Effect::there) << i;
    }
  }
  EXPECT_EQ(seen, 2);
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

/// What a new process meets, and not this one: a variable that both would read at their start.
class ForNewProcesses {
 public:
  ForNewProcesses(const char* variable, const char* value) : variable_(variable) { setenv(variable, value, 1); }
  ~ForNewProcesses() { unsetenv(variable_); }
  ForNewProcesses(const ForNewProcesses&) = delete;
  ForNewProcesses& operator=(const ForNewProcesses&) = delete;

 private:
  const char* variable_;
};

class NewProcess : public Cost {
 protected:
  void SetUp() override {
    Cost::SetUp();
    if (IsSkipped()) return;
    cudaDeviceProp found{};
    ASSERT_EQ(cudaGetDeviceProperties(&found, 0), cudaSuccess);
    on_model_ = std::strstr(found.name, "model GPU") != nullptr;
    plans_ = kernels_->calls(target());
    std::erase_if(plans_, [](const HostCallPlan& plan) { return plan.operation != "new_process"; });
    ASSERT_EQ(plans_.size(), 5U);
    const std::string& missing = plans_.front().unsupported;
    const bool is_built = fs::read_symlink("/proc/self/exe").parent_path() == fs::path(ROOFMARK_BUILT_TESTS);
    if (on_model_ && !is_built && !missing.empty()) GTEST_SKIP() << missing;
    device_->stream();  // this process has read its environment
  }
  static bool makes_context(const HostCallPlan& plan) { return value_in(plan.keys, "until") != "main"; }

  bool on_model_ = false;
  std::vector<HostCallPlan> plans_;
};

TEST_P(NewProcess, EveryStepIsReachedAgainAndAgainAndLeavesNoProcess) {
  for (const HostCallPlan& plan : plans_) {
    SCOPED_TRACE(value_in(plan.keys, "from") + " " + value_in(plan.keys, "until"));
    ASSERT_EQ(plan.unsupported, "");
    EXPECT_EQ(plan.samples, makes_context(plan) ? 10 : 0);
    try {
      const auto call = plan.make(device_->stream());
      EXPECT_EQ(call->effect(), HostCall::Effect::missing);
      for (int i = 0; i < 2; ++i) {
        call->restore();
        call->call();
        EXPECT_EQ(call->effect(), HostCall::Effect::there);
      }
      call->restore();
      EXPECT_EQ(call->effect(), HostCall::Effect::missing);
    } catch (const Unsupported& error) {
      if (!on_model_) GTEST_SKIP() << error.what();
      ADD_FAILURE() << error.what();
    }
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
}

TEST_P(NewProcess, AGpuThatIsTakenIsUnsupportedInTheDriversWords) {
  if (!on_model_) GTEST_SKIP() << "this GPU is in no exclusive compute mode: only the model can be taken at will";
  const ForNewProcesses taken("GPUMODEL_TAKEN", "1");
  for (const HostCallPlan& plan : plans_) {
    if (!makes_context(plan)) {
      EXPECT_NO_THROW(plan.make(device_->stream()));
      continue;
    }
    try {
      plan.make(device_->stream());
      ADD_FAILURE() << "made";
    } catch (const Unsupported& error) {
      EXPECT_STREQ(error.what(),
                   "a second process cannot use this GPU: cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or "
                   "unavailable");
    }
  }
}

TEST_P(NewProcess, AProcessThatFailsIsAnErrorInTheDriversWords) {
  const ForNewProcesses none("CUDA_VISIBLE_DEVICES", "");
  for (const HostCallPlan& plan : plans_) {
    if (!makes_context(plan)) continue;
    try {
      plan.make(device_->stream());
      ADD_FAILURE() << "made";
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), testing::MatchesRegex("roofmark-new-process ended with status 1: .*cudaErrorNoDevice: .*"));
      EXPECT_FALSE(error.sticky());
    }
  }
}

/// Whether it is done without an error.
template <class Action>
bool succeeds(const Action& action) {
  try {
    action();
  } catch (const std::runtime_error&) {
    return false;
  }
  return true;
}

/// On the model a step of new processes can be made to fail. Parts that begin behind it fail before the call, parts that end
/// before it not at all.
TEST_P(NewProcess, APartBeginsAndEndsAtTheStepsThatItIsNamedAfter) {
  if (!on_model_) GTEST_SKIP() << "only on the model can a step be made to fail";
  const std::map<std::string, int> steps = {
      {"start", 0}, {"main", 1}, {"context", 2}, {"first_kernel", 3}, {"second_kernel", 4}};
  struct Fault {
    const char *step, *variable, *value;
  };
  for (const Fault& fault :
       {Fault{"context", "GPUMODEL_TAKEN", "1"}, Fault{"first_kernel", "GPUMODEL_STICKY", "empty_kernel:1"},
        Fault{"second_kernel", "GPUMODEL_STICKY", "empty_kernel:2"}}) {
    for (const HostCallPlan& plan : plans_) {
      const std::string from = value_in(plan.keys, "from"), until = value_in(plan.keys, "until");
      SCOPED_TRACE(from + " until " + until + ", " + fault.step + " fails");
      const auto call = plan.make(device_->stream());
      const ForNewProcesses planted(fault.variable, fault.value);
      const int failing = steps.at(fault.step);
      const bool is_ready = succeeds([&] { call->restore(); });
      EXPECT_EQ(is_ready, steps.at(from) < failing);
      if (is_ready) {
        EXPECT_EQ(succeeds([&] { call->call(); }), steps.at(until) < failing);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, NewProcess, testing::Values("cuda:0"), device_name);
INSTANTIATE_TEST_SUITE_P(Devices, Cost, testing::Values("cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
