// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "tests/gpu_model/tests/new_process.hpp"

namespace gpu_model {
namespace {

constexpr int success = 0, uninitialized = 1, invalid_argument = 2, not_found = 6, insufficient_size = 7;
constexpr int not_supported = 3, timeout = 10;

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  unsigned long long value;
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};

/// Calls a function of the library that a program finds by NVML's name.
template <class... Arguments>
int call(const char* symbol, Arguments... arguments) {
  static void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  void* const found = library ? dlsym(library, symbol) : nullptr;
  if (!found) {
    ADD_FAILURE() << symbol << ": " << dlerror();
    return -1;
  }
  return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
}

template <class T>
T value_of(const char* symbol, void* device) {
  T value{};
  EXPECT_EQ(call(symbol, device, &value), success) << symbol;
  return value;
}

void* device_on_bus(int device) {
  char bus_id[32];
  EXPECT_EQ(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device), cudaSuccess);
  void* handle = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", static_cast<const char*>(bus_id), &handle), success) << bus_id;
  return handle;
}

unsigned long long field(void* device, unsigned id) {
  FieldValue value{id, 0, 0, 0, 0, -1, 0};
  EXPECT_EQ(call("nvmlDeviceGetFieldValues", device, 1, &value), success);
  EXPECT_EQ(value.status, success) << id;
  return value.value;
}

class Nvml : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(call("nvmlInit_v2"), success); }
};

TEST_F(Nvml, SaysNothingBeforeItIsInitialised) {
  void* const device = device_on_bus(0);
  EXPECT_EQ(call("nvmlShutdown"), success);
  unsigned value = 0;
  void* handle = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetCount_v2", &value), uninitialized);
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device, &value), uninitialized);
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "0000:18:00.0", &handle), uninitialized);
}

TEST_F(Nvml, FindsADeviceByTheUuidAndBusThatCudaTells) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  std::string uuid = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid += '-';
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
    uuid += digits[byte >> 4];
    uuid += digits[byte & 15];
  }
  void* handle = nullptr;
  EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &handle), success) << uuid;
  EXPECT_EQ(handle, device_on_bus(0));
  EXPECT_EQ(call("nvmlDeviceGetHandleByUUID", "GPU-1", &handle), not_found);
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "0000:FF:00.0", &handle), not_found);
  EXPECT_EQ(value_of<unsigned>("nvmlDeviceGetMaxPcieLinkWidth", handle), 16u);
}

TEST_F(Nvml, TellsNameAndCapabilityOfTheDevice) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  void* const device = device_on_bus(0);
  int major = 0, minor = -1;
  EXPECT_EQ(call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor), success);
  EXPECT_EQ(major, properties.major);
  EXPECT_EQ(minor, properties.minor);
  char name[128];
  EXPECT_EQ(call("nvmlDeviceGetName", device, static_cast<char*>(name), 128u), success);
  EXPECT_STREQ(name, properties.name);
  EXPECT_EQ(call("nvmlDeviceGetName", device, static_cast<char*>(name), static_cast<unsigned>(std::strlen(properties.name))),
            insufficient_size);
}

TEST_F(Nvml, AnIdleDeviceRunsAtItsMaximumClock) {
  void* const device = device_on_bus(0);
  unsigned now = 0, maximum = 0;
  for (int domain : {1, 2}) {
    EXPECT_EQ(call("nvmlDeviceGetClockInfo", device, domain, &now), success);
    EXPECT_EQ(call("nvmlDeviceGetMaxClockInfo", device, domain, &maximum), success);
    EXPECT_EQ(now, maximum);
    EXPECT_GT(now, 1000u);
  }
  EXPECT_EQ(call("nvmlDeviceGetClockInfo", device, 9, &now), invalid_argument);
  EXPECT_LT(value_of<unsigned>("nvmlDeviceGetPowerUsage", device),
            value_of<unsigned>("nvmlDeviceGetEnforcedPowerLimit", device));
  unsigned celsius = 0;
  EXPECT_EQ(call("nvmlDeviceGetTemperature", device, 0, &celsius), success);
  EXPECT_LT(celsius, 60u);
  EXPECT_EQ(call("nvmlDeviceGetTemperature", device, 1, &celsius), invalid_argument);
  EXPECT_EQ(value_of<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons", device), 1u) << "idle";
}

TEST_F(Nvml, IsInTheNvlinkDomainOfTheEnvironment) {
  struct {
    unsigned version;
    unsigned char cluster_uuid[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health;
  } info{};
  in_new_process({{"GPUMODEL_NVLINK_DOMAIN", "3/7"}}, [&] {
    EXPECT_EQ(call("nvmlInit_v2"), success);
    EXPECT_NE(call("nvmlDeviceGetGpuFabricInfoV", device_on_bus(0), &info), success) << "no version";
    info.version = sizeof info | 2u << 24;
    EXPECT_EQ(call("nvmlDeviceGetGpuFabricInfoV", device_on_bus(0), &info), success);
    EXPECT_EQ(info.cluster_uuid[0], 3);
    EXPECT_EQ(info.clique, 7u);
    EXPECT_EQ(info.state, 3);
  });
  in_new_process({}, [&] {
    EXPECT_EQ(call("nvmlInit_v2"), success);
    info.version = sizeof info | 2u << 24;
    EXPECT_EQ(call("nvmlDeviceGetGpuFabricInfoV", device_on_bus(0), &info), success);
    EXPECT_EQ(info.cluster_uuid[0], 0) << "none";
  });
}

TEST_F(Nvml, HasTheLinksOfItsArchitecture) {
  const auto links = [](void* device) {
    unsigned up = 0;
    int state = 0;
    while (call("nvmlDeviceGetNvLinkState", device, up, &state) == success && state == 1) ++up;
    return up;
  };
  in_new_process({{"GPUMODEL_ARCH", "90"}}, [&] {
    EXPECT_EQ(call("nvmlInit_v2"), success);
    EXPECT_EQ(links(device_on_bus(0)), 18u);
  });
  in_new_process({{"GPUMODEL_ARCH", "80"}}, [&] {
    EXPECT_EQ(call("nvmlInit_v2"), success);
    void* const device = device_on_bus(0);
    EXPECT_EQ(links(device), 12u);
    int major = 0, minor = -1;
    EXPECT_EQ(call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor), success);
    EXPECT_EQ(major * 10 + minor, 80);
    EXPECT_EQ(value_of<unsigned>("nvmlDeviceGetMaxPcieLinkGeneration", device), 4u);
  });
}

TEST_F(Nvml, RefusesWhatIsNoDevice) {
  unsigned value = 0;
  int elsewhere = 0;
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", static_cast<void*>(nullptr), &value), invalid_argument);
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", static_cast<void*>(&elsewhere), &value), invalid_argument);
  EXPECT_EQ(call("nvmlDeviceGetPowerUsage", device_on_bus(0), static_cast<unsigned*>(nullptr)), invalid_argument);
}

TEST_F(Nvml, ListsThisProcessAndForeignOnes) {
  void* const device = device_on_bus(0);
  ProcessInfo processes[4] = {};
  unsigned found = 4;
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", device, &found, processes), success);
  ASSERT_EQ(found, 1u);
  EXPECT_EQ(processes[0].pid, static_cast<unsigned>(getpid()));
  setenv("GPUMODEL_FOREIGN", "2", 1);
  found = 4;
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", device, &found, processes), success);
  EXPECT_EQ(found, 3u);
  EXPECT_NE(processes[1].pid, processes[2].pid);
  EXPECT_NE(processes[1].pid, processes[0].pid);
  found = 2;
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", device, &found, processes), insufficient_size);
  EXPECT_EQ(found, 3u);
  unsetenv("GPUMODEL_FOREIGN");
}

TEST_F(Nvml, AThrottledDeviceSaysWhy) {
  in_new_process({{"GPUMODEL_THROTTLE", "0:900"}}, [] {
    EXPECT_EQ(call("nvmlInit_v2"), success);
    void* const device = device_on_bus(0);
    unsigned megahertz = 0;
    EXPECT_EQ(call("nvmlDeviceGetClockInfo", device, 1, &megahertz), success);
    EXPECT_EQ(megahertz, 900u);
    EXPECT_EQ(value_of<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons", device), 0x20u) << "thermal";
    const auto first = field(device, 269);
    usleep(2000);
    EXPECT_GT(field(device, 269), first) << "nanoseconds";
    EXPECT_EQ(field(device, 74), 0u) << "no power cap";
  });
  EXPECT_EQ(field(device_on_bus(0), 269), 0u);
}

TEST_F(Nvml, TheEnergyCounterIsThePowerOverTimeInSteps) {
  void* const device = device_on_bus(0);
  const auto millijoules = [&] { return value_of<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device); };
  const double step = field(device, 186) * 1e-3 * 20;  // of an idle GPU, in 20 ms
  const auto first = millijoules();
  auto next = first;
  while (next == first) next = millijoules();
  const double steps = static_cast<double>(next - first) / step;
  EXPECT_NEAR(steps, std::round(steps), 0.01);
}

TEST_F(Nvml, AFieldThatIsNotModelledLeavesTheOthers) {
  FieldValue values[] = {{82, 0, 0, 0, 0, -1, 0}, {1, 0, 0, 0, 0, -1, 0}};
  EXPECT_EQ(call("nvmlDeviceGetFieldValues", device_on_bus(0), 2, static_cast<FieldValue*>(values)), success);
  EXPECT_EQ(values[0].status, success);
  EXPECT_GT(values[0].value, 20u);
  EXPECT_EQ(values[1].status, not_supported);
}

TEST_F(Nvml, ACounterStepsOnceTheDeviceWorks) {
  const char* const steps =
      "ecc_uncorrected:3,channel_repair_pending:1,nvlink_links:2,recovery_action:1,xid:2,application_xid:1,informational_xid:1";
  in_new_process({{"GPUMODEL_COUNTER", steps}}, [] {
    EXPECT_EQ(call("nvmlInit_v2"), success);
    void* const device = device_on_bus(0);
    const auto uncorrected = [&] {
      unsigned long long errors = 99;
      EXPECT_EQ(call("nvmlDeviceGetTotalEccErrors", device, 1, 1, &errors), success);
      return errors;
    };
    const auto links = [&] {
      int up = 0, all = 0;
      for (unsigned link = 0; call("nvmlDeviceGetNvLinkState", device, link, &up) == success; ++link) all += up;
      return all;
    };
    const auto recovery_action = [&] {
      FieldValue action{230, 0, 0, 0, 0, -1, 99};
      EXPECT_EQ(call("nvmlDeviceGetFieldValues", device, 1, &action), success);
      return action.status == success ? action.value : 99;
    };
    const auto pending_repairs = [&] {  // nvmlRepairStatus_v1_t
      std::array<unsigned, 3> repair = {sizeof repair | 1u << 24, 9, 9};
      EXPECT_EQ(call("nvmlDeviceGetRepairStatus", device, repair.data()), success);
      return std::pair(repair[1], repair[2]);
    };
    void* set = nullptr;
    EXPECT_EQ(call("nvmlEventSetCreate", &set), success);
    EXPECT_EQ(call("nvmlDeviceRegisterEvents", device, 8ull, set), success);
    Event event{};
    EXPECT_EQ(call("nvmlEventSetWait_v2", set, &event, 0u), timeout);
    EXPECT_EQ(uncorrected(), 0u);
    EXPECT_EQ(links(), 18);
    EXPECT_EQ(recovery_action(), 0u);
    EXPECT_EQ(pending_repairs(), std::pair(0u, 0u));
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 1024), cudaSuccess);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(cudaMemset(memory, i, 1024), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(uncorrected(), 3u);
    EXPECT_EQ(links(), 16);
    EXPECT_EQ(recovery_action(), 1u);
    EXPECT_EQ(pending_repairs(), std::pair(1u, 0u));
    EXPECT_EQ(call("nvmlEventSetWait_v2", set, &event, 0u), success);
    EXPECT_EQ(event.data, 79u);
    EXPECT_EQ(call("nvmlEventSetWait_v2", set, &event, 0u), success);
    EXPECT_EQ(call("nvmlEventSetWait_v2", set, &event, 0u), success);
    EXPECT_EQ(event.data, 31u);
    EXPECT_EQ(call("nvmlEventSetWait_v2", set, &event, 0u), success);
    EXPECT_EQ(event.data, 63u);
    EXPECT_EQ(call("nvmlEventSetWait_v2", set, &event, 0u), timeout);
    EXPECT_EQ(call("nvmlEventSetFree", set), success);
  });
}

TEST_F(Nvml, NumbersTheGpusOfTheMachine) {
  in_new_process({{"GPUMODEL_DEVICES", "2"}}, [] {
    EXPECT_EQ(call("nvmlInit_v2"), success);
    unsigned devices = 0;
    EXPECT_EQ(call("nvmlDeviceGetCount_v2", &devices), success);
    EXPECT_EQ(devices, 2u);
    EXPECT_NE(device_on_bus(0), device_on_bus(1));
  });
}

TEST_F(Nvml, PathsBetweenGpus) {
  const auto status = [](int index) {
    int found = -1;
    EXPECT_EQ(call("nvmlDeviceGetP2PStatus", device_on_bus(0), device_on_bus(1), index, &found), success);
    return found;
  };
  in_new_process({{"GPUMODEL_DEVICES", "5"}}, [&] {
    for (const int index : {0, 1, 2, 3, 4}) EXPECT_EQ(status(index), 0) << index;
    int level = -1;
    for (const auto& [other, expected] : {std::pair(1, 10), {2, 30}, {4, 50}}) {
      EXPECT_EQ(call("nvmlDeviceGetTopologyCommonAncestor", device_on_bus(0), device_on_bus(other), &level), success);
      EXPECT_EQ(level, expected);
    }
    EXPECT_EQ(call("nvmlDeviceGetP2PStatus", device_on_bus(0), device_on_bus(0), 0, &level), invalid_argument);
    char info[128];
    EXPECT_EQ(call("nvmlDeviceGetNvLinkRemotePciInfo_v2", device_on_bus(0), 0u, static_cast<void*>(info)), not_supported);
  });
  in_new_process({{"GPUMODEL_DEVICES", "2"}, {"GPUMODEL_ARCH", "86"}}, [&] {
    EXPECT_EQ(status(0), 0);
    EXPECT_EQ(status(2), 5) << "no NVLink";
  });
  in_new_process({{"GPUMODEL_DEVICES", "2"}, {"GPUMODEL_PEER_ACCESS", "0"}}, [&] { EXPECT_EQ(status(0), 1); });
}

}  // namespace
}  // namespace gpu_model
