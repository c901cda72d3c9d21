// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>

#include "harness/measure/runner.hpp"
#include "harness/team/json.hpp"
#include "tests/harness/fake_measure.hpp"

namespace roofmark {
namespace {

using testing::ContainsRegex;

/// The bits that timed samples leave. The hash of the 4 bytes of a case's output takes 4 us.
class Bits : public testing::Test {
 protected:
  static constexpr int kNever = 1000;
  Bits() { device.hashes_bytes = true; }

  /// In this block, counted from 0, launch `launch` counted from its lead-in on, writes another value. Its sample has
  /// `per_sample` launches.
  Record measure(
      const std::function<void(FakePrepared&)>& adjust = [](FakePrepared&) {}, int block = kNever, int launch = 0,
      int per_sample = 1) {
    int blocks = 0, launches = 0;
    Case c = fake_case([&](const roofmark::Setup&) {
      auto prepared = std::make_unique<FakePrepared>();
      adjust(*prepared);
      prepared->on_launch = [&, before = prepared->on_launch, p = prepared.get()](int slot) {
        p->value = blocks == block + 1 && launches++ == launch ? 2 : 1;
        before(slot);
      };
      return prepared;
    });
    c.work = {{{{resource::dram, 50}}}};
    c.protocol.launches = per_sample;
    Runner runner(device, team, settings);
    runner.on_stage([&](const std::string&, std::string_view stage) {
      if (stage == "timing") ++blocks, launches = 0;
    });
    return runner.run({{c}, {}}, 1).front();
  }

  FakeDevice device;
  SoloTeam team;
  Settings settings = settings_for(device);
};

TEST_F(Bits, OfEverySampleAreComparedWhereThatTakesLittleTime) {
  const Record record = measure();
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_EQ(record.measurement->samples_checked, 20);
  EXPECT_EQ(record.measurement->samples.size(), 20u);
  EXPECT_EQ(record.measurement->share_checked, 1);
}

TEST_F(Bits, OfOneSampleThatDifferAreFoundAndNamed) {
  device.device.gpu.uuid = "GPU-7";
  // The lead-in takes two windows of four launches; then four samples follow.
  const Record record = measure([](FakePrepared&) {}, 2, 10);
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_FALSE(record.measurement);
  EXPECT_THAT(record.reason, ContainsRegex("^wrong result: 1 of 12 checked samples gave other bits than the verified launch; "
                                           "the first is sample 3 of block 3, in slot [0-8], on cpu \\(fake, GPU-7\\) at .*"
                                           "; the last launch's is right again$"));
}

// Where wrong elements are counted from launch to launch, or a fault stays, the check of all elements has its place.
TEST_F(Bits, ThatDifferAreToldWithWhatACheckOfAllElementsFinds) {
  int checks = 0;
  const Record record = measure(
      [&](FakePrepared& p) {
        p.on_verify = [&](int) { return Verification::within(checks++ == 0 ? 0 : 3, 1, "elements; the lowest is 7"); };
      },
      2, 10);
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_THAT(record.reason, ContainsRegex("^wrong result: 1 of 12 checked samples .*"
                                           "; after the last launch: error 3, allowed 1 \\(elements; the lowest is 7\\)$"));
}

TEST_F(Bits, OfALeadInAreNotOfASample) {
  EXPECT_EQ(measure([](FakePrepared&) {}, 2, 7).status, Status::ok);
}

TEST_F(Bits, AreThoseOfASamplesLastLaunch) {
  EXPECT_EQ(measure([](FakePrepared&) {}, 2, 8 + 1, 2).status, Status::wrong);
  EXPECT_EQ(measure([](FakePrepared&) {}, 2, 8, 2).status, Status::ok) << "overwritten within the sample";
}

TEST_F(Bits, AreComparedAsOftenAsThreePercentOfTheTimeAllow) {
  device.hash_seconds_per_byte = 0.1e-3 / 4;  // a tenth of a launch
  const Record record = measure();
  EXPECT_EQ(record.measurement->samples_checked, 6);
  EXPECT_EQ(record.measurement->samples.size(), 20u);
  device.hash_seconds_per_byte = 1;
  EXPECT_EQ(measure().measurement->samples_checked, 0);
}

TEST_F(Bits, ThatDifferAnywayAreNotCompared) {
  EXPECT_EQ(measure([](FakePrepared& p) { p.accumulating = true; }).measurement->samples_checked, 0);
  device.hashes_bytes = false;
  device.hash_value = [bits = std::uint64_t{0}]() mutable { return ++bits; };
  const Record record = measure();
  ASSERT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_FALSE(record.fingerprint->deterministic);
  EXPECT_EQ(record.measurement->samples_checked, 0);
}

/// The bits that launches outside the timed ones leave: those of the n-th hash of an output differ.
class UntimedBits : public Bits {
 protected:
  UntimedBits() { device.hashes_bytes = false; }
  Record measure_differing(int nth, bool deterministic = true) {
    device.hash_value = [hashes = 0, nth]() mutable { return ++hashes == nth ? 2u : 1u; };
    return measure([=](FakePrepared& p) { p.deterministic = deterministic; });
  }
};

// A bit that flips within the bound would otherwise be what all later launches are compared with.
TEST_F(UntimedBits, OfTheVerifiedLaunchAreThoseOfTheFingerprint) {
  for (const int nth : {1, 2, 3}) {
    const Record record = measure_differing(nth);
    EXPECT_EQ(record.status, Status::wrong) << nth;
    EXPECT_EQ(record.reason, "three launches of a pinned algorithm gave different bits, on cpu (fake)");
  }
  const Record record = measure_differing(1, false);
  EXPECT_EQ(record.status, Status::ok) << record.reason;
  EXPECT_FALSE(record.fingerprint->deterministic);
}

TEST_F(UntimedBits, BeforeTheTimedLaunchesAreThoseThatWereVerified) {
  const Record record = measure_differing(4);
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_EQ(record.reason,
            "wrong result: before the timed launches, on cpu (fake): other bits than the verified launch's, within the bound");
  const Record unpinned = measure_differing(4, false);
  EXPECT_EQ(unpinned.status, Status::ok) << "the first three agreed by chance: " << unpinned.reason;
  EXPECT_EQ(unpinned.measurement->samples_checked, 0);
}

TEST_F(UntimedBits, AfterTheTimedLaunchesAreThoseThatWereVerified) {
  int hashes = 0;
  device.hash_value = [&hashes] { return ++hashes, 1u; };
  ASSERT_EQ(measure().status, Status::ok);
  // The last one is also checked element by element, and found within the bound.
  const Record record = measure_differing(hashes);
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_EQ(record.reason,
            "wrong result: after the timed launches, on cpu (fake): other bits than the verified launch's, within the bound");
  EXPECT_EQ(record.verification_after->status, Verification::Status::passed);
  EXPECT_FALSE(record.measurement);
  EXPECT_EQ(measure_differing(hashes, false).status, Status::ok) << "the others agreed by chance";
}

// All 9 slots are restored before each sample.
TEST_F(Bits, OfOperandsThatAreOverwrittenAreComparedWhereEachSlotIsLaunchedOnce) {
  const auto resetting = [](FakePrepared& p) { p.resetting = true; };
  EXPECT_EQ(measure(resetting, kNever, 0, 9).measurement->samples_checked, 20);
  EXPECT_EQ(measure(resetting, kNever, 0, 10).measurement->samples_checked, 0);
}

/// Of a load of `seconds` whose 1000th hash, about, differs.
class BitsOfALoad : public testing::Test {
 protected:
  BitsOfALoad() {
    device.hash_value = [hashes = 0]() mutable { return ++hashes == 1000 ? 3u : 1u; };
  }
  static Group load(double seconds) {
    Case c = fake_case([](const roofmark::Setup&) { return std::make_unique<FakePrepared>(); });
    c.protocol.seconds = seconds;
    c.protocol.cache = Cache::warm;
    c.work = {{{{resource::dram, 50}}}};
    return {{c}, {}};
  }

  FakeDevice device;
};

TEST_F(BitsOfALoad, AreToldAsTheyAreFoundAndStandAfterAnInterrupt) {
  std::atomic<bool> stop{false};
  SoloTeam team(&stop);
  Runner runner(device, team, settings_for(device));
  std::vector<std::int64_t> told;
  runner.on_course([&](const std::string&, const Course& course) {
    told.push_back(course.differing);
    stop = course.seconds > 3;
  });
  EXPECT_THROW(runner.run(load(10), 1), Interrupted);
  EXPECT_EQ(told.front(), 0);
  EXPECT_EQ(told.back(), 1);
  const std::vector<Record> cut_off = runner.take_cut_off();
  ASSERT_EQ(cut_off.size(), 1U);
  EXPECT_EQ(cut_off[0].status, Status::wrong);
  EXPECT_FALSE(cut_off[0].measurement);
  EXPECT_THAT(cut_off[0].reason, ContainsRegex("^wrong result: 1 of .* launches gave other bits .*; then interrupted$"));
}

/// Two ranks, of which the other one finds wrong bits.
class OtherIsWrong final : public Team {
 public:
  std::atomic<bool> stop{false};
  int size() const override { return 2; }
  int rank() const override { return 0; }
  void barrier() override {
    if (stop) throw Interrupted();
  }
  bool agree(bool ok) override {
    barrier();
    return ok;
  }
  std::int64_t decide(std::int64_t value) override { return value; }
  std::vector<double> max(std::vector<double> values) override { return values; }
  std::string describe(int rank) const override { return "rank " + std::to_string(rank); }

 private:
  std::vector<std::string> gather_bytes(const std::string& bytes, bool interrupted) override {
    if (!interrupted) barrier();
    nlohmann::json other = nlohmann::json::from_cbor(bytes);
    if (interrupted) other.update({{"status", Status::wrong}, {"reason", "wrong result: 2 of 7"}});
    std::string told;
    nlohmann::json::to_cbor(other, told);
    return {bytes, told};
  }
};

TEST_F(BitsOfALoad, OfAnotherRankStandAfterAnInterrupt) {
  device.hash_value = [] { return 1u; };
  OtherIsWrong team;
  Runner runner(device, team, settings_for(device));
  runner.on_course([&](const std::string&, const Course& course) { team.stop = course.seconds > 3; });
  EXPECT_THROW(runner.run(load(10), 1), Interrupted);
  const std::vector<Record> cut_off = runner.take_cut_off();
  ASSERT_EQ(cut_off.size(), 1U);
  EXPECT_EQ(cut_off[0].status, Status::wrong);
  EXPECT_EQ(cut_off[0].reason, "rank 1: wrong result: 2 of 7");
}

TEST_F(BitsOfALoad, StandAfterAnError) {
  device.seconds = [this](int) { return device.now > 5 ? throw DeviceError("lost", true) : 1e-3; };
  SoloTeam team;
  Runner runner(device, team, settings_for(device));
  const Record record = runner.run(load(100), 1).front();
  EXPECT_EQ(record.status, Status::wrong);
  EXPECT_THAT(record.reason, ContainsRegex("^wrong result: 1 of .*; then .*lost"));
  EXPECT_TRUE(runner.device_lost());
}

}  // namespace
}  // namespace roofmark
