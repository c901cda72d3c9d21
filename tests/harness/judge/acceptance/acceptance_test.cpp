// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one test per quantity and kind of rule, on the same made-up deliveries.
#include "harness/judge/acceptance/acceptance.hpp"

#include <gmock/gmock.h>

#include "tests/harness/judge/acceptance/deliveries.hpp"

namespace roofmark {
namespace {

using ::testing::HasSubstr;

TEST(Acceptance, AboveTheLimitPassesAndBelowItFails) {
  const Judgement good = judge(profile_of(kProduct), {run("GPU-1", {product(0.81)})}, {});
  EXPECT_TRUE(good.accepted());
  EXPECT_NEAR(*check_of(good, "product").margin, 0.0125, 1e-9);
  const Judgement bad = judge(profile_of(kProduct), {run("GPU-1", {product(0.79)})}, {});
  EXPECT_FALSE(bad.accepted());
  const Check& check = check_of(bad, "product");
  EXPECT_EQ(check.verdict, Verdict::fail);
  EXPECT_EQ(check.rule->reason, "what was bought");
  EXPECT_EQ(check.rule->source, "contract");
  EXPECT_EQ(check.rule->origin, "p.toml:5");
  EXPECT_THAT(check.expected, HasSubstr(">= 80.0 % of 1.00 TFLOP/s (bf16 tensor)"));
}

TEST(Acceptance, ALimitIsShownInFullAndTheMeasuredValueWithAsManyDigits) {
  const auto shown = [](const std::string& limit, double measured) {
    std::string rules = kProduct;
    rules.replace(rules.find("least = 0.8"), std::string("least = 0.8").size(), "least = " + limit);
    const Judgement judgement = judge(profile_of(rules), {run("GPU-1", {product(measured)})}, {});
    const Check& check = check_of(judgement, "product");
    return check.found + " " + check.expected.substr(0, check.expected.find(" of"));
  };
  EXPECT_EQ(shown("0.8", 0.81), "81.0 % >= 80.0 %");
  EXPECT_EQ(shown("0.9277", 0.9275), "92.75 % >= 92.77 %") << "not 92.8 and 92.8";
  EXPECT_EQ(shown("0.8", 0.79996), "79.996 % >= 80.0 %");
  EXPECT_EQ(shown("0.8", 0.8), "80.0 % >= 80.0 %");
}

TEST(Acceptance, ALimitWithinTheIntervalIsNoPassAndSaysHowLongToMeasure) {
  const Judgement judgement = judge(profile_of(kProduct), {run("GPU-1", {product(0.808, 0.02)})}, {});
  const Check& check = check_of(judgement, "product");
  EXPECT_EQ(check.verdict, Verdict::inside_interval);
  EXPECT_FALSE(judgement.accepted());
  // The half width is twice the distance: four times the time.
  EXPECT_THAT(check.explanation, HasSubstr("measure 4 times as long (--max-seconds 1)"));
}

TEST(Acceptance, AnIntervalOfTheTimeThatReachesZeroHasNoUpperEndAsARate) {
  for (const double half_width : {1.0, 1.5}) {
    const Judgement judgement = judge(profile_of(kProduct), {run("GPU-1", {product(0.9, half_width)})}, {});
    const Check& check = check_of(judgement, "product");
    EXPECT_EQ(check.verdict, Verdict::inside_interval) << half_width;
    EXPECT_NEAR(*check.low, 0.9 / (1 + half_width), 1e-9);
    EXPECT_FALSE(check.high);
    EXPECT_THAT(check.explanation, HasSubstr("times as long (--max-seconds"));
  }
}

TEST(Acceptance, WithoutAnIntervalAMissedLimitIsMissedAndAMetOneUndecided) {
  for (const char* mandatory : {"", "mandatory = 'where measured'\n"}) {
    const Profile profile = profile_of(kProduct + mandatory);
    const auto verdict = [&](double share) {
      Record record = product(share);
      record.measurement->summary.interval_low = record.measurement->summary.interval_high = std::nullopt;
      const Judgement judgement = judge(profile, {run("GPU-1", {record})}, {});
      EXPECT_FALSE(judgement.accepted()) << share << mandatory;
      return check_of(judgement, "product").verdict;
    };
    EXPECT_EQ(verdict(0.1), Verdict::fail);
    EXPECT_EQ(verdict(0.9), Verdict::not_measured);
  }
}

TEST(Acceptance, WhatAFileSaysCannotControlTheTerminal) {
  Record record = product(0.1);
  record.shape = {{"impl", "own\x1b[2J\nACCEPTED"}};
  const Judgement judgement = judge(profile_of(kProduct), {run("GPU-1", {record})}, {});
  EXPECT_EQ(check_of(judgement, "product").of.find_first_of("\x1b\n"), std::string::npos);
}

TEST(Acceptance, ARunsOwnVerdictIsRepeatedAndDecidesByARuleAlone) {
  Evidence evidence = run("GPU-1", {product(0.9)});
  EXPECT_TRUE(judge(profile_of(kProduct), {evidence}, {}).doubts.empty());
  evidence.verdict = {Trust::doubtful, "DRAM drifted", ""};
  evidence.file = "r.json";
  const Judgement judgement = judge(profile_of(kProduct), {evidence}, {});
  EXPECT_TRUE(judgement.accepted());
  EXPECT_THAT(judgement.doubts, testing::ElementsAre("doubtful: DRAM drifted (r.json)"));
  const Profile strict = profile_of(kProduct + R"(
[rule.bad]
quantity = "runs.bad"
per = "delivery"
most = 0
reason = "r"
)");
  EXPECT_TRUE(judge(strict, {evidence}, {}).accepted());
  evidence.verdict = {Trust::bad, "the device reports faults", ""};
  const Judgement refused = judge(strict, {run("GPU-2", {product(0.9)}), evidence}, {});
  EXPECT_FALSE(refused.accepted());
  EXPECT_EQ(check_of(refused, "bad").found, "1");
  EXPECT_EQ(check_of(refused, "bad").of, "the device reports faults");
  for (const SubjectVerdict& device : refused.devices) EXPECT_EQ(device.verdict, Verdict::pass) << "the run may hold others";
}

TEST(Acceptance, HowLongToMeasureIsSaidByTheFlagOfTheRun) {
  const auto advice = [](const std::string& suite, std::optional<double> budget) {
    Evidence evidence = run("GPU-1", {product(0.808, 0.02)});
    evidence.suite = suite;
    evidence.budget_seconds = budget;
    return check_of(judge(profile_of(kProduct), {evidence}, {}), "product").explanation;
  };
  EXPECT_THAT(advice("quick", 0.333), HasSubstr("(--max-seconds 1.34)")) << "rounded up";
  EXPECT_THAT(advice("sustained", 300), HasSubstr("(--seconds 1200)"));
  EXPECT_THAT(advice("quick", 1000), HasSubstr("(--max-seconds allows 3600 s, too few)"));
  EXPECT_THAT(advice("quick", std::nullopt), HasSubstr("(4 times its --max-seconds)"));
}

// The width of the interval falls with the root of the time: 0.04 must become less than 0.01.
TEST(Acceptance, ADriftWithinTheIntervalSaysHowLongToMeasure) {
  Evidence evidence = run("GPU-1", {product(0.9)});
  Ceiling& ceiling = evidence.analysis.roofline.at(resource::dram);
  ceiling.first_by = "ceilings/dram_read";
  ceiling.first = 1e12;
  ceiling.last = 0.89e12;
  ceiling.first_half_width = 0.04;
  const Judgement judgement =
      judge(profile_of("[rule.drift]\ncases = '^ceilings/'\nquantity = 'drift'\nmost = 0.1\nreason = 'r'\n"), {evidence}, {});
  EXPECT_EQ(check_of(judgement, "drift").verdict, Verdict::inside_interval);
  EXPECT_THAT(check_of(judgement, "drift").explanation, HasSubstr("measure 16 times as long"));
}

// A ceiling is measured first and again last, and the better counts.
TEST(Acceptance, OfTheTwoPassesOfAProbeTheBetterIsJudged) {
  const auto verdicts = [](std::vector<Record> records, bool probes) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i].pass = static_cast<int>(i) + 1;
      if (probes) records[i].sets_ceiling = {resource::bf16_tensor};
    }
    std::vector<Verdict> found;
    for (const Check& check : judge(profile_of(kProduct), {run("GPU-1", records)}, {}).checks) {
      if (check.rule->id == "product") found.push_back(check.verdict);
    }
    return found;
  };
  using testing::ElementsAre;
  const Record inside = product(0.81, 0.03), above = product(0.805), below = product(0.79);
  EXPECT_THAT(verdicts({inside, above}, true), ElementsAre(Verdict::pass));
  EXPECT_THAT(verdicts({above, below}, true), ElementsAre(Verdict::pass));
  EXPECT_THAT(verdicts({below, inside}, true), ElementsAre(Verdict::inside_interval));
  EXPECT_THAT(verdicts({below, below}, true), ElementsAre(Verdict::fail));
  EXPECT_THAT(verdicts({above, below}, false), ElementsAre(Verdict::pass, Verdict::fail)) << "a case has one result";
  Record wrong = above;
  wrong.status = Status::wrong;
  wrong.measurement.reset();
  EXPECT_THAT(verdicts({above, wrong}, true), ElementsAre(Verdict::pass, Verdict::fail));
}

TEST(Acceptance, AComparisonsLimitWithinTheIntervalSaysHowLongToMeasureToo) {
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.analysis.comparisons = {{{"tuned against default", "algo", {"gemm", "a"}, {"gemm", "b"}}, 1.01, 0.99, 1.03}};
  const Judgement judgement = judge(profile_of(R"(
[rule.faster]
cases = "^gemm/"
quantity = "ratio"
least = 1.0
reason = "r"
source = "s"
)"),
                                    {evidence}, {});
  EXPECT_THAT(check_of(judgement, "faster").explanation, HasSubstr("measure 4 times as long (--max-seconds 1)"));
}

TEST(Acceptance, WhatWasNotMeasuredDoesNotPass) {
  Record failed = product(0.9);
  failed.status = Status::failed;
  failed.reason = "out of memory";
  const Judgement judgement = judge(profile_of(kProduct), {run("GPU-1", {failed})}, {});
  EXPECT_EQ(check_of(judgement, "product").verdict, Verdict::not_measured);
  EXPECT_EQ(check_of(judgement, "product").explanation, "out of memory");
  EXPECT_FALSE(judgement.accepted());

  const Judgement empty = judge(profile_of(kProduct), {run("GPU-1", {})}, {});
  EXPECT_EQ(check_of(empty, "product").explanation, "no result matches '^gemm/'");
  EXPECT_FALSE(empty.accepted());

  Record unsupported = failed;
  unsupported.status = Status::unsupported;
  const Judgement cannot = judge(profile_of(kProduct), {run("GPU-1", {unsupported})}, {});
  EXPECT_EQ(check_of(cannot, "product").verdict, Verdict::not_measured);
  EXPECT_EQ(check_of(cannot, "product").explanation, "unsupported: out of memory");
}

TEST(Acceptance, AWrongResultFailsAnyRule) {
  Record wrong = product(0.99);
  wrong.status = Status::wrong;
  wrong.reason = "element 3";
  EXPECT_EQ(check_of(judge(profile_of(kProduct), {run("GPU-1", {wrong})}, {}), "product").verdict, Verdict::fail);
}

TEST(Acceptance, NoVerdictRestsOnADoubtfulCeiling) {
  const Judgement judgement = judge(profile_of(kProduct), {run("GPU-1", {product(1.05)})}, {});
  EXPECT_EQ(check_of(judgement, "product").verdict, Verdict::not_measured);
  EXPECT_THAT(check_of(judgement, "product").explanation, HasSubstr("doubtful"));
}

TEST(Acceptance, ARuleThatIsNotMandatoryIsShownAndDoesNotDecide) {
  const Judgement judgement = judge(profile_of(kProduct + "mandatory = false\n"), {run("GPU-1", {product(0.5)})}, {});
  EXPECT_EQ(check_of(judgement, "product").verdict, Verdict::fail);
  EXPECT_TRUE(judgement.accepted());
}

TEST(Acceptance, OneBadGpuFailsItsNodeAndTheDeliveryAndNoOther) {
  const Judgement judgement =
      judge(profile_of(kProduct),
            {run("GPU-1", {product(0.9)}, "a"), run("GPU-2", {product(0.3)}, "b"), run("GPU-3", {product(0.9)}, "c")}, {});
  ASSERT_EQ(judgement.devices.size(), 3u);
  EXPECT_EQ(judgement.devices[0].verdict, Verdict::pass);
  EXPECT_EQ(judgement.devices[1].verdict, Verdict::fail);
  ASSERT_EQ(judgement.nodes.size(), 3u);
  EXPECT_EQ(judgement.nodes[0].verdict, Verdict::pass);
  EXPECT_EQ(judgement.nodes[1].verdict, Verdict::fail);
  EXPECT_FALSE(judgement.accepted());
}

TEST(Acceptance, GpusThatAreMissingOldForeignOrCountedTwiceFail) {
  const Profile profile = profile_of(kProduct);
  const Evidence one = run("GPU-1", {product(0.9)}, "a");
  EXPECT_TRUE(judge(profile, {one}, {1, 7200}).accepted());
  EXPECT_EQ(check_of(judge(profile, {one}, {2, {}}), "expected_gpus").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judge(profile, {one}, {{}, 60}), "age").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judge(profile, {one, run("GPU-1", {product(0.9)}, "b")}, {}), "unique_gpus").verdict, Verdict::fail);
  Evidence other = run("GPU-2", {product(0.9)}, "b");
  other.devices[0].name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(check_of(judge(profile, {one, other}, {}), "device", "GPU-2").verdict, Verdict::fail);
  Evidence cut = one;
  cut.complete = false;
  EXPECT_EQ(check_of(judge(profile, {cut}, {}), "complete").verdict, Verdict::not_measured);
  EXPECT_FALSE(judge(profile, {cut}, {}).accepted());
}

TEST(Acceptance, OtherConditionsThanAgreedFail) {
  const Profile profile = profile_of(kProduct);
  const Evidence good = run("GPU-1", {product(0.9)});
  const auto verdict = [&](const auto& change) {
    Evidence changed = good;
    change(changed);
    return check_of(judge(profile, {changed}, {}), "conditions").verdict;
  };
  EXPECT_EQ(verdict([](Evidence& run) { run.data = "zeros"; }), Verdict::fail);
  EXPECT_EQ(verdict([](Evidence& run) { run.weaker = {"0.001 s per case instead of 0.25 s"}; }), Verdict::fail);
  EXPECT_EQ(verdict([](Evidence& run) { run.suite = "full"; }), Verdict::pass);  // has what quick has
  EXPECT_EQ(check_of(judge(profile_of(kProduct), {good}, {}), "conditions").verdict, Verdict::pass);
}

TEST(Acceptance, AGpuInTwoPlacesOfANodeIsCountedTwice) {
  Evidence other = run("GPU-1", {product(0.9)});
  other.devices[0].id = "cuda:3";
  EXPECT_EQ(check_of(judge(profile_of(kProduct), {run("GPU-1", {product(0.9)}), other}, {}), "unique_gpus").verdict,
            Verdict::fail);
}

TEST(Acceptance, OtherLettersOfAUuidMakeNoOtherGpu) {
  const Profile profile = profile_of(kProduct + "[rule.node]\nquantity = 'gpus'\nper = 'delivery'\nleast = 1\nreason = 'r'\n");
  for (const char* other : {"gpu-1a", "GPU-1\xe2\x80\x8b\x61", "GPU-1a "}) {
    const Judgement judgement = judge(profile, {run("GPU-1a", {product(0.9)}, "a"), run(other, {product(0.9)}, "b")}, {2, {}});
    EXPECT_EQ(check_of(judgement, "unique_gpus").verdict, Verdict::fail) << other;
    EXPECT_EQ(check_of(judgement, "expected_gpus").found, "1 GPU") << other;
    EXPECT_EQ(check_of(judgement, "node").found, "1") << other;
  }
}

TEST(Acceptance, InstancesOfAGpuAreNotCountedAsGpus) {
  const std::vector<Evidence> both = {run("MIG-1", {product(0.9)}), run("MIG-2", {product(0.9)})};
  const Judgement judgement = judge(profile_of(kProduct), both, {2, {}});
  EXPECT_EQ(check_of(judgement, "expected_gpus").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judgement, "expected_gpus").found, "0 GPUs, and 2 MIG instances, which are parts of one");
}

TEST(Acceptance, TheSamplesOfAnotherGpuAreNoMeasurement) {
  std::vector<Evidence> runs = {run("GPU-1", {product(0.9)}, "a"), run("GPU-2", {product(0.9)}, "b"),
                                run("GPU-3", {product(0.9)}, "c")};
  EXPECT_TRUE(judge(profile_of(kProduct), runs, {3, {}}).accepted()) << "no samples, nothing to compare";
  runs[0].samples_hash = runs[2].samples_hash = "12";
  runs[1].samples_hash = "34";
  const Judgement judgement = judge(profile_of(kProduct), runs, {3, {}});
  EXPECT_EQ(check_of(judgement, "unique_gpus").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judgement, "unique_gpus").found, "GPU-3 (cuda:0 of c) has the samples of GPU-1 (cuda:0 of a)");
  runs[2].devices = runs[0].devices;
  EXPECT_FALSE(judge(profile_of(kProduct), runs, {2, {}}).checks.empty()) << "a merged run has those of one of its parts";
  EXPECT_TRUE(judge(profile_of(kProduct), runs, {2, {}}).accepted());
}

TEST(Acceptance, AGpuHasOnePlaceWhateverItsNumberForCuda) {
  std::vector<Evidence> both = {run("GPU-1", {product(0.9)}), run("GPU-1", {product(0.9)})};
  both[1].devices[0].id = "cuda:3";  // with other CUDA_VISIBLE_DEVICES
  for (Evidence& one : both) one.devices[0].slot = "0000:1b:00.0";
  both[1].suite = "sustained";
  both[1].records.clear();
  const Profile profile =
      profile_of(kProduct + "[rule.settled]\nquantity = 'results.failed'\nsuite = 'sustained'\nmost = 0\nreason = 'r'\n");
  const Judgement judgement = judge(profile, both, {1, {}});
  EXPECT_TRUE(judgement.accepted()) << "it is one device, and each run has what the other lacks";
  ASSERT_EQ(judgement.devices.size(), 1);
  EXPECT_EQ(judgement.devices[0].name, "GPU-1 (cuda:0 of node1)");
  both[1].devices[0].slot.clear();
  EXPECT_TRUE(judge(profile, both, {1, {}}).accepted()) << "one run does not tell it";
  both[1].devices[0].slot = "0000:43:00.0";
  EXPECT_EQ(check_of(judge(profile_of(kProduct), both, {}), "unique_gpus").verdict, Verdict::fail);
}

TEST(Acceptance, TwoMachinesOfOneNameAreNotOneNode) {
  const Profile profile = profile_of(kProduct);
  std::vector<Evidence> both = {run("GPU-1", {product(0.9)}, "a"), run("GPU-2", {product(0.9)}, "a")};
  both[0].devices[0].slot = "0000:1b:00.0";
  both[1].devices[0].slot = "0000:43:00.0";
  EXPECT_TRUE(judge(profile, both, {}).accepted());
  both[1].devices[0].slot = both[0].devices[0].slot;
  const Judgement judgement = judge(profile, both, {});
  EXPECT_FALSE(judgement.accepted());
  EXPECT_EQ(check_of(judgement, "unique_nodes").found, "a has GPU-1 and GPU-2 at PCI address 0000:1b:00.0");
  both[1].devices[0].node = "b";
  EXPECT_TRUE(judge(profile, both, {}).accepted());
}

TEST(Acceptance, OfThreeGpusOnlyTheOneWithOtherBitsIsNamed) {
  const Profile profile = profile_of("[rule.bits]\ncases = '.'\nquantity = 'differing_bits'\nmost = 0\nreason = 'r'\n");
  Record flipped = product(0.9);
  flipped.fingerprint->hash = "00fe";
  const Judgement judgement =
      judge(profile, {run("GPU-1", {product(0.9)}), run("GPU-2", {flipped}), run("GPU-3", {product(0.9)})}, {});
  EXPECT_EQ(check_of(judgement, "bits", "GPU-1").verdict, Verdict::pass);
  EXPECT_EQ(check_of(judgement, "bits", "GPU-2").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judgement, "bits", "GPU-2").measured, 2) << "results with other bits";
  EXPECT_EQ(check_of(judgement, "bits", "GPU-3").verdict, Verdict::pass);
  EXPECT_EQ(check_of(judgement, "bits", "GPU-3").measured, 0);
}

TEST(Acceptance, AGpuWithMoreRunsHasNoMoreVotesAboutBits) {
  const Profile profile = profile_of("[rule.bits]\ncases = '.'\nquantity = 'differing_bits'\nmost = 0\nreason = 'r'\n");
  Record flipped = product(0.9);
  flipped.fingerprint->hash = "00fe";
  Evidence second = run("GPU-2", {flipped});
  second.suite = "baseline";
  second.devices[0].id = "cuda:3";
  const Judgement judgement = judge(profile, {run("GPU-1", {product(0.9)}), run("GPU-2", {flipped}), second}, {});
  EXPECT_EQ(check_of(judgement, "bits", "GPU-1").verdict, Verdict::fail) << "of two, nobody knows which is right";
  EXPECT_EQ(check_of(judgement, "bits", "GPU-2").verdict, Verdict::fail);
}

/// A GPU that is wrong now and then must not be excused as an algorithm whose bits vary.
TEST(Acceptance, LaunchesThatDifferAreOtherBitsWhereMostAgree) {
  const Profile profile = profile_of("[rule.bits]\ncases = '.'\nquantity = 'differing_bits'\nmost = 0\nreason = 'r'\n");
  Record varying = product(0.9);
  varying.fingerprint->hash.clear();
  varying.fingerprint->deterministic = false;
  const auto judged = [&](const Record& one, const Record& two, const Record& three) {
    const Judgement judgement = judge(profile, {run("GPU-1", {one}), run("GPU-2", {two}), run("GPU-3", {three})}, {});
    std::string verdicts;
    for (const char* gpu : {"GPU-1", "GPU-2", "GPU-3"}) verdicts += name(check_of(judgement, "bits", gpu).verdict)[0];
    return verdicts;
  };
  EXPECT_EQ(judged(product(0.9), varying, product(0.9)), "PFP");
  EXPECT_EQ(judged(varying, varying, product(0.9)), "NNP") << "most vary: the operation may be so";
  EXPECT_EQ(judged(varying, varying, varying), "NNN");
}

TEST(Acceptance, WhatNobodyCouldLookForIsNotMeasured) {
  const Profile profile = profile_of("[rule.alone]\nquantity = 'finding.foreign_process'\nmost = 0\nreason = 'r'\n");
  Evidence blind = run("GPU-1", {product(0.9)});
  EXPECT_TRUE(judge(profile, {blind}, {}).accepted());
  blind.unseen = {FindingKind::foreign_process};
  EXPECT_EQ(check_of(judge(profile, {blind}, {}), "alone").verdict, Verdict::not_measured);
}

/// A rule that one of two runs could see is measured by that one; one that a GPU has no counter of is not measured on it.
TEST(Acceptance, WhatOneRunCannotShowAnotherMay) {
  const Profile profile = profile_of(
      "[rule.throttle]\nquantity = 'finding.throttle'\nmost = 0\nreason = 'r'\n"
      "[rule.xid]\nquantity = 'finding.xid'\nmost = 0\nreason = 'r'\n");
  const Evidence blind = run("GPU-1", {product(0.9)});
  EXPECT_EQ(check_of(judge(profile, {blind}, {}), "throttle").verdict, Verdict::not_measured);
  EXPECT_EQ(check_of(judge(profile, {blind}, {}), "throttle").explanation, "no run could check for it");
  Record observed = product(0.9);
  observed.measurement->telemetry.emplace().throttled_share.emplace();
  const Evidence seeing = run("GPU-1", {observed});
  EXPECT_TRUE(judge(profile, {seeing}, {}).accepted());
  EXPECT_TRUE(judge(profile, {blind, seeing}, {}).accepted());
  Evidence uncounted = seeing;
  uncounted.devices[0].unseen = {FindingKind::xid};
  EXPECT_EQ(check_of(judge(profile, {uncounted}, {}), "xid").verdict, Verdict::not_measured);
  EXPECT_FALSE(judge(profile, {uncounted, seeing}, {}).accepted());
}

TEST(Acceptance, AFindingAboutSomeRanksIsThatOfTheirGpus) {
  const Profile profile = profile_of("[rule.xid]\nquantity = 'finding.xid'\nmost = 0\nreason = 'r'\n");
  Evidence evidence = run("GPU-0", {product(0.9)});
  evidence.devices.clear();
  for (int rank = 0; rank < 16; ++rank) {
    const std::string digits = std::to_string(rank);
    evidence.devices.push_back({"GPU-" + digits + ".", rank < 8 ? "node1" : "node2", "cuda:" + digits, "NVIDIA H200"});
  }
  evidence.findings = {{FindingKind::xid, "text", "", 1, "", {3}}};
  const Judgement judgement = judge(profile, {evidence}, {});
  for (int rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(check_of(judgement, "xid", "GPU-" + std::to_string(rank) + ".").verdict,
              rank == 3 ? Verdict::fail : Verdict::pass);
  }
  EXPECT_EQ(judgement.nodes[0].verdict, Verdict::fail);
  EXPECT_EQ(judgement.nodes[1].verdict, Verdict::pass);
  evidence.findings[0].ranks.clear();
  EXPECT_EQ(judge(profile, {evidence}, {}).nodes[1].verdict, Verdict::fail);
}

TEST(Acceptance, AnUnknownDeviceIsNamed) {
  Evidence evidence = run("GPU-1", {product(0.9)});
  EXPECT_TRUE(judge(profile_of(kProduct), {evidence}, {}).unknown_devices.empty());
  evidence.findings = {{FindingKind::unknown_device, "text", ""}};
  EXPECT_THAT(judge(profile_of(kProduct), {evidence}, {}).unknown_devices, testing::ElementsAre("NVIDIA H200"));
}

/// The ceiling of such a device may be too high. A limit on something else still holds.
TEST(Acceptance, ARuleOnKnownDevicesDoesNotJudgeAnUnknownOne) {
  const auto judged = [](const std::string& keys, bool is_known) {
    Evidence evidence = run("GPU-1", {product(0.3)});
    if (!is_known) evidence.findings = {{FindingKind::unknown_device, "text", ""}};
    return judge(profile_of(kProduct + keys), {evidence}, {});
  };
  EXPECT_EQ(check_of(judged("known = true\n", true), "product").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judged("", false), "product").verdict, Verdict::fail);
  const Judgement unknown = judged("known = true\n", false);
  EXPECT_EQ(check_of(unknown, "product").verdict, Verdict::not_measured);
  EXPECT_THAT(check_of(unknown, "product").explanation, HasSubstr("not in the table of known GPUs"));
  EXPECT_FALSE(unknown.accepted());
  EXPECT_TRUE(judged("known = true\nmandatory = 'where measured'\n", false).accepted());
  EXPECT_FALSE(judged("known = true\nmandatory = 'where measured'\n", true).accepted());
}

/// Of two GPUs of one run, the rule judges the one that the table has; a node with the other is judged by nothing.
TEST(Acceptance, ARuleOnKnownDevicesJudgesThoseOfARun) {
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.devices.push_back({"GPU-2", "node1", "cuda:1", "NVIDIA H200"});
  evidence.findings = {{FindingKind::unknown_device, "text", "", 1, "", {1}}};
  const Judgement judgement = judge(profile_of(kProduct + "known = true\n"), {evidence}, {});
  EXPECT_EQ(check_of(judgement, "product", "GPU-1").verdict, Verdict::pass);
  EXPECT_EQ(check_of(judgement, "product", "GPU-2").verdict, Verdict::not_measured);
}

TEST(Acceptance, ATimeWithoutAnIntervalIsNotMeasured) {
  Record brief = product(0.9);
  brief.measurement->summary.interval_low.reset();
  EXPECT_EQ(check_of(judge(profile_of(kProduct), {run("GPU-1", {brief})}, {}), "product").verdict, Verdict::not_measured);
}

TEST(Acceptance, AShareAboveTheRoofAtTheObservedClockMeansADoubtfulClock) {
  const Profile profile =
      profile_of("[rule.product]\ncases = '^gemm/'\nquantity = 'of_theoretical_clock'\nleast = 0.8\nreason = 'r'\n");
  const auto check = [&](double observed_hz) {
    std::vector<Record> records = {product(0.9)};
    records[0].measurement->clock_hz = observed_hz;
    Evidence evidence = run("GPU-1", records);
    Roofline theoretical;
    theoretical.at(resource::bf16_tensor).theoretical = kPeak;
    theoretical.at(resource::bf16_tensor).theoretical_clock_hz = 2e9;
    evidence.analysis = analyze(theoretical, records, {});
    evidence.records = records;
    return check_of(judge(profile, {evidence}, {}), "product");
  };
  EXPECT_EQ(check(2e9).verdict, Verdict::pass);
  EXPECT_EQ(check(0.9 / 1.01 * 2e9).verdict, Verdict::pass);
  const Check low = check(0.9 / 1.03 * 2e9);
  EXPECT_EQ(low.verdict, Verdict::not_measured);
  EXPECT_THAT(low.explanation, HasSubstr("103.0 % of the roof at the observed clock: the clock is doubtful"));
}

/// The theoretical ceiling of DRAM is that of the memory's highest clock.
TEST(Acceptance, AShareOfDramIsNotOfARoofAtTheObservedClock) {
  const Profile profile =
      profile_of("[rule.reading]\ncases = '^gemm/'\nquantity = 'of_theoretical_clock'\nleast = 0.8\nreason = 'r'\n");
  std::vector<Record> records = {product(0.9)};
  records[0].work.phases = {{{resource::dram, 0.9e12 * records[0].measurement->summary.median}}};
  records[0].measurement->clock_hz = 1e9;
  Evidence evidence = run("GPU-1", records);
  Roofline theoretical;
  theoretical.at(resource::dram).theoretical = 1e12;
  evidence.analysis = analyze(theoretical, records, {});
  evidence.records = records;
  EXPECT_EQ(check_of(judge(profile, {evidence}, {}), "reading").expected, ">= 80.0 % of 1.00 TB/s (DRAM)");
}

TEST(Acceptance, TheVersionOfAVbiosIsHexadecimal) {
  const auto verdict = [](const std::string& least, const std::string& found) {
    Evidence evidence = run("GPU-1", {product(0.9)});
    evidence.versions["vbios"] = evidence.versions["driver"] = found;
    const Profile profile = profile_of("[rule.vbios]\nquantity = 'version.vbios'\nleast = '" + least + "'\nreason = 'r'\n");
    return check_of(judge(profile, {evidence}, {}), "vbios").verdict;
  };
  EXPECT_EQ(verdict("96.00.74.00.1C", "96.00.74.00.1C"), Verdict::pass);
  EXPECT_EQ(verdict("96.00.74.00.1C", "96.00.74.00.1c"), Verdict::pass);
  EXPECT_EQ(verdict("96.00.74.00.1C", "96.00.74.00.20"), Verdict::pass);
  EXPECT_EQ(verdict("96.00.74.00.1C", "96.00.74.00.1B"), Verdict::fail);
  EXPECT_EQ(verdict("96.00.74.00.1C", "96.00.74.00.09"), Verdict::fail);
  EXPECT_EQ(verdict("96.00.9F", "96.00.A0"), Verdict::pass);
  EXPECT_EQ(verdict("96", std::string(1000000, '9')), Verdict::pass);  // no length exhausts the stack
}

/// What GPUs share (a PCIe switch, the host's memory) slows them down while all measure.
TEST(Acceptance, ARuleOfWhatWasMeasuredAloneDoesNotJudgeARunOfAllGpus) {
  const Profile profile = profile_of(kProduct + "alone = true\n");
  Evidence all = run("GPU-1", {product(0.3)});
  all.together = true;
  EXPECT_TRUE(judge(profile, {run("GPU-1", {product(0.9)}), all}, {}).accepted());
  const Judgement judgement = judge(profile, {all}, {});
  EXPECT_EQ(check_of(judgement, "product").verdict, Verdict::not_measured);
  EXPECT_EQ(check_of(judgement, "product").explanation, "no run measured it while the other GPUs did not");
  EXPECT_EQ(check_of(judge(profile_of(kProduct), {all}, {}), "product").verdict, Verdict::fail);
}

// A rule per node is on what the run over several nodes says of the node's ranks.
TEST(Acceptance, AFindingOfARunOverSeveralNodesIsThatOfTheNodesOfItsRanks) {
  const Profile profile = read_profile("h200_sxm");
  Evidence evidence = run("GPU-0", {product(0.9)});
  evidence.devices.clear();
  for (int rank = 0; rank < 6; ++rank) {
    const std::string digits = std::to_string(rank);
    evidence.devices.push_back({"GPU-" + digits, "node" + std::to_string(rank / 2), "cuda:" + digits, "NVIDIA H200"});
  }
  const auto failed_nodes = [&](const std::string& rule) {
    std::vector<std::string> nodes;
    for (const Check& check : judge(profile, {evidence}, {}).checks) {
      if (check.rule->id != rule) continue;
      EXPECT_TRUE(check.mandatory) << check.node;
      if (check.verdict == Verdict::fail) nodes.push_back(check.node);
    }
    return nodes;
  };
  for (const FindingKind kind : {FindingKind::slow_link, FindingKind::peer_access}) {
    const std::string rule(type_of(kind).id);
    EXPECT_THAT(failed_nodes(rule), testing::IsEmpty());
    evidence.findings = {{kind, "text", "", 1, "", {1, 4}}};
    EXPECT_THAT(failed_nodes(rule), testing::ElementsAre("node0", "node2"));
    evidence.findings.clear();
  }
  evidence.analysis.unseen = {FindingKind::slow_link};
  for (const Check& check : judge(profile, {evidence}, {}).checks) {
    if (check.rule->id != "slow_link") continue;
    EXPECT_EQ(check.verdict, Verdict::not_measured);
  }
}

TEST(Acceptance, AShippedProfileRefusesANodeWithASlowRankOrLinkOrWithoutPeerAccessRdmaOrNvlink) {
  const Profile profile = read_profile("h200_sxm");
  for (const FindingKind kind :
       {FindingKind::slow_rank, FindingKind::slow_link, FindingKind::peer_access, FindingKind::rdma_unused,
        FindingKind::gpudirect_unused, FindingKind::nvlink_unused, FindingKind::link_rate}) {
    const std::string rule(type_of(kind).id);
    SCOPED_TRACE(rule);
    Evidence evidence = run("GPU-1", {product(0.9)});
    evidence.analysis.unseen.erase(kind);
    EXPECT_EQ(check_of(judge(profile, {evidence}, {}), rule).verdict, Verdict::pass);
    evidence.findings = {{kind, "text", ""}};
    const Judgement judgement = judge(profile, {evidence}, {});
    EXPECT_EQ(check_of(judgement, rule).verdict, Verdict::fail);
    EXPECT_TRUE(check_of(judgement, rule).mandatory);
  }
}

TEST(Acceptance, AResultFromTheFutureIsNotYoung) {
  Evidence ahead = run("GPU-1", {product(0.9)});
  ahead.age_seconds = -7260;
  const Judgement judgement = judge(profile_of(kProduct), {ahead}, {{}, 7200});
  EXPECT_EQ(check_of(judgement, "age").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judgement, "age").found, "2 h 01 min in the future: the clock of this host or of the result's is wrong");
}

TEST(Acceptance, ResultsFindingsVersionsAndGpusAreCounted) {
  const Profile profile = profile_of(
      "[rule.wrong]\nquantity = 'results.wrong'\nmost = 0\nreason = 'r'\n"
      "[rule.drift]\nquantity = 'finding.drift'\nmost = 0\nreason = 'r'\n"
      "[rule.driver]\nquantity = 'version.driver'\nleast = '570.9'\nreason = 'r'\n"
      "[rule.vbios]\nquantity = 'version.vbios'\nleast = '1'\nreason = 'r'\n"
      "[rule.gpus]\nquantity = 'gpus'\nper = 'node'\nleast = 2\nreason = 'r'\n");
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.findings = {{FindingKind::drift, "text", ""}};
  const Judgement judgement = judge(profile, {evidence}, {});
  EXPECT_EQ(check_of(judgement, "wrong").verdict, Verdict::pass);
  EXPECT_EQ(check_of(judgement, "drift").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judgement, "driver").verdict, Verdict::pass);  // 86 is more than 9
  EXPECT_EQ(check_of(judgement, "vbios").verdict, Verdict::not_measured);
  EXPECT_EQ(check_of(judgement, "gpus").verdict, Verdict::fail);
}

TEST(Acceptance, GpusAreCountedOfEachNodeAndOnce) {
  const Profile profile = profile_of("[rule.gpus]\nquantity = 'gpus'\nper = 'node'\nleast = 2\nreason = 'r'\n");
  const auto on = [](const std::string& uuid, const std::string& node) { return run(uuid, {product(0.9)}, node); };
  // One of node b has no UUID, and the other has two runs.
  const Judgement judgement =
      judge(profile, {on("GPU-1", "a"), on("GPU-2", "a"), on("GPU-3", "b"), on("GPU-3", "b"), on("", "b")}, {});
  std::map<std::string, double> counted;
  for (const Check& check : judgement.checks) {
    if (check.rule->id == "gpus") counted[check.node] = check.measured.value();
  }
  EXPECT_EQ(counted, (std::map<std::string, double>{{"a", 2}, {"b", 1}}));
}

TEST(Acceptance, BitsAreComparedBetweenRunsWithTheSameKey) {
  const Profile profile = profile_of("[rule.bits]\ncases = '.'\nquantity = 'differing_bits'\nmost = 0\nreason = 'r'\n");
  Record flipped = product(0.9), elsewhere = product(0.9);
  flipped.fingerprint->hash = "00fe";
  EXPECT_TRUE(judge(profile, {run("GPU-1", {product(0.9)}), run("GPU-2", {product(0.9)})}, {}).accepted());
  EXPECT_FALSE(judge(profile, {run("GPU-1", {product(0.9)}), run("GPU-2", {flipped})}, {}).accepted());
  flipped.fingerprint->key = "another driver";
  EXPECT_TRUE(judge(profile, {run("GPU-1", {product(0.9)}), run("GPU-2", {flipped})}, {}).accepted());
}

TEST(Acceptance, TheShareOfTimeOfAThrottleReasonIsZeroWhereTheTelemetryDoesNotNameIt) {
  const Profile profile = profile_of(
      "[rule.slow]\ncases = '.'\nquantity = 'share_of_time.hardware_slowdown'\nmost = 0.1\nreason = 'r'\n"
      "[rule.brake]\ncases = '.'\nquantity = 'share_of_time.power_brake'\nmost = 0\nreason = 'r'\n");
  Record record = product(0.9);
  EXPECT_EQ(check_of(judge(profile, {run("GPU-1", {record})}, {}), "slow").verdict, Verdict::not_measured);
  record.measurement->telemetry.emplace().power_watts = 500;
  EXPECT_EQ(check_of(judge(profile, {run("GPU-1", {record})}, {}), "slow").verdict, Verdict::not_measured)
      << "its driver tells no reasons";
  record.measurement->telemetry->throttled_share = {{"hardware slowdown", 0.25}};
  const Judgement judgement = judge(profile, {run("GPU-1", {record})}, {});
  EXPECT_EQ(check_of(judgement, "slow").measured, 0.25);
  EXPECT_EQ(check_of(judgement, "slow").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judgement, "brake").measured, 0);
  EXPECT_EQ(check_of(judgement, "brake").verdict, Verdict::pass);
}

TEST(Acceptance, EachRankIsJudgedByItsOwnTelemetryAndDecay) {
  const Profile profile = profile_of(
      "[rule.slow]\ncases = '.'\nquantity = 'share_of_time.thermal'\nmost = 0.1\nreason = 'r'\n"
      "[rule.lasts]\ncases = '.'\nquantity = 'settled_of_burst'\nleast = 0.9\nreason = 'r'\n");
  Record record = product(0.9);
  record.measurement->telemetry.emplace().throttled_share.emplace();
  record.sustained.emplace().settled_of_burst = 0.95;
  RankTimes one{1, 1, {}, {}}, other{1, 1, {}, {}};
  one.throttled_share.emplace();
  one.sustained.emplace().settled_of_burst = 0.95;
  other.throttled_share = {{"thermal", 0.5}};
  other.sustained.emplace().settled_of_burst = 0.7;
  record.measurement->ranks = {one, other};
  Evidence evidence = run("GPU-1", {record});
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H200"}};
  const Judgement judgement = judge(profile, {evidence}, {});
  for (const char* rule : {"slow", "lasts"}) {
    EXPECT_EQ(check_of(judgement, rule, "GPU-1").verdict, Verdict::pass) << rule;
    EXPECT_EQ(check_of(judgement, rule, "GPU-2").verdict, Verdict::fail) << rule;
  }
}

TEST(Acceptance, ACountIsShownInFull) {
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.counters = {{"ecc_corrected", 0, 0, 1'234'567}};
  const Profile profile = profile_of("[rule.ecc]\nquantity = 'counter.ecc_corrected'\nmost = 1000000\nreason = 'r'\n");
  const Judgement judgement = judge(profile, {evidence}, {});
  EXPECT_EQ(check_of(judgement, "ecc").found + " " + check_of(judgement, "ecc").expected, "1234567 <= 1000000");
}

TEST(Acceptance, ACounterIsJudgedPerGpuByItsRankAndPerNodeAsASum) {
  const std::string rule = "[rule.xid]\nquantity = 'counter.xid'\nmost = 0\nreason = 'r'\n";
  Evidence evidence = run("GPU-1", {product(0.9)});
  EXPECT_EQ(check_of(judge(profile_of(rule), {evidence}, {}), "xid").verdict, Verdict::not_measured);
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H200"}};
  evidence.counters = {{"xid", 0, 5, 5}, {"xid", 1, 0, 2}, {"pcie_replays", 0, 0, 9}};
  const Judgement judgement = judge(profile_of(rule), {evidence}, {});
  EXPECT_EQ(check_of(judgement, "xid", "GPU-1").verdict, Verdict::pass);
  EXPECT_EQ(check_of(judgement, "xid", "GPU-2").measured, 2);
  EXPECT_EQ(check_of(judgement, "xid", "GPU-2").verdict, Verdict::fail);
  evidence.counters[0].after = 6;
  EXPECT_EQ(check_of(judge(profile_of(rule + "per = 'node'\n"), {evidence}, {}), "xid").measured, 3);
}

TEST(Acceptance, ACounterOfAHostThatAllItsRanksReadCountsOnce) {
  const std::string rule = "[rule.symbols]\nquantity = 'counter.network_symbol_errors'\nmost = 5\nreason = 'r'\n";
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"},
                      {"GPU-2", "node1", "cuda:1", "NVIDIA H200"},
                      {"GPU-3", "node2", "cuda:0", "NVIDIA H200"}};
  evidence.counters = {
      {"network_symbol_errors", 0, 0, 3}, {"network_symbol_errors", 1, 0, 4}, {"network_symbol_errors", 2, 0, 2}};
  const Judgement of_nodes = judge(profile_of(rule + "per = 'node'\n"), {evidence}, {});
  EXPECT_EQ(check_of(of_nodes, "symbols").measured, 4);
  EXPECT_EQ(check_of(of_nodes, "symbols").verdict, Verdict::pass);
  EXPECT_EQ(check_of(judge(profile_of(rule + "per = 'delivery'\n"), {evidence}, {}), "symbols").measured, 6);
}

/// A GPU whose memory cannot be repaired, with 12 of 18 NVLinks, in no fabric, was so before the run: no counter changes.
TEST(Acceptance, AFaultFromBeforeTheRunFails) {
  const Profile profile = profile_of(
      "[rule.remap]\nquantity = 'state.remap_failed'\nmost = 0\nreason = 'r'\n"
      "[rule.links]\nquantity = 'state.nvlink_links'\nleast = 18\nreason = 'r'\n"
      "[rule.pages]\nquantity = 'state.retired_pages_uncorrected'\nmost = 0\nmandatory = 'where measured'\nreason = 'r'\n"
      "[rule.fabric]\nquantity = 'state.fabric_completed'\nleast = 1\nmandatory = 'where measured'\nreason = 'r'\n");
  Evidence healthy = run("GPU-1", {product(0.9)});
  healthy.counters = {{"remap_failed", 0, 0, 0}, {"nvlink_links", 0, 18, 18}, {"fabric_completed", 0, 1, 1}};
  const Judgement good = judge(profile, {healthy}, {});
  EXPECT_TRUE(good.accepted());
  EXPECT_EQ(check_of(good, "pages").verdict, Verdict::not_measured);
  EXPECT_FALSE(check_of(good, "pages").mandatory);
  EXPECT_TRUE(check_of(good, "fabric").mandatory);

  for (const auto& [rule, counter] : std::map<std::string, CounterChange>{{"remap", {"remap_failed", 0, 1, 1}},
                                                                          {"links", {"nvlink_links", 0, 12, 12}},
                                                                          {"pages", {"retired_pages_uncorrected", 0, 2, 2}},
                                                                          {"fabric", {"fabric_completed", 0, 0, 0}}}) {
    Evidence faulty = healthy;
    std::erase_if(faulty.counters, [&id = counter.id](const CounterChange& one) { return one.id == id; });
    faulty.counters.push_back(counter);
    const Judgement judgement = judge(profile, {faulty}, {});
    EXPECT_EQ(check_of(judgement, rule).verdict, Verdict::fail) << rule;
    EXPECT_FALSE(judgement.accepted()) << rule;
  }
  // A device of a kind that always has links and gives no number is not accepted.
  healthy.counters.erase(healthy.counters.begin() + 1);
  EXPECT_FALSE(judge(profile, {healthy}, {}).accepted());
}

TEST(Acceptance, AStateIsThatOfTheWorstDeviceOfANode) {
  const std::string rule =
      "[rule.links]\nquantity = 'state.nvlink_links'\nleast = 18\nreason = 'r'\n"
      "[rule.pending]\nquantity = 'state.remap_pending'\nmost = 0\nreason = 'r'\n";
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H200"}};
  evidence.counters = {
      {"nvlink_links", 0, 18, 18}, {"nvlink_links", 1, 17, 17}, {"remap_pending", 0, 3, 3}, {"remap_pending", 1, 0, 0}};
  const Judgement each = judge(profile_of(rule), {evidence}, {});
  EXPECT_EQ(check_of(each, "links", "GPU-1").verdict, Verdict::pass);
  EXPECT_EQ(check_of(each, "links", "GPU-2").verdict, Verdict::fail);
  const Profile node = profile_of(rule.substr(0, rule.find("[rule.pending]")) + "per = 'node'\n" +
                                  rule.substr(rule.find("[rule.pending]")) + "per = 'node'\n");
  EXPECT_EQ(check_of(judge(node, {evidence}, {}), "links").measured, 17);
  EXPECT_EQ(check_of(judge(node, {evidence}, {}), "pending").measured, 3);
}

/// Some devices lack these counters; one that could be read once is not among them.
TEST(Acceptance, ACounterThatTheRunLostSightOfIsNotMeasuredAndDecides) {
  const std::string optional = "most = 0\nmandatory = 'where measured'\nreason = 'r'\n";
  const Profile profile = profile_of("[rule.state]\nquantity = 'state.remap_failed'\n" + optional +
                                     "[rule.counter]\nquantity = 'counter.remap_failed'\n" + optional +
                                     "[rule.finding]\nquantity = 'finding.uncorrected_errors'\n" + optional);
  const auto judged = [&](std::vector<CounterChange> counters) {
    Evidence evidence = run("GPU-1", {product(0.9)});
    evidence.counters = std::move(counters);
    evidence.devices[0].unseen = uncounted(evidence.counters, 0);
    return judge(profile, {evidence}, {});
  };
  const Judgement lacking = judged({}), read = judged({{"remap_failed", 0, 0, 0}});
  EXPECT_TRUE(lacking.accepted());
  EXPECT_TRUE(read.accepted());
  for (const char* rule : {"state", "counter", "finding"}) {
    EXPECT_FALSE(check_of(lacking, rule).mandatory) << rule;
    EXPECT_EQ(check_of(read, rule).verdict, Verdict::pass) << rule;
    for (const CounterChange& change : {CounterChange{"remap_failed", 0, 0, {}}, CounterChange{"remap_failed", 0, {}, 0}}) {
      const Check check = check_of(judged({change}), rule);
      EXPECT_EQ(check.verdict, Verdict::not_measured) << rule;
      EXPECT_TRUE(check.mandatory) << rule;
    }
  }
  EXPECT_EQ(check_of(judged({{"remap_failed", 0, 0, {}}}), "counter").explanation, "it could not be read after the run");
  EXPECT_EQ(check_of(judged({{"remap_failed", 0, 0, {}}}), "finding").explanation,
            "failed remappings of memory rows could not be read throughout the run");
  // What was read once is bad enough.
  EXPECT_EQ(check_of(judged({{"remap_failed", 0, 1, {}}}), "state").verdict, Verdict::fail);
  // A counter that was reset says nothing of the run, and two values of the state.
  const Judgement reset = judged({{"remap_failed", 0, 1, 0}});
  EXPECT_EQ(check_of(reset, "counter").explanation, "it was reset during the run");
  EXPECT_FALSE(reset.accepted());
  EXPECT_EQ(check_of(reset, "state").measured, 1);
}

TEST(Acceptance, AGpuThatWasLostSightOfIsNotOutvotedByItsNode) {
  const Profile profile = profile_of(
      "[rule.xid]\nquantity = 'counter.xid'\nmost = 0\nper = 'node'\nreason = 'r'\n"
      "[rule.links]\nquantity = 'state.nvlink_links'\nleast = 18\nper = 'node'\nreason = 'r'\n");
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H200"}};
  const auto verdicts = [&](std::vector<CounterChange> counters) {
    evidence.counters = std::move(counters);
    const Judgement judgement = judge(profile, {evidence}, {});
    return std::pair(check_of(judgement, "xid").verdict, check_of(judgement, "links").verdict);
  };
  EXPECT_EQ(verdicts({{"xid", 0, 0, 0}, {"xid", 1, 0, 0}, {"nvlink_links", 0, 18, 18}, {"nvlink_links", 1, 18, 18}}),
            std::pair(Verdict::pass, Verdict::pass));
  EXPECT_EQ(verdicts({{"xid", 0, 0, 0}, {"xid", 1, 0, {}}, {"nvlink_links", 0, 18, 18}, {"nvlink_links", 1, 18, {}}}),
            std::pair(Verdict::not_measured, Verdict::not_measured));
  EXPECT_EQ(verdicts({{"xid", 0, 0, 1}, {"xid", 1, 0, {}}, {"nvlink_links", 0, 12, {}}, {"nvlink_links", 1, 18, {}}}),
            std::pair(Verdict::fail, Verdict::fail));
}

TEST(Acceptance, AFindingWithinItsLimitDoesNotHideAGpuThatWasLostSightOf) {
  const Profile profile = profile_of("[rule.slow]\nquantity = 'finding.slowdown'\nmost = 1\nper = 'node'\nreason = 'r'\n");
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H200"}};
  evidence.findings = {{FindingKind::slowdown, "text", "", 0, "", {0}}};
  EXPECT_EQ(check_of(judge(profile, {evidence}, {}), "slow").verdict, Verdict::pass);
  evidence.findings.push_back({FindingKind::telemetry_lost, "text", "", 0, "", {1}});
  EXPECT_EQ(check_of(judge(profile, {evidence}, {}), "slow").verdict, Verdict::not_measured);
}

/// In whatever way a kind is found, a run that lost sight of that way shows none of it.
TEST(Acceptance, EveryKindThatTelemetryOrCountersShowIsLostWithThem) {
  int of_telemetry = 0, of_counters = 0;
  for (const FindingType& type : kFindingTypes) {
    const Profile profile =
        profile_of("[rule.one]\nquantity = 'finding." + std::string(type.id) + "'\nmost = 1\nreason = 'r'\n");
    Evidence evidence = run("GPU-1", {product(0.9)});
    evidence.analysis.unseen.clear();
    EXPECT_EQ(check_of(judge(profile, {evidence}, {}), "one").verdict, Verdict::pass) << type.id;
    evidence.findings = {{FindingKind::telemetry_lost, "text", ""}};
    evidence.counters = {{"xid", 0, 0, 0}};  // read before telemetry ended
    const bool by_telemetry = type.is_found_by(kByTelemetry);
    const bool by_counters = type.is_found_by(FoundBy::counters) && !is_of_host(type.kind);
    EXPECT_EQ(check_of(judge(profile, {evidence}, {}), "one").verdict == Verdict::not_measured, by_telemetry) << type.id;
    evidence.counters.clear();
    EXPECT_EQ(check_of(judge(profile, {evidence}, {}), "one").verdict == Verdict::not_measured, by_telemetry || by_counters)
        << type.id;
    of_telemetry += by_telemetry;
    of_counters += by_counters;
  }
  EXPECT_GE(of_telemetry, 3);
  EXPECT_GE(of_counters, 6);
}

TEST(Acceptance, TelemetryThatEndedDuringTheRunShowsNothingOfTheRest) {
  const std::string optional = "most = 0\nmandatory = 'where measured'\nreason = 'r'\n";
  const Profile profile = profile_of("[rule.share]\ncases = '.'\nquantity = 'share_of_time.power_brake'\n" + optional +
                                     "[rule.finding]\nquantity = 'finding.slowdown'\n" + optional);
  Record early = product(0.9), late = product(0.9);
  early.measurement->telemetry.emplace().throttled_share.emplace();
  Evidence evidence = run("GPU-1", {early, late});
  EXPECT_TRUE(judge(profile, {evidence}, {}).accepted());
  evidence.findings = {{FindingKind::telemetry_lost, "text", ""}};
  const Judgement judgement = judge(profile, {evidence}, {});
  EXPECT_EQ(judgement.delivery.bad, 2) << "the late case, and the finding";
  EXPECT_EQ(judgement.delivery.verdict, Verdict::not_measured);
  EXPECT_EQ(check_of(judgement, "share").verdict, Verdict::pass) << "of the early case";
}

/// A driver that hangs before it gives anything looks like a device without counters.
TEST(Acceptance, TelemetryThatEndedBeforeItsFirstValueIsLostSightOf) {
  const std::string optional = "most = 0\nmandatory = 'where measured'\nreason = 'r'\n";
  const Profile profile =
      profile_of("[rule.state]\nquantity = 'state.remap_failed'\n" + optional + "[rule.counter]\nquantity = 'counter.xid'\n" +
                 optional + "[rule.finding]\nquantity = 'finding.xid'\n" + optional);
  Evidence evidence = run("GPU-1", {product(0.9)});
  evidence.devices[0].unseen = uncounted({}, 0);
  EXPECT_TRUE(judge(profile, {evidence}, {}).accepted()) << "a device that counts nothing";
  evidence.findings = {{FindingKind::telemetry_lost, "text", ""}};
  const Judgement hung = judge(profile, {evidence}, {});
  EXPECT_EQ(hung.delivery.bad, 3);
  EXPECT_EQ(hung.delivery.verdict, Verdict::not_measured);
  for (const char* rule : {"state", "counter", "finding"}) {
    EXPECT_TRUE(check_of(hung, rule).mandatory) << rule;
    EXPECT_EQ(check_of(hung, rule).explanation, "the device's telemetry was given up before it gave any counter") << rule;
  }
  evidence.counters = {{"network_ports", 0, 8, 8}};
  EXPECT_EQ(judge(profile, {evidence}, {}).delivery.bad, 3) << "those are its host's";
  const Judgement of_host = judge(profile_of("[rule.lost]\nquantity = 'finding.network_lost'\n" + optional +
                                             "[rule.state]\nquantity = 'state.network_ports'\nleast = 8\nreason = 'r'\n"),
                                  {evidence}, {});
  EXPECT_TRUE(of_host.accepted()) << "which do not end with the device's telemetry";
  evidence.counters = {{"ecc_corrected", 0, 0, {}}};
  EXPECT_FALSE(check_of(judge(profile, {evidence}, {}), "state").mandatory) << "it gave others before: it lacks this one";
}

TEST(Acceptance, CountsPerNodeAddUpOverTheRunsOfTheNode) {
  const std::string rules =
      "[rule.ecc]\nquantity = 'counter.ecc_corrected'\nmost = 5\nper = 'node'\nreason = 'r'\n"
      "[rule.failed]\nquantity = 'results.failed'\nmost = 1\nper = 'delivery'\nreason = 'r'\n";
  Record failed = product(0.9);
  failed.status = Status::failed;
  const auto with = [&](const std::string& uuid, const std::string& node, double errors, const Record& record) {
    Evidence evidence = run(uuid, {record}, node);
    evidence.counters = {{"ecc_corrected", 0, 10, 10 + errors}};
    return evidence;
  };
  const std::vector<Evidence> runs = {with("GPU-1", "node1", 3, failed), with("GPU-2", "node1", 3, product(0.9)),
                                      with("GPU-3", "node2", 3, failed)};
  const Judgement judgement = judge(profile_of(rules), runs, {});
  std::map<std::string, double> errors;
  for (const Check& check : judgement.checks) {
    if (check.rule->id == "ecc") errors[check.node] = *check.measured;
  }
  EXPECT_EQ(errors, (std::map<std::string, double>{{"node1", 6}, {"node2", 3}}));
  EXPECT_EQ(check_of(judgement, "ecc").verdict, Verdict::fail) << "two runs with 3 of 5 each";
  EXPECT_EQ(check_of(judgement, "ecc").file, "GPU-1.json, GPU-2.json");
  EXPECT_EQ(check_of(judgement, "failed").measured, 2);
  std::vector<Evidence> blind = runs;
  blind[1].counters[0].after = {};
  EXPECT_EQ(check_of(judge(profile_of(rules), blind, {}), "ecc").verdict, Verdict::not_measured) << "at least 3, maybe more";
  EXPECT_THAT(check_of(judge(profile_of(rules), blind, {}), "ecc").explanation,
              HasSubstr("GPU-2.json: it could not be read after the run"));
}

TEST(Acceptance, ARuleOfAnotherSuiteIsJudgedByARunOfThatSuiteAlone) {
  const std::string rule =
      "[rule.lasts]\nsuite = 'sustained'\ncases = '^gemm/'\nquantity = 'settled_of_burst'\nleast = 0.9\nreason = 'r'\n";
  const Profile mandatory = profile_of(kProduct + rule), optional = profile_of(kProduct + rule + "mandatory = false\n");
  const Evidence quick = run("GPU-1", {product(0.9)});
  EXPECT_TRUE(judge(optional, {quick}, {}).accepted());
  EXPECT_EQ(check_of(judge(optional, {quick}, {}), "lasts").verdict, Verdict::not_measured)
      << "shown, though it does not decide";
  EXPECT_EQ(check_of(judge(optional, {quick}, {}), "lasts").explanation, "no result of the suite sustained");
  EXPECT_EQ(check_of(judge(mandatory, {quick}, {}), "lasts").verdict, Verdict::not_measured);

  Record settled = product(0.9);
  settled.sustained.emplace().settled_of_burst = 0.93;
  Evidence sustained = run("GPU-1", {settled});
  sustained.suite = "sustained";
  const Judgement both = judge(mandatory, {quick, sustained}, {});
  EXPECT_TRUE(both.accepted());
  EXPECT_EQ(check_of(both, "lasts").measured, 0.93);
  sustained.records[0].sustained->settled_of_burst = 0.8;
  EXPECT_EQ(check_of(judge(mandatory, {quick, sustained}, {}), "lasts").verdict, Verdict::fail);
  // A profile that has no rule of that suite does not take its runs, and no run of a handful of cases stands for all.
  EXPECT_EQ(check_of(judge(profile_of(kProduct), {sustained}, {}), "conditions").verdict, Verdict::fail);
  sustained.suite = "smoke";
  EXPECT_EQ(check_of(judge(mandatory, {sustained}, {}), "conditions").verdict, Verdict::fail);
}

RankTimes times_of_rank(double seconds, double half_width = 0.001) {
  RankTimes times{seconds, seconds, {}, {}};
  times.interval_low = seconds * (1 - half_width);
  times.interval_high = seconds * (1 + half_width);
  return times;
}

TEST(Acceptance, EachRankOfATeamIsJudgedByItsOwnTime) {
  Record together = product(0.5);
  together.measurement->ranks = {times_of_rank(1 / 0.9), times_of_rank(2)};
  Evidence evidence = run("GPU-1", {together});
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H200"}};
  const Judgement judgement = judge(profile_of(kProduct), {evidence}, {});
  EXPECT_EQ(check_of(judgement, "product", "GPU-1").verdict, Verdict::pass);
  EXPECT_EQ(check_of(judgement, "product", "GPU-2").verdict, Verdict::fail);
  evidence.records[0].measurement->ranks = {times_of_rank(1 / 0.81, 0.05), RankTimes{1 / 0.9, 1 / 0.9, {}, {}}};
  const Judgement wide = judge(profile_of(kProduct), {evidence}, {});
  EXPECT_EQ(check_of(wide, "product", "GPU-1").verdict, Verdict::inside_interval) << "by its own interval";
  EXPECT_NEAR(*check_of(wide, "product", "GPU-1").low, 0.81 / 1.05, 1e-9);
  EXPECT_EQ(check_of(wide, "product", "GPU-2").verdict, Verdict::not_measured) << "it has none";
  evidence.records[0].measurement->ranks[0] = RankTimes{1 / 0.9, 1 / 0.9, {}, {}};
  EXPECT_EQ(check_of(judge(profile_of(kProduct), {evidence}, {}), "product", "GPU-2").verdict, Verdict::pass)
      << "no rank has one: an older file";
}

TEST(Acceptance, OfAFileOfSeveralModelsNoShareOfARoofIsJudged) {
  Record record = product(0.5);
  record.measurement->ranks = {times_of_rank(2), times_of_rank(1)};  // the faster one by the roof of the slower one
  Evidence together = run("GPU-1", {record});
  together.together = true;
  together.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H300"}};
  Judgement judgement = judge(profile_of(kProduct), {together}, {});
  for (const char* gpu : {"GPU-1", "GPU-2"}) {
    EXPECT_EQ(check_of(judgement, "product", gpu).verdict, Verdict::not_measured);
    EXPECT_THAT(check_of(judgement, "product", gpu).explanation, testing::HasSubstr("beside devices of another model"));
  }
  judgement = judge(profile_of(kProduct), {together, run("GPU-1", {product(0.9)}), run("GPU-2", {product(0.7)})}, {});
  EXPECT_EQ(check_of(judgement, "product", "GPU-1").verdict, Verdict::pass) << "as it was alone";
  EXPECT_EQ(check_of(judgement, "product", "GPU-2").verdict, Verdict::fail);
}

TEST(Acceptance, AShareOfAMeasuredRoofHasTheRoofsUncertaintyOnEachRankToo) {
  Record together = product(0.9);
  together.measurement->ranks = {times_of_rank(1 / 0.9), times_of_rank(1 / 0.9)};
  Record probe = probe_record("gemm", resource::bf16_tensor, kPeak, 1);
  probe.measurement->summary.interval_low = 1 / 1.2;
  probe.measurement->summary.interval_high = 1.2;
  Evidence evidence = run("GPU-1", {probe, together});
  const Profile profile =
      profile_of("[rule.share]\ncases = '^gemm/'\nquantity = 'of_empirical'\nleast = 0.85\nreason = 'r'\nsource = 's'\n");
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H200"}};
  for (const char* gpu : {"GPU-1", "GPU-2"}) {
    const Judgement judgement = judge(profile, {evidence}, {});
    EXPECT_NEAR(*check_of(judgement, "share", gpu).low, 0.9 / 1.2, 1e-4);
    EXPECT_EQ(check_of(judgement, "share", gpu).verdict, Verdict::inside_interval);
  }
}

TEST(Acceptance, ASlowdownIsTheFaultOfTheGpusThatSlowedDown) {
  const Profile profile = profile_of("[rule.slow]\nquantity = 'finding.slowdown'\nmost = 0\nreason = 'r'\n");
  for (const int hot : {0, 1}) {
    Record together = product(0.9);
    together.measurement->telemetry.emplace().throttled_share.emplace();
    together.measurement->of_rank = 0;
    together.measurement->ranks = {times_of_rank(1), times_of_rank(1)};
    for (auto& rank : together.measurement->ranks) rank->throttled_share.emplace();
    together.measurement->ranks[static_cast<std::size_t>(hot)]->throttled_share = {{"hardware thermal", 0.5}};
    if (hot == 0) together.measurement->telemetry->throttled_share = {{"hardware thermal", 0.5}};
    Evidence evidence = run("GPU-0", {together});
    evidence.findings = evidence.analysis.findings;
    evidence.devices = {{"GPU-0", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-1", "node1", "cuda:1", "NVIDIA H200"}};
    const Judgement judgement = judge(profile, {evidence}, {});
    EXPECT_EQ(check_of(judgement, "slow", "GPU-0").verdict, hot == 0 ? Verdict::fail : Verdict::pass) << hot;
    EXPECT_EQ(check_of(judgement, "slow", "GPU-1").verdict, hot == 1 ? Verdict::fail : Verdict::pass) << hot;
  }
}

TEST(Acceptance, EachRankIsJudgedByItsOwnClock) {
  const Profile profile = profile_of(
      "[rule.clocked]\ncases = '^gemm/'\nquantity = 'of_theoretical_clock'\nleast = 0.8\nreason = 'r'\nsource = 's'\n");
  Record together = product(0.45);
  const double seconds = together.measurement->summary.median;
  Evidence evidence = run("GPU-1", {together});
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H200"}};
  Ceiling* pipe = nullptr;
  for (const Ceiling& ceiling : evidence.analysis.roofline.ceilings()) {
    if (ceiling.resource.clock == ClockDomain::sm) pipe = &evidence.analysis.roofline.at(ceiling.resource);
  }
  ASSERT_NE(pipe, nullptr);
  pipe->theoretical_clock_hz = 2e9;
  // The second rank is as slow at half the clock; the first one at the full clock.
  Record& record = evidence.records[0];
  record.measurement->clock_hz = 1e9;
  record.placement = place(record.work, evidence.analysis.roofline, seconds, Issue::stream, 1e9);
  record.measurement->ranks = {times_of_rank(seconds), times_of_rank(seconds)};
  record.measurement->ranks[0]->clock_hz = 2e9;
  record.measurement->ranks[1]->clock_hz = 1e9;
  const Judgement judgement = judge(profile, {evidence}, {});
  EXPECT_EQ(check_of(judgement, "clocked", "GPU-1").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judgement, "clocked", "GPU-1").expected, ">= 80.0 % of 1.00 TFLOP/s (bf16 tensor, at the observed clock)");
  EXPECT_EQ(check_of(judgement, "clocked", "GPU-2").verdict, Verdict::pass);
  EXPECT_EQ(check_of(judgement, "clocked", "GPU-2").expected, ">= 80.0 % of 500 GFLOP/s (bf16 tensor, at the observed clock)");
  record.measurement->ranks[1]->clock_hz.reset();
  EXPECT_EQ(check_of(judge(profile, {evidence}, {}), "clocked", "GPU-2").verdict, Verdict::not_measured);
}

TEST(Acceptance, ARankWithoutAResultIsNotAccepted) {
  const Profile profile = profile_of(
      "[rule.not_run]\nquantity = 'results.not_run'\nmost = 0\nreason = 'r'\n"
      "[rule.bits]\ncases = '.'\nquantity = 'differing_bits'\nmost = 0\nreason = 'r'\n"
      "[rule.vbios]\nquantity = 'version.vbios'\nleast = '2'\nreason = 'r'\n");
  Record together = product(0.9);
  together.measurement->ranks = {RankTimes{1, 1, {}, {}}, {}};
  Evidence evidence = run("GPU-1", {together});
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200", {{"vbios", "2"}}},
                      {"GPU-2", "node1", "cuda:1", "NVIDIA H200", {{"vbios", "1"}}}};
  const Judgement judgement = judge(profile, {evidence}, {});
  for (const char* rule : {"not_run", "bits", "vbios"}) {
    EXPECT_EQ(check_of(judgement, rule, "GPU-1").verdict, Verdict::pass) << rule;
  }
  EXPECT_EQ(check_of(judgement, "not_run", "GPU-2").verdict, Verdict::fail);
  EXPECT_EQ(check_of(judgement, "bits", "GPU-2").verdict, Verdict::not_measured);
  EXPECT_EQ(check_of(judgement, "vbios", "GPU-2").verdict, Verdict::fail);
}

TEST(Acceptance, ACollectiveIsJudgedPerNodeAndNotPerGpu) {
  Record collective = ok_record("all_reduce", "", {{{{resource::nvlink, 1e9}}}}, 1e-3);
  collective.shape = {{"bytes", "1000000000"}};
  Message message;
  message.ranks = 2;
  message.bytes = 400'000'000;
  message.bus_factor = 1;
  collective.message = message;
  collective.measurement->summary.interval_low = 0.99e-3;
  collective.measurement->summary.interval_high = 1.01e-3;
  Evidence evidence = run("GPU-1", {collective});
  evidence.devices = {{"GPU-1", "node1", "cuda:0", "NVIDIA H200"}, {"GPU-2", "node1", "cuda:1", "NVIDIA H200"}};
  const std::string rule =
      "[rule.busbw]\ncases = '^all_reduce/'\nquantity = 'busbw'\nleast = 390e9\nreason = 'r'\nsource = 's'\n";
  const Judgement node = judge(profile_of(rule + "per = 'node'\n"), {evidence}, {});
  EXPECT_NEAR(*check_of(node, "busbw").measured, 400e9, 1);
  EXPECT_TRUE(node.accepted());
  EXPECT_THROW(profile_of(rule), ProfileError);
  const std::string alone =
      "[rule.alone]\ncases = '^all_reduce/'\nquantity = 'seconds'\nmost = 1\nreason = 'r'\nsource = 's'\n";
  EXPECT_EQ(check_of(judge(profile_of(alone), {evidence}, {}), "alone").verdict, Verdict::not_measured);
  // Ranks of two nodes say nothing of one of them.
  evidence.devices[1].node = "node2";
  EXPECT_FALSE(judge(profile_of(rule + "per = 'node'\n"), {evidence}, {}).accepted());
  EXPECT_TRUE(judge(profile_of(rule + "per = 'delivery'\n"), {evidence}, {}).accepted());
  // One rank has no bus bandwidth: a bandwidth of 0 would fail.
  evidence.records.front().message->ranks = 1;
  evidence.records.front().message->bus_factor = 0;
  const Judgement one = judge(profile_of(rule + "per = 'delivery'\n"), {evidence}, {});
  EXPECT_EQ(check_of(one, "busbw").verdict, Verdict::not_measured);
}

}  // namespace
}  // namespace roofmark
