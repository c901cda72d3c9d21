// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/device/cuda_device.hpp"
#include "harness/team/json.hpp"

namespace roofmark::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Absence, NoDriver) {
  const Absence absence{cudaErrorInsufficientDriver, 0, 13000, "", {}};
  EXPECT_THAT(describe(absence), AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("install")));
}

TEST(Absence, DriverOlderThanTheRuntime) {
  const Absence absence{cudaErrorInsufficientDriver, 12040, 13000, {}, {}};
  EXPECT_THAT(describe(absence), AllOf(HasSubstr("supports CUDA 12.4"), HasSubstr("runtime is 13.0"), HasSubstr("update")));
}

TEST(Absence, NoneVisible) {
  const Absence absence{cudaErrorNoDevice, 13000, 13000, "", {}};
  EXPECT_THAT(describe(absence), AllOf(HasSubstr("CUDA_VISIBLE_DEVICES=\"\""), HasSubstr("unset")));
}

TEST(Absence, NoPermission) {
  const Absence absence{cudaErrorNoDevice, 13000, 13000, "0", {"/dev/nvidia0", "/dev/nvidiactl"}};
  EXPECT_THAT(describe(absence),
              AllOf(HasSubstr("no permission"), HasSubstr("/dev/nvidia0, /dev/nvidiactl"), Not(HasSubstr("VISIBLE"))));
}

TEST(Absence, NoneAtAll) {
  EXPECT_THAT(describe({cudaErrorNoDevice, 13000, 13000, {}, {}}), AllOf(HasSubstr("finds no GPU"), HasSubstr("nvidia-smi")));
}

TEST(Absence, OtherErrorsKeepTheRuntimesWords) {
  EXPECT_THAT(describe({cudaErrorSystemDriverMismatch, 13000, 13000, {}, {}}),
              AllOf(HasSubstr("cudaErrorSystemDriverMismatch"), HasSubstr("reboot")));
  EXPECT_THAT(describe({cudaErrorSystemNotReady, 13000, 13000, {}, {}}), HasSubstr("fabricmanager"));
  EXPECT_THAT(describe({cudaErrorCompatNotSupportedOnDevice, 13000, 13000, {}, {}}), HasSubstr("LD_LIBRARY_PATH"));
  EXPECT_THAT(describe({cudaErrorInitializationError, 13000, 13000, {}, {}}),
              AllOf(HasSubstr("cudaErrorInitializationError"), HasSubstr("dmesg")));
}

TEST(Unusable, WhatHasTheGpuIsNamedWithTheWayOut) {
  DeviceInfo device;
  device.id = "cuda:1";
  device.name = "a GPU";
  EXPECT_THAT(why_unusable(cudaErrorDevicesUnavailable, device),
              AllOf(HasSubstr("cannot use cuda:1 (a GPU): "), HasSubstr("cudaErrorDevicesUnavailable"), HasSubstr("dmesg")));
  device.gpu.compute_mode = "prohibited";
  EXPECT_THAT(why_unusable(cudaErrorDevicesUnavailable, device), HasSubstr("admits no program; nvidia-smi -c 0"));
  device.gpu.compute_mode = "exclusive process";
  EXPECT_THAT(why_unusable(cudaErrorDevicesUnavailable, device), HasSubstr("admits one process alone: wait"));
  device.gpu.foreign_processes = {{7, "train", {}}, {9, "", {}}};
  EXPECT_THAT(why_unusable(cudaErrorDevicesUnavailable, device),
              HasSubstr("admits one process alone (on it: 7 train, 9): wait"));
  EXPECT_THAT(why_unusable(cudaErrorMemoryAllocation, device), HasSubstr("have its memory (on it: 7 train, 9): end them"));
  EXPECT_THAT(why_unusable(cudaErrorMpsServerNotReady, device), HasSubstr("log of nvidia-cuda-mps-control"));
  EXPECT_THAT(why_unusable(cudaErrorECCUncorrectable, device),
              AllOf(HasSubstr("cudaErrorECCUncorrectable"), HasSubstr("dmesg")));
  // CUDA says of a GPU that has to be reset that it is busy.
  device.gpu.recovery_action = 1;
  EXPECT_THAT(why_unusable(cudaErrorDevicesUnavailable, device), HasSubstr("after a fault of the GPU (GPU reset): drain"));
  device.gpu.recovery_action = kRecoverImexDomain;
  EXPECT_THAT(why_unusable(cudaErrorDevicesUnavailable, device), HasSubstr("admits one process alone"));
}

TEST(Code, WhatABuildLacksHasItsRemedy) {
  DeviceInfo device;
  device.id = "cuda:1";
  device.name = "a GPU";
  const auto why = [&](int capability, cudaError_t status) {
    device.compute_capability = capability;
    return why_no_code({status, 0}, device, "80-real 100");
  };
  EXPECT_THAT(why(70, cudaErrorNoKernelImageForDevice),
              AllOf(HasSubstr("cuda:1 (a GPU, compute capability 7.0)"), HasSubstr("8.0 and newer")));
  EXPECT_THAT(why(89, cudaErrorNoKernelImageForDevice), HasSubstr("-DCMAKE_CUDA_ARCHITECTURES=89 (now: 80-real 100)"));
  EXPECT_THAT(why(110, cudaErrorUnsupportedPtxVersion), HasSubstr("ARCHITECTURES=110 "));
  EXPECT_THAT(why(90, cudaErrorNoKernelImageForDevice), HasSubstr("ARCHITECTURES=90a ")) << "without it there is no wgmma";
  for (const cudaError_t other : {cudaErrorMemoryAllocation, cudaErrorDevicesUnavailable, cudaErrorECCUncorrectable}) {
    EXPECT_EQ(why(90, other), "") << "another build would fail in the same way";
  }
}

TEST(Code, ForAnOlderGpuIsRefusedWhereItLacksInstructions) {
  DeviceInfo device;
  const auto refused = [&](int capability, int compiled_for) {
    device.compute_capability = capability;
    return !why_no_code({cudaSuccess, compiled_for}, device, "80").empty();
  };
  for (const auto& [capability, compiled_for] : {std::pair(89, 80), {89, 86}, {90, 80}, {100, 89}, {120, 80}}) {
    EXPECT_TRUE(refused(capability, compiled_for)) << capability << " runs " << compiled_for;
  }
  for (const auto& [capability, compiled_for] :
       {std::pair(80, 80), {86, 80}, {89, 89}, {90, 90}, {100, 90}, {103, 100}, {121, 120}}) {
    EXPECT_FALSE(refused(capability, compiled_for)) << capability << " runs " << compiled_for;
  }
  device.id = "cuda:0";
  device.name = "a GPU";
  device.compute_capability = 89;
  EXPECT_EQ(why_no_code({cudaSuccess, 80}, device, "80-real"),
            "this roofmark cannot run on cuda:0 (a GPU, compute capability 8.9): of this build it runs the code for 8.0, which "
            "lacks what its own has; build it with -DCMAKE_CUDA_ARCHITECTURES=89 (now: 80-real)");
}

TEST(CudaDevices, EitherSomeOrAReason) {
  const CudaDevices devices = cuda_devices();
  EXPECT_EQ(devices.ordinals.empty(), !devices.reason.empty()) << devices.reason;
}

TEST(Text, UuidAndVersions) {
  cudaUUID_t uuid;
  for (int i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<char>(17 * i);
  EXPECT_EQ(uuid_text(uuid), "GPU-00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12080), "12.8");
}

int no_error() { return 0; }
int find_any(const char*, void** device) {
  static int card;
  *device = &card;
  return 0;
}
template <unsigned megahertz>
int max_clock(void*, int, unsigned* value) {
  *value = megahertz;
  return 0;
}

/// What is read of GPU 0 where NVML gives this as its maximum clock, in MHz.
template <unsigned megahertz>
DeviceInfo read_with_max_clock() {
  const Nvml nvml([](const char* symbol) -> void* {
    const std::string name = symbol;
    if (name == "nvmlInit_v2") return reinterpret_cast<void*>(no_error);
    if (name == "nvmlDeviceGetHandleByUUID") return reinterpret_cast<void*>(find_any);
    if (name == "nvmlDeviceGetMaxClockInfo") return reinterpret_cast<void*>(max_clock<megahertz>);
    return nullptr;
  });
  return read_device_info(0, NvmlDevice(nvml, "GPU-1", ""));
}

TEST(ReadDeviceInfo, TheHighestClockIsTheLargerOfAttributeAndNvmlsMaximum) {
  if (cuda_devices().ordinals.empty()) GTEST_SKIP() << cuda_devices().reason;
  const DeviceInfo boosts = read_with_max_clock<30'000>(), lower = read_with_max_clock<1>();
  EXPECT_EQ(boosts.highest_clock_hz, 30e9);
  EXPECT_EQ(lower.highest_clock_hz, lower.rated_clock_hz);
  EXPECT_EQ(boosts.rated_clock_hz, lower.rated_clock_hz);
  ASSERT_TRUE(lower.rated_clock_hz);
  EXPECT_LT(*lower.rated_clock_hz, 30e9);
}

}  // namespace
}  // namespace roofmark::cuda
