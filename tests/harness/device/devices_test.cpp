// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/device/cuda_device.hpp"
#include "harness/device/device.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const CudaDevices kNone{{}, "no driver; install one"};
const CudaDevices kTwo{{0, 2}, ""};

std::vector<std::string> resolve(const std::string& value, const CudaDevices& cuda) {
  std::string note;
  auto ids = resolve_devices(value, cuda, note);
  EXPECT_THAT(note, IsEmpty());
  return ids;
}

std::string refusal(const std::string& value, const CudaDevices& cuda) {
  try {
    resolve(value, cuda);
  } catch (const DeviceError& error) {
    EXPECT_FALSE(error.sticky());
    return error.what();
  }
  return "";
}

TEST(ResolveDevices, AutoTakesTheFirstGpu) { EXPECT_THAT(resolve("auto", kTwo), ElementsAre("cuda:0")); }

TEST(ResolveDevices, AutoTakesTheCpuWhereThereIsNoGpuAndSaysWhy) {
  std::string note;
  EXPECT_THAT(resolve_devices("auto", kNone, note), ElementsAre("cpu"));
  EXPECT_THAT(note, AllOf(HasSubstr("CPU"), HasSubstr(kNone.reason)));
}

TEST(ResolveDevices, AutoDoesNotTakeTheCpuInPlaceOfGpusThatAreThere) {
  const CudaDevices broken{{}, "no driver; install one", 8};
  EXPECT_EQ(refusal("auto", broken),
            "this host has 8 NVIDIA GPUs, but no GPU can be used: no driver; install one; --device cpu measures the CPU");
  EXPECT_THAT(resolve("cpu", broken), ElementsAre("cpu"));
}

TEST(ExpectGpus, AnotherNumberIsRefusedWithWhatIsKnownOfTheOthers) {
  const auto refused = [](int expected, const CudaDevices& cuda, int on_pci, const char* visible) -> std::string {
    try {
      expect_gpus(expected, cuda, on_pci, visible);
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused(2, kTwo, 8, "0,2"), "");
  EXPECT_EQ(refused(8, kTwo, 8, nullptr),
            "8 GPUs expected, 2 can be used (PCI lists 8); the driver may have lost one: look for NVRM in dmesg");
  EXPECT_EQ(
      refused(3, kTwo, 8, "0,2,7"),
      "3 GPUs expected, 2 can be used (PCI lists 8, CUDA_VISIBLE_DEVICES is 0,2,7); the driver may have lost one: look for "
      "NVRM in dmesg; CUDA ends at the first number of CUDA_VISIBLE_DEVICES that has no GPU");
  EXPECT_EQ(refused(1, kTwo, 2, nullptr), "1 GPU expected, 2 can be used (PCI lists 2)");
  EXPECT_EQ(refused(4, kNone, 0, nullptr), "4 GPUs expected, 0 can be used (PCI lists 0): no driver; install one");
}

TEST(ResolveDevices, TheCpuIsAlwaysThere) {
  EXPECT_THAT(resolve("cpu", kNone), ElementsAre("cpu"));
  EXPECT_THAT(resolve("cpu", kTwo), ElementsAre("cpu"));
}

TEST(ResolveDevices, CudaIsTheFirstAndAllAreAllGpus) {
  EXPECT_THAT(resolve("cuda", kTwo), ElementsAre("cuda:0"));
  EXPECT_THAT(resolve("cuda:2", kTwo), ElementsAre("cuda:2"));
  EXPECT_THAT(resolve("all", kTwo), ElementsAre("cuda:0", "cuda:2"));
}

TEST(ResolveDevices, AGpuThatIsAskedForAndMissingIsAnErrorWithTheReason) {
  for (const char* value : {"cuda", "cuda:1", "all"}) EXPECT_THAT(refusal(value, kNone), HasSubstr(kNone.reason)) << value;
  EXPECT_THAT(refusal("cuda:1", kTwo), AllOf(HasSubstr("no cuda:1"), HasSubstr("cuda:0, cuda:2")));
}

TEST(ResolveDevices, WhatIsNoDeviceIsAUsageError) {
  for (const char* value :
       {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda: 1", "cuda:99999999999", "cpu:0"}) {
    for (const CudaDevices& cuda : {kNone, kTwo}) EXPECT_THROW(resolve(value, cuda), std::invalid_argument) << value;
  }
}

TEST(OpenDevice, OpensTheCpu) { EXPECT_EQ(open_device("cpu")->info().id, "cpu"); }

TEST(OpenDevice, TakesOnlyAnId) {
  for (const char* id : {"auto", "cuda", "all", ""}) EXPECT_THROW(open_device(id), std::invalid_argument) << id;
}

TEST(OpenDevice, AGpuThatIsNotThereIsADeviceError) { EXPECT_THROW(open_device("cuda:4711"), DeviceError); }

}  // namespace
}  // namespace roofmark
