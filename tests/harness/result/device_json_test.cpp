// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/device_json.hpp"

#include <gtest/gtest.h>

#include "harness/team/json.hpp"

namespace roofmark {
namespace {

TEST(DeviceJson, ACeilingHasTheLinesThatItIsTheSlopeOf) {
  Roofline roofline;
  Ceiling& ceiling = roofline.at(resource::graph_launch);
  ceiling.first = ceiling.last = 8e5;
  ceiling.first_line = CeilingLine{5e-6, 0.999, 3};
  ceiling.last_line = CeilingLine{6e-6, {}, 2};
  const Json json = to_json(roofline).at(0);
  EXPECT_EQ(json.at("first_line"), (Json{{"fixed_seconds", 5e-6}, {"points", 3}, {"r2", 0.999}}));
  EXPECT_EQ(json.at("last_line"), (Json{{"fixed_seconds", 6e-6}, {"points", 2}}));
  ceiling.first_line.reset();
  EXPECT_FALSE(to_json(roofline).at(0).contains("first_line"));
}

TEST(DeviceJson, ACeilingHasTheClocksOfItsProbesAndWhatTheyDoNotExplain) {
  Roofline roofline;
  Ceiling& ceiling = roofline.at(resource::bf16_tensor);
  ceiling.theoretical = 1e15;
  ceiling.theoretical_at_most = 2e15;
  ceiling.healthy_at_least = 1e14;
  ceiling.first = 8e14;
  ceiling.last = 7.2e14;
  EXPECT_EQ(to_json(roofline).at(0).at("unexplained_drift"), to_json(roofline).at(0).at("drift"));
  ceiling.first_clock_hz = 2e9;
  ceiling.last_clock_hz = 1.8e9;
  const Json json = to_json(roofline).at(0);
  EXPECT_EQ(json.at("first_clock_hz"), 2e9);
  EXPECT_EQ(json.at("last_clock_hz"), 1.8e9);
  EXPECT_NEAR(json.at("drift").get<double>(), -0.1, 1e-12);
  EXPECT_NEAR(json.at("unexplained_drift").get<double>(), 0, 1e-12);
  EXPECT_EQ(roofline_from_json(to_json(roofline)).at(resource::bf16_tensor).theoretical_at_most, 2e15);
  EXPECT_EQ(roofline_from_json(to_json(roofline)).at(resource::bf16_tensor).healthy_at_least, 1e14);
}

// What scripts and older result files know by these names.
TEST(DeviceJson, FactsOfAGpuKeepTheirNamesAndGoThroughJson) {
  DeviceInfo info;
  info.id = "cuda:3";
  info.backend = Backend::cuda;
  info.name = "H";
  info.compute_capability = 103;
  info.multiprocessors = 132;
  info.memory_bytes = 141;
  info.free_bytes = 140;
  info.caches = {{"l1", 2560, 256}, {"l2", 50, 50}};
  info.rated_clock_hz = 1.5e9;
  info.highest_clock_hz = 2e9;
  info.memory_clock_hz = 3e9;
  info.memory_bus_bits = 6144;
  info.near_node = 1;
  info.host_cache_bytes = 32;
  info.managed_on_demand = true;
  GpuFacts& gpu = info.gpu;
  gpu.uuid = "GPU-3";
  gpu.pci_bus_id = "0000:3B:00.0";
  gpu.cuda_driver_version = "13.1";
  gpu.cuda_runtime_version = "13.0";
  gpu.l2_bytes = 64;
  gpu.shared_memory_per_multiprocessor_bytes = 128;
  gpu.registers_per_multiprocessor = 65536;
  gpu.ecc = true;
  gpu.compute_mode = "default";
  gpu.host_page_tables = false;
  gpu.driver_version = "580.00";
  gpu.serial = "165";
  gpu.vbios = "96.00";
  gpu.sm_clock_max_hz = 2e9;
  gpu.memory_clock_max_hz = 3.5e9;
  gpu.pcie_generation = 1;
  gpu.pcie_width = 8;
  gpu.pcie_generation_max = 5;
  gpu.pcie_width_max = 16;
  gpu.pcie_generation_of_gpu = 6;
  gpu.pcie_width_of_gpu = 32;
  gpu.pcie_generation_of_slot = 4;
  gpu.iommu = "DMA";
  gpu.c2c_links = 10;
  gpu.c2c_links_up = 9;
  gpu.pcie = {31.5e9, "PCIe 5 x8"};
  gpu.way_to_host = {15.75e9, "PCIe 4 x8"};
  gpu.root_port = "0000:15:01.0";
  gpu.root_port_bytes_per_second = 31.5e9;
  gpu.c2c = {447e9, "C2C"};
  gpu.nvlink_links = 18;
  gpu.nvlink = {450e9, "18 NVLinks"};
  gpu.nvlink_domain = "8f6a/1";
  gpu.power_limit_watts = 500.5;
  gpu.power_limit_default_watts = 700;
  gpu.application_clock_hz = 1.2e9;
  gpu.application_clock_default_hz = 1.98e9;
  gpu.application_memory_clock_hz = 3.2e9;
  gpu.application_memory_clock_default_hz = 3.2e9;
  gpu.persistence_mode = false;
  gpu.mig_mode = true;
  gpu.confidential_computing = "off";
  gpu.mig_uuid = "MIG-1";
  gpu.mps = true;
  gpu.mps_active_thread_percentage = "50";
  gpu.foreign_processes = {{7, "train", 1024}, {9, "", {}}};
  gpu.no_nvml = "it does not start";
  gpu.gate = "off: a profiler";
  const Json json = to_json(info, true);
  EXPECT_EQ(json.at("details").dump(), Json::parse(R"({
    "uuid": "GPU-3", "pci_bus_id": "0000:3B:00.0", "cuda_driver_version": "13.1", "cuda_runtime_version": "13.0",
    "l2_bytes": 64, "shared_memory_per_multiprocessor_bytes": 128, "registers_per_multiprocessor": 65536, "ecc": true,
    "compute_mode": "default", "numa_node": 1, "host_last_level_cache_bytes": 32, "concurrent_managed_access": true,
    "host_page_tables": false, "driver_version": "580.00", "serial": "165", "vbios": "96.00", "sm_clock_max_hz": 2e9,
    "memory_clock_max_hz": 3.5e9, "pcie_generation": 1, "pcie_width": 8, "pcie_generation_max": 5, "pcie_width_max": 16,
    "pcie_generation_of_gpu": 6, "pcie_width_of_gpu": 32, "pcie_generation_of_slot": 4, "iommu": "DMA",
    "pcie_bytes_per_second": 31.5e9, "pcie_source": "PCIe 5 x8",
    "way_to_host_bytes_per_second": 15.75e9, "way_to_host_source": "PCIe 4 x8", "root_port": "0000:15:01.0", "root_port_bytes_per_second": 31.5e9, "c2c_bytes_per_second": 447e9, "c2c_source": "C2C",
    "c2c_links": 10, "c2c_links_up": 9,
    "nvlink_links": 18, "nvlink_bytes_per_second": 450e9, "nvlink_source": "18 NVLinks", "nvlink_domain": "8f6a/1",
    "power_limit_watts": 500.5, "power_limit_default_watts": 700.0, "application_clock_hz": 1.2e9,
    "application_clock_default_hz": 1.98e9, "application_memory_clock_hz": 3.2e9, "application_memory_clock_default_hz": 3.2e9,
    "persistence_mode": false, "mig_mode": true, "confidential_computing": "off", "mig_uuid": "MIG-1", "mps": true, "mps_active_thread_percentage": "50",
    "foreign_processes": [{"pid": 7, "name": "train", "memory_bytes": 1024}, {"pid": 9}], "no_nvml": "it does not start", "gate": "off: a profiler"})")
                                           .dump());
  const DeviceInfo read = device_from_json(json);
  EXPECT_EQ(read.id, "cuda:3");
  EXPECT_EQ(read.compute_capability, 103);
  EXPECT_EQ(to_json(read, true).dump(), json.dump());
}

TEST(DeviceJson, FactsThatCouldNotBeReadAreAbsent) {
  DeviceInfo info;
  info.backend = Backend::cuda;
  EXPECT_EQ(to_json(info, true).at("details").dump(), R"({"host_last_level_cache_bytes":0,"concurrent_managed_access":false})");
  info.backend = Backend::cpu;
  EXPECT_EQ(to_json(info, true).at("details").dump(), "{}");
}

}  // namespace
}  // namespace roofmark
