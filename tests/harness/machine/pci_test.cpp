// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/pci.hpp"

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

}  // namespace
}  // namespace roofmark
