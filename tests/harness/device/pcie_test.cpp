// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/pcie.hpp"

#include <gtest/gtest.h>

#include "tests/harness/fake_root.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

TEST(PcieRate, IsThatOfThePublishedFigures) {
  // What is published in GB/s for 16 lanes.
  const std::pair<int, double> published[] = {{1, 4}, {2, 8}, {3, 15.75}, {4, 31.5}, {5, 63}, {6, 121}};
  for (const auto& [generation, gigabytes_per_second] : published) {
    EXPECT_NEAR(pcie_bytes_per_second(generation, 16).value(), gigabytes_per_second * 1e9, 0.0006 * gigabytes_per_second * 1e9);
  }
  EXPECT_FALSE(pcie_bytes_per_second(7, 16) || pcie_bytes_per_second(0, 16) || pcie_bytes_per_second(5, 0));
  EXPECT_FALSE(pcie_rate({}, 16).bytes_per_second);
}

/// A GPU of generation 6 behind a switch, as in a ConnectX-8, whose port up is of generation 6 too.
class WayToHost : public testing::Test, protected FakeRoot {
 protected:
  void SetUp() override {
    for (const char* device : {"0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:18:00.0"}) enter(device);
    gpu.pcie_generation_max = 6;
    gpu.pcie_width = 16;
    gpu.pcie = pcie_rate(6, 16);
  }
  void enter(const char* device) {
    place_ /= device;
    set("max_link_speed", "64.0 GT/s PCIe");
    set("max_link_width", "16");
  }
  void set(const std::string& file, const std::string& text) const { put((place_ / file).string(), text); }
  void set(const std::string& above, const std::string& file, const std::string& text) const {
    fs::path place = place_;
    while (place.filename() != above) place = place.parent_path();
    put((place / file).string(), text);
  }
  LinkRate found() const { return way_to_host(gpu, root / place_); }
  std::optional<double> of_port() const { return root_port_bytes_per_second(gpu, root / place_); }

  GpuFacts gpu;

 private:
  fs::path place_ = "sys/devices/pci0000:15";
};

TEST_F(WayToHost, IsTheNarrowestLinkUpToTheHost) {
  EXPECT_EQ(found().source, gpu.pcie.source);
  set("0000:15:01.0", "max_link_speed", "32.0 GT/s PCIe");
  EXPECT_NEAR(found().bytes_per_second.value(), 63e9, 0.1e9);
  EXPECT_NEAR(of_port().value(), 63e9, 0.1e9);
  EXPECT_EQ(found().source,
            "PCIe 5 x16: 16 lanes x 32 GT/s, 128b/130b (PCI Express Base Specification), of the link between 0000:16:00.0 and "
            "0000:15:01.0: the narrowest between GPU and host");
  gpu.pcie_generation_max = 4;
  gpu.pcie = pcie_rate(4, 16);
  EXPECT_EQ(found().source, gpu.pcie.source) << "the GPU's own";
  EXPECT_NEAR(of_port().value(), 63e9, 0.1e9) << "more than the GPU's own";
}

TEST_F(WayToHost, EndsAtAPortOfTheHostBelowWhichSwitchesMayFollowOneAnother) {
  for (const char* device : {"0000:19:00.0", "0000:1a:00.0"}) enter(device);
  set("0000:15:01.0", "max_link_width", "8");
  EXPECT_NEAR(of_port().value(), 60.5e9, 0.1e9);
  set("0000:17:00.0", "max_link_width", "4");
  EXPECT_NEAR(of_port().value(), 60.5e9, 0.1e9);
  EXPECT_NEAR(found().bytes_per_second.value(), 30.25e9, 0.1e9);
}

TEST_F(WayToHost, IsTheGpusOwnLinkWhereTheKernelDoesNotTell) {
  set("0000:15:01.0", "max_link_speed", "Unknown");
  EXPECT_EQ(found().source, gpu.pcie.source);
  EXPECT_FALSE(of_port());
  // A virtual machine's ports state 2.5 GT/s and one lane whatever is behind them.
  for (const char* port : {"0000:15:01.0", "0000:16:00.0", "0000:17:00.0"}) {
    set(port, "max_link_speed", "2.5 GT/s PCIe");
    set(port, "max_link_width", "1");
  }
  EXPECT_EQ(found().source, gpu.pcie.source);
  EXPECT_FALSE(of_port());
  gpu.pcie = {};
  EXPECT_FALSE(found().bytes_per_second);
}

}  // namespace
}  // namespace roofmark
