// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/facts.hpp"

#include <gmock/gmock.h>

#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

class CpuFactsTest : public testing::Test, protected FakeRoot {
 protected:
  static std::string cpu(int number) { return "sys/devices/system/cpu/cpu" + std::to_string(number) + "/"; }
  void put_cache(int number, int index, const std::string& level, const std::string& type, const std::string& size,
                 const std::string& shared) const {
    const std::string folder = cpu(number) + "cache/index" + std::to_string(index) + "/";
    put(folder + "level", level);
    put(folder + "type", type);
    put(folder + "size", size);
    put(folder + "shared_cpu_list", shared);
  }
  /// Two packages of two cores of two threads, as Linux numbers them: the second threads last.
  void put_machine() const {
    put("proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: Maker\nmodel\t\t: 17\nmodel name\t: Maker 4 Core\n"
        "flags\t\t: fpu sse2 avx2 fma avx512f hypervisor");
    put("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB");
    put("sys/devices/system/node/has_cpu", "0-1");
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    put("proc/sys/kernel/numa_balancing", "1");
    for (int i = 0; i < 8; ++i) {
      const int core = i % 4, package = core / 2;
      const std::string siblings = std::to_string(core) + "," + std::to_string(core + 4);
      const std::string shared = package == 0 ? "0-1,4-5" : "2-3,6-7";
      put(cpu(i) + "topology/thread_siblings_list", siblings);
      put(cpu(i) + "topology/physical_package_id", std::to_string(package));
      put(cpu(i) + "cpufreq/cpuinfo_max_freq", "3700000");
      put(cpu(i) + "cpufreq/scaling_cur_freq", core == 0 ? "3000000" : "2000000");
      put(cpu(i) + "cpufreq/scaling_governor", "performance");
      put_cache(i, 0, "1", "Data", "32K", siblings);
      put_cache(i, 1, "1", "Instruction", "64K", siblings);
      put_cache(i, 2, "2", "Unified", "1024K", siblings);
      put_cache(i, 3, "3", "Unified", "32M", shared);
    }
  }
};

TEST_F(CpuFactsTest, OneThreadOfEachCoreIsUsed) {
  put_machine();
  const CpuFacts facts = read_cpu_facts(root, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(facts.model, "Maker 4 Core");
  EXPECT_EQ(facts.cores, 4);
  EXPECT_THAT(first_cpus(root, {0, 1, 2, 3, 4, 5, 6, 7}), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(facts.threads_per_core, 2);
  EXPECT_EQ(facts.max_clock_hz, 3.7e9);
  EXPECT_EQ(facts.memory_bytes, 16 * kGiB);
  EXPECT_FALSE(facts.cpu_quota);
  EXPECT_EQ(facts.packages, 2);
  EXPECT_EQ(facts.numa_nodes, 2);
  EXPECT_EQ(facts.governor, "performance");
  EXPECT_EQ(facts.transparent_hugepage, "madvise");
  EXPECT_EQ(facts.numa_balancing, 1);
  EXPECT_TRUE(facts.virtual_machine);
  EXPECT_THAT(facts.isa, ElementsAre("sse2", "fma", "avx2", "avx512f"));
}

TEST_F(CpuFactsTest, AnArmCpuHasNumbersForAName) {
  put("proc/cpuinfo",
      "processor\t: 0\nFeatures\t: fp asimd sve sve2\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
      "CPU part\t: 0xd4f\nCPU revision\t: 0");
  const CpuFacts facts = read_cpu_facts(root, {0, 1});
  EXPECT_EQ(facts.model, "CPU of implementer 0x41, part 0xd4f");
  EXPECT_THAT(facts.cpuinfo,
              ElementsAre(Pair("CPU implementer", "0x41"), Pair("CPU part", "0xd4f"), Pair("CPU revision", "0")));
  EXPECT_THAT(facts.isa, ElementsAre("asimd", "sve", "sve2"));
}

TEST_F(CpuFactsTest, AnArmMachineIsVirtualByTheNamesOfItsFirmware) {
  put("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd sve sve2");
  const auto is_virtual = [this](const char* vendor, const char* product, const char* version) {
    put("sys/class/dmi/id/sys_vendor", vendor);
    put("sys/class/dmi/id/product_name", product);
    put("sys/class/dmi/id/product_version", version);
    return is_virtual_machine(root);
  };
  EXPECT_FALSE(is_virtual_machine(root)) << "it does not say";
  EXPECT_FALSE(is_virtual("NVIDIA", "NVIDIA GB200 NVL", "A01"));
  EXPECT_FALSE(is_virtual("Microsoft Corporation", "Surface", "1"));
  EXPECT_TRUE(is_virtual("Google", "Google Compute Engine", ""));
  EXPECT_TRUE(is_virtual("Amazon EC2", "p6e-gb200.36xlarge", ""));
  EXPECT_FALSE(is_virtual("Amazon EC2", "g5g.metal", ""));
  EXPECT_FALSE(is_virtual("Amazon EC2", "c7g.metal-48xl", ""));
  EXPECT_TRUE(is_virtual("Microsoft Corporation", "Virtual Machine", "Hyper-V UEFI Release v4.1"));
  EXPECT_TRUE(is_virtual("QEMU", "KVM Virtual Machine", "virt-8.2"));
  put("sys/class/misc/kvm/dev", "10:232");
  EXPECT_TRUE(is_virtual("QEMU", "KVM Virtual Machine", "virt-8.2")) << "nested ones are possible";
  EXPECT_FALSE(is_virtual("Google", "Google Compute Engine", "")) << "without a hypervisor: it can be one";
  EXPECT_FALSE(is_virtual("NVIDIA", "NVIDIA GB200 NVL", "A01"));
  put("proc/device-tree/hypervisor/compatible", "linux,kvm");
  EXPECT_TRUE(is_virtual("", "", ""));
}

TEST_F(CpuFactsTest, AnX86MachineIsVirtualByItsFlagsAlone) {
  put("proc/cpuinfo", "flags\t\t: fpu sse2");
  put("sys/class/dmi/id/product_name", "Google Compute Engine");
  EXPECT_FALSE(is_virtual_machine(root));
}

TEST_F(CpuFactsTest, CachesAreCountedOncePerInstance) {
  put_machine();
  const auto caches = read_cpu_facts(root, {0, 1, 2, 3, 4, 5, 6, 7}).caches;
  ASSERT_EQ(caches.size(), 3u);
  EXPECT_EQ(caches[0].name, "l1");
  EXPECT_EQ(caches[0].instance_bytes, 32 * kKiB);
  EXPECT_EQ(caches[0].total_bytes, 4 * 32 * kKiB);
  EXPECT_EQ(caches[1].total_bytes, 4 * kMiB);
  EXPECT_EQ(caches[2].name, "l3");
  EXPECT_EQ(caches[2].instance_bytes, 32 * kMiB);
  EXPECT_EQ(caches[2].total_bytes, 64 * kMiB);
}

TEST_F(CpuFactsTest, OnlyTheCoresThatMayBeUsedCount) {
  put_machine();
  const CpuFacts facts = read_cpu_facts(root, {3, 7});
  EXPECT_EQ(facts.cores, 1);
  EXPECT_THAT(first_cpus(root, {3, 7}), ElementsAre(3));
  EXPECT_EQ(facts.packages, 1);
  ASSERT_EQ(facts.caches.size(), 3u);
  EXPECT_EQ(facts.caches[0].total_bytes, 32 * kKiB);
  EXPECT_EQ(facts.caches[2].total_bytes, 32 * kMiB);
}

TEST_F(CpuFactsTest, CachesOfSomeCpusHoldTheirMemory) {
  put_machine();
  ASSERT_THAT(read_caches(root, {0, 1, 2, 3}), testing::SizeIs(3));
  const std::vector<CacheLevel> of_all = read_caches(root, {0, 1, 2, 3, 4, 5, 6, 7}), of_one = read_caches(root, {2});
  EXPECT_EQ(of_all.back().total_bytes, 64 * kMiB) << "siblings share them";
  EXPECT_EQ(of_one.back().total_bytes, 32 * kMiB);
  EXPECT_THAT(read_caches(root, {}), IsEmpty());
}

TEST_F(CpuFactsTest, WhatCannotBeReadIsAbsent) {
  const CpuFacts facts = read_cpu_facts(root, {0, 1});
  EXPECT_EQ(facts.cores, 2);
  EXPECT_EQ(facts.model, "CPU");
  EXPECT_FALSE(facts.max_clock_hz);
  EXPECT_THAT(facts.caches, IsEmpty());
  EXPECT_FALSE(facts.governor);
  EXPECT_FALSE(facts.numa_nodes);
  EXPECT_FALSE(facts.packages);
  EXPECT_FALSE(facts.cpu_quota);
  EXPECT_FALSE(facts.transparent_hugepage);
  EXPECT_FALSE(facts.numa_balancing);
  EXPECT_FALSE(facts.machine_memory_bytes);
  EXPECT_FALSE(current_clock_hz(root, {0, 1}));
  EXPECT_FALSE(temperature_celsius(root));
}

TEST_F(CpuFactsTest, MemoryIsWhatTheMachineHas) {
  put_machine();
  EXPECT_EQ(available_memory(root), 8 * kGiB);
  EXPECT_EQ(total_memory(root), 16 * kGiB);
}

TEST_F(CpuFactsTest, MemoryOfANodeIsWhatItHasFreeAndHalfOfItsFiles) {
  EXPECT_EQ(available_memory_of_node(1, root), std::nullopt);
  EXPECT_EQ(total_memory_of_node(1, root), std::nullopt);
  put("sys/devices/system/node/node1/meminfo",
      "Node 1 MemTotal:       4194304 kB\nNode 1 MemFree:        1048576 kB\nNode 1 Active(file):    524288 kB\n"
      "Node 1 Inactive(file):  524288 kB\nNode 1 FilePages:      3145728 kB\nNode 1 Shmem:          2097152 kB");
  EXPECT_EQ(total_memory_of_node(1, root), 4 * kGiB);
  EXPECT_EQ(available_memory_of_node(1, root), kGiB + kGiB / 2);
  put("proc/sys/vm/min_free_kbytes", "524288");
  EXPECT_EQ(available_memory_of_node(1, root), kGiB) << "the kernel's reserve";
  put("proc/sys/vm/min_free_kbytes", "8388608");
  EXPECT_EQ(available_memory_of_node(1, root), 0U);
  EXPECT_EQ(available_memory_of_node(0, root), std::nullopt);
}

TEST_F(CpuFactsTest, ControlGroupsOfVersion2Limit) {
  put_machine();
  put("proc/self/cgroup", "0::/outer/inner/leaf");
  put("sys/fs/cgroup/outer/memory.max", std::to_string(4 * kGiB));
  put("sys/fs/cgroup/outer/memory.current", std::to_string(3 * kGiB));
  put("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file " + std::to_string(kGiB));
  put("sys/fs/cgroup/outer/inner/memory.max", std::to_string(10 * kGiB));
  put("sys/fs/cgroup/outer/inner/memory.current", std::to_string(kGiB));
  put("sys/fs/cgroup/outer/inner/leaf/memory.max", "max");
  put("sys/fs/cgroup/outer/inner/leaf/memory.current", std::to_string(kGiB));
  put("sys/fs/cgroup/outer/cpu.max", "max 100000");
  put("sys/fs/cgroup/outer/inner/cpu.max", "250000 100000");
  const CpuFacts facts = read_cpu_facts(root, {0, 1, 2, 3});
  EXPECT_EQ(facts.memory_bytes, 4 * kGiB);
  EXPECT_EQ(facts.machine_memory_bytes, 16 * kGiB);
  EXPECT_EQ(facts.cpu_quota, 2.5);
  EXPECT_EQ(available_memory(root), 2 * kGiB);
}

TEST_F(CpuFactsTest, MemoryBeyondTheHighMarkOfAControlGroupIsTakenBackByTheKernel) {
  put_machine();
  put("proc/self/cgroup", "0::/job");
  put("sys/fs/cgroup/job/memory.max", std::to_string(6 * kGiB));
  put("sys/fs/cgroup/job/memory.high", std::to_string(4 * kGiB));
  put("sys/fs/cgroup/job/memory.current", std::to_string(kGiB));
  EXPECT_EQ(total_memory(root), 4 * kGiB);
  EXPECT_EQ(available_memory(root), 3 * kGiB);
  put("sys/fs/cgroup/job/memory.max", "max");
  EXPECT_EQ(available_memory(root), 3 * kGiB);
  put("sys/fs/cgroup/job/memory.high", "max");
  EXPECT_EQ(available_memory(root), 8 * kGiB);
}

TEST_F(CpuFactsTest, ControlGroupsOfVersion1Limit) {
  put_machine();
  put("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n0::/");
  put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", std::to_string(2 * kGiB));
  put("sys/fs/cgroup/memory/box/memory.usage_in_bytes", std::to_string(kGiB));
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "150000");
  put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(read_cpu_facts(root, {0}).memory_bytes, 2 * kGiB);
  EXPECT_EQ(read_cpu_facts(root, {0}).cpu_quota, 1.5);
  EXPECT_EQ(available_memory(root), kGiB);
}

TEST_F(CpuFactsTest, ControlGroupsThatCannotBeReadLimitNothing) {
  put_machine();
  put("proc/self/cgroup", "0::/");
  std::filesystem::create_directories(root / "sys/fs/cgroup");
  std::filesystem::create_symlink("unified", root / "sys/fs/cgroup/unified");  // it cannot be followed
  EXPECT_EQ(read_cpu_facts(root, {0}).memory_bytes, 16 * kGiB);
}

TEST_F(CpuFactsTest, ALimitAboveTheMachineChangesNothing) {
  put_machine();
  put("proc/self/cgroup", "0::/");
  put("sys/fs/cgroup/memory.max", std::to_string(32 * kGiB));
  put("sys/fs/cgroup/memory.current", std::to_string(kGiB));
  EXPECT_EQ(read_cpu_facts(root, {0}).memory_bytes, 16 * kGiB);
  EXPECT_EQ(available_memory(root), 8 * kGiB);
}

TEST_F(CpuFactsTest, ClockIsTheMeanAndTemperatureTheHottestOfTheCpu) {
  put_machine();
  EXPECT_EQ(current_clock_hz(root, {0, 1}), 2.5e9);
  put("sys/class/hwmon/hwmon0/name", "nvme");
  put("sys/class/hwmon/hwmon0/temp1_input", "90000");
  put("sys/class/hwmon/hwmon1/name", "k10temp");
  put("sys/class/hwmon/hwmon1/temp1_input", "61500");
  put("sys/class/hwmon/hwmon1/temp2_input", "70250");
  put("sys/class/hwmon/hwmon1/temp2_crit", "99000");
  EXPECT_EQ(temperature_celsius(root), 70.25);
}

TEST(ParseCpuList, TakesNumbersAndRanges) {
  EXPECT_THAT(parse_cpu_list("0-2,5"), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(parse_cpu_list("7"), ElementsAre(7));
  EXPECT_THAT(parse_cpu_list("1,3-4,9"), ElementsAre(1, 3, 4, 9));
  EXPECT_THAT(parse_cpu_list(""), IsEmpty());
}

TEST_F(CpuFactsTest, ThreadsAreOnTheNodeThatHasAllOfTheirCores) {
  put("sys/devices/system/node/node0/cpulist", "0-3");
  put("sys/devices/system/node/node10/cpulist", "4-7");
  put("sys/devices/system/node/has_cpu", "0,10");
  EXPECT_EQ(numa_node_of({1, 3}, root), 0);
  EXPECT_EQ(numa_node_of({4, 5, 6, 7}, root), 10);
  EXPECT_FALSE(numa_node_of({3, 4}, root));
  EXPECT_FALSE(numa_node_of({}, root));
}

TEST_F(CpuFactsTest, APciDeviceMayHaveNoNode) {
  put("near/numa_node", "1");
  put("far/numa_node", "-1");
  EXPECT_EQ(numa_node(root / "near"), 1);
  EXPECT_FALSE(numa_node(root / "far"));
  EXPECT_FALSE(numa_node(root / "gone"));
}

}  // namespace
}  // namespace roofmark
