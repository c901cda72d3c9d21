// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/plan.hpp"

#include <gmock/gmock.h>

#include "bench/program/settings.hpp"
#include "bench/program/usage_error.hpp"

namespace roofmark {
namespace {

using testing::HasSubstr;

std::vector<Group> listed(const std::string& family, const std::string& unsupported = "") {
  Case c;
  c.family = family;
  c.unsupported = unsupported;
  return {{{c}, {}}};
}

Selection selection_of(const std::string& filter, const std::string& exclude = "") {
  Selection selection;
  selection.filter = filter;
  selection.exclude = exclude;
  return selection;
}

std::string error_of(std::vector<Group> ceilings, std::vector<Group> suite, const Selection& selection) {
  try {
    filtered(std::move(ceilings), std::move(suite), selection);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, AFilterThatMatchesNothingIsNamed) {
  EXPECT_THAT(error_of(listed("ceilings"), listed("stream"), selection_of("gemm")),
              HasSubstr("--filter 'gemm' matches no case"));
  EXPECT_EQ(error_of({}, listed("stream"), selection_of("(")),
            "--filter '(' is not a regular expression: missing ) for the ( at character 1");
  EXPECT_EQ(error_of({}, listed("stream"), selection_of("", "[")),
            "--exclude '[' is not a regular expression: missing ] for '['");
}

TEST(Plan, AFractionOfTheMemoryThatMayBeWhyNothingMatchesIsNamed) {
  Selection little = selection_of("gemm");
  little.memory_fraction = 0.001;
  EXPECT_THAT(error_of({}, listed("stream"), little), HasSubstr("no case of this suite that --memory-fraction 0.001 allows"));
}

TEST(Plan, ExcludedCasesAreLeftOutAndNeverACeiling) {
  std::vector<Group> suite = listed("stream");
  for (Group& group : listed("gemm")) suite.push_back(group);
  const Plan plan = filtered(listed("ceilings"), suite, selection_of("", "^(gemm|ceilings)"));
  EXPECT_EQ(plan.ceilings.size(), 1U);
  ASSERT_EQ(plan.suite.size(), 1U);
  EXPECT_EQ(plan.suite[0].cases[0].family, "stream");
}

TEST(Plan, ARunThatIsExcludedToNothingIsRefused) {
  EXPECT_EQ(error_of(listed("ceilings"), listed("stream"), selection_of("", "str")),
            "--exclude 'str' leaves no case of this suite");
  EXPECT_EQ(error_of(listed("ceilings"), listed("stream"), selection_of("s", "stream")),
            "--filter 's' and --exclude 'stream' leave no case of this suite");
  EXPECT_NE(error_of(listed("ceilings"), listed("stream"), selection_of("ceil", "ings")), "");
}

TEST(Plan, WithoutAnyCaseTheFilterIsNotBlamed) {
  EXPECT_EQ(error_of({}, {}, {}), "this suite has no case that fits the device and its free memory");
  EXPECT_EQ(error_of(listed("ceilings"), {}, selection_of("gemm")),
            "this suite has no case that fits the device and its free memory");
}

TEST(Plan, AnUnsupportedCaseStaysWithItsReason) {
  const Plan plan =
      filtered(listed("ceilings"), listed("stream", "needs 2.00 GB, the device has 1.00 GB"), selection_of("stream"));
  ASSERT_EQ(plan.suite.size(), 1U);
  EXPECT_EQ(plan.suite[0].cases[0].unsupported, "needs 2.00 GB, the device has 1.00 GB");
}

TEST(Plan, AFilterOfProbesAloneMeasuresTheCeilings) {
  const Plan plan = filtered(listed("ceilings"), listed("stream"), selection_of("ceilings"));
  EXPECT_EQ(plan.ceilings.size(), 1U);
  EXPECT_TRUE(plan.suite.empty());
}

Case demanding(const std::string& family, const Resource& resource) {
  Case c;
  c.family = family;
  c.operation = resource.id;
  c.work = {{{{resource, 1}}}};
  if (family == "ceilings") c.sets_ceiling = {resource};
  return c;
}

TEST(Plan, SmokeMeasuresTheCeilingsThatItsCasesDemandOnceAndHasALimitOfItsOwn) {
  const std::vector<Group> ceilings = {{{demanding("ceilings", resource::dram)}, {}},
                                       {{demanding("ceilings", resource::exp)}, {}},
                                       {{demanding("ceilings", resource::stream_launch)}, {}}};
  const std::vector<Group> suite = {{{demanding("stream", resource::dram)}, {}}};
  Selection selection;
  selection.suite = SuiteName::smoke;
  const Plan smoke = arranged({ceilings, suite}, selection, Backend::cuda);
  ASSERT_EQ(smoke.ceilings.size(), 2u);
  EXPECT_EQ(smoke.ceilings[0].cases[0].operation, "dram");
  EXPECT_EQ(smoke.ceilings[1].cases[0].operation, "stream_launch");
  EXPECT_FALSE(smoke.ceilings_again);
  EXPECT_EQ(smoke.limit_seconds, 20);
  EXPECT_EQ(arranged({ceilings, suite}, selection, Backend::cpu).limit_seconds, 10);

  selection.suite = SuiteName::quick;
  const Plan quick = arranged({ceilings, suite}, selection, Backend::cuda);
  EXPECT_EQ(quick.ceilings.size(), 3u);
  EXPECT_TRUE(quick.ceilings_again);
  EXPECT_FALSE(quick.limit_seconds);
}

TEST(Plan, LinksToOtherGpusAreProbedOnlyWhereACaseDemandsThem) {
  const std::vector<Group> ceilings = {{{demanding("ceilings", resource::dram)}, {}},
                                       {{demanding("ceilings", resource::peer_in)}, {}},
                                       {{demanding("ceilings", resource::peer_out)}, {}}};
  const std::vector<Group> suite = {{{demanding("stream", resource::dram)}, {}}, {{demanding("peer", resource::peer_in)}, {}}};
  const auto probed = [&](const char* filter) {
    Selection selection;
    selection.suite = SuiteName::quick;
    selection.filter = filter;
    std::vector<std::string> found;
    for (const Group& group : arranged({ceilings, suite}, selection, Backend::cuda).ceilings) {
      found.push_back(group.cases[0].operation);
    }
    return found;
  };
  EXPECT_EQ(probed(""), (std::vector<std::string>{"dram", "peer_in"}));
  EXPECT_EQ(probed("^stream"), (std::vector<std::string>{"dram"}));
  EXPECT_EQ(probed("^ceilings"), (std::vector<std::string>{"dram", "peer_in", "peer_out"})) << "they are what is asked for";
}

// A case by name may need the network of one rank per host in any suite.
TEST(Plan, TheNetworkOfOneRankPerHostIsProbedOnlyWhereACaseDemandsIt) {
  const std::vector<Group> ceilings = {{{demanding("ceilings", resource::network)}, {}},
                                       {{demanding("ceilings", resource::network_of_rank)}, {}}};
  for (const SuiteName suite : {SuiteName::quick, SuiteName::baseline}) {
    for (const Resource& demanded : {resource::network, resource::network_of_rank}) {
      Selection selection;
      selection.suite = suite;
      Lists lists{ceilings, {{{demanding("all_reduce", resource::network)}, {}}, {{demanding("all_reduce", demanded)}, {}}}};
      const auto probed = [&] { return arranged(lists, selection, Backend::cuda).ceilings.size(); };
      EXPECT_EQ(probed(), demanded == resource::network ? 1U : 2U);
      lists.chosen = {{{demanding("all_reduce", demanded)}, {}}};
      EXPECT_EQ(arranged(lists, selection, Backend::cuda).ceilings.at(0).cases.at(0).operation, demanded.id);
      EXPECT_EQ(probed(), 1U);
    }
  }
}

TEST(Plan, AFilterLeavesTheCeilingsThatItNamesOrThatItsCasesDemand) {
  const std::vector<Group> ceilings = {{{demanding("ceilings", resource::dram)}, {}},
                                       {{demanding("ceilings", resource::exp)}, {}},
                                       {{demanding("ceilings", resource::graph_launch)}, {}}};
  const std::vector<Group> suite = {{{demanding("stream", resource::dram)}, {}}, {{demanding("softmax", resource::exp)}, {}}};
  const auto probed = [&](const char* filter, const char* exclude) {
    Selection selection;
    selection.suite = SuiteName::quick;
    selection.filter = filter;
    selection.exclude = exclude;
    std::vector<std::string> found;
    for (const Group& group : arranged({ceilings, suite}, selection, Backend::cuda).ceilings) {
      found.push_back(group.cases[0].operation);
    }
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(probed("^stream", ""), Names({"dram", "graph_launch"}));
  EXPECT_EQ(probed("^stream|ceilings/exp", ""), Names({"dram", "exp", "graph_launch"}));
  EXPECT_EQ(probed("^ceilings/e", ""), Names({"exp"}));
  EXPECT_EQ(probed("^ceilings", "dram"), Names({"exp", "graph_launch"}));
  EXPECT_EQ(probed("", "^softmax"), Names({"dram", "exp", "graph_launch"})) << "what is left out does not choose";
}

TEST(Plan, ADurationIsDividedAmongTheCasesThatRun) {
  Case lasting = demanding("sustained", resource::dram), cannot = lasting, other = demanding("sustained", resource::fp64_fma);
  for (Case* c : {&lasting, &cannot, &other}) c->protocol.seconds = 1;
  cannot.type = DataType::bf16;
  cannot.unsupported = "no such product";
  const std::vector<Group> suite = {{{lasting}, {}}, {{cannot}, {}}, {{other}, {}}};
  Selection selection;
  selection.suite = SuiteName::sustained;
  EXPECT_EQ(arranged({{}, suite}, selection, Backend::cuda).suite[0].cases[0].protocol.seconds, 150);
  selection.seconds = 8;
  EXPECT_EQ(arranged({{}, suite}, selection, Backend::cuda).suite[2].cases[0].protocol.seconds, 4);
  selection.filter = "fp64_fma";
  EXPECT_EQ(arranged({{}, suite}, selection, Backend::cuda).suite[0].cases[0].protocol.seconds, 8);
}

TEST(Plan, KnowsHowManyCasesTheSuiteHasBeforeTheFilter) {
  const std::vector<Group> ceilings = {{{demanding("ceilings", resource::dram)}, {}},
                                       {{demanding("ceilings", resource::exp)}, {}}};
  const std::vector<Group> suite = {{{demanding("stream", resource::dram)}, {}}, {{demanding("gemm", resource::dram)}, {}}};
  RunOptions options;
  options.selection.suite = SuiteName::quick;
  const auto scope = [&] { return scope_of(options, arranged({ceilings, suite}, options.selection, Backend::cpu)); };
  EXPECT_EQ(scope().text, "The quick suite: all 4 cases");
  options.selection.filter = "gemm";
  EXPECT_EQ(scope().suite_cases, 4U);
  EXPECT_EQ(scope().cases, 2U) << "and the ceiling that it demands";
  EXPECT_EQ(scope().text, "A selection of the quick suite: 2 of 4 cases (--filter 'gemm')");
  options.max_seconds = 0.05;
  EXPECT_THAT(scope().changes, testing::ElementsAre("--filter 'gemm'", "0.05 s per case instead of 0.25 s"));
  options.selection.filter = "";
  EXPECT_EQ(scope().text, "A shortened quick suite: all 4 cases (0.05 s per case instead of 0.25 s)");
  options.max_seconds = 0.25;
  EXPECT_EQ(scope().text, "The quick suite: all 4 cases") << "as the suite is defined";
  options.seed = 7;
  EXPECT_EQ(scope().text, "The quick suite: all 4 cases") << "other values of the same distribution";
  options.data = Distribution::zeros;
  options.selection.cache = Cache::warm;
  EXPECT_EQ(scope().text, "A changed quick suite: all 4 cases (--cache warm, --data zeros)");
}

/// Longer, or on this device alone, results say as much of it as those of the suite.
TEST(Plan, KnowsWhatMakesARunWeakerThanItsSuite) {
  const std::vector<Group> suite = {{{demanding("stream", resource::dram)}, {}}, {{demanding("gemm", resource::dram)}, {}}};
  RunOptions options;
  options.selection.suite = SuiteName::quick;
  const auto weaker = [&](const auto& change) {
    RunOptions changed = options;
    change(changed);
    return scope_of(changed, arranged({{}, suite}, changed.selection, Backend::cpu)).weaker.size();
  };
  EXPECT_EQ(weaker([](RunOptions&) {}), 0U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.max_seconds = 0.001; }), 1U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.max_seconds = 5; }), 0U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.selection.memory_fraction = 0.01; }), 1U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.selection.memory_fraction = 0.95; }), 0U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.selection.cache = Cache::warm; }), 1U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.no_telemetry = true; }), 1U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.selection.filter = "gemm"; }), 1U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.selection.exclude = "gemm"; }), 1U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.data = Distribution::zeros; }), 1U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.selection.only_device = true; }), 0U);
  options.selection.suite = SuiteName::sustained;
  EXPECT_EQ(weaker([](RunOptions& run) { run.selection.seconds = 1; }), 1U);
  EXPECT_EQ(weaker([](RunOptions& run) { run.selection.seconds = 3600; }), 0U);
}

/// The advice of `accept` for a limit within an interval.
TEST(Settings, ABudgetAboveTheSuitesTakesAsManyTimesMoreSamples) {
  RunOptions options;
  options.selection.suite = SuiteName::quick;
  EXPECT_EQ(budget_seconds(options), 0.25);
  EXPECT_EQ(settings_of(options, Backend::cuda).effort.longer, 1);
  options.max_seconds = 1;
  EXPECT_EQ(budget_seconds(options), 1);
  EXPECT_EQ(settings_of(options, Backend::cuda).effort.longer, 4);
  options.max_seconds = 0.05;
  EXPECT_EQ(settings_of(options, Backend::cuda).effort.longer, 1) << "a shorter one bounds the samples alone";
  EXPECT_LT(settings_of(options, Backend::cuda).effort.window_seconds, 0.015) << "shorter still";
  options.max_seconds.reset();
  EXPECT_EQ(settings_of(options, Backend::cuda).effort.window_seconds, 0.015);
  EXPECT_EQ(settings_of(options, Backend::cpu).effort.window_seconds, 0.05);
  options.selection.suite = SuiteName::sustained;
  EXPECT_EQ(budget_seconds(options), 300);
  options.selection.seconds = 20;
  EXPECT_EQ(budget_seconds(options), 20);
}

}  // namespace
}  // namespace roofmark
