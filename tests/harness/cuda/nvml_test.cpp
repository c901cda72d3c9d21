// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <map>

namespace roofmark::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Functions with NVML's signatures, for a driver that is not there.
int a_device = 0;
unsigned processes_running = 3;

int succeed() { return 0; }
int refuse() { return 9; }
int by_uuid(const char* uuid, void** device) {
  if (std::strcmp(uuid, "GPU-1") != 0) return 6;
  *device = &a_device;
  return 0;
}
int by_bus(const char* bus_id, void** device) {
  if (std::strcmp(bus_id, "0000:3B:00.0") != 0) return 6;
  *device = &a_device;
  return 0;
}
int clock_info(void* device, int domain, unsigned* megahertz) {
  *megahertz = domain == 1 ? 1980 : domain == 2 ? 3201 : 0;
  return device == &a_device ? 0 : 1;
}
int milliwatts(void*, unsigned* value) {
  *value = 700'000;
  return 0;
}
int temperature(void*, int sensor, unsigned* celsius) {
  *celsius = 64;
  return sensor;
}
int reasons(void*, unsigned long long* mask) {
  *mask = 0x1 | 0x4;
  return 0;
}
int serial(void*, char* text, unsigned length) {
  if (length < 30) return 7;
  std::strcpy(text, "165");
  return 0;
}
int mig(void*, unsigned* now, unsigned* pending) {
  *now = 1;
  *pending = 0;
  return 0;
}
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
int processes(void*, unsigned* count, Process* found) {
  const unsigned room = *count;
  *count = processes_running;
  if (room < processes_running) return 7;
  for (unsigned i = 0; i < processes_running; ++i) found[i] = {100'000'000 + i, 1000 + i, 0, 0};
  found[0].pid = static_cast<unsigned>(getpid());
  found[1].memory = ~0ull;
  return 0;
}
int process_name(unsigned pid, char* text, unsigned) {
  if (pid == 100'000'002) return 6;
  std::strcpy(text, "tr\xffin");
  return 0;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

std::map<std::string, void*> driver_functions() {
  return {{"nvmlInit_v2", address(succeed)},
          {"nvmlDeviceGetHandleByUUID", address(by_uuid)},
          {"nvmlDeviceGetHandleByPciBusId_v2", address(by_bus)},
          {"nvmlDeviceGetClockInfo", address(clock_info)},
          {"nvmlDeviceGetPowerUsage", address(milliwatts)},
          {"nvmlDeviceGetEnforcedPowerLimit", address(milliwatts)},
          {"nvmlDeviceGetTemperature", address(temperature)},
          {"nvmlDeviceGetCurrentClocksThrottleReasons", address(reasons)},
          {"nvmlDeviceGetSerial", address(serial)},
          {"nvmlDeviceGetVbiosVersion", address(refuse)},
          {"nvmlDeviceGetMigMode", address(mig)},
          {"nvmlDeviceGetComputeRunningProcesses_v3", address(processes)},
          {"nvmlSystemGetProcessName", address(process_name)}};
}

Nvml with(std::map<std::string, void*> functions) {
  return Nvml([functions = std::move(functions)](const char* symbol) {
    const auto found = functions.find(symbol);
    return found == functions.end() ? nullptr : found->second;
  });
}

TEST(ThrottleReasons, IdleAndApplicationClocksDoNotCount) {
  EXPECT_THAT(throttle_reasons(0), IsEmpty());
  EXPECT_THAT(throttle_reasons(0x3), IsEmpty());
  EXPECT_THAT(throttle_reasons(0x1 | 0x4 | 0x20), ElementsAre("power cap", "thermal"));
  EXPECT_THAT(throttle_reasons(0x8 | 0x40 | 0x80), ElementsAre("hardware slowdown", "hardware thermal", "power brake"));
  EXPECT_THAT(throttle_reasons(0x10 | 0x100 | 0x8000), ElementsAre("sync boost", "display clock", "unknown (0x8000)"));
}

TEST(NvmlDevice, ReadsWhatTheDriverSays) {
  const Nvml nvml = with(driver_functions());
  const NvmlDevice device(nvml, "GPU-1", "");
  const Telemetry now = device.telemetry();
  EXPECT_EQ(now.sm_clock_hz, 1980e6);
  EXPECT_EQ(now.memory_clock_hz, 3201e6);
  EXPECT_EQ(now.power_watts, 700);
  EXPECT_EQ(now.temperature_celsius, 64);
  EXPECT_THAT(now.throttle_reasons, ElementsAre("power cap"));

  nlohmann::ordered_json details;
  device.describe(details);
  EXPECT_EQ(details, nlohmann::ordered_json::parse(R"({"serial": "165", "power_limit_watts": 700.0, "mig_mode": true})"));
}

TEST(NvmlDevice, IsFoundByItsBusWhereTheUuidIsUnknown) {
  const Nvml nvml = with(driver_functions());
  EXPECT_TRUE(NvmlDevice(nvml, "MIG-1", "0000:3B:00.0").telemetry().power_watts);
  EXPECT_FALSE(NvmlDevice(nvml, "MIG-1", "0000:3C:00.0").telemetry().power_watts);
}

TEST(NvmlDevice, ListsForeignProcesses) {
  const Nvml nvml = with(driver_functions());
  const NvmlDevice device(nvml, "GPU-1", "");
  processes_running = 3;
  EXPECT_EQ(
      *device.foreign_processes(),
      nlohmann::ordered_json::parse(R"([{"pid": 100000001, "name": "tr?in"}, {"pid": 100000002, "memory_bytes": 1002}])"));
  processes_running = 100;
  EXPECT_EQ(device.foreign_processes()->size(), 99u);
}

TEST(NvmlDevice, SaysNothingWhereThereIsNoLibraryOrItDoesNotStart) {
  auto broken = driver_functions();
  broken["nvmlInit_v2"] = address(refuse);
  for (const Nvml& nvml : {with({}), with(broken)}) {
    const NvmlDevice device(nvml, "GPU-1", "0000:3B:00.0");
    const Telemetry now = device.telemetry();
    EXPECT_FALSE(now.sm_clock_hz || now.memory_clock_hz || now.power_watts || now.temperature_celsius);
    EXPECT_THAT(now.throttle_reasons, IsEmpty());
    nlohmann::ordered_json details = nlohmann::ordered_json::object();
    device.describe(details);
    EXPECT_TRUE(details.empty());
    EXPECT_FALSE(device.foreign_processes());
  }
}

TEST(Nvml, TheDriversOwnMayBeMissing) {
  unsigned count = 0;
  if (Nvml::driver().call("nvmlDeviceGetCount_v2", &count)) GTEST_SKIP() << "there is a driver";
  EXPECT_FALSE(Nvml::driver().status("nvmlDeviceGetCount_v2", &count));
}

}  // namespace
}  // namespace roofmark::cuda
