// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: the journal and result.json are read, damaged and compared in one place.
#include "harness/result/journal.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <random>
#include <sstream>

#include "harness/judge/ranks/communication.hpp"
#include "harness/result/team_json.hpp"
#include "tests/harness/team_records.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Record sample_record() {
  Record record = ok_record("gemm", "blas", {{{{resource::fp32_fma, 2e9}, {resource::dram, 1e6, 1e5}}}}, 1.25e-3);
  record.sets_ceiling = {resource::fp32_fma};
  record.reason = "none \"at all\"\n";
  record.notes = {{"algorithm", "tile 128x256"}};
  record.fingerprint = Fingerprint{"0123456789abcdef", "key", true, {}};
  record.verification_before = Verification::within(0.5, 2, "u");
  record.verification_after = Verification::nothing("no output");
  record.measurement->clock_hz = 1.9e9;
  record.measurement->summary.p95 = 1.3e-3;
  record.measurement->blocks[2].after.throttle_reasons = {"power cap"};
  record.measurement->blocks[2].after.power_watts = 699.5;
  record.measurement->blocks[2].lead_in_seconds = 0.012;
  record.measurement->blocks[2].throttled_share = {{"power cap", 0.4}};
  record.measurement->blocks[2].first_clock_hz = 1.98e9;
  record.measurement->blocks[2].mean_clock_hz = 1.9e9;
  record.measurement->blocks[2].last_clock_hz = 1.8e9;
  record.measurement->samples_checked = 7;
  record.measurement->share_checked = 0.5;
  record.measurement->telemetry.emplace().throttled_share = {{"power cap", 0.2}};
  return record;
}

Json assembled(roofmark::Run& run) {
  const Conclusions conclusions = conclude(run);
  return to_json(run, conclusions);
}

class JournalFile : public testing::Test {
 protected:
  JournalFile() : folder_(fs::temp_directory_path() / ("roofmark_journal_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~JournalFile() override { fs::remove_all(folder_); }

  fs::path path() const { return folder_ / "result.jsonl"; }

  void write_sample() const {
    Journal journal(path());
    journal.header({{}, {}, {{FindingKind::unknown_device, "known before", ""}}, {}});
    Record record = sample_record();
    journal.record(record);
    record.status = Status::failed;
    record.measurement.reset();
    journal.record(record);
    journal.comparison({"a against b", "impl", {"a"}, {"b"}});
    journal.footer(
        {"2026-01-02T03:04:05Z", true, false, {{FindingKind::foreign_process, "busy", ""}}, {1, 2, 3, 4, 5}, 20, {}, {}});
  }

  std::string text() const {
    std::ifstream file(path(), std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }

  void overwrite(const std::string& text) const { std::ofstream(path(), std::ios::binary | std::ios::trunc) << text; }

  fs::path folder_;
};

TEST_F(JournalFile, GivesBackWhatWasWritten) {
  write_sample();
  int skipped = 0;
  const roofmark::Run run = read_journal(path(), skipped);
  EXPECT_EQ(skipped, 0);
  ASSERT_EQ(run.records.size(), 2U);
  EXPECT_EQ(to_json(run.records[0]), to_json(sample_record()));
  EXPECT_EQ(run.records[1].status, Status::failed);
  EXPECT_EQ(run.comparisons.size(), 1U);
  ASSERT_TRUE(run.footer);
  EXPECT_TRUE(run.footer->complete);
  EXPECT_EQ(run.footer->wall.timing, 4);
  EXPECT_EQ(run.footer->total_seconds, 20);
}

TEST_F(JournalFile, AnExistingFileIsNotOverwritten) {
  write_sample();
  EXPECT_THROW(Journal{path()}, WriteError);
  EXPECT_FALSE(text().empty());
}

// Whatever stands in the file: what can be read is read, or one of the two documented exceptions says why not.
TEST_F(JournalFile, EveryCutKeepsTheRecordsBeforeIt) {
  write_sample();
  const std::string whole = text();
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    overwrite(whole.substr(0, length));
    // A line that lacks nothing but its newline is whole.
    const auto lines =
        std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length), '\n') + (whole[length] == '\n');
    int skipped = 0;
    if (lines == 0) {
      EXPECT_THROW(read_journal(path(), skipped), ReadError) << length;
      continue;
    }
    const roofmark::Run run = read_journal(path(), skipped);
    EXPECT_EQ(run.records.size(), std::clamp<std::size_t>(static_cast<std::size_t>(lines) - 1, 0, 2)) << length;
    EXPECT_LE(skipped, 1);
  }
}

TEST_F(JournalFile, DamageIsSkippedOrSaidNeverMore) {
  write_sample();
  const std::string whole = text();
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 1 + round % 5; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    overwrite(damaged);
    int skipped = 0;
    try {
      roofmark::Run run = read_journal(path(), skipped);
      assembled(run);
    } catch (const ReadError&) {
    } catch (const std::invalid_argument&) {
    } catch (const nlohmann::json::exception&) {
    }
  }
}

TEST_F(JournalFile, ALastLineThatIsWholeIsNotTakenForOneThatWasCutOff) {
  write_sample();
  const std::string whole = text();
  int skipped = 0;
  overwrite(whole + R"({"record": {)");
  read_journal(path(), skipped);
  EXPECT_EQ(skipped, 0);
  overwrite(whole + R"({"record": {}})");
  read_journal(path(), skipped);
  EXPECT_EQ(skipped, 1);
}

TEST_F(JournalFile, ThoseOfSeveralRunsInOneFileAreRefused) {
  write_sample();
  const std::string one = text();
  std::ofstream(path()) << one << one;
  int skipped = 0;
  try {
    read_journal(path(), skipped);
    ADD_FAILURE() << "the records of both were those of the first run";
  } catch (const ReadError& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds several runs"));
  }
}

TEST_F(JournalFile, TheFirstSchemaVersionIsNamed) {
  overwrite("{\"header\":{\"schema_version\":1,\"ceilings\":[]}}\n");
  int skipped = 0;
  try {
    read_journal(path(), skipped);
    FAIL();
  } catch (const ReadError& error) {
    EXPECT_THAT(error.what(), HasSubstr("older roofmark (schema 1)"));
  }
}

TEST_F(JournalFile, AnotherSchemaVersionIsRefused) {
  overwrite(R"({"header":{"schema_version":99,"ceilings":[]}})"
            "\n");
  int skipped = 0;
  try {
    read_journal(path(), skipped);
    FAIL();
  } catch (const ReadError& error) {
    EXPECT_THAT(error.what(), HasSubstr("schema version 99"));
  }
}

TEST_F(JournalFile, AssembledResultSplitsMeasuredFromUnmeasured) {
  write_sample();
  int skipped = 0;
  roofmark::Run run = read_journal(path(), skipped);
  const Json result = assembled(run);
  ASSERT_EQ(result.at("benchmarks").size(), 1U) << result.at("unmeasured").dump();
  EXPECT_DOUBLE_EQ(result.at("benchmarks")[0].at("real_time").get<double>(), 1250);
  EXPECT_EQ(result.at("benchmarks")[0].at("time_unit"), "us");
  EXPECT_EQ(result.at("unmeasured").size(), 1U);
  EXPECT_EQ(result.at("complete"), true);
  // What was known before, what the run as a whole showed, and what its records show.
  ASSERT_EQ(result.at("findings").size(), 3U);
  EXPECT_EQ(result.at("findings")[0].at("text"), "known before");
  EXPECT_EQ(result.at("findings")[1].at("kind"), "foreign_process");
  EXPECT_EQ(result.at("findings")[1].at("doubt"), "all");
  EXPECT_EQ(result.at("findings")[1].at("found_by"), Json({"session", "counters"}));
  EXPECT_EQ(result.at("findings")[2].at("kind"), "throttle");
  EXPECT_EQ(result.at("findings")[2].at("doubt"), "nothing");
  EXPECT_EQ(result.at("findings")[2].at("found_by"), Json({"throttling"}));
}

TEST_F(JournalFile, AMessageAndWhatEachRankDidComeBack) {
  Record record = collective("all_reduce", 4096, 4, 1.5, 2e-5, "nccl", "in", {{"group", "node"}});
  record.message->trips = 2;
  record.message->pattern = Pattern::pairs;
  record.message->ring = {{{{resource::nvlink, 6144}, {resource::network, 6144}}}};
  record.work.phases.at(0).at(0).lighter = true;
  record.overlap = OverlapRole::together;
  record.message->groups = RankGroups::Groups{{0, 1}, {2, 3}};
  record.measurement->ranks = {RankTimes{1e-5, 2e-5, 1.5e-5, {}}, {}, RankTimes{2e-5, 3e-5, {}, 2.5e-5, 1.9e9}};
  record.measurement->ranks[2]->sm_clock_hz = 1.8e9;
  record.measurement->ranks[2]->temperature_celsius = 61;
  record.measurement->ranks[2]->memory_temperature_celsius = 72;
  record.measurement->ranks[2]->slowdown_margin_celsius = 23;
  record.measurement->ranks[2]->joules_per_launch = 0.5;
  record.measurement->ranks[0]->sustained.emplace().settled_rate = 60;
  record.measurement->ranks[0]->interval_low = 0.9e-5;
  record.measurement->ranks[0]->interval_high = 1.1e-5;
  record.fingerprint = Fingerprint{"h", "k", true, {1, 3}};
  record.verification_after = Verification::within(3, 0, "");
  record.verification_after->wrong = 17;
  Journal(path()).record(record);
  const std::string lines = text();
  fs::remove(path());
  Journal(path()).header({{}, {}, {}, {}});
  overwrite(text() + lines);
  int skipped = 0;
  const roofmark::Run run = read_journal(path(), skipped);
  ASSERT_EQ(run.records.size(), 1U);
  const Record& read = run.records[0];
  EXPECT_EQ(to_json(read), to_json(record));
  EXPECT_EQ(read.message->groups.all(), record.message->groups.all());
  EXPECT_EQ(read.measurement->ranks[0]->interval_low, 0.9e-5);
  EXPECT_EQ(read.measurement->ranks[0]->interval_high, 1.1e-5);
  EXPECT_FALSE(read.measurement->ranks[2]->interval_low);
  EXPECT_EQ(read.measurement->ranks[2]->sm_clock_hz, 1.8e9);
  EXPECT_EQ(read.measurement->ranks[2]->temperature_celsius, 61);
  EXPECT_EQ(read.measurement->ranks[2]->memory_temperature_celsius, 72);
  EXPECT_EQ(read.measurement->ranks[2]->slowdown_margin_celsius, 23);
  EXPECT_EQ(read.measurement->ranks[2]->joules_per_launch, 0.5);
  EXPECT_EQ(read.message->place, "in");
  EXPECT_EQ(read.message->pattern, Pattern::pairs);
  EXPECT_EQ(read.message->ring.total(resource::network), 6144);
  EXPECT_TRUE(read.work.phases.at(0).at(0).lighter);
  EXPECT_EQ(read.overlap, OverlapRole::together);
  EXPECT_EQ(read.measurement->ranks[2]->p99, 2.5e-5);
  EXPECT_EQ(read.measurement->ranks[2]->p95, std::nullopt);
  EXPECT_EQ(read.measurement->ranks[2]->clock_hz, 1.9e9);
  EXPECT_EQ(read.measurement->ranks[0]->sustained->settled_rate, 60);
  EXPECT_FALSE(read.measurement->ranks[2]->sustained);
  EXPECT_EQ(read.fingerprint->differing_ranks, (std::vector<int>{1, 3}));
  EXPECT_EQ(read.verification_after->wrong, 17U);
}

// Whatever else a measurement has or lacks.
TEST_F(JournalFile, NoSampleIsLostBesideTheRanks) {
  for (int optional = 0; optional < 32; ++optional) {
    Record record = collective("all_reduce", 1024, 2, 1, 1e-3);
    Measurement& measurement = *record.measurement;
    measurement.summary = {};
    if (optional & 1) measurement.summary.p5 = measurement.summary.p95 = 1e-3;
    if (optional & 2) measurement.summary.p99 = 1e-3;
    if (optional & 4) measurement.summary.cv = 0.1;
    if (optional & 8) measurement.summary.interval_low = measurement.summary.interval_high = 1e-3;
    if (optional & 16) measurement.clock_hz = 1e9;
    measurement.samples = {{0, 1e-3, 1e-3, 0, false}};
    measurement.ranks = {RankTimes{1e-3, 1e-3, {}, {}}, RankTimes{1e-3, 1e-3, {}, {}}};
    const Json written = to_json(record);
    const Json& samples = written.at("measurement").at("samples");
    ASSERT_TRUE(samples.is_object()) << written.dump();
    EXPECT_EQ(samples.at("seconds").size(), 1U);
    EXPECT_EQ(written.at("measurement").at("ranks").size(), 2U);
  }
}

TEST_F(JournalFile, ARecoveredFileHasTheStragglersOfATeam) {
  {
    Journal journal(path());
    journal.header({{}, {}, {}, members({"A", "B", "C"})});
    for (const Record& record : ping_pong(3, {8, 1'000'000}, [](int, int b, std::size_t bytes) {
           return (b == 2 ? 10 : 1) * (1e-5 + static_cast<double>(bytes) / 1e9);
         })) {
      journal.record(record);
    }
  }
  int skipped = 0;
  roofmark::Run run = read_journal(path(), skipped);
  const Json result = assembled(run);
  ASSERT_EQ(result.at("team").size(), 3U);
  EXPECT_EQ(result.at("team")[2].at("host"), "C");
  EXPECT_EQ(result.at("communication").at("pairs").size(), 6U);
  EXPECT_EQ(result.at("communication").at("fits").size(), 1U);
  EXPECT_EQ(result.at("communication").at("slow"), "slow: rank 2 (C) (10.00 times the median)");
  ASSERT_EQ(result.at("findings").size(), 1U);
  EXPECT_EQ(result.at("findings")[0].at("kind"), "slow_rank");
  EXPECT_THAT(result.at("findings")[0].at("text").get<std::string>(), HasSubstr("rank 2 (C)"));
  run.header.ranks.clear();
  EXPECT_FALSE(assembled(run).contains("communication"));
}

RunHeader header_of(const std::string& suite) {
  RunHeader header;
  header.facts.suite = suite;
  header.scope = {52, 2, {"--filter 'gemm'"}, "A selection of the quick suite: 2 of 52 cases (--filter 'gemm')"};
  header.health = {{"ECC", "on", ""}, {"CPU governor", "powersave", "the clock follows the load", 3}};
  header.timing_overhead_seconds = 1.5e-6;
  return header;
}

TEST_F(JournalFile, TheScopeIsTheFirstLineOfTheFileAndTheHealthComesBack) {
  Journal(path()).header(header_of("quick"));
  int skipped = 0;
  roofmark::Run run = read_journal(path(), skipped);
  const Json result = assembled(run);
  EXPECT_EQ(result.begin().key(), "scope");
  EXPECT_EQ(result.at("scope").at("suite_cases"), 52);
  EXPECT_EQ(result.at("scope").at("text"), header_of("quick").scope.text);
  EXPECT_EQ(
      result.at("health").dump(),
      R"([{"what":"ECC","state":"on"},{"what":"CPU governor","state":"powersave","advice":"the clock follows the load","rank":3}])");
}

TEST_F(JournalFile, ARunThatWasKilledNamesTheCaseInWhichItEnded) {
  {
    Journal journal(path());
    journal.header(header_of("quick"));
    journal.begun("stream/copy");
    Record first = sample_record();
    journal.record(first);
    journal.begun("gemm/bf16");
  }
  int skipped = 0;
  roofmark::Run run = read_journal(path(), skipped);
  EXPECT_EQ(skipped, 0);
  Json result = assembled(run);
  EXPECT_EQ(result.at("ended").at("case"), "gemm/bf16");
  EXPECT_EQ(result.at("verdict").at("level"), "bad");
  EXPECT_THAT(result.at("verdict").at("headline").get<std::string>(),
              testing::StartsWith(
                  "The run was cut off in gemm/bf16: no end is recorded: the run is still going, was killed, could not write, "
                  "or the machine went down; 1 ok, 1 not reached (2 of 52 cases, --filter 'gemm')"));

  run.footer = RunFooter{"2026-01-02T03:04:05Z", false, false, {}, {}, 20, {}, {}};
  run.footer->ended = RunEnd{"no progress for 120 s", "gemm/bf16"};
  result = assembled(run);
  EXPECT_EQ(result.at("ended").dump(), R"({"reason":"no progress for 120 s","case":"gemm/bf16"})");
  EXPECT_EQ(to_json(footer_from_json(JsonText(to_json(*run.footer).dump()).root())), to_json(*run.footer));
  run.footer->complete = true;
  run.footer->ended.reset();
  result = assembled(run);
  EXPECT_FALSE(result.contains("ended"));
}

/// A run that is killed ends without a footer: what it had seen stands in its journal all the same.
TEST_F(JournalFile, WhatWasSeenOfTheDeviceSurvivesAKill) {
  const auto series = [](double from) {
    TelemetrySeries made{0.05, "averaged by the driver", {}, from, false};
    for (const double seconds : {from, from + 0.05}) made.readings.push_back({seconds, {}});
    for (Reading& reading : made.readings) reading.state.power_watts = 100 * reading.seconds;
    return made;
  };
  {
    Journal journal(path());
    journal.header({{}, {}, {}, {}});
    journal.seen({{}, {{"xid", 0, 2.0, {}}}});
    journal.seen({series(1), {}});
    journal.record(sample_record());
    journal.seen({{}, {}});
    journal.seen({series(2), {}});
  }
  int skipped = 0;
  roofmark::Run run = read_journal(path(), skipped);
  EXPECT_EQ(skipped, 0);
  ASSERT_EQ(run.seen.telemetry.readings.size(), 4u);
  EXPECT_EQ(run.seen.telemetry.readings[3].seconds, 2.05);
  EXPECT_EQ(run.seen.telemetry.cpu_seconds, 2) << "of the last line";
  ASSERT_EQ(run.seen.counters.size(), 1u);
  EXPECT_EQ(run.seen.counters[0].before, 2);
  const Json result = assembled(run);
  EXPECT_EQ(result.at("telemetry").at("rows").size(), 4u);
  EXPECT_EQ(result.at("telemetry").at("power"), "averaged by the driver");
  EXPECT_EQ(result.at("counters").at(0).at("before"), 2);
  EXPECT_EQ(result.at("counters").at(0).at("title"), find_counter(run.seen.counters[0].id)->title);
  EXPECT_FALSE(result.at("counters").at(0).contains("worse"));
}

TEST(RunJson, OfTheReadingsOfADayAFileHasSomeAndTheSlowestClock) {
  RunFooter footer;
  footer.telemetry.period_seconds = 0.05;
  for (int i = 0; i < 24 * 3600 * 20; ++i) {
    Telemetry state;
    state.sm_clock_hz = i == 777'777 ? 1e9 : 2e9;
    footer.telemetry.readings.push_back({0.05 * i, state});
  }
  const RunFooter read = footer_from_json(JsonText(to_json(footer).dump()).root());
  const std::vector<Reading>& kept = read.telemetry.readings;
  EXPECT_LE(kept.size(), 100'000U);
  EXPECT_GT(kept.size(), 50'000U);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const Reading& one) { return one.state.sm_clock_hz == 1e9; }), 1);
  footer.telemetry.readings.resize(72'000);
  EXPECT_EQ(to_json(footer).at("telemetry").at("rows").size(), 72'000U) << "an hour";
}

TEST_F(JournalFile, AFindingKeepsItsSizeAndItsHeadline) {
  RunHeader header = header_of("quick");
  header.findings = {{FindingKind::foreign_process, "busy", "", 1.02, "other programs used 1.02 cores", {3, 5}}};
  Journal(path()).header(header);
  int skipped = 0;
  roofmark::Run run = read_journal(path(), skipped);
  EXPECT_EQ(run.header.findings.at(0).size, 1.02);
  EXPECT_EQ(run.header.findings.at(0).ranks, (std::vector{3, 5}));
  EXPECT_THAT(conclude(run).verdict.headline, HasSubstr("the roofs are in doubt: other programs used 1.02 cores"));
}

TEST_F(JournalFile, WhatAFullDiskDidNotTakeIsWrittenBeforeTheNextLine) {
  rlimit whole{};
  ::getrlimit(RLIMIT_FSIZE, &whole);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  {
    Journal journal(path());
    journal.header({{}, {}, {}, {}});
    const rlimit full{fs::file_size(path()) + 100, whole.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
    journal.record(sample_record());
    EXPECT_THAT(journal.error(), HasSubstr("cannot write " + path().string()));
    ::setrlimit(RLIMIT_FSIZE, &whole);
    journal.record(sample_record());
    EXPECT_EQ(journal.error(), "");
  }
  std::signal(SIGXFSZ, old);
  int skipped = 0;
  EXPECT_EQ(read_journal(path(), skipped).records.size(), 2U);
  EXPECT_EQ(skipped, 0);
}

TEST_F(JournalFile, ReplacingAFileKeepsTheOldOneWhenItCannotBeWritten) {
  const fs::path target = folder_ / "result.json";
  write_file(target, "old");
  EXPECT_THAT([&] { write_file(folder_ / "missing" / "result.json", "new"); },
              testing::ThrowsMessage<WriteError>(HasSubstr("missing/result.json: ")));
  write_file(target, "new");
  std::ifstream file(target);
  std::string content;
  file >> content;
  EXPECT_EQ(content, "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);  // no temporary file is left
}

TEST_F(JournalFile, ALinkThatTheUserNamedStaysALink) {
  write_file(folder_ / "file.json", "old");
  fs::create_symlink("file.json", folder_ / "link.json");
  write_named_file(folder_ / "link.json", "newer");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.json"));
  EXPECT_EQ(fs::file_size(folder_ / "file.json"), 5U);
}

TEST_F(JournalFile, AnyOtherLinkIsReplacedAndNotFollowed) {
  write_file(folder_ / "file.json", "old");
  for (const char* target : {"file.json", "missing", "."}) {
    fs::remove(folder_ / "link.json");
    fs::create_symlink(target, folder_ / "link.json");
    write_file(folder_ / "link.json", "newer");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / "link.json"))) << target;
  }
  EXPECT_EQ(fs::file_size(folder_ / "file.json"), 3U);
  EXPECT_FALSE(fs::exists(folder_ / "missing"));
}

TEST_F(JournalFile, TheTemporaryFileFollowsNoLinkAndReplacesALeftOne) {
  write_file(folder_ / "file.json", "old");
  const fs::path temporary = folder_ / ("new.json." + std::to_string(::getpid()) + ".tmp");
  fs::create_symlink("file.json", temporary);
  write_file(folder_ / "new.json", "newer");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / "new.json")));
  std::ofstream(temporary) << "left behind";
  write_file(folder_ / "new.json", "new");
  EXPECT_EQ(fs::file_size(folder_ / "new.json"), 3U);
  EXPECT_EQ(fs::file_size(folder_ / "file.json"), 3U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(JournalFile, WhatCannotBeWrittenIsFoundBeforeThereIsAnythingToWrite) {
  check_writable(folder_ / "new.json");
  EXPECT_FALSE(fs::exists(folder_ / "new.json"));
  write_file(folder_ / "old.json", "old");
  check_writable(folder_ / "old.json");
  EXPECT_EQ(fs::file_size(folder_ / "old.json"), 3U);
  EXPECT_THROW(check_writable(folder_), WriteError);
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(check_writable(folder_ / "pipe"), WriteError);
  EXPECT_THROW(check_writable(folder_ / "missing" / "new.json"), WriteError);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);  // no temporary file is left
}

TEST(WriteFile, AFullDiskIsSaidAndLosesNothing) {
  const fs::path folder = fs::temp_directory_path() / ("roofmark_full_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "result.json") << "old";
  // A limit on the size of files is as a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{2, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file(folder / "result.json", "new"), WriteError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  std::ifstream file(folder / "result.json");
  std::string content;
  file >> content;
  EXPECT_EQ(content, "old");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace roofmark
