// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/acceptance/agreed.hpp"

#include <gmock/gmock.h>

#include "tests/harness/judge/acceptance/deliveries.hpp"

namespace roofmark {
namespace {

using ::testing::HasSubstr;

std::string named_rule(const std::string& id, const std::string& keys) {
  return "[rule." + id + "]\nreason = 'r'\n" + keys + "\n";
}
const std::string kLimitRules = named_rule("state", "quantity = 'state.power_limit_of_default'\nleast = 0.99") +
                                named_rule("finding", "quantity = 'finding.power_limit'\nmost = 0");
const std::string kClockRules = named_rule("finding", "quantity = 'finding.clock'\nmost = 0") +
                                named_rule("time", "cases = '.'\nquantity = 'share_of_time.application_clocks'\nmost = 0");

std::string refused(const std::string& text) {
  try {
    profile_of(kLimitRules + text);
  } catch (const ProfileError& error) {
    return error.what();
  }
  return "accepted";
}

/// A GPU whose power limit is lowered from 700 W.
Evidence limited_to(double watts, double after) {
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.devices[0].settings = {{Setting::power_limit, watts}};
  evidence.counters = {{"power_limit_of_default", 0, watts / 700, after / 700}};
  evidence.findings = {{FindingKind::power_limit, "the power limit is below the default", ""}};
  return evidence;
}

/// A GPU that a lock holds at this clock, and an H200's rated one.
Evidence locked_at(double megahertz, double during_the_case) {
  constexpr double kRated = 1980;
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.analysis.roofline.at(resource::bf16_tensor).rated_clock_hz = kRated * 1e6;
  evidence.records[0].measurement->telemetry.emplace().throttled_share = {{"application clocks", 1.0}};
  evidence.devices[0].settings = {{Setting::clock, megahertz}};
  evidence.findings = {{FindingKind::clock, "the clock fell", "gemm", 1 - during_the_case / kRated}};
  return evidence;
}

std::string verdict_on(const Judgement& judgement, const std::string& id, const std::string& device = "") {
  const Check& check = check_of(judgement, id, device);
  return std::string(name(check.verdict)) + ": " + check.found;
}

TEST(Agreed, ALoweredPowerLimitIsAgreedAtThatValueAlone) {
  const Profile profile = profile_of(kLimitRules + "[agreed]\npower_limit = 500\n");
  const Judgement as_agreed = judge(profile, {limited_to(500.2, 500.2)}, {});
  EXPECT_TRUE(as_agreed.accepted());
  EXPECT_EQ(verdict_on(as_agreed, "agreed.power_limit"), "PASS: 500.2 W");
  EXPECT_EQ(verdict_on(as_agreed, "finding"), "PASS: 1 (agreed: power_limit = 500 W)");
  EXPECT_EQ(verdict_on(as_agreed, "state"), "PASS: 0.714571 (agreed: power_limit = 500 W)");
  const Judgement lower = judge(profile, {limited_to(450, 450)}, {});
  EXPECT_EQ(verdict_on(lower, "agreed.power_limit"), "FAIL: 450 W");
  EXPECT_EQ(check_of(lower, "agreed.power_limit").expected, "500 W");
  EXPECT_EQ(verdict_on(lower, "finding"), "FAIL: 1");
  EXPECT_EQ(verdict_on(lower, "state"), "FAIL: 0.642857");
  const Judgement during = judge(profile, {limited_to(500, 400)}, {});
  EXPECT_EQ(verdict_on(during, "finding"), "FAIL: 1") << "lowered further during the run";
  EXPECT_EQ(verdict_on(during, "state"), "FAIL: 0.571429");
  const Evidence at_default = run("GPU-1", {product(0.9)});
  EXPECT_EQ(verdict_on(judge(profile, {at_default}, {}), "agreed.power_limit"), "NOT MEASURED: -");
  EXPECT_EQ(verdict_on(judge(profile_of(kLimitRules), {limited_to(500, 500)}, {}), "finding"), "FAIL: 1")
      << "without an agreement";
}

TEST(Agreed, ARunIsNotDoubtfulByAnAgreedSettingAlone) {
  const std::string rules = kLimitRules + named_rule("runs", "quantity = 'runs.doubtful'\nmost = 0\nper = 'delivery'");
  const Profile profile = profile_of(rules + "[agreed]\npower_limit = 500\n");
  Evidence evidence = limited_to(500, 500);
  evidence.verdict = {Trust::doubtful, "rates are in doubt", ""};
  evidence.doubts = {FindingKind::power_limit};
  const Judgement as_agreed = judge(profile, {evidence}, {});
  EXPECT_THAT(as_agreed.doubts, ::testing::IsEmpty());
  EXPECT_EQ(verdict_on(as_agreed, "runs"), "PASS: 1 (agreed: power_limit = 500 W)");
  const auto is_doubtful = [&](const Profile& by) {
    const Judgement judgement = judge(by, {evidence}, {});
    EXPECT_EQ(verdict_on(judgement, "runs"), "FAIL: 1");
    return judgement.doubts.size() == 1;
  };
  EXPECT_TRUE(is_doubtful(profile_of(rules))) << "without an agreement";
  evidence.doubts.insert(FindingKind::drift);
  EXPECT_TRUE(is_doubtful(profile)) << "there is more to it";
  evidence = limited_to(450, 450);
  evidence.verdict.trust = Trust::doubtful;
  evidence.doubts = {FindingKind::power_limit};
  EXPECT_TRUE(is_doubtful(profile)) << "another value";
}

TEST(Agreed, OfANodeAllDevicesHaveToBeAsAgreed) {
  const Profile profile = profile_of(
      named_rule("state", "quantity = 'state.power_limit_of_default'\nleast = 0.99\nper = 'node'") +
      named_rule("finding", "quantity = 'finding.power_limit'\nmost = 0\nper = 'node'") + "[agreed]\npower_limit = 500\n");
  const auto node_of = [](double other) {
    Evidence evidence = limited_to(500, 500);
    evidence.devices.push_back({"GPU-2", "node1", "cuda:1", "NVIDIA H200"});
    evidence.devices[1].settings = {{Setting::power_limit, other}};
    evidence.counters.push_back({"power_limit_of_default", 1, other / 700, other / 700});
    return evidence;
  };
  const Judgement both = judge(profile, {node_of(500)}, {});
  EXPECT_EQ(check_of(both, "state").verdict, Verdict::pass);
  EXPECT_EQ(check_of(both, "finding").verdict, Verdict::pass);
  const Judgement one = judge(profile, {node_of(400)}, {});
  EXPECT_EQ(check_of(one, "state").verdict, Verdict::fail);
  EXPECT_EQ(check_of(one, "finding").verdict, Verdict::fail);
  EXPECT_EQ(verdict_on(one, "agreed.power_limit", "GPU-1"), "PASS: 500 W");
  EXPECT_EQ(verdict_on(one, "agreed.power_limit", "GPU-2"), "FAIL: 400 W");
}

TEST(Agreed, ALockedClockIsAgreedWhereTheClockHeldIt) {
  const Profile profile = profile_of(kClockRules + "[agreed]\nclock = 1410\n");
  const Judgement held = judge(profile, {locked_at(1410, 1405)}, {});
  EXPECT_TRUE(held.accepted());
  EXPECT_EQ(verdict_on(held, "finding"), "PASS: 1 (agreed: clock = 1410 MHz)");
  EXPECT_EQ(verdict_on(held, "time"), "PASS: 100.0 % (agreed: clock = 1410 MHz)");
  EXPECT_EQ(verdict_on(judge(profile, {locked_at(1410, 1200)}, {}), "finding"), "FAIL: 1")
      << "something else lowers it further";
  EXPECT_EQ(verdict_on(judge(profile, {locked_at(1200, 1200)}, {}), "agreed.clock"), "FAIL: 1200 MHz");
  Evidence also_memory = locked_at(1410, 1410);
  also_memory.devices[0].lowers_memory_clock = true;
  EXPECT_EQ(verdict_on(judge(profile, {also_memory}, {}), "finding"), "FAIL: 1");
  Evidence shorter = locked_at(900, 1410);
  shorter.suite = "sustained";
  EXPECT_EQ(verdict_on(judge(profile, {locked_at(1410, 1410), shorter}, {}), "agreed.clock"), "PASS: 1410 MHz")
      << "the highest of all runs";
}

TEST(Agreed, WithoutEccItsCountersDoNotDecide) {
  const std::string counter = named_rule("ecc", "quantity = 'counter.ecc_uncorrected'\nmost = 0") + kLimitRules;
  Evidence evidence = limited_to(700, 700);
  evidence.findings.clear();
  evidence.devices[0].settings[Setting::ecc] = 0;
  EXPECT_FALSE(judge(profile_of(counter), {evidence}, {}).accepted());
  const Judgement judgement = judge(profile_of(counter + "[agreed]\necc = false\n"), {evidence}, {});
  EXPECT_TRUE(judgement.accepted());
  EXPECT_EQ(verdict_on(judgement, "ecc"), "NOT MEASURED: - (agreed: ecc = false)");
  evidence.counters.push_back({"ecc_uncorrected", 0, 0, 1});
  EXPECT_EQ(verdict_on(judge(profile_of(counter + "[agreed]\necc = false\n"), {evidence}, {}), "ecc"), "FAIL: 1");
  evidence.devices[0].settings[Setting::ecc] = 1;
  EXPECT_EQ(verdict_on(judge(profile_of(counter + "[agreed]\necc = false\n"), {evidence}, {}), "agreed.ecc"), "FAIL: true");
}

TEST(Agreed, SettingsAndValuesThatAreNoneAreRefused) {
  EXPECT_EQ(refused("[agreed]\npower_limit = 500\nclock = 1410.0\necc = false\nmig = true\npersistence_mode = false\n"),
            "accepted");
  EXPECT_THAT(refused("[agreed]\npower = 500\n"),
              HasSubstr("unknown key 'power'; known are clock, ecc, mig, persistence_mode, power_limit"));
  EXPECT_THAT(refused("[agreed]\npower_limit = '500 W'\n"), HasSubstr("expects a number of W from 1 to 5000"));
  EXPECT_THAT(refused("[agreed]\nclock = 1.4e9\n"), HasSubstr("expects a number of MHz from 100 to 10000"));
  EXPECT_THAT(refused("[agreed]\necc = 'off'\n"), HasSubstr("expects true or false"));
  EXPECT_THAT(refused("[[agreed]]\necc = false\n"), HasSubstr("expects a table [agreed]"));
}

TEST(Agreed, AProfileKeepsWhatItAgreesOn) {
  EXPECT_TRUE(profile_of(kLimitRules).agreed.empty());
  const Profile profile = profile_of(kLimitRules + "[agreed]\npower_limit = 500\necc = false\n");
  EXPECT_EQ(profile.agreed.at(Setting::power_limit).value, 500);
  EXPECT_EQ(profile.agreed.at(Setting::ecc).value, 0);
  EXPECT_THAT(profile.agreed.at(Setting::ecc).origin, HasSubstr("p.toml:"));
}

}  // namespace
}  // namespace roofmark
