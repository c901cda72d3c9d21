// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <string_view>

#include "kernels/base/cuda.hpp"
#include "kernels/base/stepped_process.hpp"
#include "kernels/cuda/cost.hpp"

namespace roofmark::cuda {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStart = "start";

/// A new process from one of its steps to another one, on the current device. Its steps are those of roofmark-new-process;
/// `start` is that it does not exist yet. It has been brought to the first one before the call.
class NewProcess final : public HostCall {
 public:
  NewProcess(const fs::path& program, const std::string& from, const std::string& until, cudaStream_t)
      : starts_(from == kStart), process_(program, words(from, until)) {
    // Finds obstacles to a second process, such as a GPU in exclusive mode.
    restore();
    call();
    restore();
  }
  void call() override {
    if (starts_) {
      process_.start();
    } else {
      process_.go_on();
    }
    process_.await_step();
    has_arrived_ = true;
  }
  void restore() override {
    has_arrived_ = false;
    process_.await_end();
    if (starts_) return;
    process_.start();
    process_.await_step();
  }
  bool needs_restore() const override { return true; }
  Effect effect() const override { return has_arrived_ ? Effect::there : Effect::missing; }

 private:
  // The process inherits the environment, CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER too: there an ordinal is the same device.
  static std::vector<std::string> words(const std::string& from, const std::string& until) {
    int ordinal = 0;
    check(cudaGetDevice(&ordinal));
    std::vector<std::string> all = {std::to_string(ordinal)};
    if (from != kStart) all.push_back(from);
    all.push_back(until);
    return all;
  }

  bool starts_;
  SteppedProcess process_;
  bool has_arrived_ = false;
};

}  // namespace

void add_new_process(CallPlans& calls) {
  constexpr const char* kProgram = "roofmark-new-process";
  // Beside this program in a build, in libexec where it is installed.
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path(), beside = here / kProgram;
  const fs::path installed = here.parent_path() / "libexec/roofmark" / kProgram;
  const fs::path& program = fs::exists(beside) ? beside : installed;
  constexpr int kSamples = 10;  // each makes a context and ends it
  const std::pair<const char*, const char*> parts[] = {{"start", "first_kernel"},
                                                       {"start", "main"},
                                                       {"main", "context"},
                                                       {"context", "first_kernel"},
                                                       {"first_kernel", "second_kernel"}};
  for (const auto& [from, until] : parts) {
    HostCallPlan& plan = calls.add<NewProcess>("new_process", {{"from", from}, {"until", until}}, CallPlans::when_finished,
                                               program, std::string(from), std::string(until));
    if (until != std::string_view("main")) plan.samples = kSamples;
    if (!fs::exists(program)) {
      plan.unsupported = std::string(kProgram) + " is missing: it is neither " + beside.string() + " nor " + installed.string();
    }
  }
}

}  // namespace roofmark::cuda
