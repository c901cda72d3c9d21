// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/lost_gpus.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

#include "tests/harness/fake_root.hpp"

namespace roofmark::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::map<std::string, int> answers;  ///< of NVML, by PCI address

int init() { return kSuccess; }
int handle_of(const char* address, void**) {
  constexpr int kNotFound = 6;
  const auto found = answers.find(address);
  return found == answers.end() ? kNotFound : found->second;
}

const Nvml& nvml() {
  static const Nvml all([](const std::string& symbol) -> void* {
    if (symbol == "nvmlInit_v2") return reinterpret_cast<void*>(init);
    return symbol == "nvmlDeviceGetHandleByPciBusId_v2" ? reinterpret_cast<void*>(handle_of) : nullptr;
  });
  return all;
}

class LostGpus : public testing::Test {
 protected:
  void put(const std::string& address, int minor, bool has_device_file, int answer) {
    root_.put("proc/driver/nvidia/gpus/" + address + "/information",
              "Model: \t\t NVIDIA H200\nDevice Minor: \t " + std::to_string(minor));
    if (has_device_file) root_.put("dev/nvidia" + std::to_string(minor), "");
    answers[address] = answer;
  }
  std::map<std::string, bool> asked() const { return ask_for_lost_gpus(nvml(), root_.root); }

  const FakeRoot root_;
};

TEST_F(LostGpus, AreThoseThatNvmlCallsLost) {
  put("0000:18:00.0", 0, true, kSuccess);
  put("0000:2a:00.0", 1, true, kGpuIsLost);
  put("0000:3b:00.0", 2, true, kUnknownError);
  EXPECT_THAT(asked(), ElementsAre(Pair("0000:18:00.0", false), Pair("0000:2a:00.0", true), Pair("0000:3b:00.0", true)));
}

TEST_F(LostGpus, AreNotThoseOfOtherJobsAndContainers) {
  constexpr int kNoPermission = 4, kNotFound = 6;
  put("0000:18:00.0", 0, true, kSuccess);
  put("0000:2a:00.0", 1, false, kNoPermission);
  put("0000:3b:00.0", 2, false, kNotFound);
  put("0000:5d:00.0", 3, false, kUnknownError);
  EXPECT_THAT(asked(), ElementsAre(Pair("0000:18:00.0", false)));
}

TEST_F(LostGpus, AreNotThoseThatAnotherJobResets) {
  put("0000:18:00.0", 0, true, kGpuIsLost);
  put("0000:2a:00.0", 1, true, kGpuIsLost);
  int waits = 0;
  std::set<std::string> sure;
  const auto wait = [&] {
    if (++waits == 3) answers["0000:18:00.0"] = kSuccess;
  };
  const auto sure_of = [&] { return ask_until_sure([&] { return asked(); }, wait, sure); };
  const auto lost = ElementsAre(Pair("0000:18:00.0", false), Pair("0000:2a:00.0", true));
  EXPECT_THAT(sure_of(), lost);
  EXPECT_EQ(waits, 5) << "10 seconds, in which a reset ends";
  EXPECT_THAT(sure_of(), lost);
  EXPECT_EQ(waits, 5) << "once";
}

TEST_F(LostGpus, AreUnknownWithoutTheDriversFolder) { EXPECT_THAT(asked(), IsEmpty()); }

}  // namespace
}  // namespace roofmark::cuda
