// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/acceptance/quantity.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tests/harness/judge/acceptance/deliveries.hpp"

namespace roofmark {
namespace {

using ::testing::HasSubstr;

/// The check of a product at half of the theoretical peak (1 TFLOP/s) by one rule.
Check judged(
    const std::string& rule, const std::function<void(Evidence&)>& change = [](Evidence&) {}) {
  Evidence evidence = run("GPU-1", {product(0.5)});
  change(evidence);
  return check_of(judge(profile_of("[rule.one]\nreason = 'r'\nsource = 's'\n" + rule), {evidence}, {}), "one");
}

std::string cases(const std::string& quantity, const std::string& limit) {
  return "cases = '^gemm/'\nquantity = '" + quantity + "'\n" + limit + "\n";
}

TEST(QuantityOfARule, AShareOfTheDatasheetIsOfTheVendorsFigureAndNotOfTheTheoreticalOne) {
  const auto with_datasheet = [](Evidence& evidence) {
    evidence.analysis.roofline.at(resource::bf16_tensor).datasheet = 0.625 * kPeak;
  };
  const Check passes = judged(cases("of_datasheet", "least = 0.79"), with_datasheet);
  EXPECT_EQ(passes.verdict, Verdict::pass);
  EXPECT_NEAR(*passes.measured, 0.8, 1e-12);
  EXPECT_NEAR(*passes.margin, 0.01 / 0.79, 1e-9);
  EXPECT_THAT(passes.expected, HasSubstr(">= 79.0 % of 625 GFLOP/s (bf16 tensor)"));
  EXPECT_EQ(judged(cases("of_datasheet", "least = 0.81"), with_datasheet).verdict, Verdict::fail);
  const Check unknown = judged(cases("of_datasheet", "least = 0.1"));
  EXPECT_EQ(unknown.verdict, Verdict::not_measured);
  EXPECT_EQ(unknown.explanation, "a ceiling that it needs is unknown");
}

TEST(QuantityOfARule, AShareOfTheMeasuredRoofIsThatOfThePlacement) {
  const auto with_probe = [](Evidence& evidence) {
    Record probe = probe_record("mma", resource::bf16_tensor, kPeak, 1 / 0.625);
    std::vector<Record> records = {probe, product(0.5)};
    Roofline theoretical;
    theoretical.at(resource::bf16_tensor).theoretical = kPeak;
    evidence.analysis = analyze(theoretical, records, {});
    evidence.records = records;
  };
  const Check passes = judged(cases("of_empirical", "least = 0.79"), with_probe);
  EXPECT_EQ(passes.verdict, Verdict::pass) << passes.explanation;
  EXPECT_NEAR(*passes.measured, 0.8, 1e-12);
  EXPECT_THAT(passes.expected, HasSubstr("of 625 GFLOP/s (bf16 tensor)"));
  EXPECT_EQ(judged(cases("of_empirical", "least = 0.81"), with_probe).verdict, Verdict::fail);
  // The case is known within 0.1 %, the probe within 10 %, or on a busy machine hardly at all.
  for (const double half_width : {0.1, 1.5}) {
    const auto with_uncertain_probe = [&](Evidence& evidence) {
      with_probe(evidence);
      evidence.analysis.roofline.at(resource::bf16_tensor).first_half_width = half_width;
    };
    const Check uncertain = judged(cases("of_empirical", "least = 0.79"), with_uncertain_probe);
    EXPECT_EQ(uncertain.verdict, Verdict::inside_interval);
    EXPECT_NEAR(*uncertain.low, 0.8 * std::exp(-half_width), 1e-3);
    EXPECT_NEAR(*uncertain.high, 0.8 * std::exp(half_width), 1e-3);
  }
  EXPECT_EQ(judged(cases("of_empirical", "least = 0.1")).verdict, Verdict::not_measured) << "no probe ran";
}

TEST(QuantityOfARule, ARateIsInUnitsOfTheBindingResourceAndFallsAsTheTimeRises) {
  const Check passes = judged(cases("rate", "least = 490e9"));
  EXPECT_EQ(passes.verdict, Verdict::pass);
  EXPECT_NEAR(*passes.measured, 500e9, 1);
  EXPECT_THAT(passes.expected, HasSubstr(">= 490 GFLOP/s"));
  EXPECT_NEAR(*passes.low, 500e9 / 1.001, 1);
  EXPECT_NEAR(*passes.high, 500e9 / 0.999, 1);
  EXPECT_EQ(judged(cases("rate", "least = 510e9")).verdict, Verdict::fail);
  EXPECT_EQ(judged(cases("rate", "least = 499.8e9")).verdict, Verdict::inside_interval);
}

TEST(QuantityOfARule, ARateIsThatOfTheResourceThatBinds) {
  const auto bound_by = [](const char* resource) {
    return judged(cases("rate", "least = 1"), [resource](Evidence& evidence) {
      Record& record = evidence.records[0];
      record.work = {{{{resource::dram, 1e9}, {resource::bf16_tensor, kPeak}, {resource::l2, 3e9}}}};
      record.placement->bound_by = resource;
    });
  };
  EXPECT_NEAR(*bound_by("bf16_tensor").measured, 500e9, 1);
  EXPECT_THAT(bound_by("bf16_tensor").found, HasSubstr("GFLOP/s"));
  EXPECT_NEAR(*bound_by("l2").measured, 1.5e9, 1e-3);
  EXPECT_NEAR(*bound_by("stream_launch").measured, 0.5e9, 1e-3) << "else of the first";
}

TEST(QuantityOfARule, OfSeveralRanksEachHasItsOwnTimeAndRate) {
  const auto of_a_fast_rank = [](const std::string& quantity, const std::string& limit) {
    return judged(cases(quantity, limit), [](Evidence& evidence) {
      RankTimes own{1, 1, {}, {}}, slowest{2, 2, {}, {}};
      own.interval_low = 0.9;
      own.interval_high = 1.2;
      evidence.records[0].measurement->ranks = {own, slowest};
    });
  };
  const Check seconds = of_a_fast_rank("seconds", "most = 1.3");
  EXPECT_EQ(seconds.measured, 1);
  EXPECT_EQ(seconds.low, 0.9);
  EXPECT_EQ(seconds.high, 1.2);
  const Check rate = of_a_fast_rank("rate", "least = 700e9");
  EXPECT_NEAR(*rate.measured, 1e12, 1);
  EXPECT_NEAR(*rate.low, 1e12 / 1.2, 1);
  EXPECT_NEAR(*rate.high, 1e12 / 0.9, 1);
}

TEST(QuantityOfARule, SecondsRiseWithTheTime) {
  const Check passes = judged(cases("seconds", "most = 2.01"));
  EXPECT_EQ(passes.verdict, Verdict::pass);
  EXPECT_EQ(passes.measured, 2);
  EXPECT_NEAR(*passes.low, 1.998, 1e-9);
  EXPECT_EQ(judged(cases("seconds", "most = 1.99")).verdict, Verdict::fail);
  EXPECT_EQ(judged(cases("seconds", "most = 2.001")).verdict, Verdict::inside_interval);
}

TEST(QuantityOfARule, ACoefficientOfVariationIsThatOfTheSamples) {
  const auto spread = [](Evidence& evidence) { evidence.records[0].measurement->summary.cv = 0.02; };
  EXPECT_EQ(judged(cases("cv", "most = 0.03"), spread).verdict, Verdict::pass);
  const Check fails = judged(cases("cv", "most = 0.01"), spread);
  EXPECT_EQ(fails.verdict, Verdict::fail);
  EXPECT_EQ(fails.measured, 0.02);
  EXPECT_NEAR(*fails.margin, -1, 1e-9);
  const Check unknown =
      judged(cases("cv", "most = 0.03"), [](Evidence& evidence) { evidence.records[0].measurement->summary.cv.reset(); });
  EXPECT_EQ(unknown.verdict, Verdict::not_measured);
  EXPECT_EQ(unknown.explanation, "too few samples");
}

TEST(QuantityOfARule, ADriftCountsInBothDirections) {
  const auto drifting = [](double last) {
    return [last](Evidence& evidence) {
      Ceiling& ceiling = evidence.analysis.roofline.at(resource::bf16_tensor);
      ceiling.first_by = "ceilings/mma";
      ceiling.first = 1e12;
      ceiling.last = last;
    };
  };
  const std::string rule = "cases = '^ceilings/'\nquantity = 'drift'\nmost = 0.1\n";
  EXPECT_EQ(judged(rule, drifting(0.95e12)).verdict, Verdict::pass);
  for (const double last : {0.85e12, 1.15e12}) {
    const Check fails = judged(rule, drifting(last));
    EXPECT_EQ(fails.verdict, Verdict::fail);
    EXPECT_NEAR(*fails.measured, 0.15, 1e-9);
    EXPECT_EQ(fails.of, "ceilings/mma");
  }
  const auto scattering = [&](double half_width) {
    return [=](Evidence& evidence) {
      drifting(0.85e12)(evidence);
      Ceiling& ceiling = evidence.analysis.roofline.at(resource::bf16_tensor);
      ceiling.first_half_width = ceiling.last_half_width = half_width;
    };
  };
  EXPECT_EQ(judged(rule, scattering(0.02)).verdict, Verdict::fail);
  EXPECT_EQ(judged(rule, scattering(0.05)).verdict, Verdict::inside_interval) << "the probes scatter by 7 %";
  const Check by_clock = judged(rule, [](Evidence& evidence) {
    Ceiling& ceiling = evidence.analysis.roofline.at(resource::bf16_tensor);
    ceiling.first_by = "ceilings/mma";
    ceiling.first = 1e12;
    ceiling.last = 0.855e12;
    ceiling.first_clock_hz = 2e9;
    ceiling.last_clock_hz = 1.8e9;
  });
  EXPECT_EQ(by_clock.verdict, Verdict::pass) << "a fall by 14.5 %, of which the clock explains 10";
  EXPECT_NEAR(*by_clock.measured, 0.05, 1e-9);
  const Check once = judged(rule, [](Evidence& evidence) {
    Ceiling& ceiling = evidence.analysis.roofline.at(resource::bf16_tensor);
    ceiling.first_by = "ceilings/mma";
    ceiling.first = 1e12;
  });
  EXPECT_EQ(once.verdict, Verdict::not_measured);
  EXPECT_EQ(once.explanation, "it was not measured again after the suite");
}

TEST(QuantityOfARule, ARatioIsThatOfAComparisonWithItsInterval) {
  const auto compared = [](double low, double ratio, double high) {
    return [=](Evidence& evidence) {
      evidence.analysis.comparisons = {{{"tuned against default", "algo", parse_case_name("gemm/x/fp32/algo:tuned"),
                                         parse_case_name("gemm/x/fp32/algo:default")},
                                        ratio,
                                        low,
                                        high}};
    };
  };
  const std::string rule = cases("ratio", "least = 1.05");
  const Check passes = judged(rule, compared(1.08, 1.1, 1.12));
  EXPECT_EQ(passes.verdict, Verdict::pass);
  EXPECT_EQ(passes.measured, 1.1);
  EXPECT_THAT(passes.of, HasSubstr("gemm/x/fp32/algo:tuned"));
  EXPECT_THAT(passes.found, HasSubstr("1.100 x"));
  EXPECT_EQ(judged(rule, compared(1.04, 1.06, 1.08)).verdict, Verdict::inside_interval);
  EXPECT_EQ(judged(rule, compared(0.97, 0.98, 0.99)).verdict, Verdict::fail);
  EXPECT_EQ(judged(rule).verdict, Verdict::not_measured) << "nothing was compared";
}

TEST(QuantityOfARule, TheStateOfADeviceIsThatOfItsTelemetry) {
  const auto with = [](double seconds, std::optional<double> energy_joules = {}) {
    return [=](Evidence& evidence) {
      TelemetrySummary& telemetry = evidence.records[0].measurement->telemetry.emplace();
      telemetry.seconds = seconds;
      telemetry.temperature_celsius = 84;
      telemetry.memory_temperature_celsius = 95.5;
      telemetry.slowdown_margin_celsius = -3;
      telemetry.power_watts = 999.96;
      telemetry.sm_clock_hz = 1593.42e6;
      telemetry.energy_joules = energy_joules;
    };
  };
  const auto says = [&](const std::string& quantity, const std::string& limit) {
    const Check check = judged(cases(quantity, limit), with(2));
    return fmt::format("{}: {} {}", name(check.verdict), check.found, check.expected);
  };
  EXPECT_EQ(says("temperature", "most = 84"), "PASS: 84 C <= 84 C");
  EXPECT_EQ(says("temperature", "most = 83.5"), "FAIL: 84 C <= 83.5 C");
  EXPECT_EQ(says("memory_temperature", "most = 95"), "FAIL: 95.5 C <= 95 C");
  EXPECT_EQ(says("slowdown_margin", "least = 5"), "FAIL: -3 C >= 5 C");
  EXPECT_EQ(says("power", "most = 1000"), "PASS: 999.96 W <= 1000 W");
  EXPECT_EQ(says("power", "least = 1000"), "FAIL: 999.96 W >= 1000 W");
  EXPECT_EQ(says("clock", "least = 1500"), "PASS: 1593.4 MHz >= 1500 MHz");
  EXPECT_EQ(judged(cases("clock", "least = 1593.42"), with(2)).verdict, Verdict::pass);
  const Check is_short = judged(cases("power", "most = 1000"), with(0.2));
  EXPECT_EQ(is_short.verdict, Verdict::not_measured);
  EXPECT_EQ(is_short.explanation, "the case is shorter than a second and has no energy counter: its power is unknown");
  EXPECT_EQ(judged(cases("power", "most = 1000"), with(0.2, 200)).verdict, Verdict::pass) << "by the energy counter";
  EXPECT_EQ(judged(cases("temperature", "most = 84"), with(0.2)).verdict, Verdict::pass);
  for (const char* limit : {"least = 1500", "least = 1500\nmandatory = 'where measured'"}) {
    const Check unknown = judged(cases("clock", limit));
    EXPECT_EQ(unknown.verdict, Verdict::not_measured) << "without telemetry";
    EXPECT_EQ(unknown.explanation, "the result does not tell it: the device does not report it, or the file is an older one");
    EXPECT_EQ(unknown.mandatory, std::string(limit) == "least = 1500");
  }
}

TEST(QuantityOfARule, TheStateOfEachRankIsItsOwnAndANodesTheWorst) {
  const std::string rule = cases("temperature", "most = 80");
  const auto evidence_of = [](std::optional<double> one, std::optional<double> other) {
    Evidence evidence = run("GPU-1", {product(0.5)});
    evidence.devices.push_back({"GPU-2", "node1", "cuda:1", "NVIDIA H200"});
    Measurement& measured = *evidence.records[0].measurement;
    measured.telemetry.emplace().temperature_celsius = 70;
    measured.of_rank = 0;
    measured.ranks = {RankTimes{1, 1, {}, {}}, RankTimes{1, 1, {}, {}}};
    measured.ranks[0]->temperature_celsius = one;
    measured.ranks[1]->temperature_celsius = other;
    return evidence;
  };
  const std::string head = "[rule.one]\nreason = 'r'\nsource = 's'\n" + rule;
  const Judgement both = judge(profile_of(head), {evidence_of(71, 85)}, {});
  EXPECT_EQ(check_of(both, "one", "GPU-1").measured, 71);
  EXPECT_EQ(check_of(both, "one", "GPU-2").verdict, Verdict::fail);
  const Judgement older = judge(profile_of(head), {evidence_of({}, {})}, {});
  EXPECT_EQ(check_of(older, "one", "GPU-1").measured, 70) << "whose telemetry is the record's";
  EXPECT_EQ(check_of(older, "one", "GPU-2").verdict, Verdict::not_measured);
  const auto of_node = [&](std::optional<double> other) {
    return check_of(judge(profile_of(head + "per = 'node'\n"), {evidence_of(71, other)}, {}), "one");
  };
  EXPECT_EQ(of_node(85).measured, 85);
  EXPECT_EQ(of_node(75).verdict, Verdict::pass);
  EXPECT_EQ(of_node({}).verdict, Verdict::not_measured) << "the other GPU may be hotter";
}

}  // namespace
}  // namespace roofmark
