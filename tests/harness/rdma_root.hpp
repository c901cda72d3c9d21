// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tests/harness/fake_root.hpp"

namespace roofmark {

/// What the kernel shows of a card's port in tests; the default is a healthy port of 400 Gb/s InfiniBand.
struct FakePort {
  std::string device = "mlx5_0", bus_id = "0000:1a:00.0";
  std::string state = "4: ACTIVE", physical_state = "5: LinkUp";
  std::string rate = "400 Gb/sec (4X NDR)", layer = "InfiniBand";
  std::string vendor = "0x15b3", chip = "0x1021", board = "MT_0000000838";
  std::string speed = "32.0 GT/s PCIe", width = "16", speed_at_most = "32.0 GT/s PCIe", width_at_most = "16";
  std::string interface = "", flags = "0x1003";
  std::string member = "";  ///< the card's own interface, where `interface` is a bond or VLAN above it
};

/// A root folder with RDMA ports.
class RdmaRoot : public FakeRoot {
 public:
  static std::string port_folder(const FakePort& port) { return "sys/class/infiniband/" + port.device + "/ports/1/"; }

  /// A symbolic link to a folder of this root.
  void link(const std::string& path, const std::string& folder) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::filesystem::remove(root / path);
    std::filesystem::create_directory_symlink(root / folder, root / path);
  }

  void put_port(const FakePort& port) const {
    const std::string slot = "sys/devices/pci0000:00/0000:00:01." + port.device.substr(port.device.find_last_of("_") + 1);
    const std::string card = slot + "/" + port.bus_id + "/";
    put(card + "vendor", port.vendor);
    put(card + "device", port.chip);
    put(card + "subsystem_vendor", "0x15b3");
    put(card + "subsystem_device", "0x0041");
    put(card + "current_link_speed", port.speed);
    put(card + "current_link_width", port.width);
    put(card + "max_link_speed", "32.0 GT/s PCIe");
    put(card + "max_link_width", "16");
    put(slot + "/max_link_speed", port.speed_at_most);
    put(slot + "/max_link_width", port.width_at_most);
    const std::string device = "sys/class/infiniband/" + port.device + "/";
    put(device + "board_id", port.board);
    link(device + "device", card);
    put(port_folder(port) + "state", port.state);
    put(port_folder(port) + "phys_state", port.physical_state);
    put(port_folder(port) + "rate", port.rate);
    put(port_folder(port) + "link_layer", port.layer);
    if (port.interface.empty()) return;
    put(port_folder(port) + "gid_attrs/ndevs/0", port.interface);
    const std::string net = "sys/class/net/", own = port.member.empty() ? port.interface : port.member;
    put(net + port.interface + "/flags", port.flags);
    link(net + own + "/device", card);
    if (own != port.interface) link(net + port.interface + "/lower_" + own, net + own);
  }

  static FakePort numbered(int i) {
    FakePort port;
    port.device = "mlx5_" + std::to_string(i);
    port.bus_id = "0000:" + std::to_string(10 + i) + ":00.0";
    return port;
  }

  /// mlx5_0 to mlx5_7, each on a card of its own.
  void put_eight() const {
    for (int i = 0; i < 8; ++i) put_port(numbered(i));
  }

  void put_gpus(int count) const {
    for (int i = 0; i < count; ++i) {
      const std::string gpu = "sys/bus/pci/devices/0000:8" + std::to_string(i) + ":00.0/";
      put(gpu + "vendor", "0x10de");
      put(gpu + "class", "0x030200");
    }
  }
};

}  // namespace roofmark
