// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/pci.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

/// A tree of PCI devices as the kernel shows it: folders within those of their bridges, and links to all of them.
class PciTree : public FakeRoot {
 public:
  /// `place`: "pci0000:3a/0000:3a:00.0/0000:3b:00.0".
  void add(const std::string& place) const {
    const fs::path folder = root / "sys/devices" / place, links = root / "sys/bus/pci/devices";
    fs::create_directories(folder);
    fs::create_directories(links);
    fs::create_directory_symlink(folder, links / folder.filename());
  }
  void set(const std::string& bus_id, const std::string& file, const std::string& text) const {
    put("sys/bus/pci/devices/" + bus_id + "/" + file, text);
  }
  fs::path folder(const std::string& bus_id) const { return pci_folder(bus_id, root); }
};

TEST(PciLinkMaximum, IsWhatTheKernelReadFromTheDeviceItself) {
  const FakeRoot root;
  root.put("gpu/max_link_speed", "32.0 GT/s PCIe");
  root.put("gpu/max_link_width", "16");
  root.put("old/max_link_speed", "8.0 GT/s PCIe");
  root.put("old/max_link_width", "8");
  root.put("unknown/max_link_speed", "Unknown");
  root.put("unknown/max_link_width", "255");
  EXPECT_EQ(pci_link_maximum(root.root / "gpu").generation, 5);
  EXPECT_EQ(pci_link_maximum(root.root / "gpu").lanes, 16);
  EXPECT_EQ(pci_link_maximum(root.root / "old").generation, 3);
  EXPECT_EQ(pci_link_maximum(root.root / "old").lanes, 8);
  for (const char* folder : {"unknown", "missing"}) {
    EXPECT_FALSE(pci_link_maximum(root.root / folder).generation) << folder;
    EXPECT_FALSE(pci_link_maximum(root.root / folder).lanes) << folder;
  }
}

TEST(PciGpus, AreThoseToComputeWith) {
  const PciTree tree;
  auto add = [&tree, bus = 0x3a](const std::string& vendor, const std::string& type, const std::string& driver) mutable {
    const std::string id = fmt::format("0000:{:02x}:00.0", bus++);
    tree.add("pci0000:3a/" + id);
    tree.set(id, "vendor", vendor);
    tree.set(id, "class", type);
    if (!driver.empty()) fs::create_directory_symlink("../drivers/" + driver, tree.folder(id) / "driver");
  };
  add("0x10de", "0x030200", "nvidia");
  add("0x10de", "0x030200", "");  // no driver took it
  add("0x10de", "0x030200", "nouveau");
  add("0x10de", "0x030000", "nvidia");  // a workstation's
  EXPECT_EQ(gpus_to_compute_with(tree.root), 4);
  add("0x10de", "0x030000", "nouveau");   // a display's
  add("0x10de", "0x030200", "vfio-pci");  // a virtual machine's
  add("0x10de", "0x068000", "nvidia");    // an NVSwitch
  add("0x8086", "0x030000", "i915");
  EXPECT_EQ(gpus_to_compute_with(tree.root), 4);
  EXPECT_EQ(gpus_to_compute_with(tree.root / "nothing"), 0);
}

TEST(PciSlot, IsThePortAboveTheDevice) {
  const PciTree tree;
  tree.add("pci0000:3a/0000:3a:00.0");
  tree.add("pci0000:3a/0000:3a:00.0/0000:3b:00.0");
  tree.set("0000:3b:00.0", "max_link_speed", "32.0 GT/s PCIe");
  tree.set("0000:3a:00.0", "max_link_speed", "16.0 GT/s PCIe");
  tree.set("0000:3a:00.0", "max_link_width", "8");
  EXPECT_EQ(pci_link_maximum(tree.folder("0000:3B:00.0")).generation, 5) << "CUDA writes bus ids in upper case";
  EXPECT_EQ(slot_link_maximum(tree.folder("0000:3B:00.0")).generation, 4);
  EXPECT_EQ(slot_link_maximum(tree.folder("0000:3B:00.0")).lanes, 8);
  EXPECT_FALSE(slot_link_maximum(tree.folder("0000:3a:00.0")).generation) << "on the root bus there is no port above";
  EXPECT_FALSE(slot_link_maximum(tree.folder("0000:99:00.0")).generation) << "no such device";
}

TEST(PcieErrors, AreThoseThatAnEndOfALinkReported) {
  const PciTree tree;
  tree.add("pci0000:3a/0000:3a:00.0");
  tree.add("pci0000:3a/0000:3a:00.0/0000:3b:00.0");
  tree.add("pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:00.0");
  tree.set("0000:3a:00.0", "aer_dev_correctable", "TOTAL_ERR_COR 1000");
  tree.set("0000:3b:00.0", "aer_dev_correctable", "Receiver Error 2\nBad TLP 1\nTOTAL_ERR_COR 3");
  tree.set("0000:3c:00.0", "aer_dev_correctable", "Receiver Error 40\nTOTAL_ERR_COR 40");
  tree.set("0000:3b:00.0", "aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 2");
  tree.set("0000:3c:00.0", "aer_dev_fatal", "TOTAL_ERR_FATAL");
  const PcieErrors errors = pcie_errors(tree.folder("0000:3C:00.0"));
  EXPECT_EQ(errors.correctable, 40);
  EXPECT_FALSE(errors.nonfatal) << "no such file";
  EXPECT_FALSE(errors.fatal) << "no number";
  const auto port = port_above(tree.folder("0000:3C:00.0"));
  ASSERT_TRUE(port);
  EXPECT_EQ(port->filename(), "0000:3b:00.0");
  EXPECT_EQ(pcie_errors(*port).correctable, 3);
  EXPECT_EQ(pcie_errors(*port).nonfatal, 2);
  EXPECT_FALSE(port_above(tree.folder("0000:3a:00.0"))) << "it is on the root bus";
  const PcieErrors none = pcie_errors(tree.folder("0000:99:00.0"));
  EXPECT_FALSE(none.correctable || none.nonfatal || none.fatal) << "no such device";
}

/// A GPU behind two switches: 16:00.0 and 17:00.0 are the ports of the upper one, 18:00.0 and 19:00.0 those of the lower.
TEST(PciLinks, AboveTheSwitchesAreThoseOfBothEnds) {
  const PciTree tree;
  std::string place = "pci0000:15";
  for (const char* bridge : {"15:01.0", "16:00.0", "17:00.0", "18:00.0", "19:00.0", "1a:00.0"}) {
    place += std::string("/0000:") + bridge;
    tree.add(place);
    tree.set(std::string("0000:") + bridge, "max_link_speed", "64.0 GT/s PCIe");
    tree.set(std::string("0000:") + bridge, "max_link_width", "16");
  }
  tree.set("0000:15:01.0", "max_link_speed", "32.0 GT/s PCIe");
  tree.set("0000:18:00.0", "max_link_width", "8");
  const auto links = links_to_root(tree.folder("0000:1a:00.0"));
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(links[0].below + " " + links[0].above, "0000:18:00.0 0000:17:00.0");
  EXPECT_EQ(links[0].maximum.lanes, 8);
  EXPECT_EQ(links[0].maximum.generation, 6);
  EXPECT_EQ(links[1].below + " " + links[1].above, "0000:16:00.0 0000:15:01.0");
  EXPECT_EQ(links[1].maximum.lanes, 16);
  EXPECT_EQ(links[1].maximum.generation, 5);
  EXPECT_EQ(shared_root_port(tree.folder("0000:1a:00.0")), "0000:15:01.0");
  tree.set("0000:16:00.0", "max_link_speed", "Unknown");
  EXPECT_FALSE(links_to_root(tree.folder("0000:1a:00.0"))[1].maximum.generation);
}

TEST(PciLinks, AGpuAtAPortOfTheHostHasNoneAbove) {
  const PciTree tree;
  tree.add("pci0000:3a/0000:3a:00.0");
  tree.add("pci0000:3a/0000:3a:00.0/0000:3b:00.0");
  EXPECT_TRUE(links_to_root(tree.folder("0000:3b:00.0")).empty());
  EXPECT_EQ(shared_root_port(tree.folder("0000:3b:00.0")), "");
  EXPECT_TRUE(links_to_root(tree.folder("0000:3a:00.0")).empty()) << "on the root bus, as in some virtual machines";
  EXPECT_TRUE(links_to_root(tree.folder("0000:99:00.0")).empty()) << "no such device";
}

TEST(PciIommu, IsTheTypeOfTheDevicesGroup) {
  const PciTree tree;
  EXPECT_FALSE(iommu_of(tree.folder("0000:3b:00.0"), tree.root)) << "no such device";
  tree.add("pci0000:3a/0000:3b:00.0");
  EXPECT_FALSE(iommu_of(tree.folder("0000:3b:00.0"), tree.root)) << "the kernel says nothing";
  fs::create_directories(tree.root / "sys/class/iommu");
  EXPECT_EQ(iommu_of(tree.folder("0000:3b:00.0"), tree.root), "off");
  fs::create_directories(tree.root / "sys/class/iommu/dmar0");
  EXPECT_FALSE(iommu_of(tree.folder("0000:3b:00.0"), tree.root)) << "there is one, and the device is in no group";
  for (const char* type : {"identity", "DMA", "DMA-FQ"}) {
    tree.put("sys/kernel/iommu_groups/7/type", type);
    const fs::path group = tree.folder("0000:3b:00.0") / "iommu_group";
    if (!fs::exists(group)) fs::create_directory_symlink(tree.root / "sys/kernel/iommu_groups/7", group);
    EXPECT_EQ(iommu_of(tree.folder("0000:3b:00.0"), tree.root), type);
  }
}

/// Configuration space with an ACS capability behind another one.
std::string space_with_acs(std::uint16_t control) {
  std::string space(4096, '\0');
  const auto write = [&](std::size_t at, std::uint32_t value) {
    for (int i = 0; i < 4; ++i) space[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
  };
  write(0x100, 0x1b810001);  // advanced error reporting; the next one is at 0x1b8
  write(0x1b8, 0x0001000d);
  write(0x1bc, std::uint32_t{control} << 16 | 0x5f);  // all that it is capable of
  return space;
}

/// Two GPUs below one switch, whose ports are 17:00.0 and 17:01.0, and one at a root port of its own.
class SwitchTree : public PciTree {
 public:
  SwitchTree() {
    const std::string above = "pci0000:15/0000:15:01.0/0000:16:00.0/";
    add("pci0000:15/0000:15:01.0");
    add("pci0000:15/0000:15:01.0/0000:16:00.0");
    for (const std::string port : {"0000:17:00.0", "0000:17:01.0"}) add(above + port);
    add(above + "0000:17:00.0/0000:18:00.0");
    add(above + "0000:17:01.0/0000:19:00.0");
    add("pci0000:97/0000:97:01.0");
    add("pci0000:97/0000:97:01.0/0000:98:00.0");
    for (const char* gpu : {"0000:18:00.0", "0000:19:00.0", "0000:98:00.0"}) {
      set(gpu, "vendor", "0x10de");
      set(gpu, "class", "0x030200");
    }
    // A root port that redirects is above the switch: what its GPUs send one another does not come there.
    set("0000:15:01.0", "config", space_with_acs(0x1d));
    for (const char* port : {"0000:17:00.0", "0000:17:01.0"}) set(port, "config", space_with_acs(0));
  }
  std::optional<SwitchPorts> ports(const std::string& gpu) const { return ports_to_peers(folder(gpu), root); }
};

TEST(PciSwitch, PortsThatRedirectAreNamed) {
  const SwitchTree tree;
  EXPECT_EQ(tree.ports("0000:18:00.0"), (SwitchPorts{{}, 2, 0}));
  tree.set("0000:17:01.0", "config", space_with_acs(0x1d));  // what Linux turns on beside an IOMMU
  EXPECT_EQ(tree.ports("0000:18:00.0"), (SwitchPorts{{"0000:17:01.0"}, 1, 0}));
  EXPECT_EQ(tree.ports("0000:19:00.0"), (SwitchPorts{{"0000:17:01.0"}, 1, 0})) << "both ways";
  tree.set("0000:17:01.0", "config", space_with_acs(0x19));  // validation of sources, completions and upstream forwarding alone
  EXPECT_EQ(tree.ports("0000:18:00.0"), (SwitchPorts{{}, 2, 0}));
}

TEST(PciSwitch, PortsBetweenAGpuAndANicAreFoundToo) {
  const SwitchTree tree;
  const auto to_nics = [&] { return ports_to_nics(tree.folder("0000:18:00.0"), tree.root); };
  EXPECT_FALSE(to_nics()) << "there are only GPUs";
  tree.set("0000:19:00.0", "class", "0x020700");  // InfiniBand
  EXPECT_EQ(to_nics(), (SwitchPorts{{}, 2, 0}));
  tree.set("0000:19:00.0", "class", "0x020000");  // Ethernet
  tree.set("0000:17:01.0", "config", space_with_acs(0x1d));
  EXPECT_EQ(to_nics(), (SwitchPorts{{"0000:17:01.0"}, 1, 0}));
  EXPECT_FALSE(ports_to_nics(tree.folder("0000:98:00.0"), tree.root)) << "they meet in the host";
}

TEST(PciSwitch, RdmaDevicesBesideAGpuAreNamed) {
  const SwitchTree tree;
  const auto beside = [&](const std::string& gpu) { return rdma_devices_beside(tree.folder(gpu), tree.root); };
  EXPECT_THAT(beside("0000:18:00.0"), testing::IsEmpty());
  for (const auto& [name, device] : {std::pair("mlx5_0", "0000:19:00.0"), std::pair("mlx5_1", "0000:98:00.0")}) {
    fs::create_directories(tree.root / "sys/class/infiniband" / name);
    fs::create_directory_symlink(fs::canonical(tree.folder(device)), tree.root / "sys/class/infiniband" / name / "device");
  }
  fs::create_directories(tree.root / "sys/class/infiniband/rxe0");  // in software
  EXPECT_THAT(beside("0000:18:00.0"), testing::ElementsAre("mlx5_0")) << "mlx5_1 and it meet in the host";
  EXPECT_THAT(beside("0000:77:00.0"), testing::IsEmpty()) << "no such GPU";
}

TEST(PciSwitch, WithoutTheRightToReadTheRegistersThePortIsUnknown) {
  const SwitchTree tree;
  tree.set("0000:17:00.0", "config", std::string(63, '\0'));  // and the end of the line
  EXPECT_EQ(tree.ports("0000:18:00.0"), (SwitchPorts{{}, 1, 1}));
  tree.set("0000:17:00.0", "config", std::string(255, '\0'));  // all that a virtual machine may show
  EXPECT_EQ(tree.ports("0000:18:00.0"), (SwitchPorts{{}, 1, 1}));
  tree.set("0000:17:00.0", "config", std::string(4096, '\xff'));  // a port that sleeps
  EXPECT_EQ(tree.ports("0000:18:00.0"), (SwitchPorts{{}, 1, 1}));
}

TEST(PciSwitch, FunctionsOfOneDeviceHaveNoPortBetweenThem) {
  const PciTree tree;
  tree.add("pci0000:15/0000:15:01.0");
  for (const std::string gpu : {"0000:16:00.0", "0000:16:00.1"}) {
    tree.add("pci0000:15/0000:15:01.0/" + gpu);
    tree.set(gpu, "vendor", "0x10de");
    tree.set(gpu, "class", "0x030200");
  }
  EXPECT_FALSE(ports_to_peers(tree.folder("0000:16:00.0"), tree.root));
}

TEST(PciSwitch, APortWithoutTheCapabilityDoesNotRedirect) {
  const SwitchTree tree;
  std::string other = space_with_acs(0x1d), loop = other;
  other[0x1b8] = 0x03;  // a device's serial number
  tree.set("0000:17:00.0", "config", other);
  loop[0x1b8] = 0x03;
  loop[0x1ba] = static_cast<char>(0x01);
  loop[0x1bb] = 0x10;  // back to the first one
  tree.set("0000:17:01.0", "config", loop);
  EXPECT_EQ(tree.ports("0000:18:00.0"), (SwitchPorts{{}, 2, 0}));
}

TEST(PciSwitch, GpusThatMeetInTheHostHaveNoSwitchBetweenThem) {
  const SwitchTree tree;
  EXPECT_FALSE(tree.ports("0000:98:00.0"));
  tree.set("0000:19:00.0", "class", "0x020700");
  EXPECT_FALSE(tree.ports("0000:18:00.0")) << "a network card is no GPU";
}

}  // namespace
}  // namespace roofmark
