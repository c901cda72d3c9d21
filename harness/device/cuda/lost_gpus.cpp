// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/lost_gpus.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "harness/device/cuda_device.hpp"
#include "harness/machine/files.hpp"
#include "harness/machine/steady_seconds.hpp"

namespace roofmark {
namespace cuda {
namespace {

namespace fs = std::filesystem;

/// Whether this process may open the GPU's device file: its mode, control group and container allow it.
bool may_open(const fs::path& gpu, const fs::path& root) {
  const auto minor = value_in(gpu / "information", "Device Minor");
  return minor && access((root / "dev" / ("nvidia" + *minor)).c_str(), R_OK | W_OK) == 0;
}

}  // namespace

std::map<std::string, bool> ask_for_lost_gpus(const Nvml& nvml, const fs::path& root) {
  std::map<std::string, bool> found;
  for (const fs::path& gpu : entries(root / "proc/driver/nvidia/gpus")) {
    const std::string address = gpu.filename().string();
    void* handle = nullptr;
    const auto status = nvml.status("nvmlDeviceGetHandleByPciBusId_v2", address.c_str(), &handle);
    // A GPU that has fallen off the bus gives either error. Some containers give the second for healthy GPUs that they may not
    // use (NVIDIA/nvidia-container-toolkit, issue 69).
    const bool is_lost = status == kGpuIsLost || (status == kUnknownError && may_open(gpu, root));
    if (is_lost || status == kSuccess) found[address] = is_lost;
  }
  return found;
}

std::map<std::string, bool> ask_until_sure(const std::function<std::map<std::string, bool>()>& ask,
                                           const std::function<void()>& wait, std::set<std::string>& sure) {
  constexpr int kTimes = 5;
  std::map<std::string, bool> found = ask();
  const auto is_new = [&](const auto& one) { return one.second && !sure.contains(one.first); };
  for (int i = 0; i < kTimes && std::any_of(found.begin(), found.end(), is_new); ++i) {
    wait();
    found = ask();
  }
  for (const auto& [address, is_lost] : found) {
    if (is_lost) sure.insert(address);
  }
  return found;
}

}  // namespace cuda

std::map<std::string, bool> lost_gpus() {
  // Not ask_patiently(): a driver that hangs at a lost GPU may still answer for the others, and is asked on about them.
  static double patience_seconds = kLongPatienceSeconds;
  static std::set<std::string> sure;
  static std::mutex one_at_a_time;
  const std::lock_guard turn(one_at_a_time);
  const cuda::Nvml& nvml = cuda::Nvml::driver();
  const auto ask = [&nvml]() -> std::map<std::string, bool> {
    if (patience_seconds == 0 || nvml.is_hung()) return {};
    const auto found =
        within_patience<std::map<std::string, bool>>([&nvml] { return cuda::ask_for_lost_gpus(nvml, "/"); }, patience_seconds);
    patience_seconds = found ? kPatienceSeconds : 0;
    return found.value_or(std::map<std::string, bool>());
  };
  return cuda::ask_until_sure(
      ask, [] { sleep_seconds(2); }, sure);
}

}  // namespace roofmark
