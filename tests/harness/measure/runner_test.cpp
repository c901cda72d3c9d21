// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: every rule of the timing loop, with one fake device.
#include "harness/measure/runner.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "harness/measure/agreement.hpp"
#include "harness/measure/slots.hpp"
#include "harness/model/statistics.hpp"
#include "harness/team/json.hpp"
#include "tests/harness/fake_measure.hpp"
#include "tests/harness/fake_telemetry.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;

class Measure : public testing::Test {
 protected:
  Case make_case(
      const std::function<void(FakePrepared&)>& adjust = [](FakePrepared&) {}, std::string operation = "fake") {
    Case c = fake_case(
        [adjust](const roofmark::Setup& setup) {
          auto prepared = std::make_unique<FakePrepared>();
          prepared->memory = setup.device.allocate(static_cast<std::size_t>(setup.slots) * 50);
          adjust(*prepared);
          return prepared;
        },
        std::move(operation));
    c.work = {{{{resource::dram, 50}}}};
    return c;
  }

  Runner runner() { return runner(team); }
  Runner runner(Team& with) { return Runner(device, with, settings_for(device)); }

  Record measure(Case c) { return runner().run({{std::move(c)}, {}}, 1).front(); }

  FakeDevice device;
  SoloTeam team;
};

TEST_F(Measure, LongLaunchesAreSampledSingly) {
  const Record record = measure(make_case());
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_EQ(record.measurement->launches_per_sample, 1);
  EXPECT_DOUBLE_EQ(record.measurement->summary.median, 1e-3);
  EXPECT_TRUE(record.measurement->settled);
  EXPECT_EQ(record.measurement->blocks.size(), 5U);
  EXPECT_EQ(record.measurement->stopped_by, StopReason::interval);
}

TEST_F(Measure, ShortLaunchesShareASampleOfAMillisecond) {
  device.seconds = [](int) { return 30e-6; };
  const Record record = measure(make_case());
  EXPECT_EQ(record.measurement->launches_per_sample, 34);
  EXPECT_NEAR(record.measurement->summary.median, 30e-6, 1e-12);
  EXPECT_DOUBLE_EQ(record.measurement->samples.front().host_seconds, 10e-6 / 34) << "of one launch";
}

TEST_F(Measure, AGraphHoldsMoreLaunchesThanTheGateAndUsesEverySlotAlike) {
  device.seconds = [](int) { return 1e-6; };
  Case c = make_case();
  c.protocol.issue = Issue::graph;
  EXPECT_EQ(measure(c).measurement->launches_per_sample, 1008);  // of 9 slots
  c.protocol.launches = 20;
  EXPECT_EQ(measure(c).measurement->launches_per_sample, 20);
}

TEST_F(Measure, ALaunchOfSeveralExecutionsHasTheTimeOfOne) {
  Case c = make_case();
  c.protocol.launches = 2;
  c.protocol.executions = 4;
  const Record record = measure(c);
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_EQ(record.measurement->launches_per_sample, 8);
  EXPECT_DOUBLE_EQ(record.measurement->summary.median, 0.25e-3) << "of the millisecond that a launch takes";
}

TEST_F(Measure, TheTimeOfEachFamilyIsKept) {
  Runner runner = this->runner();
  Case other = make_case();
  other.family = "other";
  runner.run({{make_case()}, {}}, 1);
  runner.run({{other}, {}}, 1);
  runner.run({{other}, {}}, 1);
  const std::map<std::string, double>& families = runner.wall_time().families;
  ASSERT_EQ(families.size(), 2U);
  EXPECT_GT(families.at("test"), 0);
  EXPECT_GT(families.at("other"), 1.5 * families.at("test"));
}

TEST_F(Measure, NoMoreLaunchesThanTheGateHolds) {
  device.seconds = [](int) { return 1e-9; };
  EXPECT_EQ(measure(make_case()).measurement->launches_per_sample, 128);
}

TEST_F(Measure, TheBudgetIsKeptAsWellAsWholeSamplesCan) {
  // Ten samples fit, and a part of one: two in each of five blocks.
  device.seconds = [](int launch) { return 24e-3 * (1 + 0.5 * ((launch * 7919) % 100 / 99.0 - 0.5)); };
  Settings settings = settings_for(device);
  settings.effort.max_seconds = 0.25;
  const Record record = Runner(device, team, settings).run({{make_case()}, {}}, 1).front();
  EXPECT_EQ(record.measurement->stopped_by, StopReason::budget);
  EXPECT_EQ(record.measurement->samples.size(), 10U);
}

TEST_F(Measure, SpreadAsksForMoreSamplesUntilTheBudgetEndsIt) {
  device.seconds = [](int launch) { return 1e-3 * (1 + 0.02 * ((launch * 7919) % 100 / 99.0 - 0.5)); };
  const Record narrow = measure(make_case());
  device.seconds = [](int launch) { return 1e-3 * (1 + 0.9 * ((launch * 7919) % 100 / 99.0 - 0.5)); };
  const Record wide = measure(make_case());
  EXPECT_EQ(narrow.measurement->stopped_by, StopReason::interval);
  EXPECT_EQ(wide.measurement->stopped_by, StopReason::budget);
  EXPECT_GT(wide.measurement->samples.size(), narrow.measurement->samples.size());
  EXPECT_LE(wide.measurement->samples.size(), 1005U);  // one second of a millisecond each, whole blocks
}

TEST_F(Measure, AsManySamplesAsFitAFileAreTaken) {
  device.seconds = [](int launch) { return 1e-3 * (1 + 0.9 * ((launch * 7919) % 100 / 99.0 - 0.5)); };
  Settings settings = settings_for(device);
  settings.effort.max_samples = 40;
  for (const double longer : {1.0, 3.0}) {
    settings.effort.longer = longer;
    const Record record = Runner(device, team, settings).run({{make_case()}, {}}, 1).front();
    EXPECT_EQ(record.measurement->samples.size(), static_cast<std::size_t>(40 * longer));
    EXPECT_EQ(record.measurement->stopped_by, StopReason::budget);
  }
}

// What `accept` advises for a limit within the interval: --max-seconds four times the suite's.
TEST_F(Measure, ALongerBudgetNarrowsTheIntervalOfACaseThatTheIntervalStopped) {
  device.seconds = [](int launch) {
    const auto mixed = static_cast<std::uint32_t>(launch) * 2654435761U;
    return 1e-3 * (1 + 0.02 * (static_cast<double>(mixed >> 8) / (1 << 24) - 0.5));
  };
  const auto measure_with = [&](double budget, double longer) {
    Settings settings = settings_for(device);
    settings.effort.max_seconds = budget;
    settings.effort.longer = longer;
    return *Runner(device, team, settings).run({{make_case()}, {}}, 1).front().measurement;
  };
  const auto width = [](const Measurement& measurement) {
    return *measurement.summary.interval_high - *measurement.summary.interval_low;
  };
  double short_width = 0, long_width = 0;
  std::size_t samples = 0, long_samples = 0;
  for (int run = 0; run < 20; ++run) {
    const Measurement once = measure_with(1, 1), longer = measure_with(16, 16);
    ASSERT_EQ(once.stopped_by, StopReason::interval);
    ASSERT_EQ(longer.stopped_by, StopReason::interval);
    ASSERT_EQ(once.blocks.size(), 5U);
    ASSERT_EQ(longer.blocks.size(), 80U) << "more samples in five blocks would not narrow it";
    samples += once.samples.size();
    long_samples += longer.samples.size();
    short_width += width(once);
    long_width += width(longer);
  }
  EXPECT_NEAR(static_cast<double>(long_samples) / static_cast<double>(samples), 16, 3);
  EXPECT_LT(long_width, short_width / 2.5);
}

TEST_F(Measure, ALaunchLongerThanTheBudgetIsStillMeasuredWithAnInterval) {
  device.seconds = [](int) { return 30.0; };
  const Record record = measure(make_case());
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_EQ(record.measurement->samples.size(), 5U);
  EXPECT_EQ(record.measurement->blocks.size(), 5U);
  EXPECT_TRUE(record.measurement->summary.interval_low);
}

TEST_F(Measure, ColdSlotsRotateAndExceedFourTimesTheCache) {
  const Record record = measure(make_case());
  EXPECT_EQ(record.measurement->slots, 9);  // 9 x 50 > 4 x 100
  EXPECT_EQ(record.measurement->cache_by, "slots");
  EXPECT_EQ(record.memory_bytes, 450U);
  EXPECT_EQ(std::set<int>(device.slots_seen.begin(), device.slots_seen.end()).size(), 9U);
}

TEST_F(Measure, WithTooLittleMemoryForSlotsTheCachesAreFlushed) {
  device.device.free_bytes = 120;
  const Record record = measure(make_case());
  EXPECT_EQ(record.measurement->slots, 2);
  EXPECT_EQ(record.measurement->cache_by, "flush");
  EXPECT_GT(device.flushes, 0);
}

TEST_F(Measure, TheCachesOfAHostAreNotFlushed) {
  device.device.free_bytes = 120;
  Case c = make_case();
  c.host_slot_bytes = 50;
  const Record record = measure(c);
  EXPECT_EQ(record.status, Status::not_run) << "too few slots fit to keep them cold";
  EXPECT_THAT(record.reason, HasSubstr("out of memory"));
  EXPECT_EQ(device.flushes, 0) << "it would evict those of the device alone";
}

TEST_F(Measure, ShortLaunchesAreNotFlushedAndSaySo) {
  device.device.free_bytes = 120;
  device.seconds = [](int) { return 10e-6; };
  EXPECT_EQ(measure(make_case()).measurement->cache_by, "partly");
  EXPECT_EQ(device.flushes, 0);
}

TEST_F(Measure, CachesAreEvictedOnceForACaseThatDoesNotFillThem) {
  Case c = make_case([&](FakePrepared& p) {
    p.evicted = true;
    p.on_verify = [this](int) {
      EXPECT_LE(device.flushes, 1);
      return Verification::within(0, 1, "error");
    };
  });
  c.protocol.cache = Cache::warm;
  EXPECT_EQ(measure(c).status, Status::ok);
  EXPECT_EQ(device.flushes, 1);
}

TEST_F(Measure, WarmCasesHaveOneSlot) {
  Case c = make_case();
  c.protocol.cache = Cache::warm;
  const Record record = measure(c);
  EXPECT_EQ(record.measurement->slots, 1);
  EXPECT_EQ(record.measurement->cache_by, "warm");
}

TEST_F(Measure, AWrongResultHasNoNumber) {
  const Record record =
      measure(make_case([](FakePrepared& p) { p.on_verify = [](int) { return Verification::within(3, 1, "units of u"); }; }));
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_FALSE(record.measurement);
  EXPECT_THAT(record.reason, HasSubstr("error 3, allowed 1"));
}

TEST_F(Measure, ANaNErrorIsWrong) {
  const Record record =
      measure(make_case([](FakePrepared& p) { p.on_verify = [](int) { return Verification::within(std::nan(""), 1, "u"); }; }));
  EXPECT_EQ(record.status, Status::wrong);
}

TEST_F(Measure, AResultThatTurnsWrongWhileTimedHasNoNumber) {
  device.hash_value = [hashes = 0]() mutable { return ++hashes > 3 ? 2 : 1; };
  auto calls = std::make_shared<int>(0);
  const Record record = measure(make_case(
      [calls](FakePrepared& p) { p.on_verify = [calls](int) { return Verification::within(++*calls > 1 ? 2 : 0, 1, "u"); }; }));
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_FALSE(record.measurement);
  EXPECT_EQ(record.verification_before->status, Verification::Status::passed);
}

TEST_F(Measure, BitsThatWereVerifiedNeedNoSecondLook) {
  auto calls = std::make_shared<int>(0);
  const auto counting = make_case([calls](FakePrepared& p) {
    p.on_verify = [calls](int) { return Verification::within(++*calls > 1 ? 2 : 0.5, 1, "u"); };
  });
  const Record record = measure(counting);
  EXPECT_EQ(record.status, Status::ok);
  EXPECT_EQ(*calls, 1);
  EXPECT_EQ(record.verification_after->error, 0.5);
}

TEST_F(Measure, BitsOfAPartOfTheResultStandForThatPartAlone) {
  auto calls = std::make_shared<int>(0);
  const Record record = measure(make_case([calls](FakePrepared& p) {
    p.outputs_all = false;
    p.on_verify = [calls](int) { return Verification::within(++*calls > 1 ? 2 : 0.5, 1, "u"); };
  }));
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_EQ(*calls, 2);
}

TEST_F(Measure, TheLastSlotIsVerifiedAfterwards) {
  device.hash_value = [bits = std::uint64_t{0}]() mutable { return ++bits; };
  auto slots = std::make_shared<std::vector<int>>();
  measure(make_case([slots](FakePrepared& p) {
    p.on_verify = [slots](int slot) {
      slots->push_back(slot);
      return Verification::within(0, 1, "u");
    };
  }));
  EXPECT_EQ(*slots, (std::vector<int>{0, 8}));
}

TEST_F(Measure, DifferentBitsHaveNoFingerprint) {
  std::uint64_t next = 0;
  device.hash_value = [&] { return ++next; };
  const Record record = measure(make_case());
  EXPECT_FALSE(record.fingerprint->deterministic);
  EXPECT_TRUE(record.fingerprint->hash.empty());
}

TEST_F(Measure, AFingerprintIsOfEveryByte) {
  device.hashes_bytes = true;
  // The two differ in their last bytes.
  const Record record = measure(
      make_case([](FakePrepared& p) { p.on_launch = [&value = p.value](int) { value = value == 1.0F ? 2.0F : 1.0F; }; }));
  ASSERT_TRUE(record.fingerprint);
  EXPECT_FALSE(record.fingerprint->deterministic);
}

TEST_F(Measure, EqualBitsHaveOne) {
  const Record record = measure(make_case());
  EXPECT_TRUE(record.fingerprint->deterministic);
  EXPECT_EQ(record.fingerprint->hash, "0000000000000001");
}

TEST_F(Measure, ARecordSaysWhatItsCaseIsAndTakes) {
  const Memory of_others = device.allocate(30);
  Case c = make_case();
  c.transfer = Transfer{64, {{host_endpoint(), gpu_endpoint(0)}}};
  c.message.emplace().bytes = 64;
  c.overlap = OverlapRole::together;
  c.sets_ceiling = {resource::dram};
  const Record record = runner().run({{c}, {}}, 2).front();
  EXPECT_EQ(record.memory_bytes, 9U * 50) << "nine slots, without what others hold";
  EXPECT_TRUE(record.transfer && record.transfer->bytes == 64);
  EXPECT_TRUE(record.message && record.message->bytes == 64);
  EXPECT_EQ(record.overlap, OverlapRole::together);
  EXPECT_TRUE(record.sets_ceiling && record.sets_ceiling->resource == resource::dram);
  EXPECT_EQ(record.pass, 2);
  EXPECT_EQ(record.measurement->cache, Cache::cold);
}

TEST_F(Measure, TooLittleFreeMemoryIsNotRunAndSaysHowMuch) {
  device.device.free_bytes = 40;
  const Record record = measure(make_case());
  EXPECT_EQ(record.status, Status::not_run);
  EXPECT_THAT(record.reason, HasSubstr("50 bytes wanted, 36 free"));
}

// 89 % of what was free are listed. Beside other GPUs NCCL's buffers take a gigabyte before it runs.
TEST_F(Measure, WhatLibrariesTakeComesFromTheRestOfTheFreeMemory) {
  Case c = make_case();
  c.protocol.cache = Cache::warm;
  c.slot_bytes = 890;
  device.taken_bytes = 40;
  const Record record = measure(c);
  EXPECT_EQ(record.status, Status::ok) << record.reason;
}

TEST_F(Measure, HalfOfTheRestStaysFree) {
  Case c = make_case();
  c.protocol.cache = Cache::warm;
  c.slot_bytes = 890;
  device.taken_bytes = 100;
  const Record record = measure(c);
  EXPECT_EQ(record.status, Status::not_run);
  EXPECT_THAT(record.reason, HasSubstr("890 bytes wanted, 855 free"));
}

TEST_F(Measure, ASmallShareFitsWhereOthersTakeMost) {
  Case c = make_case();
  c.protocol.cache = Cache::warm;
  Settings settings = settings_for(device);
  settings.memory_fraction = 0.1;
  device.taken_bytes = 800;
  EXPECT_EQ(Runner(device, team, settings).run({{c}, {}}, 1).front().status, Status::ok);
}

TEST_F(Measure, MoreThanTheDeviceHasIsUnsupported) {
  Case c = make_case();
  c.slot_bytes = 2000;
  const Record record = measure(c);
  EXPECT_EQ(record.status, Status::unsupported);
  EXPECT_EQ(record.reason, "needs 2.00 kB, the device has 1.00 kB");
}

Case sized_case(std::string name, std::size_t slot_bytes, Cache cache) {
  Case c = fake_case({}, std::move(name));
  c.slot_bytes = slot_bytes;
  c.protocol.cache = cache;
  return c;
}

// 100 bytes of cache: slots of 50 bytes are cold by 9.
TEST(DivideMemory, GivesEachCaseWhatItNeeds) {
  const Case large = sized_case("large", 600, Cache::warm), small = sized_case("small", 50, Cache::cold);
  EXPECT_THAT(divide_memory({&large, &small}, {100}, 2000), testing::ElementsAre(600, 450));
  EXPECT_THAT(divide_memory({&large, &small}, {100}, 700), testing::ElementsAre(600, 100));
  EXPECT_THAT(divide_memory({}, {100}, 700), testing::IsEmpty());
}

TEST(DivideMemory, MemoryThatIsShortIsSharedByWhatEachWants) {
  const Case a = sized_case("a", 50, Cache::cold), b = sized_case("b", 100, Cache::cold);
  EXPECT_EQ(plan_slots(b, {100}, 10000).slots, 5);
  EXPECT_THAT(divide_memory({&a, &b}, {100}, 550), testing::ElementsAre(250, 300));  // 50 + 400 / 2, 100 + 400 / 2
}

// 100 bytes of cache on the device and 300 on its host.
TEST(PlanSlots, ColdIsColdOnBothSides) {
  Case c = sized_case("both", 50, Cache::cold);
  EXPECT_EQ(plan_slots(c, {100, 300}, 10000).slots, 9) << "nothing of it is in the host's memory";
  c.host_slot_bytes = 50;
  EXPECT_EQ(plan_slots(c, {100, 300}, 10000).slots, 25);
  EXPECT_EQ(plan_slots(c, {300, 100}, 10000).slots, 25);
  EXPECT_EQ(plan_slots(c, {100, 300}, 10000).cache_by, "slots");
  c.host_slot_bytes = 1200;
  EXPECT_EQ(plan_slots(c, {100, 300}, 10000).slots, 9) << "in the host's memory each is cold by its size";
  EXPECT_EQ(plan_slots(c, {10, 300}, 10000).cache_by, "size");
  c.protocol.cache = Cache::warm;
  EXPECT_EQ(plan_slots(c, {100, 300}, 10000).slots, 1);
}

TEST(PlanSlots, ThatAreTooManyOrDoNotFitAreWarmInPart) {
  Case c = sized_case("both", 50, Cache::cold);
  c.host_slot_bytes = 50;
  EXPECT_EQ(plan_slots(c, {100, 300}, 1249).cache_by, "partly");
  EXPECT_EQ(plan_slots(c, {100, 300}, 1250).cache_by, "slots");
  c.protocol.most_slots = 24;
  const SlotPlan plan = plan_slots(c, {100, 300}, 10000);
  EXPECT_EQ(plan.slots, 24);
  EXPECT_EQ(plan.cache_by, "partly");
}

TEST(DivideMemory, ACaseThatDoesNotFitTakesNothingFromTheOthers) {
  const Case large = sized_case("large", 600, Cache::warm), small = sized_case("small", 50, Cache::warm);
  const auto shares = divide_memory({&small, &large, &small}, {100}, 500);
  EXPECT_EQ(shares[0], 50);
  EXPECT_LT(shares[1], 600);
  EXPECT_EQ(shares[2], 50);
}

TEST_F(Measure, ALargeCaseFitsBesideASmallOne) {
  Group group{{make_case(), make_case([](FakePrepared&) {}, "large")}, {}};
  group.cases[1].slot_bytes = 600;
  const auto records = runner().run(group, 1);
  EXPECT_EQ(records[0].status, Status::ok) << records[0].reason;
  EXPECT_EQ(records[1].status, Status::ok) << records[1].reason;
  EXPECT_EQ(records[0].measurement->slots, 6);  // 300 of 0.9 x 1000 bytes are left
}

TEST_F(Measure, OneFailureLeavesTheOthersAndAStickyOneEndsAll) {
  Group group;
  group.cases.push_back(make_case([](FakePrepared&) { throw std::runtime_error("no algorithm"); }, "broken"));
  group.cases.push_back(make_case());
  const auto records = runner().run(group, 1);
  EXPECT_EQ(records[0].status, Status::failed);
  EXPECT_EQ(records[1].status, Status::ok);

  group.cases[0] = make_case([](FakePrepared& p) { p.on_launch = [](int) { throw DeviceError("ECC", true); }; }, "broken");
  Runner broken = runner();
  const auto lost = broken.run(group, 1);
  EXPECT_TRUE(broken.device_lost());
  EXPECT_EQ(lost[0].status, Status::failed);
  EXPECT_EQ(lost[1].status, Status::not_run);
  EXPECT_EQ(lost[1].reason, "device lost to " + lost[0].name());

  device.lost = true;
  const auto later = broken.run({{make_case()}, {}}, 1);
  EXPECT_EQ(later[0].status, Status::not_run);
  EXPECT_EQ(later[0].reason, "device lost to " + lost[0].name());
}

// A library's failure does not say that the context is gone.
TEST_F(Measure, AfterTheFailureOfALibraryTheDeviceIsAsked) {
  Group group;
  group.cases.push_back(make_case(
      [this](FakePrepared& p) {
        p.on_launch = [this](int) {
          device.lost = true;
          throw DeviceError("CUBLAS_STATUS_EXECUTION_FAILED", false);
        };
      },
      "broken"));
  group.cases.push_back(make_case());
  Runner broken = runner();
  const auto records = broken.run(group, 1);
  EXPECT_TRUE(broken.device_lost());
  EXPECT_EQ(records[0].status, Status::failed);
  EXPECT_EQ(records[1].reason, "device lost to " + records[0].name());
}

TEST_F(Measure, ADeviceThatIsLostBetweenTwoCasesEndsTheRun) {
  Runner broken = runner();
  EXPECT_EQ(broken.run({{make_case()}, {}}, 1).front().status, Status::ok);
  device.lost = true;
  const Record next = broken.run({{make_case()}, {}}, 1).front();
  EXPECT_EQ(next.status, Status::not_run);
  EXPECT_EQ(next.reason, "device lost to what ran before " + next.name());
}

TEST_F(Measure, BlocksOfAGroupAlternate) {
  std::vector<int> order;
  Group group;
  group.cases.push_back(make_case([&](FakePrepared& p) { p.on_launch = [&](int) { order.push_back(0); }; }, "a"));
  group.cases.push_back(make_case([&](FakePrepared& p) { p.on_launch = [&](int) { order.push_back(1); }; }, "b"));
  runner().run(group, 1);
  int changes = 0;
  for (std::size_t i = 1; i < order.size(); ++i) changes += order[i] != order[i - 1];
  EXPECT_GE(changes, 9);  // five blocks of two
}

TEST_F(Measure, VoidSamplesAreCountedAndLeftOut) {
  device.valid = [](int batch) { return batch % 10 != 0; };
  const Record record = measure(make_case());
  ASSERT_EQ(record.status, Status::ok);
  EXPECT_GT(record.measurement->void_samples, 0);
}

TEST_F(Measure, OnlyVoidSamplesIsAFailure) {
  device.valid = [](int) { return false; };
  EXPECT_EQ(measure(make_case()).status, Status::failed);
}

TEST_F(Measure, ATimeOfNothingIsAFailure) {
  device.seconds = [](int launch) { return launch % 7 == 6 ? 0 : 1e-3; };
  Case c = make_case();
  c.protocol.launches = 1;
  EXPECT_EQ(measure(c).status, Status::failed);
}

TEST_F(Measure, OperandsAreRestoredBeforeEachSampleWhereTheyAreOverwritten) {
  measure(make_case([](FakePrepared& p) { p.resetting = true; }));
  EXPECT_EQ(device.restores, device.batches);
}

TEST_F(Measure, EveryCandidateIsTimedAndAFailingOneTakesInfinitelyLong) {
  double now = 0;
  device.seconds = [&](int) { return now; };
  const Launch slow = [&](Stream, int) { now = 2e-3; };
  const Launch fast = [&](Stream, int) { now = 1e-6; };
  int made = 0;
  const Launch failing = [&](Stream, int) {
    if (++made == 5) throw DeviceError("no such algorithm", false);
  };
  const std::vector<double> seconds = time(device, team, {slow, failing, fast});
  ASSERT_EQ(seconds.size(), 3U);
  EXPECT_NEAR(seconds[0], 2e-3, 1e-12);
  EXPECT_TRUE(std::isinf(seconds[1]));
  EXPECT_NEAR(seconds[2], 1e-6, 1e-12);

  made = 0;
  EXPECT_THROW(time(device, team, {failing}), DeviceError);
  const Launch losing = [](Stream, int) { throw DeviceError("lost", true); };
  EXPECT_THROW(time(device, team, {fast, losing}), DeviceError);
  device.valid = [](int) { return false; };
  EXPECT_THROW(time(device, team, {fast}), DeviceError);
}

TEST_F(Measure, CandidatesAreTimedAsTheirCaseIs) {
  device.seconds = [](int) { return 0.25e-3; };
  const std::vector<Launch> one(1, [](Stream, int) {});
  EXPECT_DOUBLE_EQ(time_candidates(device, team, settings_for(device), one, {}, 3, [] {}).front(), 0.25e-3);
  EXPECT_THAT(device.slots_seen, testing::Contains(2)) << "on operands as cold";
  EXPECT_NEAR(device.launches, 4.0 * device.batches, 6) << "in samples of a millisecond, but for the first two";
}

// A power cap: half as fast after 30 ms of load.
TEST_F(Measure, EveryCandidateBeginsRested) {
  double load = 0;
  device.seconds = [&](int) {
    load += load < 30e-3 ? 1e-3 : 2e-3;
    return load < 30e-3 ? 1e-3 : 2e-3;
  };
  const std::vector<Launch> equal(3, [](Stream, int) {});
  const auto timed = [&](const std::function<void()>& rest) {
    load = 0;
    return time_candidates(device, team, settings_for(device), equal, {}, 1, rest);
  };
  EXPECT_THAT(timed([&] { load = 0; }), testing::Each(testing::DoubleNear(1e-3, 1e-9)));
  EXPECT_NEAR(timed([] {})[2], 2e-3, 1e-9);
}

TEST_F(Measure, ASecondPassKeepsTheChoiceOfTheFirst) {
  std::vector<std::vector<double>> seconds;
  std::size_t algorithms = 3;
  int launches = 0;
  Case c = make_case();
  c.prepare = [&, prepare = c.prepare](const roofmark::Setup& setup) {
    seconds.push_back(setup.time(std::vector<Launch>(algorithms, [&](Stream, int) { ++launches; })));
    return prepare(setup);
  };
  Runner runner = this->runner();
  const auto launches_of_pass = [&](int pass) {
    launches = 0;
    EXPECT_EQ(runner.run({{c}, {}}, pass).front().status, Status::ok);
    return launches;
  };
  EXPECT_GT(launches_of_pass(1), 0);
  EXPECT_EQ(launches_of_pass(2), 0);
  EXPECT_EQ(seconds[1], seconds[0]);
  algorithms = 4;
  EXPECT_GT(launches_of_pass(2), 0) << "the library proposes others";
  EXPECT_EQ(seconds[2].size(), 4U);
}

// As what runs beside a product: the answer to one trial decides what the next one launches.
TEST_F(Measure, EachTrialOfAPreparationIsTimed) {
  double takes = 1e-3;
  int launches = 0;
  device.seconds = [&](int) { return takes; };
  std::vector<double> seconds;
  Case c = make_case();
  c.prepare = [&, prepare = c.prepare](const roofmark::Setup& setup) {
    seconds.clear();
    for (const double milliseconds : {1, 2, 3}) {
      const Launch trial = [&, milliseconds](Stream, int) {
        takes = milliseconds * 1e-3;
        ++launches;
      };
      seconds.push_back(setup.time({trial}).front());
    }
    return prepare(setup);
  };
  const auto each =
      testing::ElementsAre(testing::DoubleNear(1e-3, 1e-9), testing::DoubleNear(2e-3, 1e-9), testing::DoubleNear(3e-3, 1e-9));
  Runner runner = this->runner();
  EXPECT_EQ(runner.run({{c}, {}}, 1).front().status, Status::ok);
  EXPECT_THAT(seconds, each);
  launches = 0;
  EXPECT_EQ(runner.run({{c}, {}}, 2).front().status, Status::ok);
  EXPECT_THAT(seconds, each) << "a second pass is told what the first was told, call by call";
  EXPECT_EQ(launches, 0);
}

TEST_F(Measure, TelemetryCanBeSwitchedOff) {
  device.telemetry = std::make_unique<FakeTelemetry>();
  Settings settings = settings_for(device);
  settings.telemetry = false;
  const Record record = Runner(device, team, settings).run({{make_case()}, {}}, 1).front();
  EXPECT_FALSE(record.measurement->telemetry);
}

TEST_F(Measure, TelemetryIsReadBesideEveryBlock) {
  device.telemetry = std::make_unique<FakeTelemetry>();
  const Record record = measure(make_case());
  ASSERT_TRUE(record.measurement->telemetry);
  double last = 0;
  for (const Block& block : record.measurement->blocks) {
    EXPECT_GT(block.span.second, block.span.first);
    EXPECT_GT(*block.before.power_watts, last);
    EXPECT_GT(*block.after.power_watts, *block.before.power_watts);
    last = *block.after.power_watts;
  }
}

TEST_F(Measure, CountersAreReadBeforeAndAfterTheRun) {
  auto source = std::make_unique<FakeTelemetry>();
  auto& counts = source->counts;
  counts = {{"ecc_corrected", 2}, {"nvlink_links", 18}, {"of_another_version", 1}};
  device.telemetry = std::move(source);
  Runner run = runner();
  counts = {{"ecc_corrected", 5}, {"nvlink_links", 17}, {"xid", 1}, {"xid_number", 79}};
  const auto changes = run.counters();
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].id, "ecc_corrected");
  EXPECT_EQ(changes[0].worse(), 3);
  EXPECT_FALSE(changes[0].number);
  EXPECT_EQ(changes[1].id, "xid");
  EXPECT_FALSE(changes[1].before);
  EXPECT_EQ(changes[1].number, 79);
  EXPECT_EQ(changes[2].id, "nvlink_links");
  EXPECT_EQ(changes[2].worse(), 1);
}

TEST_F(Measure, TheHostIsCountedToo) {
  CounterReadings ports = {{"mlx5_0:1", {{"network_ports", 1}, {"network_link_downs", 2}}}};
  Settings settings = settings_for(device);
  settings.host_counters = [&] { return ports; };
  Runner run(device, team, settings);
  ports["mlx5_0:1"]["network_link_downs"] = 3;
  const auto changes = run.counters();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].id, "network_ports");
  EXPECT_EQ(changes[1].id, "network_link_downs");
  EXPECT_EQ(changes[1].worse(), 1);
  EXPECT_EQ(changes[1].where, "mlx5_0:1");
  const auto before = run.counters_before();
  ASSERT_EQ(before.size(), 2u);
  EXPECT_FALSE(before[1].after);
  EXPECT_EQ(run.own_counters().size(), 2u);
}

TEST_F(Measure, EachLaunchOfALongStageIsAStep) {
  Runner r = runner();
  std::map<std::string, int, std::less<>> told;
  r.on_stage([&](const std::string&, std::string_view stage) { ++told[std::string(stage)]; });
  r.run({{make_case()}, {}}, 1);
  EXPECT_EQ(told["preparing"], 1);
  EXPECT_GT(told["verifying"], 4) << "beginning twice, the verified launches and those of the fingerprint";
}

// A block may last longer than the timeout.
TEST_F(Measure, EachSampleIsAStep) {
  int steps = 0;
  SoloTeam stepping(nullptr, [&] { ++steps; });
  Runner r = runner(stepping);
  int before_timing = 0;
  r.on_stage([&](const std::string&, std::string_view stage) {
    if (stage == "timing" && before_timing == 0) before_timing = steps;
  });
  const std::vector<Record> records = r.run({{make_case()}, {}}, 1);
  EXPECT_GE(steps - before_timing, static_cast<int>(records.at(0).measurement->samples.size()));
}

TEST_F(Measure, APreparationCanTellItsProgress) {
  Runner r = runner();
  int told = 0;
  r.on_stage([&](const std::string&, std::string_view stage) { told += stage == "preparing"; });
  Case c = make_case();
  c.prepare = [prepare = c.prepare](const roofmark::Setup& setup) {
    setup.device.progressed();
    return prepare(setup);
  };
  r.run({{c}, {}}, 1);
  EXPECT_EQ(told, 2);
}

TEST_F(Measure, AnInterruptEndsAPreparationThatTellsItsProgress) {
  std::atomic<bool> stop{false};
  SoloTeam stopped(&stop);
  Runner r = runner(stopped);
  bool went_on = false;
  Case c = make_case();
  c.prepare = [&, prepare = c.prepare](const roofmark::Setup& setup) {
    stop = true;
    setup.device.progressed();
    went_on = true;
    return prepare(setup);
  };
  EXPECT_THROW(r.run({{c}, {}}, 1), Interrupted);
  EXPECT_FALSE(went_on);
}

TEST_F(Measure, AnInterruptLeavesTheLoop) {
  std::atomic<bool> stop{false};
  SoloTeam stopped(&stop);
  Runner r = runner(stopped);
  r.on_stage([&](const std::string&, std::string_view stage) { stop = stage == "timing"; });
  EXPECT_THROW(r.run({{make_case()}, {}}, 1), Interrupted);
}

/// Two ranks of which the other is slower, and can fail or say something else.
class SlowTeam final : public Team {
 public:
  int barriers = 0;
  bool other_ok = true;
  std::function<nlohmann::json(nlohmann::json)> other_says = [](nlohmann::json own) { return own; };
  int size() const override { return 2; }
  int rank() const override { return 0; }
  void barrier() override { ++barriers; }
  bool agree(bool ok) override { return ok && other_ok; }
  std::int64_t decide(std::int64_t value) override { return value; }
  std::vector<double> max(std::vector<double> values) override {
    for (double& value : values) {
      if (value >= 0) value = std::max(value, 2e-3);  // a negative one asks for the minimum
    }
    return values;
  }
  std::string describe(int rank) const override { return "rank " + std::to_string(rank); }

 private:
  std::vector<std::string> gather_bytes(const std::string& bytes, bool) override {
    std::string other;
    nlohmann::json::to_cbor(other_says(nlohmann::json::from_cbor(bytes)), other);
    return {bytes, other};
  }
};

TEST_F(Measure, ASampleIsTheSlowestRanks) {
  SlowTeam slow;
  const Record record = runner(slow).run({{make_case()}, {}}, 1).front();
  EXPECT_DOUBLE_EQ(record.measurement->summary.median, 2e-3);
  EXPECT_GE(slow.barriers, static_cast<int>(record.measurement->samples.size()));
  ASSERT_EQ(record.measurement->ranks.size(), 2U);
  ASSERT_TRUE(record.measurement->ranks[0]);
  EXPECT_EQ(record.measurement->of_rank, 0);
  EXPECT_DOUBLE_EQ(record.measurement->ranks[0]->median, 1e-3);  // of the samples, this rank's own part
  EXPECT_DOUBLE_EQ(record.measurement->ranks[0]->interval_low.value(), 1e-3) << "of its own blocks, which are all alike";
  EXPECT_DOUBLE_EQ(record.measurement->ranks[0]->interval_high.value(), 1e-3);
}

class MeasureLasting : public Measure {
 protected:
  Record measure_for(double seconds) {
    Case c = make_case();
    c.protocol.seconds = seconds;
    c.protocol.cache = Cache::warm;
    return runner(slow).run({{c}, {}}, 1).front();
  }

  SlowTeam slow;
};

TEST_F(MeasureLasting, ARankHasTheRatesOfItsOwnPart) {
  const Record record = measure_for(4);
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_NEAR(record.sustained->settled_rate, 500, 1e-9);
  ASSERT_TRUE(record.measurement->ranks.at(0) && record.measurement->ranks[0]->sustained);
  EXPECT_NEAR(record.measurement->ranks[0]->sustained->settled_rate, 1000, 1e-9);
  EXPECT_EQ(record.measurement->ranks[0]->sustained->launches_checked, record.sustained->launches_checked);
}

TEST_F(MeasureLasting, RanksBeginEachLaunchTogether) {
  const Record record = measure_for(80);
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  const Measurement& measurement = *record.measurement;
  EXPECT_EQ(measurement.launches_per_sample, 2);
  EXPECT_GE(slow.barriers, 2 * static_cast<int>(measurement.samples.size()));
}

TEST_F(Measure, TheVerificationIsThatOfTheRankNearestToItsBound) {
  SlowTeam team;
  team.other_says = [](nlohmann::json own) {
    if (own.contains("detail")) own["error"] = 0.75 * own["bound"].get<double>();
    return own;
  };
  const Record worse = runner(team).run({{make_case()}, {}}, 1).front();
  ASSERT_EQ(worse.status, Status::ok) << worse.reason;
  for (const auto& found : {worse.verification_before, worse.verification_after}) {
    ASSERT_TRUE(found);
    EXPECT_DOUBLE_EQ(found->error, 0.75 * found->bound);
    EXPECT_THAT(found->detail, testing::StartsWith("rank 1: "));
  }
  // As a rank that is not the root of a reduction.
  team.other_says = [](nlohmann::json own) {
    if (own.contains("detail")) own["status"] = static_cast<int>(Verification::Status::nothing_to_verify);
    return own;
  };
  const Record own = runner(team).run({{make_case()}, {}}, 1).front();
  EXPECT_EQ(own.verification_before->status, Verification::Status::passed);
  EXPECT_THAT(own.verification_before->detail, testing::Not(HasSubstr("rank")));
}

TEST(TeamVerification, IsTheOneNearestToItsOwnBound) {
  using enum Verification::Status;
  const auto worst = [](const std::vector<Verification>& ranks) {
    return team_verification(ranks, [](int rank) { return "rank " + std::to_string(rank); });
  };
  EXPECT_EQ(worst({{passed, 9, 100, "a"}, {passed, 3, 4, "b"}, {passed, 5, 10, "c"}}).detail, "rank 1: b");
  EXPECT_EQ(worst({{passed, 3, 4, "a"}, {passed, 9, 100, "b"}}).detail, "a");
  EXPECT_EQ(worst({{passed, 0.3, 0.4, "a"}, {passed, 0.2, 0.1, "b"}}).detail, "rank 1: b");
  EXPECT_EQ(worst({{nothing_to_verify, 0, 0, "a"}, {passed, 0, 1, "b"}}).detail, "rank 1: b");
  EXPECT_EQ(worst({{passed, 0, 1, "a"}, {nothing_to_verify, 0, 0, "b"}}).detail, "a");
}

TEST(JoinedVerdicts, NameTheWorstRankAndOfWrongOnesAll) {
  const auto joined = [](const std::vector<RankVerdict>& ranks) {
    Record record;
    record.verification_before = Verification{};
    join_verdicts(record, ranks, [](int rank) { return "rank " + std::to_string(rank); });
    return record;
  };
  const RankVerdict ok{Status::ok, "", 0, 1, 0}, failed{Status::failed, "no memory", 0, 0, 0};
  const Record wrong = joined({ok, {Status::wrong, "error 2", 2, 1, 3}, failed, {Status::wrong, "error 5", 5, 1, 4}});
  EXPECT_EQ(wrong.status, Status::wrong);
  EXPECT_EQ(wrong.reason, "rank 1: error 2; also wrong: rank 3");
  EXPECT_EQ(wrong.verification_before->status, Verification::Status::failed);
  EXPECT_EQ(wrong.verification_before->error, 2);
  EXPECT_EQ(wrong.verification_before->wrong, 7U) << "elements of both";
  const Record other = joined({ok, failed, ok});
  EXPECT_EQ(other.status, Status::failed);
  EXPECT_EQ(other.reason, "rank 1: no memory");
}

TEST(OwnTimes, HaveTheDevicesOwnReadings) {
  Record record;
  record.measurement.emplace().clock_hz = 1.5e9;
  TelemetrySummary& telemetry = record.measurement->telemetry.emplace();
  telemetry.power_watts = 600;
  telemetry.sm_clock_hz = 1.4e9;
  telemetry.throttled_share = {{"power cap", 0.5}};
  telemetry.temperature_celsius = 61;
  telemetry.memory_temperature_celsius = 72;
  telemetry.slowdown_margin_celsius = 23;
  telemetry.joules_per_launch = 1200;
  Summary own;
  own.median = 2;
  const RankTimes times = own_times(record, own);
  EXPECT_EQ(times.median, 2);
  EXPECT_EQ(times.clock_hz, 1.5e9);
  EXPECT_EQ(times.power_watts, 600);
  EXPECT_EQ(times.sm_clock_hz, 1.4e9);
  EXPECT_EQ(times.throttled_share, telemetry.throttled_share);
  EXPECT_EQ(times.temperature_celsius, 61);
  EXPECT_EQ(times.memory_temperature_celsius, 72);
  EXPECT_EQ(times.slowdown_margin_celsius, 23);
  EXPECT_EQ(times.joules_per_launch, 1200);
}

TEST_F(Measure, TheTelemetryOfEveryRankIsGathered) {
  device.telemetry = std::make_unique<FakeTelemetry>();
  SlowTeam slow;
  slow.other_says = [](nlohmann::json own) {
    if (own.contains("summary")) own["summary"]["power_watts"] = 700.0;
    return own;
  };
  Runner run = runner(slow);
  run.run({{make_case()}, {}}, 1);
  const auto ranks = run.rank_telemetry();
  ASSERT_EQ(ranks.size(), 2U);
  ASSERT_TRUE(ranks[0] && ranks[1]);
  EXPECT_GT(ranks[0]->summary.seconds, 0);
  EXPECT_NE(ranks[0]->summary.power_watts, 700);
  EXPECT_EQ(ranks[1]->summary.power_watts, 700);
  const std::vector<Reading> own = run.telemetry().readings, &other = ranks[1]->course.readings;
  ASSERT_GE(other.size(), 2U);
  EXPECT_EQ(other.front().seconds, own.front().seconds);
  EXPECT_EQ(other.front().state.sm_clock_hz, own.front().state.sm_clock_hz);
}

TEST_F(Measure, TelemetryThatARankLostIsFoundOfThatRankAlone) {
  EXPECT_THAT(runner(team).find_lost_telemetry(), testing::IsEmpty());
  SlowTeam slow;
  EXPECT_THAT(runner(slow).find_lost_telemetry(), testing::IsEmpty());
  slow.other_says = [](const nlohmann::json&) { return nlohmann::json(12.5); };
  const std::vector<Finding> findings = runner(slow).find_lost_telemetry();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::telemetry_lost);
  EXPECT_EQ(findings[0].ranks, std::vector{1});
  EXPECT_EQ(findings[0].text,
            "rank 1: the device's telemetry ended 12.5 s after the device was opened: its driver did not answer any more");
}

TEST_F(Measure, WhatFailsOnOneRankFailsOnAll) {
  SlowTeam slow;
  slow.other_ok = false;
  slow.other_says = [](nlohmann::json verdict) {
    verdict["status"] = Status::failed;
    verdict["reason"] = "no such device";
    return verdict;
  };
  const Record record = runner(slow).run({{make_case()}, {}}, 1).front();
  EXPECT_EQ(record.status, Status::failed);
  EXPECT_EQ(record.reason, "rank 1: no such device");
}

TEST_F(Measure, OfTwoRanksWhoseBitsDifferBothAreNamed) {
  SlowTeam slow;
  slow.other_says = [](nlohmann::json bits) {
    if (bits.contains("hash")) bits["hash"] = "other bits";
    return bits;
  };
  const Record record = runner(slow).run({{make_case()}, {}}, 1).front();
  ASSERT_TRUE(record.fingerprint);
  EXPECT_EQ(record.fingerprint->differing_ranks, (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace roofmark
