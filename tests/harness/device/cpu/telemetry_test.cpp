// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cpu/telemetry.hpp"

#include <gmock/gmock.h>

#include "tests/harness/fake_root.hpp"

namespace roofmark::cpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::string kPowercap = "sys/class/powercap/intel-rapl:";

void put_package(const FakeRoot& root, const std::string& name, const std::string& microjoules) {
  root.put(kPowercap + name + "/max_energy_range_uj", "1000000000");
  root.put(kPowercap + name + "/energy_uj", microjoules);
}

TEST(CpuTelemetry, OfAMachineThatSaysNothingIsEmpty) {
  const FakeRoot root;
  CpuTelemetry telemetry(root.root, {0, 1});
  const Telemetry now = telemetry.read();
  EXPECT_FALSE(now.sm_clock_hz || now.temperature_celsius || now.energy_joules || now.power_watts);
  EXPECT_THAT(now.throttled_seconds, IsEmpty());
  EXPECT_THAT(telemetry.counters(), IsEmpty());
  EXPECT_EQ(telemetry.power_kind(), "");
}

TEST(CpuTelemetry, ClocksOfManyCoresAreReadInTurn) {
  const FakeRoot root;
  std::vector<int> cores;
  for (int core = 0; core < 20; ++core) {
    root.put("sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_cur_freq",
             std::to_string(1000 * (core + 1)));
    cores.push_back(core);
  }
  CpuTelemetry many(root.root, cores);
  std::vector<double> megahertz;
  for (int reading = 0; reading < 4; ++reading) megahertz.push_back(many.read().sm_clock_hz.value_or(0) / 1e6);
  EXPECT_THAT(megahertz, ElementsAre(10, 11, 10.5, 10)) << "every third core";
  cores.resize(8);
  CpuTelemetry few(root.root, cores);
  EXPECT_EQ(few.read().sm_clock_hz, 4.5e6);
  EXPECT_EQ(few.read().sm_clock_hz, 4.5e6) << "all cores each time";
}

TEST(CpuTelemetry, EnergyIsTheSumOfThePackagesAndNotOfTheirParts) {
  const FakeRoot root;
  put_package(root, "0", "5000000");
  put_package(root, "1", "7000000");
  put_package(root, "0:0", "3000000");
  CpuTelemetry telemetry(root.root, {0});
  EXPECT_EQ(telemetry.read().energy_joules, 12);
  EXPECT_EQ(telemetry.power_kind(), "from the energy counter");
}

TEST(CpuTelemetry, EnergyOfThePlatformContainsThatOfThePackages) {
  const FakeRoot root;
  put_package(root, "0", "5000000");
  root.put(kPowercap + "0/name", "package-0");
  put_package(root, "1", "9000000");
  root.put(kPowercap + "1/name", "psys");
  EXPECT_EQ(CpuTelemetry(root.root, {0}).read().energy_joules, 5);
}

TEST(CpuTelemetry, EnergyGrowsOnWhereACounterStartsAgain) {
  const FakeRoot root;
  put_package(root, "0", "999000000");
  put_package(root, "1", "5000000");
  CpuTelemetry telemetry(root.root, {0});
  EXPECT_EQ(telemetry.read().energy_joules, 1004);
  put_package(root, "0", "1000000");
  EXPECT_EQ(telemetry.read().energy_joules, 1006);
  put_package(root, "0", "500000");
  put_package(root, "1", "6000000");
  EXPECT_EQ(telemetry.read().energy_joules, 2006.5);
}

TEST(CpuTelemetry, EnergyThatMayNotBeReadIsAbsent) {
  const FakeRoot root;
  put_package(root, "0", "5000000");
  CpuTelemetry telemetry(root.root, {0});
  std::filesystem::remove(root.root / (kPowercap + "0/energy_uj"));
  EXPECT_FALSE(telemetry.read().energy_joules);
}

TEST(CpuTelemetry, ThrottledTimeGrowsWithAnyOfThePackages) {
  const FakeRoot root;
  const auto put = [&](int core, const std::string& milliseconds) {
    root.put("sys/devices/system/cpu/cpu" + std::to_string(core) + "/thermal_throttle/package_throttle_total_time_ms",
             milliseconds);
  };
  put(0, "1500");
  put(1, "1500");
  put(8, "90000");
  put(16, "0");
  CpuTelemetry telemetry(root.root, {0, 1, 8});
  const auto throttled = [&] { return telemetry.read().throttled_seconds.at("thermal"); };
  const double before = throttled();
  put(0, "2000");
  put(1, "2000");
  EXPECT_DOUBLE_EQ(throttled() - before, 0.5) << "the other package was throttled for longer, long ago";
  put(0, "2300");
  put(1, "2300");
  put(8, "90400");
  EXPECT_DOUBLE_EQ(throttled() - before, 0.9) << "both at the same time";
  put(16, "7000");
  EXPECT_DOUBLE_EQ(throttled() - before, 0.9) << "none of its cores is measured";
  put(8, "10");
  EXPECT_DOUBLE_EQ(throttled() - before, 0.9) << "the driver was loaded again";
}

}  // namespace
}  // namespace roofmark::cpu
