// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one made-up driver, and what is read of it, question by question.
#include "harness/device/cuda/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "harness/device/telemetry.hpp"
#include "harness/team/json.hpp"
#include "tests/harness/fake_root.hpp"

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
unsigned generation = 5, lanes = 16;
int capability_major = 9, capability_minor = 0;
int generation_now(void*, unsigned* value) {
  *value = 1;
  return 0;
}
int generation_max(void*, unsigned* value) {
  *value = generation;
  return 0;
}
int width(void*, unsigned* value) {
  *value = lanes;
  return 0;
}
int width_max(void*, unsigned* value) {
  *value = 16;
  return 0;
}
/// 18 links, of which the last two are down; NVML refuses to speak of those that a GPU does not have.
unsigned links_present = 18;
int link_state(void*, unsigned link, int* enabled) {
  if (link >= links_present) return 2;
  *enabled = link < 16;
  return 0;
}
int capability(void*, int* major, int* minor) {
  *major = capability_major;
  *minor = capability_minor;
  return 0;
}
/// nvmlGpuFabricInfo_v2_t
struct Fabric {
  unsigned version;
  unsigned char cluster_uuid[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
Fabric fabric_answer{};
int fabric_info(void*, Fabric* to) {
  if (to->version != (sizeof(Fabric) | 2u << 24)) return 25;
  *to = fabric_answer;
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
          {"nvmlDeviceGetSerial", address(serial)},
          {"nvmlDeviceGetVbiosVersion", address(refuse)},
          {"nvmlDeviceGetMigMode", address(mig)},
          {"nvmlDeviceGetComputeRunningProcesses_v2", address(processes)},
          {"nvmlSystemGetProcessName", address(process_name)}};
}

Nvml with(std::map<std::string, void*> functions) {
  return Nvml([functions = std::move(functions)](const char* symbol) {
    const auto found = functions.find(symbol);
    return found == functions.end() ? nullptr : found->second;
  });
}

TEST(ThrottleReasons, AreThoseThatAProfileKnows) {
  std::vector<std::string> known;
  for (const ThrottleReason& reason : kThrottleReasons) known.emplace_back(reason.name);
  EXPECT_THAT(throttle_reasons(0x1fe), testing::UnorderedElementsAreArray(known));
}

TEST(ThrottleReasons, BeingIdleDoesNotCount) {
  EXPECT_THAT(throttle_reasons(0), IsEmpty());
  EXPECT_THAT(throttle_reasons(0x1), IsEmpty());
  EXPECT_THAT(throttle_reasons(0x3), ElementsAre("application clocks"));
  EXPECT_THAT(throttle_reasons(0x1 | 0x4 | 0x20), ElementsAre("power cap", "thermal"));
  EXPECT_THAT(throttle_reasons(0x8 | 0x40 | 0x80), ElementsAre("hardware slowdown", "hardware thermal", "power brake"));
  EXPECT_THAT(throttle_reasons(0x10 | 0x100 | 0x8000), ElementsAre("sync boost", "display clock", "unknown (0x8000)"));
}

TEST(NvmlDevice, ReadsWhatTheDriverSays) {
  const Nvml nvml = with(driver_functions());
  const NvmlDevice device(nvml, "GPU-1", "");
  GpuFacts facts;
  device.describe(facts);
  EXPECT_EQ(facts.serial, "165");
  EXPECT_EQ(facts.power_limit_watts, 700.0);
  EXPECT_EQ(facts.mig_mode, true);
  EXPECT_EQ(facts.vbios, "") << "refused";
  EXPECT_FALSE(facts.power_limit_default_watts) << "the driver lacks the function";
}

unsigned confidential_feature = 0, confidential_gpus = 0;
int confidential_settings(ConfidentialSettings* settings) {
  if (settings->version != (20 | 1u << 24)) return 2;
  settings->state.feature = confidential_feature;
  settings->multi_gpu_mode = confidential_gpus;
  return 0;
}
int confidential_state(ConfidentialState* state) {
  state->feature = 1;
  return 0;
}

TEST(NvmlDevice, ConfidentialComputingIsOfTheSystem) {
  auto functions = driver_functions();
  const auto mode = [&] { return NvmlDevice(with(functions), "GPU-1", "").confidential_computing(); };
  EXPECT_FALSE(mode()) << "no such function";
  functions["nvmlSystemGetConfComputeState"] = address(confidential_state);
  EXPECT_EQ(mode(), "on") << "by an older driver";
  functions["nvmlSystemGetConfComputeSettings"] = address(confidential_settings);
  EXPECT_EQ(mode(), "off");
  confidential_feature = 1;
  EXPECT_EQ(mode(), "on");
  confidential_feature = 0, confidential_gpus = kProtectedPcie;
  EXPECT_EQ(mode(), "protected PCIe");
  confidential_gpus = 0;
}

std::map<std::string, void*> functions_of_links() {
  auto functions = driver_functions();
  functions["nvmlDeviceGetCurrPcieLinkGeneration"] = address(generation_now);
  functions["nvmlDeviceGetMaxPcieLinkGeneration"] = address(generation_max);
  functions["nvmlDeviceGetCurrPcieLinkWidth"] = address(width);
  functions["nvmlDeviceGetNvLinkState"] = address(link_state);
  functions["nvmlDeviceGetCudaComputeCapability"] = address(capability);
  return functions;
}

GpuFacts facts_of(const Nvml& nvml) {
  GpuFacts facts;
  NvmlDevice(nvml, "GPU-1", "").describe(facts);
  return facts;
}

TEST(NvmlDevice, PcieIsTheBestGenerationTimesTheLanesThatAreThere) {
  const Nvml nvml = with(functions_of_links());
  // What is published in GB/s for 16 lanes.
  const std::pair<unsigned, double> published[] = {{1, 4}, {2, 8}, {3, 15.75}, {4, 31.5}, {5, 63}, {6, 121}};
  for (const auto& [number, gigabytes_per_second] : published) {
    generation = number;
    lanes = 16;
    EXPECT_NEAR(facts_of(nvml).pcie.bytes_per_second.value(), gigabytes_per_second * 1e9, 0.0006 * gigabytes_per_second * 1e9);
    lanes = 8;
    EXPECT_NEAR(facts_of(nvml).pcie.bytes_per_second.value(), gigabytes_per_second * 0.5e9,
                0.0006 * gigabytes_per_second * 1e9);
  }
  generation = 5;
  lanes = 16;
  EXPECT_EQ(facts_of(nvml).pcie.source, "PCIe 5 x16: 16 lanes x 32 GT/s, 128b/130b (PCI Express Base Specification)");
  generation = 7;
  EXPECT_FALSE(facts_of(nvml).pcie.bytes_per_second);
  generation = 5;
}

TEST(NvmlDevice, TheGpusOwnGenerationIsNotThatOfItsSlot) {
  auto functions = functions_of_links();
  functions["nvmlDeviceGetGpuMaxPcieLinkGeneration"] = address(generation_max);
  functions["nvmlDeviceGetMaxPcieLinkGeneration"] = address(generation_now);
  const GpuFacts facts = facts_of(with(functions));
  EXPECT_EQ(facts.pcie_generation_max, 1);
  EXPECT_EQ(facts.pcie_generation_of_gpu, 5);
  GpuFacts of_kernel;
  of_kernel.pcie_generation_of_gpu = 4;
  const Nvml silent = with(functions_of_links());
  NvmlDevice(silent, "GPU-1", "").describe(of_kernel);
  EXPECT_EQ(of_kernel.pcie_generation_of_gpu, 4) << "an older driver lacks the question: the kernel's answer stays";
}

TEST(NvmlDevice, PcieAsItIsTrainedNowIsBelowWhatItsEndsCan) {
  auto functions = functions_of_links();
  functions["nvmlDeviceGetMaxPcieLinkWidth"] = address(width_max);
  const Nvml nvml = with(functions), silent = with(driver_functions());
  const NvmlDevice device(nvml, "GPU-1", "");
  lanes = 8;
  EXPECT_DOUBLE_EQ(device.pcie_bytes_per_second_now().value(), 2e9) << "generation 1, which an idle link rests at";
  EXPECT_NEAR(device.pcie_bytes_per_second_at_most(false).value(), 63e9, 0.1e9);
  EXPECT_NEAR(device.pcie_bytes_per_second_at_most(true).value(), 31.5e9, 0.1e9) << "the host's slot may have eight lanes";
  lanes = 0;
  EXPECT_FALSE(device.pcie_bytes_per_second_now());
  lanes = 16;
  EXPECT_FALSE(NvmlDevice(silent, "GPU-1", "").pcie_bytes_per_second_at_most(false));
}

/// Ten links to the CPU, of which the last is down.
unsigned c2c_links = 10;
int c2c_fields(void*, int count, FieldValue* values) {
  for (FieldValue* value = values; value < values + count; ++value) {
    value->status = 0;
    value->value.uint32 = value->field == 170 ? c2c_links : value->field == 171 ? value->scope < 9 : 44712;
  }
  return 0;
}

TEST(NvmlDevice, C2cIsTheSumOfTheLinksThatAreUp) {
  auto functions = functions_of_links();
  functions["nvmlDeviceGetFieldValues"] = address(c2c_fields);
  const Nvml nvml = with(functions);
  EXPECT_DOUBLE_EQ(facts_of(nvml).c2c.bytes_per_second.value(), 9 * 44712e6);
  EXPECT_EQ(facts_of(nvml).c2c.source, "NVLink-C2C: 9 links up, 402.408 GB/s together in one direction (NVML)");
  EXPECT_EQ(facts_of(nvml).c2c_links, 10);
  EXPECT_EQ(facts_of(nvml).c2c_links_up, 9);
  c2c_links = 0;
  EXPECT_FALSE(facts_of(nvml).c2c.bytes_per_second);
  EXPECT_FALSE(facts_of(nvml).c2c_links);
}

TEST(NvmlDevice, NvlinkIsTheLinksThatAreUpTimesThePublishedRate) {
  const Nvml nvml = with(functions_of_links());
  const std::pair<int, double> published[] = {{8, 25e9}, {9, 25e9}, {10, 50e9}};
  for (const auto& [major, rate] : published) {
    capability_major = major;
    EXPECT_EQ(facts_of(nvml).nvlink.bytes_per_second, 16 * rate);
  }
  capability_major = 9;
  EXPECT_EQ(facts_of(nvml).nvlink.source, "16 NVLinks x 25 GB/s (NVIDIA's datasheets, H100, H200: 450 GB/s over 18)");
  capability_major = 8;
  capability_minor = 6;
  EXPECT_EQ(facts_of(nvml).nvlink.bytes_per_second, 16 * 14.0625e9);
  capability_minor = 0;
  links_present = 6;
  EXPECT_EQ(facts_of(nvml).nvlink_links, 6);
  capability_major = 12;
  EXPECT_EQ(facts_of(nvml).nvlink_links, 6);
  EXPECT_FALSE(facts_of(nvml).nvlink.bytes_per_second);
  links_present = 0;
  EXPECT_FALSE(facts_of(nvml).nvlink_links);
  capability_major = 9;
  links_present = 18;
}

TEST(NvmlDevice, AnNvlinkDomainIsItsClusterAndClique) {
  constexpr unsigned char completed = 3, in_progress = 2;
  auto functions = functions_of_links();
  functions["nvmlDeviceGetGpuFabricInfoV"] = address(fabric_info);
  const Nvml nvml = with(functions);
  fabric_answer = {0, {0x8f, 0x6a, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 0, 32766, completed, 0};
  EXPECT_EQ(facts_of(nvml).nvlink_domain, "8f6a0304-0506-0708-090a-0b0c0d0e0f10/32766");
  EXPECT_THAT(facts_of(nvml).fabric->problems, IsEmpty());
  fabric_answer.state = in_progress;
  EXPECT_EQ(facts_of(nvml).nvlink_domain, "");
  EXPECT_THAT(facts_of(nvml).fabric->problems, ElementsAre("the GPU's registration is in progress"));
  fabric_answer.state = completed;
  fabric_answer.status = 3;
  EXPECT_EQ(facts_of(nvml).nvlink_domain, "");
  EXPECT_THAT(facts_of(nvml).fabric->problems, ElementsAre("the GPU's registration failed (NVML status 3)"));
  fabric_answer = {0, {}, 0, 0, completed, 0};
  EXPECT_EQ(facts_of(nvml).nvlink_domain, "") << "the switches of one host";
  EXPECT_EQ(facts_of(with(functions_of_links())).nvlink_domain, "") << "an old driver";
}

TEST(NvmlDevice, IsFoundByItsBusWhereTheUuidIsUnknown) {
  const Nvml nvml = with(driver_functions());
  EXPECT_EQ(NvmlDevice(nvml, "MIG-1", "0000:3B:00.0").number("nvmlDeviceGetPowerUsage"), 700'000u);
  EXPECT_FALSE(NvmlDevice(nvml, "MIG-1", "0000:3C:00.0").number("nvmlDeviceGetPowerUsage"));
}

TEST(NvmlDevice, ListsForeignProcesses) {
  const Nvml nvml = with(driver_functions());
  const NvmlDevice device(nvml, "GPU-1", "");
  processes_running = 3;
  const FakeRoot root;
  const std::vector<ForeignProcess> found = *device.foreign_processes(root.root);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].pid, 100000001);
  EXPECT_EQ(found[0].name, "tr?in");
  EXPECT_FALSE(found[0].memory_bytes);
  EXPECT_EQ(found[1].pid, 100000002);
  EXPECT_EQ(found[1].name, "");
  EXPECT_EQ(found[1].memory_bytes, 1002u);
  processes_running = 100;
  EXPECT_EQ(device.foreign_processes(root.root)->size(), 99u);
}

struct LongProcess {
  Process process;
  unsigned long long protected_memory;
};
int long_processes(void*, unsigned* count, LongProcess* found) {
  *count = 3;
  for (unsigned i = 0; i < *count; ++i) found[i] = {{200'000'000 + i, 1000, 0, 0}, 0};
  return 0;
}

TEST(NvmlDevice, ListsForeignProcessesOfADriverWhoseNewestFunctionHasLongerEntries) {
  auto functions = driver_functions();
  functions["nvmlDeviceGetComputeRunningProcesses_v3"] = address(long_processes);
  processes_running = 3;
  const FakeRoot root;
  const std::vector<ForeignProcess> found = *NvmlDevice(with(functions), "GPU-1", "").foreign_processes(root.root);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].pid, 100000001);
  EXPECT_EQ(found[1].pid, 100000002);
}

TEST(NvmlDevice, ThatListsOnlyClientsOfMpsDoesNotKnowOtherProcesses) {
  auto functions = driver_functions();
  functions["nvmlDeviceGetMPSComputeRunningProcesses_v2"] = functions["nvmlDeviceGetComputeRunningProcesses_v2"];
  processes_running = 1;  // itself
  const FakeRoot root;
  EXPECT_TRUE(NvmlDevice(with(functions), "GPU-1", "").foreign_processes(root.root));
  functions["nvmlDeviceGetComputeRunningProcesses_v2"] = address(refuse);
  EXPECT_FALSE(NvmlDevice(with(functions), "GPU-1", "").foreign_processes(root.root));
}

int a_mig_instance = 0;
int mig_by_uuid(const char* uuid, void** device) {
  if (std::strcmp(uuid, "MIG-1") != 0) return 6;
  *device = &a_mig_instance;
  return 0;
}
int gpu_of_mig(void* instance, void** device) {
  *device = &a_device;
  return instance == &a_mig_instance ? 0 : 2;
}

TEST(NvmlDevice, IsAMigInstanceWhereCudasDeviceIsOne) {
  auto functions = driver_functions();
  functions["nvmlDeviceGetHandleByUUID"] = address(mig_by_uuid);
  functions["nvmlDeviceGetDeviceHandleFromMigDeviceHandle"] = address(gpu_of_mig);
  const Nvml nvml = with(functions), whole = with(driver_functions());
  const NvmlDevice device(nvml, "GPU-1", "");
  EXPECT_EQ(device.mig_uuid(), "MIG-1");
  EXPECT_EQ(device.max_sm_clock_hz(), std::nullopt);
  EXPECT_EQ(device.clock("nvmlDeviceGetClockInfo", 1), 1980u) << "the instance has none: its GPU was asked";
  EXPECT_EQ(NvmlDevice(whole, "GPU-1", "").mig_uuid(), "");
  GpuFacts facts;
  device.describe(facts);
  EXPECT_EQ(facts.mig_uuid, "MIG-1");
  functions.erase("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
  const Nvml old = with(functions);
  EXPECT_EQ(NvmlDevice(old, "GPU-1", "0000:3B:00.0").clock("nvmlDeviceGetClockInfo", 1), 1980u) << "found by its bus";
}

int clocks_of_applications(void*, int domain, unsigned* megahertz) {
  *megahertz = domain == 0 ? 1200 : 3201;
  return 0;
}
int usual_clocks_of_applications(void*, int domain, unsigned* megahertz) {
  *megahertz = domain == 0 ? 1980 : 3201;
  return 0;
}

TEST(NvmlDevice, ApplicationClocksStandBesideTheirDefaults) {
  auto functions = driver_functions();
  EXPECT_FALSE(facts_of(with(functions)).application_clock_hz);
  functions["nvmlDeviceGetApplicationsClock"] = address(clocks_of_applications);
  functions["nvmlDeviceGetDefaultApplicationsClock"] = address(usual_clocks_of_applications);
  const GpuFacts facts = facts_of(with(functions));
  EXPECT_EQ(facts.application_clock_hz, 1200e6);
  EXPECT_EQ(facts.application_clock_default_hz, 1980e6);
  EXPECT_EQ(facts.application_memory_clock_hz, facts.application_memory_clock_default_hz);
}

const char* error_string(int status) { return status == 9 ? "Driver Not Loaded" : ""; }

TEST(NvmlDevice, SaysNothingOfAGpuThatItDoesNotKnow) {
  const Nvml nvml = with(driver_functions());
  GpuFacts known, unknown;
  NvmlDevice(nvml, "GPU-1", "").describe(known);
  NvmlDevice(nvml, "GPU-2", "0000:3C:00.0").describe(unknown);
  EXPECT_EQ(known.no_nvml, "");
  EXPECT_EQ(unknown.no_nvml, "it does not know this GPU");
}

TEST(NvmlDevice, SaysNothingWhereThereIsNoLibraryOrItDoesNotStart) {
  auto broken = driver_functions();
  broken["nvmlInit_v2"] = address(refuse);
  auto worded = broken;
  worded["nvmlErrorString"] = address(error_string);
  const std::pair<std::map<std::string, void*>, const char*> cases[] = {{{}, "libnvidia-ml.so.1 cannot be loaded"},
                                                                        {broken, "it does not start: status 9"},
                                                                        {worded, "it does not start: Driver Not Loaded"}};
  for (const auto& [functions, why] : cases) {
    const Nvml nvml = with(functions);
    const NvmlDevice device(nvml, "GPU-1", "0000:3B:00.0");
    GpuFacts facts;
    device.describe(facts);
    EXPECT_EQ(facts.no_nvml, why);
    EXPECT_EQ(facts.serial, "");
    EXPECT_FALSE(facts.mig_mode);
    EXPECT_FALSE(facts.pcie_generation);
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
