// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/facts_json.hpp"

#include <gtest/gtest.h>

#include "harness/result/device_json.hpp"
#include "harness/team/json.hpp"

namespace roofmark {
namespace {

RunFacts facts_of_this_machine() {
  RunFacts facts;
  facts.context = benchmark_context("roofmark");
  facts.suite = "baseline";
  facts.data = Distribution::zeros;
  facts.seed = 18446744073709551615U;
  facts.arguments = {"roofmark", "run"};
  facts.labels = {{"rack", "7"}, {"a", ""}};
  facts.environment = {{"NCCL_DEBUG", "INFO"}};
  facts.families = {{"stream", "Loops."}};
  facts.budget_seconds = 0.25;
  facts.started_utc = "2026-01-02T03:04:05Z";
  facts.clock_overhead_seconds = 3e-8;
  facts.build = describe_build();
  facts.libraries = {{"cuBLASLt", "13.1.0", "/lib/libcublasLt.so.13", ""}, {"NCCL", "", "", "too old"}};
  facts.host = describe_host();
  facts.device = open_device("cpu")->info();
  facts.device_known = true;
  return facts;
}

TEST(FactsJson, FactsOfAHostKeepTheirNames) {
  Host host;
  host.name = "node7";
  host.os = "Debian";
  host.kernel = "Linux 6";
  host.cpu = "Maker 4";
  host.cores = 8;
  host.memory_bytes = 64;
  host.load_average = 0.5;
  host.load_average_cpus = 8;
  CpuFacts& facts = host.facts;
  facts.cpuinfo = {{"vendor_id", "Maker"}, {"cpu MHz", "2000"}};
  facts.cores = 2;
  facts.logical_cpus = 4;
  facts.threads_per_core = 2;
  facts.packages = facts.numa_nodes = 1;
  facts.cpu_quota = 1.5;
  facts.isa = {"avx2"};
  facts.virtual_machine = true;
  facts.max_clock_hz = 3.7e9;
  facts.governor = "performance";
  facts.transparent_hugepage = "always";
  facts.numa_balancing = 1;
  facts.machine_memory_bytes = 64;
  facts.memory_bytes = 32;
  EXPECT_EQ(to_json(host).dump(), Json::parse(R"({
    "name": "node7", "os": "Debian", "kernel": "Linux 6", "cpu": "Maker 4", "cores": 8, "memory_bytes": 64, "details": {
      "cpuinfo": {"vendor_id": "Maker", "cpu MHz": "2000"}, "cores": 2, "logical_cpus": 4, "threads_per_core": 2, "packages": 1,
      "numa_nodes": 1, "cpu_quota_cores": 1.5, "isa": ["avx2"], "virtual_machine": true, "max_clock_hz": 3.7e9,
      "governor": "performance", "transparent_hugepage": "always", "numa_balancing": 1, "machine_memory_bytes": 64, "memory_limit_bytes": 32,
      "load_average": 0.5, "load_average_cpus": 8}})")
                                      .dump());

  DeviceInfo cpu;
  cpu.cpu = facts;
  cpu.openmp_threads = 2;
  const Json details = to_json(cpu, true).at("details");
  EXPECT_EQ(details.at("memory_limit_bytes"), 32);
  EXPECT_EQ(details.at("threads_placed_by"), "the environment");
  EXPECT_EQ(to_json(device_from_json(to_json(cpu, true)), true).dump(), to_json(cpu, true).dump());
}

TEST(FactsJson, WhatIsReadAndWrittenAgainIsTheSame) {
  const RunFacts facts = facts_of_this_machine();
  const Json json = to_json(facts);
  const RunFacts read = run_facts_from_json(json);
  EXPECT_EQ(to_json(read).dump(), json.dump());
  EXPECT_EQ(read.seed, facts.seed);
  EXPECT_EQ(read.labels, facts.labels);
  EXPECT_EQ(read.libraries.at(1).unsupported, "too old");
  EXPECT_EQ(read.device.caches.size(), facts.device.caches.size());
  EXPECT_TRUE(read.device.cpu);
}

TEST(FactsJson, TheNetworkOfAHostComesBack) {
  RunFacts facts;
  RdmaPort port;
  port.name = "mlx5_0:1";
  port.kind = "RoCE";
  port.state = "DOWN";
  port.switched_off = false;
  port.bytes_per_second = 25e9;
  port.model = "0x15b3:0x1021";
  port.pcie = {5, 8};
  port.pcie_at_most = {5, 16};
  port.is_virtual_function = true;
  facts.network = {{{"mlx5_1:1", "RoCE", 25e9, 1}}, {port}, {{"mlx5_0:1", "is down", false}}, "^mlx5_2", true};
  const Json json = to_json(facts);
  const HostNetwork read = run_facts_from_json(json).network;
  EXPECT_EQ(to_json(run_facts_from_json(json)).dump(), json.dump());
  ASSERT_EQ(read.ports.size(), 1u);
  EXPECT_EQ(read.ports.front(), port);
  EXPECT_EQ(read.nics.at(0).numa_node, 1);
  EXPECT_EQ(read.faults.at(0).what, "is down");
  EXPECT_EQ(read.nccl_ib_hca, "^mlx5_2");
  EXPECT_TRUE(read.hung);
}

TEST(FactsJson, FactsOfNothingComeBackToo) {
  const Json json = to_json(RunFacts());
  EXPECT_EQ(to_json(run_facts_from_json(json)).dump(), json.dump());
  EXPECT_FALSE(run_facts_from_json(json).device.cpu);
}

}  // namespace
}  // namespace roofmark
