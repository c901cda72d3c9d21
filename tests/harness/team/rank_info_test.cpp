// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: what is derived from the same made-up ranks.
#include "harness/team/rank_info.hpp"

#include <gmock/gmock.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "harness/machine/facts.hpp"
#include "harness/machine/host.hpp"
#include "harness/present/terminal_communication.hpp"
#include "harness/result/team_json.hpp"
#include "harness/team/json.hpp"
#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class MemberTest : public testing::Test, protected FakeRoot {};

TEST_F(MemberTest, DescribesThisProcess) {
  std::string cores;
  for (const int core : allowed_cpus()) cores += (cores.empty() ? "" : ",") + std::to_string(core);
  put("sys/devices/system/node/node0/cpulist", "4096-4099");
  put("sys/devices/system/node/node3/cpulist", cores);
  put("sys/devices/system/node/has_cpu", "0,3");
  put("sys/class/net/eth0/type", "1");
  put("sys/class/net/eth0/operstate", "up");
  put("sys/class/net/eth0/device/numa_node", "0");
  DeviceInfo cpu;
  cpu.id = "cpu";
  cpu.name = "Maker 4 Core";
  const std::map<std::string, std::string> started_with = {{"NCCL_HOSTID", "one"},
                                                           {"OFI_NCCL_PROTOCOL", "RDMA"},
                                                           {"UCX_TLS", "tcp"},
                                                           {"FI_PROVIDER", "cxi"},
                                                           {"OMP_NUM_THREADS", "2"}};
  const RankInfo member = describe_rank(cpu, started_with, root);
  EXPECT_EQ(member.host, host_name());
  EXPECT_THAT(member.variables, ElementsAre(std::pair("FI_PROVIDER", "cxi"), std::pair("UCX_TLS", "tcp")))
      << "MPI between CPUs uses no NCCL";
  EXPECT_EQ(member.pid, ::getpid());
  EXPECT_EQ(member.device_id, "cpu");
  EXPECT_EQ(member.device_name, "Maker 4 Core");
  EXPECT_EQ(member.cores, allowed_cpus());
  EXPECT_EQ(member.numa_node, 3);
  EXPECT_EQ(member.nics.size(), 1u);
  EXPECT_EQ(member.uuid, "");

  put("sys/devices/system/node/node3/cpulist", "4100");
  const RankInfo spread = describe_rank(cpu, {}, root);
  EXPECT_FALSE(spread.numa_node);
}

/// $HOME while it lives.
class Home {
 public:
  explicit Home(const char* path) : before_(std::getenv("HOME") ? std::getenv("HOME") : "") { ::setenv("HOME", path, 1); }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  ~Home() { ::setenv("HOME", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST_F(MemberTest, OfAGpuItTakesWhatTheDeviceTells) {
  DeviceInfo gpu;
  gpu.id = "cuda:3";
  gpu.backend = Backend::cuda;
  gpu.near_node = 1;
  gpu.gpu.uuid = "GPU-3";
  gpu.gpu.pci_bus_id = "0000:3B:00.0";
  gpu.gpu.serial = "1654230000003";
  gpu.gpu.driver_version = "570.86";
  gpu.gpu.vbios = "96.00";
  gpu.gpu.ecc = false;
  gpu.gpu.mig_mode = false;
  gpu.gpu.persistence_mode = true;
  gpu.gpu.power_limit_watts = 700;
  gpu.gpu.nvlink = {450e9, "18 NVLinks"};
  gpu.gpu.nvlink_domain = "8f6a/1";
  gpu.gpu.pcie = {63e9, "PCIe 5"};
  gpu.gpu.nvlink_peers = {"0000:3C:00.0"};
  gpu.gpu.way_to_host = {31.5e9, "PCIe 4"};
  gpu.gpu.root_port = "0000:15:01.0";
  gpu.gpu.root_port_bytes_per_second = 63e9;
  const auto started_with = [&](const std::map<std::string, std::string>& variables) {
    return describe_rank(gpu, variables, root);
  };
  EXPECT_EQ(started_with({}).nccl_ib_hca, "");
  EXPECT_EQ(started_with({}).nccl_host_id, "");
  EXPECT_FALSE(started_with({}).may_share_gpu);
  EXPECT_EQ(started_with({{"NCCL_HOSTID", "one"}}).nccl_host_id, "one");
  EXPECT_TRUE(started_with({{"NCCL_MULTI_RANK_GPU_ENABLE", "1"}}).may_share_gpu);
  put("etc/nccl.conf", "# NCCL_IB_HCA=no\nNCCL_DEBUG=WARN\nNCCL_IB_HCA==mlx5_0,mlx5_1\n");
  EXPECT_EQ(started_with({}).nccl_ib_hca, "=mlx5_0,mlx5_1");
  put("own.conf", "NCCL_IB_HCA=mlx5_2\nNCCL_PROTO=Simple");
  EXPECT_EQ(started_with({{"NCCL_CONF_FILE", "/own.conf"}}).nccl_ib_hca, "mlx5_2");
  EXPECT_EQ(started_with({{"NCCL_CONF_FILE", ""}}).nccl_ib_hca, "=mlx5_0,mlx5_1");
  const passwd* const user = ::getpwuid(::getuid());
  ASSERT_TRUE(user && user->pw_dir && *user->pw_dir == '/');
  put(std::string(user->pw_dir).substr(1) + "/.nccl.conf", "NCCL_IB_HCA=mlx5_3\nNCCL_P2P_LEVEL=NVL\n");
  const Home home("/home/of_test");
  EXPECT_EQ(started_with({}).nccl_ib_hca, "mlx5_3");
  put("home/of_test/.nccl.conf", "NCCL_IB_HCA=mlx5_4\n");
  EXPECT_EQ(started_with({}).nccl_ib_hca, "mlx5_4");
  EXPECT_THAT(started_with({}).variables, Contains(std::pair("NCCL_P2P_LEVEL", "NVL")));
  const RankInfo member =
      started_with({{"NCCL_CONF_FILE", "/own.conf"}, {"NCCL_IB_HCA", "^mlx5_8"}, {"CUDA_VISIBLE_DEVICES", "3"}, {"OMP", "1"}});
  EXPECT_EQ(member.nccl_ib_hca, "^mlx5_8");
  EXPECT_THAT(member.variables, ElementsAre(std::pair("CUDA_VISIBLE_DEVICES", "3"), std::pair("NCCL_CONF_FILE", "/own.conf"),
                                            std::pair("NCCL_DEBUG", "WARN"), std::pair("NCCL_IB_HCA", "^mlx5_8"),
                                            std::pair("NCCL_PROTO", "Simple")));
  EXPECT_EQ(member.uuid, "GPU-3");
  EXPECT_EQ(member.pci_bus_id, "0000:3B:00.0");
  EXPECT_EQ(member.serial, "1654230000003");
  EXPECT_THAT(member.versions, ElementsAre(std::pair("driver", "570.86"), std::pair("vbios", "96.00")));
  EXPECT_EQ(member.ecc, false);
  EXPECT_EQ(member.mig, false);
  EXPECT_EQ(member.persistence_mode, true);
  EXPECT_EQ(member.power_limit_watts, 700);
  EXPECT_EQ(member.numa_node, 1);
  EXPECT_EQ(member.nvlink_bytes_per_second, 450e9);
  EXPECT_EQ(member.nvlink_source, "18 NVLinks");
  EXPECT_EQ(member.nvlink_domain, "8f6a/1");
  EXPECT_EQ(member.pcie_bytes_per_second, 63e9);
  EXPECT_EQ(member.pcie_source, "PCIe 5");
  EXPECT_THAT(member.nvlink_peers, ElementsAre("0000:3C:00.0"));
  EXPECT_EQ(member.host_bytes_per_second, 31.5e9);
  EXPECT_EQ(member.root_port, "0000:15:01.0");
  EXPECT_EQ(member.root_port_bytes_per_second, 63e9);
  EXPECT_EQ(member.nic_way_bytes_per_second, 63e9) << "a NIC may be below the same switch";
  EXPECT_EQ(member.nic_way_source, "PCIe 5");
  EXPECT_THAT(member.near_nics, IsEmpty());
  namespace fs = std::filesystem;
  const fs::path port = root / "sys/devices/pci0000:15/0000:15:01.0", devices = root / "sys/bus/pci/devices";
  for (const char* device : {"0000:3b:00.0", "0000:19:00.0"}) fs::create_directories(port / device);
  fs::create_directories(devices);
  fs::create_directory_symlink(port / "0000:3b:00.0", devices / "0000:3b:00.0");
  fs::create_directories(root / "sys/class/infiniband/mlx5_0");
  fs::create_directory_symlink(port / "0000:19:00.0", root / "sys/class/infiniband/mlx5_0/device");
  EXPECT_THAT(started_with({}).near_nics, ElementsAre("mlx5_0"));
  EXPECT_EQ(member.cores, allowed_cpus());
  gpu.gpu.host_page_tables = true;
  EXPECT_FALSE(started_with({}).nic_way_bytes_per_second) << "of unknown rate, and not PCIe";
  gpu.gpu.c2c = {450e9, "NVLink-C2C"};
  EXPECT_EQ(started_with({}).nic_way_bytes_per_second, 450e9);
  gpu.gpu.mig_uuid = "MIG-3";
  EXPECT_FALSE(has_nvlink(started_with({}))) << "it has no access to other GPUs";
  EXPECT_EQ(started_with({}).nvlink_domain, "");
  gpu.gpu = {};
  EXPECT_FALSE(started_with({}).nvlink_bytes_per_second);
}

RankInfo rank_on(int rank, const std::string& host) {
  RankInfo member;
  member.rank = rank;
  member.host = host;
  member.device_id = "cuda:0";
  member.device_name = "H";
  member.uuid = "GPU-" + std::to_string(rank);
  member.versions = {{"roofmark", "1"}, {"NCCL", "2.28.9"}};
  return member;
}

TEST(RankInfo, GoesThroughJson) {
  RankInfo member = rank_on(3, "node7");
  member.local_rank = 1;
  member.nccl_host_id = "x";
  member.may_share_gpu = true;
  member.pid = 42;
  member.pci_bus_id = "0000:3B:00.0";
  member.serial = "1654230000003";
  member.ecc = true;
  member.mig = true;
  member.persistence_mode = false;
  member.power_limit_watts = 700;
  member.numa_node = 1;
  member.cores = {2, 3};
  member.nics = {{"mlx5_0:1", "InfiniBand", 50e9, 1, "mlx5_4:1", {"28.43.2026", "0xffff", {}}}, {"eth0", "Ethernet", {}, {}}};
  member.nics[1].settings.mtu = 9000;
  member.near_nics = {"mlx5_0"};
  member.port_faults = std::vector<PortFault>{{"mlx5_1:1", "is down", false, "RoCE", 25e9}};
  member.nvlinks = 18;
  member.nvlink_bytes_per_second = 450e9;
  member.nvlink_source = "NVLink";
  member.nvlink_peers = {"0000:3C:00.0"};
  member.virtual_machine = true;
  member.host_bytes_per_second = 31.5e9;
  member.nic_way_bytes_per_second = 450e9;
  member.nic_way_source = "NVLink-C2C";
  member.root_port = "0000:15:01.0";
  member.root_port_bytes_per_second = 63e9;
  member.nccl_ib_hca = "^mlx5_8";
  member.variables = {{"NCCL_IB_HCA", "^mlx5_8"}, {"NCCL_PROTO", "Simple"}};
  member.nvlink_domain = "8f6a/1";
  member.pcie_bytes_per_second = 63e9;
  member.pcie_source = "PCIe";
  const Json json = to_json(member);
  const RankInfo read = rank_info_from_json(json);
  EXPECT_EQ(to_json(read), json);
  EXPECT_EQ(read.rank, 3);
  EXPECT_EQ(read.local_rank, 1);
  EXPECT_EQ(read.host, "node7");
  EXPECT_EQ(read.nccl_host_id, "x");
  EXPECT_TRUE(read.may_share_gpu);
  EXPECT_EQ(read.pid, 42);
  EXPECT_EQ(read.uuid, "GPU-3");
  EXPECT_EQ(read.pci_bus_id, "0000:3B:00.0");
  EXPECT_EQ(read.serial, "1654230000003");
  EXPECT_EQ(read.ecc, true);
  EXPECT_EQ(read.mig, true);
  EXPECT_EQ(read.persistence_mode, false);
  EXPECT_EQ(read.power_limit_watts, 700);
  EXPECT_EQ(read.numa_node, 1);
  EXPECT_THAT(read.cores, ElementsAre(2, 3));
  ASSERT_EQ(read.nics.size(), 2u);
  EXPECT_EQ(read.nics[0].bytes_per_second, 50e9);
  EXPECT_EQ(read.nics[0].part_of, "mlx5_4:1");
  EXPECT_EQ(read.nics[1].part_of, "");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(read.nics[i].settings, member.nics[i].settings);
  EXPECT_FALSE(read.nics[1].bytes_per_second);
  EXPECT_FALSE(read.nics[1].numa_node);
  EXPECT_THAT(read.near_nics, ElementsAre("mlx5_0"));
  ASSERT_TRUE(read.port_faults);
  EXPECT_EQ(read.port_faults->at(0).what, "is down");
  EXPECT_EQ(read.port_faults->at(0).kind, "RoCE");
  EXPECT_EQ(read.port_faults->at(0).bytes_per_second, 25e9);
  EXPECT_TRUE(read.virtual_machine);
  EXPECT_EQ(read.nvlinks, 18);
  EXPECT_EQ(read.nvlink_bytes_per_second, 450e9);
  EXPECT_EQ(read.pcie_source, "PCIe");
  EXPECT_EQ(read.nccl_ib_hca, "^mlx5_8");
  EXPECT_EQ(read.variables, member.variables);
  EXPECT_THAT(read.nvlink_peers, ElementsAre("0000:3C:00.0"));
  EXPECT_EQ(read.host_bytes_per_second, 31.5e9);
  EXPECT_EQ(read.nic_way_bytes_per_second, 450e9);
  EXPECT_EQ(read.nic_way_source, "NVLink-C2C");
  EXPECT_EQ(read.root_port, "0000:15:01.0");
  EXPECT_EQ(read.root_port_bytes_per_second, 63e9);
  EXPECT_EQ(read.nvlink_domain, "8f6a/1");
  EXPECT_EQ(read.versions, member.versions);

  const RankInfo plain = rank_info_from_json(to_json(RankInfo{}));
  EXPECT_FALSE(plain.ecc || plain.mig || plain.persistence_mode || plain.power_limit_watts || !plain.serial.empty());
  EXPECT_FALSE(plain.numa_node || plain.nvlink_bytes_per_second || plain.pcie_bytes_per_second || plain.may_share_gpu);
}

TEST(Members, AreGroupedByHostInTheOrderOfTheLowestRank) {
  EXPECT_THAT(ranks_by_host({rank_on(0, "z"), rank_on(3, "a"), rank_on(1, "a"), rank_on(2, "z")}),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(ranks_by_host({}), IsEmpty());
}

// NCCL tells machines apart by name and boot.
TEST(Members, MachinesOfOneNameAreNumbered) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(distinct_names({{"node", "1"}, {"node", "1"}, {"other", "2"}}), (Names{"node", "node", "other"}));
  EXPECT_EQ(distinct_names({{"node", "b"}, {"other", "c"}, {"node", "a"}, {"node", "b"}}),
            (Names{"node#1", "other", "node#2", "node#1"}));
  EXPECT_EQ(distinct_names({{"a", "1"}, {"b", "1"}}), (Names{"a", "b"})) << "containers of one machine";
  EXPECT_EQ(distinct_names({{"a", ""}, {"a", ""}}), (Names{"a", "a"}));
  EXPECT_THAT(distinct_names({}), IsEmpty());
}

TEST(Members, AreGroupedByNvlinkDomainBesideHosts) {
  // Two hosts in one clique, one in another clique of the same cluster, one whose ranks are not all in a domain.
  std::vector<RankInfo> members;
  const std::pair<const char*, const char*> places[] = {{"a", "c/1"}, {"a", "c/1"}, {"b", "c/1"}, {"b", "c/1"},
                                                        {"d", "c/2"}, {"e", "c/1"}, {"e", ""}};
  for (const auto& [host, domain] : places) {
    members.push_back(rank_on(static_cast<int>(members.size()), host));
    members.back().nvlink_domain = domain;
  }
  EXPECT_THAT(ranks_by_domain(members), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4), ElementsAre(5, 6)));
  EXPECT_EQ(ranks_by_host(members).size(), 4u);
  for (RankInfo& member : members) member.nvlink_domain.clear();
  EXPECT_EQ(ranks_by_domain(members), ranks_by_host(members));
}

TEST(Members, WhoSharesAGpuIsCounted) {
  RankInfo first = rank_on(0, "a"), second = rank_on(1, "a"), third = rank_on(2, "a");
  EXPECT_FALSE(share_gpu({first, second, third}));
  EXPECT_EQ(ranks_on_gpu({first, second, third}, 1), 1);
  third.uuid = first.uuid;
  third.nccl_host_id = "other";
  EXPECT_TRUE(share_gpu({first, second, third}));
  EXPECT_EQ(ranks_on_gpu({first, second, third}, 0), 2);
  EXPECT_EQ(ranks_on_gpu({first, second, third}, 1), 1);
  EXPECT_EQ(ranks_on_gpu({first, second, third}, 2), 2);
  first.uuid = second.uuid = third.uuid = "";
  EXPECT_FALSE(share_gpu({first, second, third}));
  EXPECT_EQ(ranks_on_gpu({first, second, third}, 0), 1);
}

TEST(Members, TheTableNamesTheNicsThatAreNear) {
  RankInfo gpu = rank_on(1, "node7");
  gpu.numa_node = 1;
  gpu.nics = {{"mlx5_0:1", "InfiniBand", 50e9, 0}, {"mlx5_1:1", "InfiniBand", 50e9, 1}, {"eth0", "Ethernet", {}, {}}};
  const std::string table = ranks_table({rank_on(0, "node3"), gpu}, {});
  EXPECT_THAT(table, AllOf(HasSubstr("rank"), HasSubstr("UUID"), HasSubstr("node3"), HasSubstr("GPU-1"),
                           HasSubstr("mlx5_1:1 InfiniBand 400 Gb/s, eth0 Ethernet unknown rate\n"), Not(HasSubstr("mlx5_0"))));
  RankInfo cpu = rank_on(0, "node3");
  cpu.uuid.clear();
  cpu.cores = {0, 1, 2, 5, 7, 8};
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) cpu.nics.push_back({name, "Ethernet", 12.5e9, 0});
  EXPECT_THAT(ranks_table({cpu}, {}), AllOf(HasSubstr("cores"), HasSubstr("0-2,5,7-8"),
                                            HasSubstr("d Ethernet 100 Gb/s and 2 more"), Not(HasSubstr("UUID"))));
}

TEST(Members, TheLinksAreThoseOfTheSlowest) {
  RankInfo fast = rank_on(0, "a"), slow = rank_on(1, "b");
  fast.nvlink_bytes_per_second = 450e9;
  fast.pcie_bytes_per_second = 63e9;
  slow.nvlink_bytes_per_second = 300e9;
  slow.nvlink_source = "12 NVLinks";
  slow.pcie_bytes_per_second = 31.5e9;
  slow.pcie_source = "PCIe 4";
  fast.nics = {{"x", "InfiniBand", 50e9, {}}};
  slow.nics = {{"x", "InfiniBand", 25e9, {}}, {"y", "InfiniBand", 12.5e9, {}}};
  Roofline links = theoretical_links({fast, slow});
  EXPECT_EQ(links.find(resource::nvlink)->theoretical, 300e9);
  EXPECT_EQ(links.find(resource::nvlink)->theoretical_source, "12 NVLinks, rank 1 (b)");
  EXPECT_FALSE(links.find(resource::pcie));
  EXPECT_EQ(links.find(resource::network)->theoretical, 25e9);
  EXPECT_EQ(links.find(resource::network)->theoretical_source,
            "1 port of 200 Gb/s InfiniBand: x; not counted: y 100 Gb/s InfiniBand, b (the kernel's tables)");
  slow.nccl_ib_hca = "=x,y";
  links = theoretical_links({fast, slow});
  EXPECT_EQ(links.find(resource::network)->theoretical, 37.5e9);
  EXPECT_EQ(links.find(resource::network)->theoretical_source,
            "x 200 Gb/s InfiniBand + y 100 Gb/s InfiniBand; by NCCL_IB_HCA==x,y, b (the kernel's tables)");

  slow.nvlink_bytes_per_second.reset();
  slow.nics[1].bytes_per_second.reset();
  links = theoretical_links({fast, slow});
  EXPECT_FALSE(links.find(resource::nvlink));
  EXPECT_EQ(links.find(resource::pcie)->theoretical, 31.5e9);
  EXPECT_EQ(links.find(resource::pcie)->theoretical_source, "PCIe 4, rank 1 (b)");
  EXPECT_FALSE(links.find(resource::network));

  slow.nics.clear();
  EXPECT_FALSE(theoretical_links({fast, slow}).find(resource::network));
  EXPECT_FALSE(theoretical_links({fast}).find(resource::network));
  EXPECT_TRUE(theoretical_links({}).ceilings().empty());
}

// Eight ports for the GPUs, and more for storage and management: what the collectives reach is held against the eight.
TEST(Members, PortsOfStorageAndManagementAreNotCounted) {
  RankInfo first = rank_on(0, "a"), second = rank_on(1, "b");
  for (int port = 0; port < 8; ++port) first.nics.push_back({"mlx5_" + std::to_string(port) + ":1", "InfiniBand", 50e9, {}});
  first.nics.push_back({"mlx5_8:1", "RoCE", 50e9, {}});
  first.nics.push_back({"mlx5_9:1", "RoCE", 12.5e9, {}});
  second.nics = first.nics;
  const Roofline links = theoretical_links({first, second});
  EXPECT_EQ(links.find(resource::network)->theoretical, 400e9);
  EXPECT_EQ(
      links.find(resource::network)->theoretical_source,
      "8 ports of 400 Gb/s InfiniBand: mlx5_0:1, mlx5_1:1, mlx5_2:1, mlx5_3:1, mlx5_4:1, mlx5_5:1, mlx5_6:1, mlx5_7:1; not "
      "counted: mlx5_8:1 400 Gb/s RoCE, mlx5_9:1 100 Gb/s RoCE, a (the kernel's tables)");
  second.nccl_ib_hca = "mlx5_0,mlx5_1";
  EXPECT_EQ(theoretical_links({first, second}).find(resource::network)->theoretical, 100e9);
  second.nccl_ib_hca = "^mlx5";
  EXPECT_FALSE(theoretical_links({first, second}).find(resource::network));
}

TEST(Members, TheGpusThatTakePartHaveNoMoreOfTheNetworkThanTheirOwnLinks) {
  const auto team = [](int ranks_per_host, double way) {
    std::vector<RankInfo> all;
    for (int rank = 0; rank < 2 * ranks_per_host; ++rank) {
      RankInfo& member = all.emplace_back(rank_on(rank, rank < ranks_per_host ? "a" : "b"));
      member.nics.assign(8, {"mlx5_0:1", "InfiniBand", 50e9, {}});
      member.nic_way_bytes_per_second = way;
      member.nic_way_source = "PCIe 5";
    }
    return all;
  };
  Roofline links = theoretical_links(team(1, 63e9));
  EXPECT_EQ(links.find(resource::network)->theoretical, 63e9) << "not 400 GB/s";
  EXPECT_THAT(links.find(resource::network)->theoretical_source,
              testing::StartsWith("1 GPU by PCIe 5, less than 8 ports of 400 Gb/s InfiniBand: "));
  EXPECT_FALSE(links.find(resource::network_of_rank)) << "it is the same";
  links = theoretical_links(team(4, 63e9));
  EXPECT_EQ(links.find(resource::network)->theoretical, 252e9);
  EXPECT_EQ(links.find(resource::network_of_rank)->theoretical, 63e9);
  links = theoretical_links(team(8, 63e9));
  EXPECT_EQ(links.find(resource::network)->theoretical, 400e9) << "of the ports";
  EXPECT_THAT(links.find(resource::network)->theoretical_source, testing::StartsWith("8 ports of 400 Gb/s InfiniBand: "));
  links = theoretical_links(team(1, 450e9));
  EXPECT_EQ(links.find(resource::network)->theoretical, 400e9) << "by NVLink-C2C";

  // Ranks on one GPU share its link; one of unknown rate bounds nothing.
  std::vector<RankInfo> sharing = team(2, 63e9);
  sharing[1].uuid = sharing[0].uuid;
  EXPECT_EQ(theoretical_links(sharing).find(resource::network)->theoretical, 63e9);
  std::vector<RankInfo> unknown = team(1, 63e9);
  for (RankInfo& member : unknown) member.nic_way_bytes_per_second.reset();
  EXPECT_EQ(theoretical_links(unknown).find(resource::network)->theoretical, 400e9);
}

TEST(Members, NoLinkIsBetweenRanksThatShareAGpu) {
  RankInfo first = rank_on(0, "a"), second = rank_on(1, "a");
  first.nvlink_bytes_per_second = second.nvlink_bytes_per_second = 450e9;
  first.pcie_bytes_per_second = second.pcie_bytes_per_second = 63e9;
  EXPECT_TRUE(theoretical_links({first, second}).find(resource::nvlink));
  second.uuid = first.uuid;
  EXPECT_TRUE(theoretical_links({first, second}).ceilings().empty());
}

/// Eight GPUs of a host whose NVLinks are bridges between two and two.
std::vector<RankInfo> bridged_pairs() {
  std::vector<RankInfo> members;
  const auto bus = [](int rank) { return "0000:" + std::to_string(10 + rank) + ":00.0"; };
  for (int rank = 0; rank < 8; ++rank) {
    RankInfo& member = members.emplace_back(rank_on(rank, "a"));
    member.pci_bus_id = bus(rank);
    member.nvlink_peers = {bus(rank ^ 1)};
    member.nvlink_bytes_per_second = 300e9;
    member.nvlink_source = "12 NVLinks";
    member.pcie_bytes_per_second = 31.5e9;
    member.pcie_source = "PCIe 4";
  }
  return members;
}

TEST(Members, BridgesConnectTheirTwoGpusAlone) {
  std::vector<RankInfo> members = bridged_pairs();
  const NvlinkMap map(members);
  EXPECT_THAT(map.groups_of({0, 1, 2, 3, 4, 5, 6, 7}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5), ElementsAre(6, 7)));
  EXPECT_THAT(map.groups_of({1, 2, 3, 6}), ElementsAre(ElementsAre(1), ElementsAre(2, 3), ElementsAre(6)));
  EXPECT_TRUE(map.connects({2, 3}));
  EXPECT_TRUE(map.connects({2}));
  EXPECT_FALSE(map.connects({1, 2}));
  Roofline links = theoretical_links(members);
  EXPECT_EQ(links.find(resource::nvlink)->theoretical, 300e9) << "of a pair";
  EXPECT_EQ(links.find(resource::pcie)->theoretical, 31.5e9) << "of more";
  links = theoretical_links({members[1], members[2]});
  EXPECT_FALSE(links.find(resource::nvlink)) << "its bridge leads to a GPU that takes no part";
  EXPECT_TRUE(links.find(resource::pcie));
  links = theoretical_links({members[2], members[3]});
  EXPECT_TRUE(links.find(resource::nvlink));
  EXPECT_FALSE(links.find(resource::pcie));
  // A bus id is of a host.
  members[1].host = "b";
  EXPECT_FALSE(NvlinkMap(members).connects({0, 1, 2}));
}

// NVLinks of a GPU may lead to some of the others: those reach the rest, and NCCL finds rings over NVLink alone.
TEST(Members, AMeshOfNvlinksConnectsAll) {
  std::vector<RankInfo> members = bridged_pairs();
  for (RankInfo& member : members)
    member.nvlink_peers.push_back(members[static_cast<std::size_t>(member.rank + 2) % 8].pci_bus_id);
  EXPECT_TRUE(NvlinkMap(members).connects({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(theoretical_links(members).find(resource::pcie));
}

TEST(Members, SwitchesConnectAllThatHaveNvlink) {
  std::vector<RankInfo> members = bridged_pairs();
  for (RankInfo& member : members) member.nvlink_peers.clear();
  EXPECT_TRUE(NvlinkMap(members).connects({0, 1, 2, 3, 4, 5, 6, 7}));
  members[3].nvlink_bytes_per_second.reset();
  EXPECT_FALSE(NvlinkMap(members).connects({0, 3}));
  EXPECT_FALSE(NvlinkMap(members).connects({3}));
  EXPECT_TRUE(NvlinkMap(members).connects({0, 1, 7}));
}

TEST(Members, NvlinksOfUnknownRateConnectAndHaveNoCeiling) {
  std::vector<RankInfo> members = {rank_on(0, "a"), rank_on(1, "a")};
  for (RankInfo& member : members) {
    member.nvlinks = 4;
    member.pcie_bytes_per_second = 31.5e9;
  }
  EXPECT_TRUE(NvlinkMap(members).connects({0, 1}));
  EXPECT_FALSE(theoretical_links(members).find(resource::nvlink));
  EXPECT_FALSE(theoretical_links(members).find(resource::pcie)) << "it is not what connects them";
}

TEST(Members, TwoRanksOnOneGpuOfOneNcclHostDoNotMatch) {
  RankInfo first = rank_on(0, "node3"), second = rank_on(5, "node3");
  EXPECT_EQ(mismatch({first, rank_on(1, "node3"), second}), "");
  second.uuid = first.uuid;
  EXPECT_THAT(mismatch({first, rank_on(1, "node3"), second}),
              HasSubstr("rank 0 (node3) and rank 5 (node3) use the same GPU (GPU-0), which NCCL does not allow"));
  second.nccl_host_id = "other";
  EXPECT_EQ(mismatch({first, second}), "");
  first.nccl_host_id = "other";
  EXPECT_NE(mismatch({first, second}), "");
  first.may_share_gpu = true;
  EXPECT_NE(mismatch({first, second}), "");
  second.may_share_gpu = true;
  EXPECT_EQ(mismatch({first, second}), "");
  // An identity that reads as another's host name is not that host.
  RankInfo named = rank_on(1, "node9");
  named.uuid = "GPU-0";
  named.nccl_host_id = "node3";
  EXPECT_EQ(mismatch({rank_on(0, "node3"), named}), "");
  // No GPU is nobody's.
  RankInfo cpu = rank_on(0, "node3"), other = rank_on(1, "node3");
  cpu.uuid = other.uuid = "";
  EXPECT_EQ(mismatch({cpu, other}), "");
}

TEST(Members, VersionsThatDifferAreNamedOnBothSides) {
  RankInfo first = rank_on(0, "node3"), second = rank_on(1, "node7"), third = rank_on(2, "node8");
  second.versions = {{"NCCL", "2.27.5"}, {"roofmark", "1"}};
  third.versions = {{"NCCL", "2.26.2"}};
  EXPECT_EQ(mismatch({first, second, third}),
            "versions of NCCL differ: rank 0 (node3) has 2.28.9, rank 1 (node7) has 2.27.5; "
            "versions of roofmark differ: rank 0 (node3) has 1, rank 2 (node8) has no roofmark");
  third.versions = first.versions;
  third.versions.emplace_back("driver", "570.86");  // of its GPU: a finding of the fleet, no reason not to measure
  EXPECT_EQ(mismatch({first, third}), "");
  third.versions.emplace_back("MPI", "4");
  EXPECT_EQ(mismatch({first, third}), "versions of MPI differ: rank 0 (node3) has no MPI, rank 2 (node8) has 4");
  EXPECT_EQ(mismatch({}), "");
}

}  // namespace
}  // namespace roofmark
