// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/summary.hpp"

#include <gmock/gmock.h>

#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Summary, FindingsStandBySeverityAreCountedAndAdvised) {
  std::vector<Finding> findings;
  for (int i = 0; i < 10; ++i) {
    findings.push_back({FindingKind::throttle, "the clock fell", "gemm/" + std::to_string(i), i == 7 ? 0.2 : 0.1});
  }
  findings.push_back({FindingKind::above_theoretical, "DRAM: too fast", "stream/copy"});
  const std::string text = findings_text(findings, {});
  EXPECT_THAT(text, StartsWith("error: above_theoretical  stream/copy: DRAM: too fast\n  The result passed verification"));
  EXPECT_THAT(text,
              HasSubstr("note: throttle  gemm/7: the clock fell\nnote: throttle  gemm/0: the clock fell\n"
                        "note: throttle  gemm/1: the clock fell\nnote: throttle  and 7 more like these\n  Large GPUs reach"))
      << "the worst first";
  EXPECT_THAT(text, Not(HasSubstr("gemm/2")));
}

TEST(Summary, EachCaseThatIsWrongIsNamedWithItsReason) {
  const auto record = [](const std::string& family, Status status, const std::string& reason) {
    Record made;
    made.family = family;
    made.status = status;
    made.reason = reason;
    return made;
  };
  const std::vector<Record> records = {record("a", Status::ok, ""),
                                       record("b", Status::wrong, "element 3"),
                                       record("c", Status::failed, "no memory"),
                                       record("d", Status::not_run, "lost"),
                                       record("e", Status::not_run, "lost"),
                                       record("f", Status::unsupported, "no fp8")};
  EXPECT_EQ(unmeasured_text(records, {}),
            "wrong  b/fp32: element 3\n"
            "failed  c/fp32: no memory\n"
            "not run  d/fp32 and 1 more: lost\n"
            "unsupported  f/fp32: no fp8\n");
}

TEST(Summary, BothPassesOfACeilingAreOneCase) {
  std::vector<Record> records(3);
  for (Record& record : records) record.status = Status::unsupported, record.reason = "no fp8";
  records[0].family = records[2].family = "ceilings";
  records[1].family = "gemm";
  records[2].pass = 2;
  EXPECT_EQ(unmeasured_text(records, {}), "unsupported  ceilings/fp32 and 1 more: no fp8\n");
}

TEST(Summary, TheHealthShowsWhatLimitsTheResults) {
  EXPECT_EQ(health_text({{"ECC", "on", ""}}, {}), "health: found nothing that limits the results\n  fine: ECC: on\n");
  EXPECT_EQ(health_text({{"ECC", "on", ""}, {"CPU governor", "unknown", ""}}, {}),
            "health: found nothing that limits the results\n  fine: ECC: on\n  unknown: CPU governor\n");
  EXPECT_EQ(
      health_text({{"ECC", "on", ""}, {"load", "3.00 on 2 CPUs", "other work"}, {"ECC", "off", "errors go unnoticed", 3}}, {}),
      "health  rank  state: effect on the results\n"
      "load          3.00 on 2 CPUs: other work\n"
      "ECC     3     off: errors go unnoticed\n"
      "  fine: ECC: on\n");
}

TEST(Summary, NoTimeHasNoShares) {
  EXPECT_EQ(wall_time_text(WallTime(), 0, {false, false, 200}),
            "0 s in all: timing -, warm-up -, preparation -, verification -, writing -, other -\n");
  WallTime wall;
  wall.timing = 3;
  wall.families = {{"access", 1}, {"transfer", 2}};
  EXPECT_EQ(wall_time_text(wall, 4, {false, false, 200}),
            "4 s in all: timing 75.0 %, warm-up 0.0 %, preparation 0.0 %, verification 0.0 %, writing 0.0 %, other 25.0 %; by "
            "family: transfer 2 s, access 1 s\n");
}

TEST(Summary, TheLinkOfAGpuToItsHostIsALine) {
  RunHeader header;
  Roofline roofline;
  roofline.at(resource::host_to_device).first = 55.4e9;
  roofline.at(resource::host_to_device).theoretical = 63e9;
  header.facts.device.gpu.pcie_generation_max = 5;
  header.facts.device.gpu.pcie_width = 8;
  header.facts.device.gpu.pcie_width_max = 16;
  EXPECT_EQ(link_text(header, roofline, {}), "") << "a CPU has none";
  header.facts.device.backend = Backend::cuda;
  EXPECT_EQ(link_text(header, roofline, {}),
            "link to the host: up to PCIe 5, 8 lanes of 16, host to device 55.4 GB/s (87.9 %)\n");
  header.facts.device.near_node = 1;
  header.facts.device.host_nodes = {0, 1};
  EXPECT_THAT(link_text(header, roofline, {}), HasSubstr("8 lanes of 16, on NUMA node 1 of 2, host to device"));
  header.facts.device.gpu.pcie_width = 0;
  EXPECT_THAT(link_text(header, roofline, {}), Not(HasSubstr("lanes"))) << "as some virtual machines say";
  header.ranks.resize(2);
  EXPECT_EQ(link_text(header, roofline, {}), "") << "each rank has its own";
}

TEST(Summary, TheVerdictBeginsWithItsLevel) {
  EXPECT_EQ(verdict_text({Trust::doubtful, "2 ok; the roofs are in doubt", "Run again."}, {}),
            "doubtful: 2 ok; the roofs are in doubt\n  Run again.\n");
  EXPECT_EQ(verdict_text({Trust::good, "2 ok", ""}, {}), "good: 2 ok\n");
  EXPECT_EQ(verdict_text({Trust::bad, "1 wrong", ""}, {false, true, 80}), "\033[31mbad:\033[0m 1 wrong\n");
}

}  // namespace
}  // namespace roofmark
