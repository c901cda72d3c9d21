// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/health.hpp"

#include <gmock/gmock.h>

#include <utility>

#include "harness/judge/lowered_clocks.hpp"

namespace roofmark {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Circumstance& find(const std::vector<Circumstance>& all, const std::string& what) {
  static const Circumstance none{"", "", ""};
  for (const Circumstance& one : all) {
    if (one.what == what) return one;
  }
  return none;
}

DeviceInfo gpu(GpuFacts facts) {
  DeviceInfo info;
  info.backend = Backend::cuda;
  info.gpu = std::move(facts);
  return info;
}

TEST(Health, NamesTheGpusThatTheDriverHasLost) {
  constexpr const char* kWhat = "GPUs lost by the driver";
  GpuFacts facts;
  EXPECT_EQ(find(health(gpu(facts), {}), kWhat).what, "") << "unknown";
  facts.lost_gpus.emplace();
  EXPECT_EQ(find(health(gpu(facts), {}), kWhat).state, "none");
  EXPECT_EQ(find(health(gpu(facts), {}), kWhat).advice, "");
  facts.lost_gpus = {"0000:2a:00.0", "0000:3b:00.0"};
  EXPECT_EQ(find(health(gpu(facts), {}), kWhat).state, "0000:2a:00.0, 0000:3b:00.0");
  EXPECT_NE(find(health(gpu(facts), {}), kWhat).advice, "");
}

TEST(Health, AGpuThatIsAsItShouldBeNeedsNoAdvice) {
  GpuFacts facts;
  facts.foreign_processes.emplace();
  facts.ecc = true;
  facts.mig_mode = false;
  facts.persistence_mode = true;
  facts.compute_mode = "default";
  facts.power_limit_watts = facts.power_limit_default_watts = 700;
  facts.pcie_generation = 1;
  facts.pcie_generation_max = 5;
  facts.pcie_width = facts.pcie_width_max = 16;
  Host host;
  host.facts.governor = "performance";
  host.load_average_cpus = 64;
  host.load_average = 0.3;
  const auto found = health(gpu(facts), host);
  EXPECT_EQ(find(found, "ECC").state, "on");
  EXPECT_EQ(find(found, "other processes").state, "none");
  EXPECT_EQ(find(found, "PCIe link").state, "generation 1 of 5, 16 lanes of 16");
  for (const Circumstance& one : found) EXPECT_THAT(one.advice, IsEmpty()) << one.what;
}

TEST(Health, ConfidentialComputingSlowsWhatPassesBetweenHostAndGpu) {
  GpuFacts facts;
  const auto row = [&] { return find(health(gpu(facts), {}), "confidential computing"); };
  EXPECT_EQ(row().state, "") << "unknown";
  facts.confidential_computing = "off";
  EXPECT_EQ(row().state, "off");
  EXPECT_EQ(row().advice, "");
  for (const char* mode : {"on", "protected PCIe"}) {
    facts.confidential_computing = mode;
    EXPECT_EQ(row().state, mode);
    EXPECT_THAT(row().advice, testing::HasSubstr("encrypted")) << mode;
  }
}

TEST(Health, WhatFalsifiesResultsIsSaidWithTheWayOut) {
  GpuFacts facts;
  facts.foreign_processes = {{7, "train", {}}};
  facts.ecc = false;
  facts.mig_mode = true;
  facts.persistence_mode = false;
  facts.power_limit_watts = 500;
  facts.power_limit_default_watts = 700;
  facts.pcie_generation = facts.pcie_generation_max = 5;
  facts.pcie_width = 8;
  facts.pcie_width_max = 16;
  facts.pcie_width_of_gpu = 32;
  facts.gate = "off: a profiler is attached";
  Host host;
  host.facts.governor = "powersave";
  host.facts.logical_cpus = 8;
  host.load_average_cpus = 16;
  host.load_average = 6;
  host.facts.cpu_quota = 2.5;
  host.facts.memory_bytes = 4'000'000'000;
  host.facts.machine_memory_bytes = 64'000'000'000;
  host.facts.virtual_machine = true;
  host.facts.transparent_hugepage = "never";
  const auto found = health(gpu(facts), host);
  EXPECT_EQ(find(found, "other processes").state, "7 train");
  for (const char* what : {"other processes", "ECC", "MIG", "persistence mode", "power limit", "PCIe link", "PCIe slot",
                           "launch gate", "load", "CPU governor", "CPU limit", "virtual machine", "huge pages"}) {
    EXPECT_FALSE(find(found, what).advice.empty()) << what;
  }
  EXPECT_THAT(find(found, "CPU limit").state, HasSubstr("2.5 cores"));
  EXPECT_THAT(find(found, "memory limit").state, HasSubstr("4.00 GB"));
}

TEST(Health, AnNvmlThatTellsNothingIsSaid) {
  EXPECT_THAT(health(gpu({}), {}), testing::Each(testing::Field(&Circumstance::what, testing::Ne("NVML"))));
  GpuFacts facts;
  facts.no_nvml = "libnvidia-ml.so.1 cannot be loaded";
  const auto found = health(gpu(facts), {});
  EXPECT_EQ(find(found, "NVML").state, "tells nothing: libnvidia-ml.so.1 cannot be loaded");
  EXPECT_THAT(find(found, "NVML").advice, HasSubstr("NVIDIA_DRIVER_CAPABILITIES"));
}

TEST(Health, WhatCouldNotBeReadIsUnknownAndNeverWell) {
  const auto found = health(gpu({}), {});
  for (const char* what : {"other processes", "ECC", "MIG", "persistence mode", "power limit", "PCIe link", "CPU governor"}) {
    EXPECT_EQ(find(found, what).state, "unknown") << what;
  }
  DeviceInfo cpu;
  EXPECT_EQ(find(health(cpu, {}), "ECC").state, "");
}

TEST(Health, VariablesThatChangeTheArithmeticOfProductsAreSaid) {
  const auto row = [](std::map<std::string, std::string> environment) {
    Host host;
    host.environment = std::move(environment);
    return find(health(gpu({}), host), "arithmetic of cuBLAS");
  };
  for (const char* emulation : {"CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION"}) {
    EXPECT_EQ(row({{emulation, "1"}}).state, std::string(emulation) + "=1");
    EXPECT_THAT(row({{emulation, "1"}}).advice, HasSubstr("other types than their names say"));
    EXPECT_EQ(row({{emulation, "0"}}).what, "");
  }
  EXPECT_EQ(row({{"NVIDIA_TF32_OVERRIDE", "0"}}).state, "NVIDIA_TF32_OVERRIDE=0") << "tf32 is forbidden";
  EXPECT_EQ(row({{"NVIDIA_TF32_OVERRIDE", "1"}, {"CUBLAS_WORKSPACE_CONFIG", ":16:8"}}).what, "");
  EXPECT_EQ(row({{"CUBLAS_EMULATE_SINGLE_PRECISION", "1"}, {"NVIDIA_TF32_OVERRIDE", "0"}}).state,
            "CUBLAS_EMULATE_SINGLE_PRECISION=1, NVIDIA_TF32_OVERRIDE=0");
}

TEST(Health, TheIommuIsSaidWithAdviceWhereItTranslates) {
  GpuFacts facts;
  EXPECT_EQ(find(health(gpu(facts), {}), "IOMMU").what, "") << "unknown";
  for (const char* type : {"off", "identity", "unmanaged"}) {
    facts.iommu = type;
    EXPECT_THAT(find(health(gpu(facts), {}), "IOMMU").state, HasSubstr(type));
    EXPECT_EQ(find(health(gpu(facts), {}), "IOMMU").advice, "") << type;
  }
  for (const char* type : {"DMA", "DMA-FQ"}) {
    facts.iommu = type;
    EXPECT_EQ(find(health(gpu(facts), {}), "IOMMU").state, "translates the GPU's accesses (" + std::string(type) + ")");
    EXPECT_THAT(find(health(gpu(facts), {}), "IOMMU").advice, HasSubstr("iommu=pt"));
  }
  facts.host_page_tables = true;
  EXPECT_EQ(find(health(gpu(facts), {}), "IOMMU").advice, "") << "transfers do not take PCIe";
}

TEST(Health, SwitchPortsThatRedirectAreNamed) {
  GpuFacts facts;
  const auto row = [&] { return find(health(gpu(facts), {}), "ACS redirect"); };
  EXPECT_EQ(row().what, "") << "no other GPU below the same switch";
  facts.ports_to_peers = {{}, 2, 0};
  EXPECT_EQ(row().state, "off at the 2 switch ports between the GPUs");
  EXPECT_EQ(row().advice, "");
  facts.ports_to_peers = {{}, 1, 1};
  EXPECT_EQ(row().state, "unknown: only root may read the registers of the PCIe switches");
  EXPECT_EQ(row().advice, "");
  facts.ports_to_peers = {{"0000:17:00.0", "0000:17:01.0"}, 1, 1};
  EXPECT_EQ(row().state, "on at 0000:17:00.0, 0000:17:01.0");
  EXPECT_THAT(row().advice, HasSubstr("turn ACS off"));
}

TEST(Health, SwitchPortsBetweenTheGpuAndNicsHaveARowOfTheirOwn) {
  GpuFacts facts;
  const auto row = [&] { return find(health(gpu(facts), {}), "ACS redirect to NICs"); };
  EXPECT_EQ(row().what, "");
  facts.ports_to_nics = {{}, 2, 0};
  EXPECT_EQ(row().state, "off at the 2 switch ports between the GPU and NICs");
  facts.ports_to_nics = {{"0000:17:01.0"}, 1, 0};
  EXPECT_EQ(row().state, "on at 0000:17:01.0");
  EXPECT_THAT(row().advice, HasSubstr("GPUDirect RDMA"));
  EXPECT_EQ(find(health(gpu(facts), {}), "ACS redirect").what, "") << "there is no other GPU";
}

TEST(Health, MpsIsSaidWithItsShareOfTheSms) {
  GpuFacts facts;
  const auto row = [&] { return find(health(gpu(facts), {}), "MPS"); };
  EXPECT_EQ(row().what, "");
  facts.mps = false;
  EXPECT_EQ(row().what, "");
  facts.mps = true;
  EXPECT_EQ(row().state, "on: nvidia-cuda-mps-server has the GPU");
  EXPECT_THAT(row().advice, HasSubstr("echo quit | nvidia-cuda-mps-control"));
  facts.mps_active_thread_percentage = "50";
  EXPECT_EQ(row().state, "on: nvidia-cuda-mps-server has the GPU; CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50");
  EXPECT_THAT(row().advice, HasSubstr("a part of the SMs"));
  facts.mps.reset();
  EXPECT_EQ(row().state, "no server is seen; CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50");
}

TEST(Health, InAContainerOtherProcessesMayBeHidden) {
  GpuFacts facts;
  const auto row = [&] { return find(health(gpu(facts), {}), "other processes"); };
  facts.own_pid_namespace = true;
  EXPECT_EQ(row().state, "unknown: this container does not see those of other containers and of the host");
  EXPECT_THAT(row().advice, HasSubstr("--pid=host"));
  facts.foreign_processes = {{7, "train", {}}};
  EXPECT_EQ(row().state, "7 train");
  EXPECT_THAT(row().advice, HasSubstr("stop them"));
}

TEST(Health, AMigInstanceSaysWhatIsTheWholeGpus) {
  GpuFacts facts;
  facts.mig_mode = true;
  facts.mig_uuid = "MIG-1";
  EXPECT_EQ(find(health(gpu(facts), {}), "MIG").state, "this device is the instance MIG-1");
  EXPECT_THAT(find(health(gpu(facts), {}), "MIG").advice, HasSubstr("error counters that an instance does not have"));
}

TEST(Health, LoweredApplicationClocksAreARowAndAFinding) {
  GpuFacts facts;
  const auto row = [&] { return find(health(gpu(facts), {}), "application clocks"); };
  facts.application_clock_hz = facts.application_clock_default_hz = 1980e6;
  facts.application_memory_clock_hz = 3201e6;
  EXPECT_EQ(row().what, "");
  EXPECT_THAT(find_lowered_clocks(facts), IsEmpty());
  facts.application_clock_hz = 1188e6;
  EXPECT_EQ(row().state, "SM 1188 MHz, default 1980 MHz");
  EXPECT_THAT(row().advice, HasSubstr("nvidia-smi -rac"));
  const auto findings = find_lowered_clocks(facts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingKind::clock);
  EXPECT_EQ(
      findings[0].text,
      "the application clocks are below their default: SM 1188 MHz, default 1980 MHz; nvidia-smi -rac as root resets them");
  EXPECT_NEAR(findings[0].size, 0.4, 1e-9);
  facts.application_memory_clock_default_hz = 6402e6;
  EXPECT_EQ(row().state, "SM 1188 MHz, default 1980 MHz; memory 3201 MHz, default 6402 MHz");
}

TEST(Health, TheFabricIsHealthyOrItsProblemsAreNamed) {
  GpuFacts facts;
  const auto row = [&] { return find(health(gpu(facts), {}), "NVLink fabric"); };
  EXPECT_EQ(row().what, "");
  facts.fabric.emplace();
  EXPECT_EQ(row().what, "") << "the driver does not tell";
  facts.fabric->problems = {"the GPU's registration is in progress"};
  EXPECT_EQ(row().state, "the GPU's registration is in progress") << "before that the driver tells no more";
  EXPECT_THAT(row().advice, HasSubstr("nvidia-fabricmanager"));
  facts.fabric->problems.clear();
  facts.fabric->degraded = facts.fabric->unhealthy = false;
  EXPECT_EQ(row().state, "healthy");
  EXPECT_EQ(row().advice, "");
  facts.fabric->degraded = true;
  facts.fabric->problems = {"degraded bandwidth", "a route is being recovered"};
  EXPECT_EQ(row().state, "degraded bandwidth, a route is being recovered");
  EXPECT_THAT(row().advice, HasSubstr("nvidia-fabricmanager"));
}

TEST(Health, NamesTheRecoveryActionThatTheDriverAsksFor) {
  GpuFacts facts;
  const auto row = [&] { return find(health(gpu(facts), {}), "recovery action"); };
  EXPECT_EQ(row().what, "") << "the driver does not tell";
  facts.recovery_action = 0;
  EXPECT_EQ(row().state, "none");
  EXPECT_EQ(row().advice, "");
  facts.recovery_action = 2;
  EXPECT_EQ(row().state, "node reboot");
  EXPECT_THAT(row().advice, HasSubstr("drain the node"));
  facts.recovery_action = 99;
  EXPECT_EQ(row().state, "unknown (99)");
  EXPECT_THAT(row().advice, HasSubstr("does not know"));
  facts.recovery_action = kRecoverImexDomain;
  EXPECT_EQ(row().state, "recover the IMEX domain");
  EXPECT_THAT(row().advice, HasSubstr("nvidia-imex"));
}

TEST(Health, NumaBalancingDisturbsHostsOfSeveralNodes) {
  Host host;
  const auto row = [&] { return find(health({}, host), "NUMA balancing"); };
  EXPECT_EQ(row().what, "");
  host.facts.numa_balancing = 1;
  host.facts.numa_nodes = 1;
  EXPECT_EQ(row().what, "") << "there is no other node";
  host.facts.numa_nodes = 2;
  EXPECT_EQ(row().state, "on");
  EXPECT_THAT(row().advice, HasSubstr("kernel.numa_balancing=0"));
  host.facts.numa_balancing = 0;
  EXPECT_EQ(row().state, "off");
  EXPECT_EQ(row().advice, "");
}

TEST(Health, AProcessThatMayNotUseTheSocketOfItsGpuIsTold) {
  DeviceInfo device = gpu({});
  const auto node = [&] { return find(health(device, {}), "NUMA node of the GPU"); };
  device.near_node = 1;
  device.host_nodes = device.cpu_nodes = {0};
  EXPECT_THAT(node().advice, HasSubstr("may not use CPUs and memory of node 1")) << "all that a control group leaves it";
  device.near_node = 0;
  EXPECT_EQ(node().what, "") << "of a single node there is no other socket";
  device.near_node.reset();
  EXPECT_EQ(node().what, "");
  device.near_node = 1;
  device.host_nodes = device.cpu_nodes = {0, 1};
  EXPECT_EQ(node().state, "1; this process: CPUs of 0, 1, memory of 0, 1");
  EXPECT_EQ(node().advice, "");
  device.cpu_nodes = {0};
  EXPECT_THAT(node().advice, HasSubstr("may not use CPUs of node 1; start it there (numactl --cpunodebind=1 --membind=1)"));
  device.host_nodes = {0, 2};
  EXPECT_THAT(node().advice, HasSubstr("may not use CPUs and memory of node 1"));
  device.cpu_nodes = {};
  EXPECT_THAT(node().advice, HasSubstr("may not use memory of node 1"));
  device.near_node.reset();
  EXPECT_EQ(node().state, "unknown");
}

TEST(Health, OfATeamEveryRankThatDiffersIsNamed) {
  const std::vector<Circumstance> first = {{"load", "0.10 on 8 CPUs", ""}, {"CPU governor", "performance", ""}};
  const std::vector<Circumstance> alike = {{"load", "0.30 on 8 CPUs", ""}, {"CPU governor", "performance", ""}};
  const std::vector<Circumstance> other = {{"load", "9.00 on 8 CPUs", "other programs"}, {"CPU governor", "powersave", "slow"}};
  const auto found = team_health({first, alike, other});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_FALSE(found[1].rank);
  EXPECT_EQ(found[2].what, "load");
  EXPECT_EQ(found[2].rank, 2);
  EXPECT_EQ(found[3].state, "powersave");
  EXPECT_EQ(found[3].rank, 2);
  EXPECT_TRUE(team_health({}).empty());
}

}  // namespace
}  // namespace roofmark
