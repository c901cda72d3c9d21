// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: every kind of damage that a file can have, on one made-up run.
#include "harness/result/result_file.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <set>

#include "harness/model/statistics.hpp"
#include "harness/result/journal.hpp"
#include "harness/result/network_json.hpp"
#include "tests/harness/records.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// The files of a run, as the program leaves them.
class ResultFolder : public testing::Test {
 protected:
  ResultFolder() : folder_(fs::temp_directory_path() / ("roofmark_result_file_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    roofmark::Run run;
    RunFacts& facts = run.header.facts;
    facts.suite = "quick";
    facts.arguments = {"roofmark", "run"};
    facts.started_utc = "2026-01-02T03:00:00Z";
    facts.build.version = "0.1.0";
    facts.libraries = {{"cuBLASLt", "13.1.0", "/lib/libcublasLt.so.13", ""}};
    facts.host.name = "node7";
    facts.device.id = "cuda:0";
    facts.device.backend = Backend::cuda;
    facts.device.name = "NVIDIA H200";
    facts.device.gpu.uuid = "GPU-1";
    facts.device.gpu.driver_version = "570.86";
    facts.device.gpu.vbios = "96.00";
    run.header.theoretical.at(resource::dram).theoretical = 4.8e12;
    run.records = {ok_record("stream", "copy", {{{{resource::dram, 1e9}}}}, 1e-3),
                   ok_record("gemm", "", {{{{resource::fp32_fma, 1e9}}}}, 1e-3)};
    run.records[1].status = Status::failed;
    run.records[1].reason = "a launch failed";
    run.records[1].measurement.reset();
    run.footer = RunFooter{"2026-01-02T03:04:05Z", true, false, {{FindingKind::foreign_process, "busy", ""}}, {}, 20, {}, {}};
    {
      Journal journal(folder_ / "result.jsonl");
      journal.header(run.header);
      for (const Record& record : run.records) journal.record(record);
      journal.footer(*run.footer);
    }
    const Conclusions conclusions = conclude(run);
    write_with_checksum(path(), to_json(run, conclusions).dump());
  }
  ~ResultFolder() override { fs::remove_all(folder_); }

  fs::path path() const { return folder_ / "result.json"; }
  std::string text() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void overwrite(const std::string& text) const { std::ofstream(path(), std::ios::binary | std::ios::trunc) << text; }
  void replace(const std::string& old, const std::string& with) const {
    std::string whole = text();
    const std::size_t at = whole.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    overwrite(whole.replace(at, old.size(), with));
  }
  void remove(const char* name) const { fs::remove(folder_ / name); }
  std::string refusal() const {
    try {
      ResultFile file = read_result(folder_);
      take_evidence(file, 0);
    } catch (const ReadError& error) {
      return error.what();
    } catch (const nlohmann::json::exception& error) {
      return error.what();
    }
    return "read";
  }

  fs::path folder_;
};

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2, B.1
}

TEST_F(ResultFolder, IsReadWholeWithWhoMeasuredWhat) {
  ResultFile file = read_result(folder_);
  EXPECT_TRUE(file.not_held.empty());
  EXPECT_EQ(file.sha256, sha256_of(text()));
  const Evidence evidence = take_evidence(file, 1767323045 + 60);  // 2026-01-02T03:04:05Z, and a minute
  EXPECT_EQ(evidence.age_seconds, 60);
  EXPECT_TRUE(evidence.complete);
  ASSERT_EQ(evidence.devices.size(), 1u);
  EXPECT_EQ(evidence.devices[0].label(), "GPU-1 (cuda:0 of node7)");
  EXPECT_EQ(evidence.versions.at("driver"), "570.86");
  EXPECT_EQ(evidence.versions.at("cuBLASLt"), "13.1.0");
  ASSERT_EQ(evidence.records.size(), 2u);
  EXPECT_EQ(evidence.findings.size(), 1u);
}

TEST_F(ResultFolder, WhatMakesARunWeakerThanItsSuiteIsKept) {
  remove("result.json.sha256");
  remove("result.jsonl");
  Json json = Json::parse(text());
  const auto weaker = [&] {
    overwrite(json.dump());
    ResultFile file = read_result(folder_);
    return take_evidence(file, 0).weaker;
  };
  json["scope"]["changes"] = {"--only-device", "--filter 'a'"};
  json["scope"]["weaker"] = {"--filter 'a'"};
  EXPECT_THAT(weaker(), testing::ElementsAre("--filter 'a'"));
  // Of a file that does not tell them apart, all that may be.
  json["scope"].erase("weaker");
  EXPECT_THAT(weaker(), testing::ElementsAre("--filter 'a'"));
  json["scope"]["changes"] = {"--memory-fraction 0.95"};
  EXPECT_EQ(weaker().size(), 1U);
}

TEST_F(ResultFolder, ValuesOfOtherRanksThanTheTeamHasAreDamage) {
  remove("result.json.sha256");
  remove("result.jsonl");
  Json json = Json::parse(text());
  json["benchmarks"][0]["roofmark"]["rank_status"] = {"ok", "ok"};
  overwrite(json.dump());
  EXPECT_THAT(refusal(), HasSubstr("has values of 2 ranks, but the team has 0"));
}

TEST_F(ResultFolder, OneRanksLinkSaysNothingOfTheOthers) {
  remove("result.json.sha256");
  remove("result.jsonl");
  ResultFile file = read_result(folder_);
  file.conclusions.findings.push_back({FindingKind::link_training, "half of its lanes", "copy", 0, "", {}});
  EXPECT_THAT(take_evidence(file, 0).findings, testing::Contains(testing::Field(&Finding::kind, FindingKind::link_training)));
  file = read_result(folder_);
  file.run.header.ranks.resize(2);
  file.conclusions.findings.push_back({FindingKind::link_training, "half of its lanes", "copy", 0, "", {}});
  file.conclusions.findings.push_back({FindingKind::link_training, "cuda:1: the slot gives 8 lanes", "", 0.5, "", {1}});
  const Evidence evidence = take_evidence(file, 0);
  const auto of_link = testing::Field(&Finding::kind, FindingKind::link_training);
  EXPECT_THAT(evidence.findings, testing::Contains(of_link).Times(1));
  EXPECT_THAT(evidence.findings, testing::Contains(testing::AllOf(of_link, testing::Field(&Finding::ranks, std::vector{1}))))
      << "what was known of a rank's slot before the run";
  EXPECT_TRUE(evidence.analysis.unseen.contains(FindingKind::link_training));
}

TEST_F(ResultFolder, ACaseThatIsThereTwiceIsDamage) {
  remove("result.json.sha256");
  remove("result.jsonl");
  Json json = Json::parse(text());
  json["benchmarks"].push_back(json["benchmarks"][0]);
  overwrite(json.dump());
  EXPECT_THAT(refusal(), HasSubstr("has " + json["benchmarks"][0]["name"].get<std::string>() + " twice"));
  // The ceilings are measured before the suite and after it.
  json["benchmarks"].back()["roofmark"]["pass"] = 2;
  overwrite(json.dump());
  EXPECT_EQ(refusal(), "read");
}

TEST_F(ResultFolder, WhatASlotLacksStaysInTheFileAndWhatALoadShowedIsFoundAgain) {
  remove("result.json.sha256");
  remove("result.jsonl");
  Json json = Json::parse(text());
  for (const char* name : {"", "gone"}) {
    json["findings"].push_back({{"kind", "link_training"}, {"severity", "warning"}, {"text", "8 lanes"}, {"advice", "a"}});
    if (*name) json["findings"].back()["case"] = name;
  }
  overwrite(json.dump());
  std::vector<std::string> names;
  for (const Finding& finding : read_result(folder_).run.header.findings) {
    if (finding.kind == FindingKind::link_training) names.push_back(finding.case_name);
  }
  EXPECT_THAT(names, testing::ElementsAre("")) << "no record shows the other";
}

TEST_F(ResultFolder, OnlyWhatTheSessionSawIsKeptOfTheFindings) {
  remove("result.json.sha256");
  remove("result.jsonl");
  Json json = Json::parse(text());
  json["findings"] = Json::array();
  std::set<FindingKind> kept;
  for (const FindingType& type : kFindingTypes) {
    json["findings"].push_back(to_json(Finding{type.kind, "text", ""}));
    json["findings"].push_back(to_json(Finding{type.kind, "text", "a case"}));
    if (type.is_found_by(FoundBy::session)) kept.insert(type.kind);
  }
  overwrite(json.dump());
  std::multiset<FindingKind> read;
  for (const Finding& finding : read_result(folder_).run.header.findings) {
    read.insert(finding.kind);
    EXPECT_EQ(finding.case_name, "");
  }
  EXPECT_THAT(read, testing::ElementsAreArray(kept));
}

TEST_F(ResultFolder, AFindingOfAnotherVersionIsNoDamage) {
  remove("result.json.sha256");
  remove("result.jsonl");
  Json json = Json::parse(text());
  json["findings"].push_back({{"kind", "of_tomorrow"}, {"severity", "note"}, {"text", "t"}, {"advice", "a"}});
  overwrite(json.dump());
  EXPECT_EQ(refusal(), "read");
}

TEST_F(ResultFolder, WhatNoCounterOfAGpuShowsIsUnseen) {
  remove("result.json.sha256");
  remove("result.jsonl");
  Json json = Json::parse(text());
  json["device"]["kind"] = "cuda";
  const auto unseen = [&](const std::vector<CounterChange>& counters) {
    RunFooter footer;
    footer.counters = counters;
    Json with = json;
    if (!counters.empty()) with["counters"] = to_json(footer).at("counters");
    overwrite(with.dump());
    ResultFile file = read_result(folder_);
    return take_evidence(file, 0).devices.at(0).unseen;
  };
  EXPECT_THAT(unseen({}), testing::IsSupersetOf({FindingKind::uncorrected_errors, FindingKind::xid, FindingKind::link_lost,
                                                 FindingKind::link_errors, FindingKind::foreign_process}));
  EXPECT_THAT(unseen({{"xid", 0, 3, 3}}), testing::Not(testing::Contains(FindingKind::xid)));
  EXPECT_THROW(unseen({{"xid", 1, 3, 3}}), ReadError) << "of another rank";
  EXPECT_THAT(unseen({{"xid", 0, 3, {}}}), testing::Contains(FindingKind::xid)) << "lost sight of";
  EXPECT_THAT(unseen({{"xid", 0, 3, 1}}), testing::Contains(FindingKind::xid)) << "reset";
  // A PCIe card has no NVLink.
  EXPECT_THAT(unseen({{"pcie_width", 0, 16, 16}}), testing::Not(testing::Contains(FindingKind::link_lost)));
  EXPECT_THAT(unseen({{"pcie_width", 0, 16, 16}, {"nvlink_links", 0, 18, {}}}), testing::Contains(FindingKind::link_lost));
  EXPECT_THAT(unseen({}), testing::IsSupersetOf({FindingKind::network_ports, FindingKind::network_lost}));
  json["network"] = to_json(HostNetwork{{}, {RdmaPort()}, {}, "", false});
  EXPECT_THAT(unseen({}), testing::Contains(FindingKind::network_ports)) << "none is up";
  json["network"] = to_json(HostNetwork{{{"mlx5_0:1", "InfiniBand", 50e9, {}}}, {RdmaPort()}, {}, "", false});
  EXPECT_THAT(unseen({}), testing::Not(testing::Contains(FindingKind::network_ports)));
  EXPECT_THAT(unseen({{"network_ports", 0, 8, 8}}), testing::Not(testing::Contains(FindingKind::network_lost)));
  json["device"]["kind"] = "cpu";
  EXPECT_THAT(unseen({}), testing::Contains(FindingKind::uncorrected_errors));
  EXPECT_THAT(unseen({}), testing::Not(testing::Contains(FindingKind::foreign_process))) << "its load shows them";
}

TEST_F(ResultFolder, AMigInstanceHasNoSlotOfItsOwn) {
  remove("result.json.sha256");
  remove("result.jsonl");
  Json json = Json::parse(text());
  json["device"]["kind"] = "cuda";
  json["device"]["details"]["pci_bus_id"] = "0000:1b:00.0";
  for (const auto& [uuid, slot] : {std::pair("GPU-1", "0000:1b:00.0"), std::pair("MIG-1", "")}) {
    json["device"]["details"]["uuid"] = uuid;
    overwrite(json.dump());
    ResultFile file = read_result(folder_);
    EXPECT_EQ(take_evidence(file, 0).devices.at(0).slot, slot) << uuid;
  }
}

TEST_F(ResultFolder, WhatADeviceAloneCannotShowIsUnseen) {
  ResultFile file = read_result(folder_);
  const Evidence evidence = take_evidence(file, 0);
  ASSERT_EQ(evidence.devices.size(), 1U);
  EXPECT_THAT(evidence.analysis.unseen,
              testing::IsSupersetOf({FindingKind::fingerprint, FindingKind::slow_rank, FindingKind::slow_link,
                                     FindingKind::peer_access, FindingKind::rdma_unused, FindingKind::gpudirect_unused,
                                     FindingKind::nvlink_unused, FindingKind::link_rate}));
}

TEST_F(ResultFolder, OfADeviceThatTellsNoThrottleReasonsASlowdownIsUnseen) {
  ResultFile file = read_result(folder_);
  file.run.header.ranks.resize(2);
  RankTimes tells{1e-3, 1e-3, {}, {}};
  const RankTimes silent = tells;
  tells.throttled_share.emplace();
  for (Record& record : file.run.records) {
    if (record.measurement) record.measurement->ranks = {tells, silent};
  }
  const Evidence evidence = take_evidence(file, 0);
  EXPECT_THAT(evidence.devices.at(0).unseen, testing::Not(testing::Contains(FindingKind::slowdown)));
  EXPECT_THAT(evidence.devices.at(1).unseen, testing::IsSupersetOf({FindingKind::slowdown, FindingKind::throttle}));
}

TEST_F(ResultFolder, WithoutJournalAndChecksumItIsReadAndThatIsSaid) {
  const Json with = to_json(read_result(folder_).run.records.at(0));
  remove("result.jsonl");
  remove("result.json.sha256");
  const ResultFile file = read_result(path());
  EXPECT_THAT(file.not_held, testing::ElementsAre(HasSubstr("result.json.sha256"), HasSubstr("result.jsonl")));
  EXPECT_EQ(to_json(file.run.records.at(0)), with);
  EXPECT_TRUE(file.run.footer->complete);
}

TEST_F(ResultFolder, AnEditedFileIsRefusedByItsChecksumAndElseByItsJournal) {
  replace("NVIDIA H200", "NVIDIA B200");
  EXPECT_THAT(refusal(), HasSubstr("has been changed since it was written"));
  remove("result.json.sha256");
  EXPECT_THAT(refusal(), HasSubstr("and its journal differ: device"));
}

TEST_F(ResultFolder, AnEditedHeaderOfTheJournalIsRefused) {
  const fs::path journal = folder_ / "result.jsonl";
  std::ifstream file(journal, std::ios::binary);
  std::string lines{std::istreambuf_iterator<char>(file), {}};
  const std::size_t at = lines.find("NVIDIA H200");
  ASSERT_NE(at, std::string::npos);
  std::ofstream(journal, std::ios::binary | std::ios::trunc) << lines.replace(at, 11, "NVIDIA B200");
  EXPECT_THAT(refusal(), HasSubstr("and its journal differ: device"));
}

TEST_F(ResultFolder, WhateverElseIsEditedIsRefusedByTheJournal) {
  remove("result.json.sha256");
  const Json whole = Json::parse(text());
  const auto refused = [&](const char* pointer, const Json& value) {
    Json edited = whole;
    edited[Json::json_pointer(pointer)] = value;
    overwrite(edited.dump());
    return refusal();
  };
  EXPECT_THAT(refused("/complete", false), HasSubstr("its journal differ: complete"));
  EXPECT_THAT(refused("/interrupted", true), HasSubstr("its journal differ: interrupted"));
  EXPECT_THAT(refused("/data", "zeros"), HasSubstr("its journal differ: data"));
  EXPECT_THAT(refused("/labels/rack", "7"), HasSubstr("its journal differ: labels"));
  EXPECT_THAT(refused("/libraries/cuBLASLt/version", "1"), HasSubstr("its journal differ: libraries"));
  EXPECT_THAT(refused("/wall_time/total_seconds", 1e9), HasSubstr("its journal differ: wall_time"));
  EXPECT_THAT(refused("/findings", Json::array()), HasSubstr("its journal differ: the finding"));
  Json edited = whole;
  edited["ceilings"][0]["theoretical"] = 1.0;
  edited["ceilings"][0]["theoretical_source"] = "a wish";
  overwrite(edited.dump());
  EXPECT_THAT(refusal(), HasSubstr("its journal differ: the ceiling of"));
}

TEST_F(ResultFolder, OfARunThatGoesOnItSaysSo) {
  remove("result.json.sha256");
  Json json = Json::parse(text());
  for (const char* key : {"finished_utc", "wall_time"}) json.erase(key);
  json["complete"] = false;
  overwrite(json.dump());
  EXPECT_THAT(refusal(), HasSubstr("the run is still going or was cut off; `roofmark recover"));
}

TEST_F(ResultFolder, WhereARecoveredRunWasCutOffStaysKnown) {
  ResultFile file = read_result(folder_);
  file.run.footer.reset();
  file.run.in_progress = "gemm/fp32/m:4096";
  const fs::path recovered = folder_ / "recovered";
  fs::create_directories(recovered);
  write_run(recovered, file.run, conclude(file.run));
  EXPECT_THAT(read_result(recovered).conclusions.verdict.headline,
              testing::StartsWith("The run was cut off in gemm/fp32/m:4096: "));
}

/// As of a run that was killed, or whose disk was full, in the midst of a line.
TEST_F(ResultFolder, WhatWasRecoveredOfAJournalThatEndsWithinALineIsRead) {
  const fs::path journal = folder_ / "result.jsonl";
  fs::resize_file(journal, fs::file_size(journal) - 20);
  int skipped = 0;
  roofmark::Run run = read_journal(journal, skipped);
  EXPECT_EQ(skipped, 0);
  write_with_checksum(path(), to_json(run, conclude(run)).dump());
  EXPECT_EQ(refusal(), "read");
}

TEST_F(ResultFolder, AnEditedSampleIsRefusedByTheJournal) {
  remove("result.json.sha256");
  Json json = Json::parse(text());
  json["benchmarks"][0]["roofmark"]["measurement"]["samples"]["host_seconds"][3] = 0.5;
  overwrite(json.dump());
  EXPECT_THAT(refusal(), HasSubstr("and its journal differ: stream/copy"));
}

TEST_F(ResultFolder, TheSamplesSayHowTheyScatter) {
  Json result = Json::parse(text());
  Json& measured = result["benchmarks"][0]["roofmark"]["measurement"];
  Json& seconds = measured["samples"]["seconds"];
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = 1e-3 * (1 + 0.01 * static_cast<double>(i));
  measured["median"] = 1.095e-3;
  measured["minimum"] = 1e-3;
  measured["maximum"] = 1.19e-3;
  measured["interval"] = {1.094e-3, 1.096e-3};
  measured["cv"] = 1e-6;
  result["benchmarks"][0]["roofmark"].erase("placement");
  overwrite(result.dump());
  remove("result.jsonl");
  remove("result.json.sha256");
  ResultFile file = read_result(path());
  const Measurement& measurement = *file.run.records.at(0).measurement;
  const Summary own = summarize(measurement.samples);
  EXPECT_LT(*own.interval_low, 1.02e-3);
  EXPECT_EQ(measurement.summary.interval_low, own.interval_low);
  EXPECT_EQ(measurement.summary.interval_high, own.interval_high);
  EXPECT_EQ(measurement.summary.cv, own.cv);
  EXPECT_EQ(take_evidence(file, 0).records.at(0).measurement->summary.interval_high, own.interval_high);
}

TEST_F(ResultFolder, ARealTimeThatIsNotTheMedianIsRefused) {
  remove("result.json.sha256");
  Json json = Json::parse(text());
  json["benchmarks"][0]["real_time"] = 1;
  overwrite(json.dump());
  EXPECT_THAT(refusal(), HasSubstr("(real_time)"));
}

TEST_F(ResultFolder, AFasterTimeIsRefusedByTheJournal) {
  remove("result.json.sha256");
  replace("\"median\":0.001", "\"median\":0.0005");
  EXPECT_THAT(refusal(), HasSubstr("and its journal differ: stream/copy"));
}

TEST_F(ResultFolder, AMissingResultIsRefusedByTheJournal) {
  remove("result.json.sha256");
  Json json = Json::parse(text());
  json["unmeasured"].erase(0);
  overwrite(json.dump());
  EXPECT_THAT(refusal(), HasSubstr("1 results, 2 in the journal"));
}

TEST_F(ResultFolder, WhatIsNoResultIsRefusedInOneLine) {
  remove("result.json.sha256");
  remove("result.jsonl");
  const std::string whole = text();
  const auto refused = [&](const std::string& text) {
    overwrite(text);
    const std::string line = refusal();
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_THAT(line, testing::StartsWith(path().string()));
    return line;
  };
  const auto with = [&](const std::string& member) { return whole.substr(0, whole.size() - 1) + "," + member + "}"; };
  EXPECT_THAT(refused(""), HasSubstr("is damaged: it is empty"));
  EXPECT_THAT(refused(whole.substr(0, whole.size() / 2)), HasSubstr("is damaged: it is truncated"));
  EXPECT_THAT(refused("\xEF\xBB\xBF" + whole), HasSubstr("byte order mark"));
  EXPECT_THAT(refused(with("\"more\":\"\xff\"")), HasSubstr("is not UTF-8"));
  EXPECT_THAT(refused(with("\"suite\":\"full\"")), HasSubstr("two members \"suite\""));
  EXPECT_THAT(refused(with("\"more\":1e999")), HasSubstr("out of range"));
  EXPECT_THAT(refused(with("\"more\":" + std::string(5000, '[') + std::string(5000, ']'))), HasSubstr("1024 levels"));
  EXPECT_THAT(refused("[]"), HasSubstr("is not a roofmark result"));
  Json json = Json::parse(whole);
  json["unmeasured"] = 3;
  EXPECT_THAT(refused(json.dump()), HasSubstr("is damaged: 3 is not an array"));
  json.erase("unmeasured");
  EXPECT_THAT(refused(json.dump()), HasSubstr("it has no member 'unmeasured'"));
  overwrite(with("\"more\":18446744073709551615"));
  EXPECT_EQ(refusal(), "read");
}

TEST_F(ResultFolder, WhatTheDeviceCountedDuringTheRunIsJudged) {
  remove("result.json.sha256");
  Json json = Json::parse(text());
  RunFooter footer;
  footer.counters = {{"ecc_uncorrected", 0, 1, 3}};
  json["counters"] = to_json(footer).at("counters");
  overwrite(json.dump());
  ResultFile file = read_result(folder_);
  std::vector<FindingKind> kinds;
  for (const Finding& finding : take_evidence(file, 0).findings) kinds.push_back(finding.kind);
  EXPECT_THAT(kinds, testing::Contains(FindingKind::uncorrected_errors));
}

TEST_F(ResultFolder, ARunBesideOtherGpusIsKnownByItsFolder) {
  const fs::path together = folder_ / "together" / "cuda-0", alone = folder_ / "alone" / "cuda-0";
  for (const fs::path& place : {together, alone}) {
    fs::create_directories(place);
    fs::copy_file(path(), place / "result.json");
  }
  const auto is_together = [](const fs::path& place) {
    ResultFile file = read_result(place);
    return take_evidence(file, 0).together;
  };
  EXPECT_TRUE(is_together(together));
  EXPECT_FALSE(is_together(alone));
  EXPECT_FALSE(is_together(folder_));
  const fs::path before = fs::current_path();
  fs::current_path(together);
  EXPECT_TRUE(is_together("."));
  EXPECT_TRUE(is_together("result.json"));
  fs::current_path(before);
}

TEST_F(ResultFolder, DamageIsReadOrRefusedNeverMore) {
  remove("result.json.sha256");
  remove("result.jsonl");
  const std::string whole = text();
  std::mt19937 random(11);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = whole.substr(0, round % 4 == 0 ? random() % whole.size() : whole.size());
    for (int i = 0; i < 1 + round % 5 && !damaged.empty(); ++i) {
      // Digits and quotes do more harm than bytes that no JSON has.
      damaged[random() % damaged.size()] = round % 2 == 0 ? static_cast<char>(random()) : "0-9\"{}[],:en"[random() % 12];
    }
    overwrite(damaged);
    refusal();
  }
}

TEST(ResultText, HasLatenciesOverSmsAndBesideALoad) {
  roofmark::Run run;
  Record record = ok_record("latency", "chase", {{{{resource::l2_access, 1}}}}, 2e-7);
  record.measurement->clock_hz = 1e9;
  record.shape = {{"sm", "3"}};
  run.records.push_back(record);
  record = ok_record("latency", "chase", {{{{resource::dram_access, 1}}}}, 4e-7);
  record.shape = {{"background", "50"}};
  record.measurement->background = Background{resource::dram, 2e12};
  run.records.push_back(record);
  run.header.theoretical.at(resource::dram).theoretical = 4e12;
  const Json json = to_json(run, conclude(run));
  EXPECT_FALSE(json.contains("ladders"));
  EXPECT_EQ(json.at("sm_latencies"), Json::parse(R"([{"series": "latency/chase/fp32",
                             "points": [{"case": "latency/chase/fp32/sm:3", "sm": 3, "seconds": 2e-7, "cycles": 200.0}],
                             "levels": [{"sms": [3], "seconds": 2e-7, "cycles": 200.0}]}])"));
  EXPECT_EQ(json.at("loaded_latencies"), Json::parse(R"([{"series": "latency/chase/fp32", "background": "dram",
                             "points": [{"case": "latency/chase/fp32/background:50", "background_per_second": 2e12,
                                         "seconds": 4e-7, "share_of_ceiling": 0.5}]}])"));
}

TEST(ResultText, HasTheLaddersOfDependentAccesses) {
  roofmark::Run run;
  EXPECT_FALSE(to_json(run, conclude(run)).contains("ladders"));
  for (const auto& [bytes, seconds] : {std::pair{4096, 2e-9}, {8192, 2e-9}, {16384, 10e-9}, {32768, 10e-9}}) {
    run.records.push_back(ok_record("latency", "chase", {{{{resource::l1_access, 1}}}}, seconds));
    run.records.back().shape = {{"bytes", std::to_string(bytes)}, {"stride", "128"}};
    if (bytes < 10000) run.records.back().measurement->clock_hz = 2e9;
  }
  const Json ladder = to_json(run, conclude(run)).at("ladders").at(0);
  EXPECT_EQ(ladder.at("series"), "latency/chase/fp32");
  EXPECT_EQ(ladder.at("points").size(), 4U);
  EXPECT_EQ(ladder.at("points").at(3),
            Json({{"case", "latency/chase/fp32/bytes:32768/stride:128"}, {"bytes", 32768}, {"seconds", 10e-9}}));
  EXPECT_EQ(ladder.at("levels").at(0), Json({{"resource", "l1_access"},
                                             {"step", 1},
                                             {"smallest_bytes", 4096},
                                             {"largest_bytes", 8192},
                                             {"beyond_bytes", 16384},
                                             {"seconds", 2e-9},
                                             {"cycles", 4.0},
                                             {"points", 2}}));
  EXPECT_EQ(ladder.at("levels").at(1), Json({{"resource", "l1_access"},
                                             {"step", 2},
                                             {"smallest_bytes", 16384},
                                             {"largest_bytes", 32768},
                                             {"seconds", 10e-9},
                                             {"points", 2}}));
}

}  // namespace
}  // namespace roofmark
