// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one fake NVML, and a table of the faults that it can tell.
#include "harness/device/cuda/nvml_telemetry.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <fstream>
#include <set>
#include <thread>

#include "harness/judge/acceptance/acceptance.hpp"
#include "harness/judge/analysis.hpp"
#include "harness/measure/counter_changes.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/counter.hpp"
#include "tests/harness/device/cuda/fake_nvml.hpp"
#include "tests/harness/fake_root.hpp"
#include "tests/harness/fake_telemetry.hpp"
#include "tests/harness/records.hpp"

namespace roofmark::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// The sizes and places of CUDA 13.3's nvml.h on a 64-bit machine.
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, type) == 24 && offsetof(FieldValue, value) == 32);
static_assert(sizeof(ViolationTime) == 16 && offsetof(ViolationTime, nanoseconds) == 8);
static_assert(sizeof(MarginTemperature) == 8 && MarginTemperature().version == 0x1000008);
static_assert(sizeof(EventData) == 32 && offsetof(EventData, data) == 16 && offsetof(EventData, compute_instance) == 28);
static_assert(offsetof(FabricInfo, state) == 28 && offsetof(FabricInfo, health) == 32 && offsetof(FabricInfo, summary) == 36);
static_assert(kFabricInfoV2 == 0x2000024 && kFabricInfoV3 == 0x3000028);
static_assert(sizeof(ProcessInfo) == 24 && sizeof(Utilization) == 8);

using fake_nvml::driver;

class NvmlTelemetryTest : public testing::Test {
 protected:
  void SetUp() override { driver = fake_nvml::Driver(); }

  std::unique_ptr<NvmlTelemetry> open() const {
    return std::make_unique<NvmlTelemetry>(NvmlDevice(fake_nvml::library(), "GPU-1", "0000:3B:00.0"), root_.root / "kmsg",
                                           root_.root, [this] { return now_; });
  }

  /// Counters summed over all parts.
  static std::map<std::string, double> sums(const CounterReadings& readings) {
    std::map<std::string, double> sums;
    for (const auto& [part, counters] : readings) {
      for (const auto& [id, value] : counters) sums[id] += value;
    }
    return sums;
  }

  /// The counters of a run, during which `happen` changes them.
  std::vector<CounterChange> changes_after(const std::function<void()>& happen) const {
    const auto source = open();
    const CounterReadings before = source->counters();
    happen();
    return device_changes(0, before, source->counters());
  }
  std::vector<Finding> findings_after(const std::function<void()>& happen) const {
    return find_worse_counters(changes_after(happen), {});
  }

  /// The GPU reports this many errors by AER.
  void report_pcie_errors(int correctable, int nonfatal, int fatal) const {
    const std::string folder = "sys/bus/pci/devices/0000:3b:00.0/aer_dev_";
    root_.put(folder + "correctable", "Receiver Error 0\nTOTAL_ERR_COR " + std::to_string(correctable));
    root_.put(folder + "nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL " + std::to_string(nonfatal));
    root_.put(folder + "fatal", "Undefined 0\nTOTAL_ERR_FATAL " + std::to_string(fatal));
  }

  /// Adds lines to the kernel's log.
  void log(const std::string& lines) const { std::ofstream(root_.root / "kmsg", std::ios::app) << lines; }

  /// The process is in a container that does not see those of others.
  void enter_container() const {
    std::filesystem::create_directories(root_.root / "proc/self/ns");
    std::filesystem::create_symlink("pid:[4026532500]", root_.root / "proc/self/ns/pid");
  }

  FakeRoot root_;
  /// The findings of a run of one case, for two seconds that are read each 0.1 s; `happen(i)` before each reading.
  std::vector<Finding> findings_of_run(const std::function<void(int)>& happen) {
    const auto source = open();
    std::vector<Reading> readings;
    for (int i = 0; i <= 20; ++i) {
      driver.millijoules += 65'050;
      happen(i);
      now_ = 0.1 * i;
      readings.push_back({now_, source->read()});
    }
    std::vector<Record> records = {ok_record("gemm", "x", {{{{resource::dram, 1}}}}, 1e-3)};
    records[0].measurement->telemetry = summarize(readings, {{0, 2}}, 1e-3);
    EXPECT_TRUE(records[0].measurement->telemetry);
    return analyze({}, records, {}).findings;
  }

  double now_ = 0;  ///< seconds of the readings
};

TEST_F(NvmlTelemetryTest, ReadsAllThatTheDriverSays) {
  driver.fields[197] = 7e9;
  driver.fields[198] = 8e9;
  driver.fields[138] = 1000;
  driver.fields[139] = 2000;
  driver.types[82] = fake_nvml::kUnsigned;
  const Telemetry now = open()->read();
  EXPECT_EQ(now.sm_clock_hz, 1980e6);
  EXPECT_EQ(now.memory_clock_hz, 3201e6);
  EXPECT_EQ(now.power_watts, 650.5);
  EXPECT_EQ(now.energy_joules, 5000);
  EXPECT_EQ(now.temperature_celsius, 64);
  EXPECT_EQ(now.memory_temperature_celsius, 80);
  EXPECT_EQ(now.slowdown_margin_celsius, 23);
  EXPECT_EQ(now.utilization, 0.75);
  EXPECT_EQ(now.pcie_out_bytes, 7e9);
  EXPECT_EQ(now.pcie_in_bytes, 8e9);
  EXPECT_EQ(now.nvlink_out_bytes, 1000 * 1024.0);
  EXPECT_EQ(now.nvlink_in_bytes, 2000 * 1024.0);
  EXPECT_THAT(now.throttle_reasons, testing::Optional(IsEmpty()));
}

TEST_F(NvmlTelemetryTest, OfALostGpuNothingIsTold) {
  driver.lanes = 8;
  const auto source = open();
  const Telemetry now = source->read();
  ASSERT_TRUE(now.pcie_bytes_per_second && now.pcie_bytes_per_second_at_most);
  EXPECT_EQ(*now.pcie_bytes_per_second_at_most, 2 * *now.pcie_bytes_per_second);
  driver.lost = true;
  EXPECT_EQ(source->read(), Telemetry());
}

TEST_F(NvmlTelemetryTest, InAVirtualMachineTheLanesInUseAreAllThatItSees) {
  root_.put("proc/cpuinfo", "flags\t\t: fpu hypervisor");
  driver.lanes = 8;
  const Telemetry now = open()->read();
  ASSERT_TRUE(now.pcie_bytes_per_second && now.pcie_bytes_per_second_at_most);
  EXPECT_EQ(*now.pcie_bytes_per_second_at_most, *now.pcie_bytes_per_second);
}

TEST_F(NvmlTelemetryTest, FieldsAreAskedForTogether) {
  const auto source = open();
  source->read();
  for (const auto& [seconds, calls] : {std::pair(1.0, 2), {1.05, 1}}) {
    now_ = seconds;
    driver.field_calls = 0;
    source->read();
    EXPECT_EQ(driver.field_calls, calls) << "of the GPU and, with the other counters, of its links";
  }
}

TEST_F(NvmlTelemetryTest, WhatIsRefusedOrMissingIsAbsentAndNeverZero) {
  for (const char* symbol :
       {"nvmlDeviceGetFieldValues",        "nvmlDeviceGetPowerUsage",        "nvmlDeviceGetTotalEnergyConsumption",
        "nvmlDeviceGetClockInfo",          "nvmlDeviceGetTemperature",       "nvmlDeviceGetTemperatureThreshold",
        "nvmlDeviceGetMarginTemperature",  "nvmlDeviceGetUtilizationRates",  "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetViolationStatus",    "nvmlDeviceGetTotalEccErrors",    "nvmlDeviceGetRemappedRows",
        "nvmlDeviceGetPcieReplayCounter",  "nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetNvLinkErrorCounter", "nvmlDeviceGetGpuFabricInfoV",    "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceRegisterEvents",        "nvmlSystemGetDriverVersion",     "nvmlDeviceGetEnforcedPowerLimit",
        "nvmlDeviceValidateInforom",       "nvmlDeviceGetRepairStatus"}) {
    driver.refused.insert(symbol);
  }
  const auto expect_nothing = [this] {
    const auto source = open();
    const Telemetry now = source->read();
    EXPECT_FALSE(now.sm_clock_hz || now.memory_clock_hz || now.power_watts || now.energy_joules || now.temperature_celsius ||
                 now.memory_temperature_celsius || now.slowdown_margin_celsius || now.utilization || now.pcie_in_bytes ||
                 now.pcie_out_bytes || now.nvlink_in_bytes || now.nvlink_out_bytes);
    EXPECT_THAT(now.throttled_seconds, IsEmpty());
    EXPECT_FALSE(now.throttle_reasons);
    EXPECT_THAT(source->counters(), IsEmpty());
    EXPECT_EQ(source->power_kind(), "");
  };
  expect_nothing();
  driver.missing = driver.refused;
  expect_nothing();
  EXPECT_EQ(driver.sets, 0);
}

TEST_F(NvmlTelemetryTest, OneFieldThatFailsLeavesTheOthers) {
  driver.fields.erase(82);
  const Telemetry now = open()->read();
  EXPECT_FALSE(now.memory_temperature_celsius);
  EXPECT_EQ(now.power_watts, 650.5);
}

TEST_F(NvmlTelemetryTest, ValuesHaveTheTypeThatTheyName) {
  for (const int type : {fake_nvml::kDouble, fake_nvml::kUnsigned, fake_nvml::kUnsignedLong, fake_nvml::kSigned}) {
    driver.types[82] = type;
    EXPECT_EQ(open()->read().memory_temperature_celsius, 80) << type;
  }
  driver.types[82] = 99;
  EXPECT_FALSE(open()->read().memory_temperature_celsius);
}

TEST_F(NvmlTelemetryTest, PowerIsInstantaneousWhereTheDriverHasThat) {
  EXPECT_EQ(open()->power_kind(), "instantaneous");
  driver.fields.erase(186);
  const auto source = open();
  EXPECT_EQ(source->power_kind(), "averaged by the driver");
  EXPECT_EQ(source->read().power_watts, 600);
  driver.fields[186] = 1;
  EXPECT_EQ(source->read().power_watts, 600) << "one series has one kind";
  driver.fields.erase(186);
  driver.major = 8;
  EXPECT_EQ(open()->power_kind(), "instantaneous") << "GA100 has no average";
  driver.minor = 6;
  EXPECT_EQ(open()->power_kind(), "averaged by the driver");
}

TEST_F(NvmlTelemetryTest, AnInstantaneousReadingThatFailsIsAbsent) {
  const auto source = open();
  source->read();
  driver.fields.erase(186);
  EXPECT_FALSE(source->read().power_watts);
}

TEST_F(NvmlTelemetryTest, TheMarginIsToTheNearestThresholdWhereNvmlHasNone) {
  driver.missing.insert("nvmlDeviceGetMarginTemperature");
  EXPECT_EQ(open()->read().slowdown_margin_celsius, 87 - 64);
  driver.refused.insert("nvmlDeviceGetTemperature");
  EXPECT_FALSE(open()->read().slowdown_margin_celsius);
}

std::map<std::string, double> throttled_after(NvmlTelemetry& source, const std::map<unsigned, double>& nanoseconds) {
  for (const auto& [id, time] : nanoseconds) driver.fields[id] = time;
  return source.read().throttled_seconds;
}

TEST_F(NvmlTelemetryTest, ThrottledTimesHaveTheNamesOfTheReasons) {
  EXPECT_THAT(throttled_after(*open(), {{74, 1e9}, {75, 99e9}, {76, 2e9}, {269, 3e9}, {270, 4e9}, {271, 5e9}}),
              UnorderedElementsAre(Pair("power cap", 1), Pair("sync boost", 2), Pair("thermal", 3), Pair("hardware thermal", 4),
                                   Pair("power brake", 5)));
  std::set<std::string> names;
  for (const std::string& name : throttle_reasons(0x4 | 0x10 | 0x20 | 0x40 | 0x80)) names.insert(name);
  for (const auto& [name, seconds] : open()->read().throttled_seconds) EXPECT_TRUE(names.contains(name)) << name;
}

// Release 580.82 gave these three fields other numbers, and theirs to power smoothing, which an older driver answers by the
// new ones.
TEST_F(NvmlTelemetryTest, TheNumbersOfTheSlowdownFieldsAreTheDrivers) {
  const std::map<unsigned, double> all = {{75, 1e9}, {251, 2e9}, {252, 3e9}, {269, 4e9}, {270, 5e9}, {271, 6e9}};
  for (const char* version : {"580.82.07", "580.159.04", "590.44.01"}) {
    driver.version = version;
    const auto seconds = throttled_after(*open(), all);
    EXPECT_EQ(seconds.at("thermal"), 4) << version;
    EXPECT_EQ(seconds.at("hardware thermal"), 5) << version;
    EXPECT_EQ(seconds.at("power brake"), 6) << version;
  }
  for (const char* version : {"575.51.03", "580.76.05"}) {
    driver.version = version;
    EXPECT_EQ(throttled_after(*open(), all).at("thermal"), 2) << version;
  }
  driver.version = "570.86.10";
  const auto seconds = throttled_after(*open(), all);
  EXPECT_EQ(seconds.at("thermal"), 1);
  EXPECT_FALSE(seconds.contains("hardware thermal") || seconds.contains("power brake"));
}

TEST_F(NvmlTelemetryTest, AnOldDriverTellsThrottledTimesByItsPolicies) {
  driver.fields.clear();
  driver.policies = {{0, 7'000'000'000}, {1, 8'000'000'000}};
  EXPECT_THAT(open()->read().throttled_seconds, UnorderedElementsAre(Pair("power cap", 7), Pair("thermal", 8)));
}

std::vector<FindingKind> kinds(const std::vector<Finding>& findings) {
  std::vector<FindingKind> found;
  for (const Finding& finding : findings) found.push_back(finding.kind);
  return found;
}

TEST_F(NvmlTelemetryTest, TheCountersThatTakeTheDriverLongAreInEverySecondReadingOf50Milliseconds) {
  driver.fields[138] = driver.fields[139] = 1000;
  const auto source = open();
  for (int i = 0; i < 10; ++i) {
    now_ = 0.05 * i;
    const Telemetry now = source->read();
    EXPECT_EQ(now.energy_joules.has_value(), i % 2 == 0) << i;
    EXPECT_EQ(now.nvlink_in_bytes.has_value(), i % 2 == 0) << i;
    EXPECT_EQ(now.throttled_seconds.empty(), i % 2 == 1) << i;
    EXPECT_TRUE(now.sm_clock_hz && now.power_watts) << i;
  }
}

TEST_F(NvmlTelemetryTest, AHealthyGpuGivesNoFinding) {
  EXPECT_THAT(findings_of_run([](int) {}), IsEmpty());
  EXPECT_THAT(findings_after([] {}), IsEmpty());
}

TEST_F(NvmlTelemetryTest, ThrottlingByTheCountersIsAFinding) {
  const auto power_cap = findings_of_run([](int i) { driver.fields[74] += i > 10 ? 50e6 : 0; });
  EXPECT_THAT(kinds(power_cap), ElementsAre(FindingKind::throttle));
  EXPECT_EQ(power_cap[0].text,
            "the clock was lowered, by how much is unknown; throttle reason: power cap (during 25.0 % of the blocks' time)");
  const auto brake = findings_of_run([](int i) { driver.fields[271] += i == 5 ? 30e6 : 0; });
  EXPECT_THAT(kinds(brake), ElementsAre(FindingKind::slowdown));
  EXPECT_EQ(brake[0].text,
            "the clock was lowered, by how much is unknown; throttle reason: power brake (during 1.5 % of the blocks' time)");
  EXPECT_THAT(findings_of_run([](int i) { driver.fields[271] += i == 5 ? 15e6 : 0; }), IsEmpty()) << "it did not last";
}

TEST_F(NvmlTelemetryTest, ThrottlingWithoutACounterIsAFindingToo) {
  const auto found = findings_of_run([](int i) { driver.reasons = i == 4 || i == 5 ? 0x8 : 0x1; });
  EXPECT_THAT(kinds(found), ElementsAre(FindingKind::slowdown));
  EXPECT_EQ(
      found[0].text,
      "the clock was lowered, by how much is unknown; throttle reason: hardware slowdown (during 9.5 % of the blocks' time)");
  EXPECT_THAT(findings_of_run([](int i) { driver.reasons = i == 4 ? 0x8 : 0x1; }), IsEmpty()) << "one reading";
}

TEST_F(NvmlTelemetryTest, ApplicationClocksAreAShareOfTheTimeAndNoThrottling) {
  EXPECT_THAT(findings_of_run([](int) { driver.reasons = 0x2; }), IsEmpty()) << "the clock held";
  driver.reasons = 0x2;
  EXPECT_THAT(open()->read().throttle_reasons, testing::Optional(ElementsAre("application clocks")));
}

TEST_F(NvmlTelemetryTest, AnEnergyCounterThatContradictsThePowerIsAFinding) {
  EXPECT_THAT(kinds(findings_of_run([](int) { driver.millijoules += 20'000; })), ElementsAre(FindingKind::energy));
}

TEST_F(NvmlTelemetryTest, ACounterThatStartsAgainGivesNeitherAShareNorEnergy) {
  driver.fields[74] = 10e9;
  const auto found = findings_of_run([](int i) {
    driver.fields[74] = i < 10 ? driver.fields[74] + 50e6 : 0;
    if (i == 10) driver.millijoules = 0;
  });
  EXPECT_THAT(found, IsEmpty());
}

TEST_F(NvmlTelemetryTest, CountsWhatNvmlCounts) {
  driver.corrected = 1;
  driver.uncorrected = 2;
  std::copy_n(std::vector<unsigned>{3, 4, 1, 0}.begin(), 4, driver.remapped);
  driver.channel_repair = 1;
  driver.fields[29] = 5;
  driver.fields[30] = 6;
  driver.replays = 7;
  driver.link_errors[0] = 10;
  driver.link_errors[1] = 20;
  driver.link_errors[2] = 30;
  driver.link_errors[3] = 40;
  driver.processes = 3;
  driver.fields[208] = 5;
  driver.fields[209] = 6;
  driver.fields[210] = 7;
  driver.fields[211] = 1;
  driver.fields[214] = 2;
  driver.fields[219] = 3;
  driver.fields[221] = 4;
  driver.fields[230] = 2;
  report_pcie_errors(8, 9, 10);
  log("4,1,2000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n");
  now_ = 62;
  const auto source = open();
  driver.xids = {79, 94, 31, 63};
  const std::map<std::string, double> expected = {{"ecc_corrected", 1},
                                                  {"ecc_uncorrected", 2},
                                                  {"remapped_rows_corrected", 3},
                                                  {"remapped_rows_uncorrected", 4},
                                                  {"remap_pending", 1},
                                                  {"remap_failed", 0},
                                                  {"channel_repair_pending", 1},
                                                  {"tpc_repair_pending", 0},
                                                  {"retired_pages_corrected", 5},
                                                  {"retired_pages_uncorrected", 6},
                                                  {"xid", 0},
                                                  {"application_xid", 0},
                                                  {"informational_xid", 0},
                                                  {"past_xid", 1},
                                                  {"past_xid_number", 79},
                                                  {"past_xid_age_seconds", 60},
                                                  {"recovery_action", 2},
                                                  {"inforom_corrupted", 0},
                                                  {"pcie_replays", 7},
                                                  {"pcie_correctable_errors", 8},
                                                  {"pcie_nonfatal_errors", 9},
                                                  {"pcie_fatal_errors", 10},
                                                  {"pcie_width", 16},
                                                  {"nvlink_crc_errors", 70 + 2 * 17},
                                                  {"nvlink_replay_errors", 10 + 17},
                                                  {"nvlink_recovery_errors", 20 + 17},
                                                  {"nvlink_integrity_errors", 1 * 18},
                                                  {"nvlink_recovery_failures", 2 * 18},
                                                  {"nvlink_effective_errors", 3 * 18},
                                                  {"nvlink_symbol_errors", 4 * 18},
                                                  {"nvlink_packet_errors", 5 * 18},
                                                  {"nvlink_remote_errors", 6 * 18},
                                                  {"nvlink_header_errors", 7 * 18},
                                                  {"nvlink_links", 18},
                                                  {"fabric_completed", 1},
                                                  {"fabric_degraded", 0},
                                                  {"fabric_unhealthy", 0},
                                                  {"power_limit_of_default", 1},
                                                  {"foreign_processes", 2}};
  auto counters = sums(source->counters());
  for (const CounterType& type : kCounters) {
    EXPECT_EQ(counters.contains(std::string(type.id)), type.of == CounterOf::device) << type.id;
  }
  EXPECT_EQ(counters.at("xid"), 0) << "what happened before the first question";
  EXPECT_EQ(counters, expected);
}

TEST_F(NvmlTelemetryTest, AFaultOfTheRunBecomesItsFinding) {
  const struct {
    std::function<void()> happens;
    FindingKind kind;
    const char* text;
  } faults[] = {
      {[] { driver.uncorrected += 2; }, FindingKind::uncorrected_errors,
       "uncorrected memory errors (ECC): rose by 2 during the run, from 0 to 2"},
      {[] { driver.corrected += 1; }, FindingKind::corrected_errors,
       "corrected memory errors (ECC): rose by 1 during the run, from 0 to 1"},
      {[] { driver.links_up = 17; }, FindingKind::link_lost,
       "NVLinks that are up: fell by 1 during the run, from 18 to 17 (link 17)"},
      {[] { driver.lanes = 8; }, FindingKind::link_lost, "PCIe lanes in use: fell by 8 during the run, from 16 to 8"},
      {[] { driver.fabric = 2; }, FindingKind::link_lost,
       "memberships of an NVLink fabric: fell by 1 during the run, from 1 to 0"},
      {[] { driver.link_errors[2] += 101; }, FindingKind::link_errors,
       "NVLink CRC errors: rose by 101 during the run, from 34 to 135 (link 0); up to 100 per second are normal"},
      {[] { driver.replays += 9; }, FindingKind::link_errors,
       "PCIe replays: rose by 9 during the run, from 0 to 9; up to 8 per minute are normal"},
      {[] { driver.link_errors[1] += 1; }, FindingKind::link_errors,
       "NVLink recoveries: rose by 1 during the run, from 17 to 18 (link 0)"},
      {[] {
         driver.more_of_links[{214, 7}] = 1;
       },
       FindingKind::link_lost, "failed NVLink recoveries: rose by 1 during the run, from 0 to 1 (link 7)"},
      {[] {
         driver.more_of_links = {{{219, 2}, 1}, {{219, 9}, 1}, {{219, 10}, 1}, {{219, 17}, 40}};
       },
       FindingKind::link_errors,
       "NVLink errors after error correction (effective errors): rose by 43 during the run, from 0 to 43 (link 17, link 2, "
       "link 9, "
       "link 10)"},
      {[] {
         driver.more_of_links[{221, 0}] = 2;
       },
       FindingKind::link_errors,
       "NVLink errors after error correction and retransmission (symbol errors): rose by 2 during the run, from 0 to 2 (link "
       "0)"},
      {[] {
         driver.more_of_links[{211, 16}] = 1;
       },
       FindingKind::link_errors, "NVLink integrity errors: rose by 1 during the run, from 0 to 1 (link 16)"},
      {[] {
         driver.more_of_links[{208, 3}] = 1;
       },
       FindingKind::link_errors, "faulty packets received over NVLink: rose by 1 during the run, from 0 to 1 (link 3)"},
      {[] {
         driver.more_of_links[{209, 4}] = 1;
       },
       FindingKind::link_errors,
       "packets received over NVLink that were faulty before they reached the link: rose by 1 during the run, from 0 to 1 "
       "(link 4)"},
      {[] {
         driver.more_of_links[{210, 5}] = 1;
       },
       FindingKind::link_errors,
       "packets with a wrong header received over NVLink: rose by 1 during the run, from 0 to 1 (link 5)"},
      {[this] { report_pcie_errors(33, 0, 0); }, FindingKind::link_errors,
       "corrected PCIe errors (AER): rose by 33 during the run, from 0 to 33 (GPU); up to 32 per minute are normal"},
      {[this] { report_pcie_errors(0, 1, 0); }, FindingKind::link_errors,
       "uncorrected PCIe errors (AER, non-fatal): rose by 1 during the run, from 0 to 1 (GPU)"},
      {[this] { report_pcie_errors(0, 0, 1); }, FindingKind::link_lost,
       "fatal PCIe errors (AER): rose by 1 during the run, from 0 to 1 (GPU)"},
      {[] { driver.fields[230] = 1; }, FindingKind::recovery_action,
       "recovery action that the driver asks for: none before the run, GPU reset after it"},
      {[] { driver.inforom = 14; }, FindingKind::inforom, "InfoROM: valid before the run, corrupted after it"},
      {[] { driver.fabric_health = 0x1A9; }, FindingKind::fabric_degraded,
       "degraded NVLink fabrics: rose by 1 during the run, from 0 to 1"},
      {[] { driver.fabric_health = 0x19A; }, FindingKind::fabric_unhealthy,
       "unhealthy NVLink fabrics: rose by 1 during the run, from 0 to 1"},
      {[] { driver.enforced_milliwatts = 350'000; }, FindingKind::power_limit,
       "power limit / default power limit: fell by 0.5 during the run, from 1 to 0.5"},
      {[] { driver.remapped[3] = 1; }, FindingKind::uncorrected_errors,
       "failed remappings of memory rows: rose by 1 during the run, from 0 to 1"},
      {[] { driver.channel_repair = 1; }, FindingKind::uncorrected_errors,
       "pending repairs of memory channels: rose by 1 during the run, from 0 to 1"},
      {[] { driver.tpc_repair = 1; }, FindingKind::uncorrected_errors,
       "pending repairs of groups of SMs (TPC): rose by 1 during the run, from 0 to 1"},
      {[] { driver.processes = 2; }, FindingKind::foreign_process,
       "other processes on the device: rose by 1 during the run, from 0 to 1"},
      {[] { driver.xids = {79}; }, FindingKind::xid,
       "driver error reports (Xid): rose by 1 during the run, from 0 to 1; the last is number 79"},
      {[] {
         driver.xids = {43, 31};
       },
       FindingKind::application_xid,
       "driver error reports (Xid) that programs cause: rose by 2 during the run, from 0 to 2; the last is number 31, a page "
       "fault: a kernel or a copy used an address without memory"},
      {[] { driver.xids = {121}; }, FindingKind::informational_xid,
       "informational driver reports (Xid): rose by 1 during the run, from 0 to 1; the last is number 121, corrected errors of "
       "the link to the Grace CPU (NVLink-C2C)"},
  };
  for (const auto& fault : faults) {
    driver = fake_nvml::Driver();
    for (const unsigned blackwell : {208, 209, 210, 211, 214, 219, 221, 230}) driver.fields[blackwell] = 0;
    report_pcie_errors(0, 0, 0);
    const auto findings = findings_after(fault.happens);
    ASSERT_EQ(findings.size(), 1u) << fault.text;
    EXPECT_EQ(findings[0].kind, fault.kind);
    EXPECT_EQ(findings[0].text, fault.text);
  }
}

/// From the driver's word to the verdict: a fault during the run, and the same fault from before it.
TEST_F(NvmlTelemetryTest, AFaultIsNotAcceptedWheneverItCame) {
  const Profile profile = parse_profile(
      "inherit = 'common'\ntitle = 't'\ndevices = 'NVIDIA H200'\nexample = 'NVIDIA H200'\nsuite = 'quick'\n"
      "[rule.differing_bits]\ndrop = true\n"
      "[rule.state_nvlink_links]\nquantity = 'state.nvlink_links'\nleast = 18\nreason = 'r'\n",
      "p.toml");
  /// The mandatory rules that do not pass.
  const auto judged = [&](const std::function<void()>& before, const std::function<void()>& during) {
    driver = fake_nvml::Driver();
    before();
    Evidence run;
    run.suite = profile.suite;
    run.data = "normal";
    run.complete = true;
    run.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}};
    run.counters = changes_after(during);
    run.findings = find_worse_counters(run.counters, {});
    run.devices[0].unseen = uncounted(run.counters, 0);
    std::map<std::string, Verdict> bad;
    for (const Check& check : judge(profile, {run}, {}).checks) {
      if (check.mandatory && check.verdict != Verdict::pass) bad[check.rule->id] = check.verdict;
    }
    return bad;
  };
  using Rules = std::vector<std::string>;
  const auto failing = [](const Rules& rules) {
    std::map<std::string, Verdict> verdicts;
    for (const std::string& rule : rules) verdicts[rule] = Verdict::fail;
    return verdicts;
  };
  const struct {
    const char* what;
    std::function<void()> happens;
    Rules during, before;  ///< that fail where it happens during the run, or before
  } faults[] = {
      {"uncorrected", [] { driver.uncorrected += 2; }, {"uncorrected_errors"}, {}},  // repaired by a reset long ago
      {"corrected", [] { driver.corrected += 1; }, {}, {}},
      {"pending",
       [] { driver.remapped[2] = 1; },
       {"uncorrected_errors", "state_remap_pending"},
       {"uncorrected_errors", "state_remap_pending"}},
      {"not remapped",
       [] { driver.remapped[3] = 1; },
       {"uncorrected_errors", "state_remap_failed"},
       {"uncorrected_errors", "state_remap_failed"}},
      {"channel",
       [] { driver.channel_repair = 1; },
       {"uncorrected_errors", "state_channel_repair_pending"},
       {"uncorrected_errors", "state_channel_repair_pending"}},
      {"TPC",
       [] { driver.tpc_repair = 1; },
       {"uncorrected_errors", "state_tpc_repair_pending"},
       {"uncorrected_errors", "state_tpc_repair_pending"}},
      {"retired", [] { driver.fields[30] += 1; }, {"uncorrected_errors"}, {}},
      {"NVLink", [] { driver.links_up = 17; }, {"link_lost", "state_nvlink_links"}, {"state_nvlink_links"}},
      {"silent NVLink", [] { driver.silent_link = 9; }, {"link_lost", "state_nvlink_links"}, {"state_nvlink_links"}},
      {"lanes", [] { driver.lanes = 8; }, {"link_lost"}, {}},  // from before the run it shows under transfers: link_training
      {"fabric", [] { driver.fabric = 2; }, {"link_lost", "state_fabric_completed"}, {"state_fabric_completed"}},
      {"link errors", [] { driver.link_errors[2] += 5; }, {}, {}},
      {"recovery", [] { driver.fields[230] = 3; }, {"state_recovery_action"}, {"state_recovery_action"}},
      {"InfoROM", [] { driver.inforom = 14; }, {"state_inforom_corrupted"}, {"state_inforom_corrupted"}},
      {"symbol errors", [] { driver.fields[221] += 1; }, {"link_errors"}, {}},
      {"faulty packets", [] { driver.fields[208] += 1; }, {"link_errors"}, {}},
      {"failed recovery", [] { driver.fields[214] += 1; }, {"link_lost"}, {}},
      {"degraded", [] { driver.fabric_health = 0x1A9; }, {"state_fabric_degraded"}, {"state_fabric_degraded"}},
      {"unhealthy", [] { driver.fabric_summary = 2; }, {"state_fabric_unhealthy"}, {"state_fabric_unhealthy"}},
      {"power",
       [] { driver.enforced_milliwatts = 600'000; },
       {"power_limit", "state_power_limit_of_default"},
       {"power_limit", "state_power_limit_of_default"}},
      {"Xid", [] { driver.xids = {79}; }, {"xid"}, {}},
      {"Xid of another program", [] { driver.xids = {13, 31, 43, 45, 68, 109, 137}; }, {}, {}},
      {"informational Xid", [] { driver.xids = {14, 63, 93, 106, 107, 121}; }, {}, {}},
      {"processes", [] { driver.processes = 2; }, {"foreign_process", "state_foreign_processes"}, {"state_foreign_processes"}},
  };
  const auto nothing = [] {};
  const auto healthy = [] {
    for (const unsigned zero : {30, 208, 214, 221, 230}) driver.fields[zero] = 0;
  };
  EXPECT_THAT(judged(healthy, nothing), IsEmpty());
  for (const auto& fault : faults) {
    EXPECT_EQ(judged(healthy, fault.happens), failing(fault.during)) << fault.what;
    const auto from_before = [&] {
      healthy();
      fault.happens();
    };
    EXPECT_EQ(judged(from_before, nothing), failing(fault.before)) << fault.what << ", before the run";
  }
  // A driver that tells nothing, or no more.
  const std::map<std::string, Verdict> blind = {{"xid", Verdict::not_measured}};
  EXPECT_EQ(judged([] { driver.refused.insert("nvmlDeviceRegisterEvents"); }, nothing), blind);
  const auto stops = [] { driver.refused.insert("nvmlDeviceGetTotalEccErrors"); };
  EXPECT_EQ(judged(nothing, stops), (std::map<std::string, Verdict>{{"uncorrected_errors", Verdict::not_measured}}));
  log("4,1,2000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n");
  EXPECT_THAT(judged(healthy, nothing), IsEmpty()) << "a fault before the run, which the GPU may have left behind";
}

TEST_F(NvmlTelemetryTest, AGpuWithoutLinksOrFabricHasNoSuchCounters) {
  driver.links = 0;
  driver.fabric = 0;
  const auto counters = sums(open()->counters());
  EXPECT_FALSE(counters.contains("nvlink_links") || counters.contains("nvlink_crc_errors") ||
               counters.contains("fabric_completed"));
}

TEST_F(NvmlTelemetryTest, AFewLinkErrorsAreNormal) {
  EXPECT_THAT(findings_after([] { driver.replays += 8; }), IsEmpty());
  EXPECT_THAT(findings_after([] { driver.link_errors[2] += 100; }), IsEmpty());
}

TEST_F(NvmlTelemetryTest, AnErrorOfPcieNamesTheEndThatReportedIt) {
  namespace fs = std::filesystem;
  const fs::path bridge = root_.root / "sys/devices/pci0000:3a/0000:3a:01.0";
  const auto report = [](const fs::path& end, int errors) {
    std::ofstream(end / "aer_dev_nonfatal") << "TOTAL_ERR_NONFATAL " << errors << "\n";
  };
  fs::create_directories(bridge / "0000:3b:00.0");
  fs::create_directories(root_.root / "sys/bus/pci/devices");
  fs::create_symlink(bridge / "0000:3b:00.0", root_.root / "sys/bus/pci/devices/0000:3b:00.0");
  report(bridge, 5);
  report(bridge / "0000:3b:00.0", 0);
  const auto findings = findings_after([&] { report(bridge, 7); });
  ASSERT_THAT(kinds(findings), ElementsAre(FindingKind::link_errors));
  EXPECT_EQ(findings[0].text,
            "uncorrected PCIe errors (AER, non-fatal): rose by 2 during the run, from 5 to 7 (port 0000:3a:01.0)");
}

TEST_F(NvmlTelemetryTest, TheHealthOfTheFabricIsAbsentWhereTheDriverDoesNotTell) {
  driver.fabric_health = 0;
  driver.fabric_summary = 0;
  auto counters = sums(open()->counters());
  EXPECT_EQ(counters.at("fabric_completed"), 1);
  EXPECT_FALSE(counters.contains("fabric_degraded") || counters.contains("fabric_unhealthy"));
  driver.fabric_health = 0x2;  // of the bandwidth alone: it is not degraded
  counters = sums(open()->counters());
  EXPECT_EQ(counters.at("fabric_degraded"), 0);
  EXPECT_FALSE(counters.contains("fabric_unhealthy"));
  driver.fabric_summary = 3;
  EXPECT_EQ(sums(open()->counters()).at("fabric_degraded"), 1) << "limited capacity";
}

TEST_F(NvmlTelemetryTest, AnOlderDriverTellsTheHealthOfTheFabricWithoutTheSummary) {
  driver.old_fabric = true;
  driver.fabric_health = 0x2A9;  // degraded, with an incorrect system GUID
  driver.fabric_summary = 1;
  const auto counters = sums(open()->counters());
  EXPECT_EQ(counters.at("fabric_completed"), 1);
  EXPECT_EQ(counters.at("fabric_degraded"), 1);
  EXPECT_EQ(counters.at("fabric_unhealthy"), 1);
}

TEST_F(NvmlTelemetryTest, AFabricThatIsDegradedFromTheStartIsAFindingToo) {
  driver.fabric_health = 0x1A9;
  const auto findings = findings_after([] {});
  ASSERT_THAT(kinds(findings), ElementsAre(FindingKind::fabric_degraded));
  EXPECT_EQ(findings[0].text, "degraded NVLink fabrics: 1 before the run, 1 after it");
}

TEST_F(NvmlTelemetryTest, ALoweredPowerLimitIsAFindingFromOnePercentOn) {
  driver.enforced_milliwatts = 694'000;
  EXPECT_THAT(findings_after([] {}), IsEmpty());
  driver.enforced_milliwatts = 500'000;
  const auto findings = findings_after([] {});
  ASSERT_THAT(kinds(findings), ElementsAre(FindingKind::power_limit));
  EXPECT_EQ(findings[0].text, "power limit / default power limit: 0.714 before the run, 0.714 after it");
}

TEST_F(NvmlTelemetryTest, OnlyProcessesThatCompute) {
  driver.processes = 3;
  EXPECT_EQ(sums(open()->counters()).at("foreign_processes"), 2);
  driver.mps_processes = 3;
  EXPECT_EQ(sums(open()->counters()).at("foreign_processes"), 3) << "the server of MPS is none, two of its clients are";
}

TEST_F(NvmlTelemetryTest, AContainerKnowsOfOtherProcessesOnlyThoseThatItSees) {
  enter_container();
  EXPECT_FALSE(sums(open()->counters()).contains("foreign_processes"));
  driver.processes = 2;
  EXPECT_EQ(sums(open()->counters()).at("foreign_processes"), 1);
}

TEST_F(NvmlTelemetryTest, WhatAMigInstanceDoesNotTellItsGpuDoes) {
  driver.mig = true;
  const auto source = open();
  const Telemetry now = source->read();
  EXPECT_EQ(now.energy_joules, 5000);
  EXPECT_EQ(now.power_watts, 650.5);
  driver.uncorrected = 2;
  driver.processes = 2;
  const auto counters = sums(source->counters());
  EXPECT_EQ(counters.at("ecc_uncorrected"), 2);
  EXPECT_EQ(counters.at("foreign_processes"), 1);
  EXPECT_GT(driver.handles_asked, 0) << "processes of other instances are not foreign to this one";
}

TEST_F(NvmlTelemetryTest, BytesOverPcieDoNotWrap) {
  const auto source = open();
  const auto in_bytes = [&](double bytes, double seconds) {
    driver.fields[198] = bytes;
    now_ += seconds;
    return source->read().pcie_in_bytes;
  };
  EXPECT_EQ(in_bytes(4e9, 0), 4e9);
  EXPECT_EQ(in_bytes(1e9, 0.02), 1e9 + 4294967296.0);
  EXPECT_EQ(in_bytes(3e9, 0.02), 3e9 + 4294967296.0);
  EXPECT_EQ(in_bytes(3.1e9, 0.07), std::nullopt) << "it may have wrapped unseen";
  EXPECT_EQ(in_bytes(3.2e9, 0.01), std::nullopt);
}

TEST(UnwrappedCounter, OfMoreThan32BitsIsPassedOnUntilItIsReset) {
  UnwrappedCounter counter;
  EXPECT_EQ(counter.value(1e9, 0, 63e9), 1e9);
  EXPECT_EQ(counter.value(2e9, 10, 63e9), std::nullopt) << "it may have 32 bits";
  EXPECT_EQ(counter.value(5e9, 10.01, 63e9), 5e9) << "it has more";
  EXPECT_EQ(counter.value(50e9, 20, 63e9), 50e9);
  EXPECT_EQ(counter.value(std::nullopt, 21, 63e9), std::nullopt);
  EXPECT_EQ(counter.value(51e9, 22, 63e9), 51e9);
  EXPECT_EQ(counter.value(1e9, 22.01, 63e9), std::nullopt);
  EXPECT_EQ(counter.value(90e9, 23, 63e9), std::nullopt) << "of a counter that was reset there are no differences";
}

TEST_F(NvmlTelemetryTest, RecoveriesOfLinksWithoutTheOlderCountersAreAField) {
  driver.refused.insert("nvmlDeviceGetNvLinkErrorCounter");
  driver.fields[215] = 2;
  const auto source = open();
  source->read();
  driver.field_calls = 0;
  const auto counters = sums(source->counters());
  EXPECT_FALSE(counters.contains("nvlink_crc_errors"));
  EXPECT_EQ(counters.at("nvlink_recovery_errors"), 2 * 18);
  EXPECT_EQ(driver.field_calls, 10) << "two of the GPU, and eight of all links together";
}

TEST_F(NvmlTelemetryTest, AnActionThatIsNoneOfTheGpuIsNoCounter) {
  driver.version = "610.43.02";
  for (const auto& [action, counts] :
       {std::pair{0, true}, {1, true}, {3, true}, {4, true}, {5, false}, {7, true}, {8, false}}) {
    driver.fields[230] = static_cast<unsigned long long>(action);
    EXPECT_EQ(sums(open()->counters()).contains("recovery_action"), counts) << action;
  }
}

TEST_F(NvmlTelemetryTest, AResetOfTheBusThatAnOlderDriverAsksForIsAFault) {
  driver.fields[230] = kRecoverImexDomain;
  driver.version = "580.126.09";
  EXPECT_EQ(sums(open()->counters()).at("recovery_action"), kResetBus);
}

TEST_F(NvmlTelemetryTest, TheRecoveryActionIsAFactToo) {
  const auto action = [] {
    GpuFacts facts;
    NvmlDevice(fake_nvml::library(), "GPU-1", "0000:3B:00.0").describe(facts);
    return facts.recovery_action;
  };
  EXPECT_FALSE(action());
  driver.fields[230] = 4;
  EXPECT_EQ(action(), 4);
  driver.types[230] = fake_nvml::kUnsigned;
  EXPECT_EQ(action(), 4);
}

TEST_F(NvmlTelemetryTest, WhatOlderDriversAndGpusDoNotAnswerIsNoCounter) {
  driver.missing.insert("nvmlDeviceGetRepairStatus");
  const auto counters = sums(open()->counters());
  for (const char* id : {"recovery_action", "channel_repair_pending", "tpc_repair_pending", "nvlink_recovery_failures",
                         "nvlink_effective_errors", "nvlink_symbol_errors", "nvlink_integrity_errors", "nvlink_packet_errors",
                         "nvlink_remote_errors", "nvlink_header_errors", "pcie_correctable_errors", "pcie_nonfatal_errors",
                         "pcie_fatal_errors"}) {
    EXPECT_FALSE(counters.contains(id)) << id;
  }
}

TEST_F(NvmlTelemetryTest, XidEventsAreTakenInWithEachReadingAndTheSetIsFreed) {
  auto source = open();
  source->read();
  EXPECT_EQ(driver.sets, 1);
  driver.xids = {48, 94};
  source->read();
  EXPECT_THAT(driver.xids, IsEmpty());
  driver.xids = {79};
  EXPECT_EQ(sums(source->counters()).at("xid"), 3);
  source.reset();
  EXPECT_EQ(driver.sets, 0);
}

TEST_F(NvmlTelemetryTest, XidsAreCountedByTheirClass) {
  const auto source = open();
  source->read();
  driver.xids = {31, 94, 43, 63, 12345};
  auto counters = sums(source->counters());
  EXPECT_EQ(counters.at("xid"), 2);
  EXPECT_EQ(counters.at("xid_number"), 12345) << "an unknown one is a fault";
  EXPECT_EQ(counters.at("application_xid"), 2);
  EXPECT_EQ(counters.at("application_xid_number"), 43);
  EXPECT_EQ(counters.at("informational_xid"), 1);
  EXPECT_EQ(counters.at("informational_xid_number"), 63);
}

TEST_F(NvmlTelemetryTest, OfAGpuWithoutInforomNothingIsSaidOfIt) {
  driver.inforom = fake_nvml::kNotSupported;
  EXPECT_FALSE(sums(open()->counters()).contains("inforom_corrupted"));
}

TEST_F(NvmlTelemetryTest, ALostGpuTellsNothingAnyMore) {
  const auto source = open(), warned = open();
  EXPECT_NE(source->read(), Telemetry());
  EXPECT_EQ(sums(source->counters()).at("xid"), 0);
  warned->read();
  driver.xids = {79};
  warned->read();
  driver.lost = true;
  EXPECT_EQ(source->read(), Telemetry());
  EXPECT_FALSE(sums(source->counters()).contains("xid")) << "what came since is not known";
  EXPECT_EQ(sums(warned->counters()).at("xid"), 1);
  EXPECT_FALSE(sums(warned->counters()).contains("application_xid"));
}

TEST_F(NvmlTelemetryTest, WithoutEventsTheKernelsLogIsCounted) {
  driver.refused.insert("nvmlDeviceRegisterEvents");
  log("4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, an old one\n");
  XidReports reports(NvmlDevice(fake_nvml::library(), "GPU-1", "0000:3B:00.0"), root_.root / "kmsg", 0);
  EXPECT_EQ(driver.sets, 0);
  reports.drain();
  EXPECT_EQ(reports.of(XidClass::fault)->count, 0);
  EXPECT_FALSE(reports.of(XidClass::fault)->last);
  log("4,2,3,-;NVRM: Xid (PCI:0000:3b:00): 62, pid=1, name=x\n4,3,4,-;NVRM: Xid (PCI:0000:3c:00): 48, another "
      "GPU\n6,4,5,-;usb\n");
  log("4,5,6,-;NVRM: Xid (PCI:0000:3b:00): 94, pi");
  reports.drain();
  EXPECT_EQ(reports.of(XidClass::fault)->count, 1);
  EXPECT_EQ(reports.of(XidClass::fault)->last, 62);
  log("d=2\n");
  reports.drain();
  EXPECT_EQ(reports.of(XidClass::fault)->count, 2);
  EXPECT_EQ(reports.of(XidClass::fault)->last, 94);
  log("4,6,7,-;NVRM: Xid (PCI:0000:3b:00 GPU-I:01): 95, pid=3\n4,7,8,-;NVRM: Xid (PCI:0000:3b:00 GPU-I:01 GPU-CI:00): 43, "
      "pid=3\n");
  reports.drain();
  EXPECT_EQ(reports.of(XidClass::fault)->count, 3) << "with MIG the driver names the instance";
  EXPECT_EQ(reports.of(XidClass::fault)->last, 95);
  EXPECT_EQ(reports.of(XidClass::application)->count, 1);
  EXPECT_EQ(reports.of(XidClass::application)->last, 43);
  log("4,8,9,-;NVRM: Xid (PCI:0000:3b:00[7]: segfault at 0\n6,9,10,-;;NVRM: Xid (PCI:0000:3b:00): 79[7]: segfault at 0\n"
      "6,9,11,-;a ;NVRM: Xid (PCI:0000:3b:00): 79[7]\n");
  reports.drain();
  EXPECT_EQ(reports.of(XidClass::fault)->count, 3) << "a process has that name";
}

TEST_F(NvmlTelemetryTest, FaultsBeforeTheRunAreThoseOfTheKernelsLog) {
  const auto past = [this](double now) {
    return XidReports(NvmlDevice(fake_nvml::library(), "GPU-1", "0000:3B:00.0"), root_.root / "kmsg", now).past();
  };
  EXPECT_FALSE(past(0)) << "there is no log";
  log("");
  EXPECT_FALSE(past(0)) << "a log without lines is none";
  log("6,0,0,-;Linux version 6.8\n");
  EXPECT_EQ(past(9)->count, 0);
  EXPECT_FALSE(past(9)->last);
  log("4,1,3000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n4,2,4000000,-;NVRM: Xid (PCI:0000:3b:00 GPU-I:01): 95, pid=1\n");
  // Of another GPU, of a program, informational, and what a process wrote into the log.
  log("4,3,5000000,-;NVRM: Xid (PCI:0000:3c:00): 79, pid=1\n4,4,6000000,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=1\n"
      "4,5,7000000,-;NVRM: Xid (PCI:0000:3b:00): 63, pid=1\n12,6,8000000,-;NVRM: Xid (PCI:0000:3b:00): 48, pid=1\n");
  EXPECT_EQ(past(64)->count, 2);
  EXPECT_EQ(past(64)->last, 95);
  EXPECT_EQ(past(64)->age_seconds, 60);
  EXPECT_EQ(past(3.9)->age_seconds, 0) << "the kernel's clock is another";
}

TEST_F(NvmlTelemetryTest, OfALogWithoutEndTheReportsFromNowOnAreRead) {
  log("6,0,0,-;Linux version 6.8\n");
  std::filesystem::resize_file(root_.root / "kmsg", 20'000'000'000);
  XidLog endless(root_.root / "kmsg", "0000:3B:00.0");
  EXPECT_FALSE(endless.past()) << "not read to its end";
  log("4,1,3000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n");
  EXPECT_EQ(endless.drain().size(), 1u);
}

TEST_F(NvmlTelemetryTest, WithoutEventsAndLogTheReportsAreAbsent) {
  driver.refused.insert("nvmlDeviceRegisterEvents");
  EXPECT_FALSE(sums(open()->counters()).contains("xid"));
}

TEST_F(NvmlTelemetryTest, ACallThatHangsIsGivenUp) {
  Latch latch;
  driver.hangs_at_energy = &latch;
  const std::shared_ptr<NvmlTelemetry> source = open();
  {
    Sampler sampler(
        source, [] { return 0.0; }, 0.05, 10);
    EXPECT_FALSE(sampler.read().power_watts);
    EXPECT_TRUE(sampler.gave_up());
    EXPECT_THAT(sampler.counters(), IsEmpty());
  }
  latch.open();
  while (source.use_count() > 1) std::this_thread::yield();
}

}  // namespace
}  // namespace roofmark::cuda
