// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <regex>

#include "bench/program/commands.hpp"
#include "bench/program/suite.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/process_fabric.hpp"

namespace roofmark {

Plan filtered(std::vector<Group> ceilings, std::vector<Group> suite, const std::string& filter) {
  std::regex expression;
  try {
    expression = std::regex(filter.empty() ? "." : filter);
  } catch (const std::regex_error& error) {
    throw UsageError("--filter '" + filter + "' is not a regular expression: " + error.what());
  }
  const auto matches = [&](const Case& c) { return std::regex_search(c.name(), expression); };
  const auto any = [&](const Group& group) { return std::any_of(group.cases.begin(), group.cases.end(), matches); };
  const bool probes = std::any_of(ceilings.begin(), ceilings.end(), any), listed = !suite.empty();
  for (Group& group : suite) std::erase_if(group.cases, [&](const Case& c) { return !matches(c); });
  std::erase_if(suite, [](const Group& group) { return group.cases.empty(); });
  if (suite.empty() && !probes) {
    if (!listed) throw UsageError("this suite has no case that fits the device and its free memory");
    throw UsageError("--filter '" + filter + "' matches no case of this suite (`roofmark list` shows the names)");
  }
  return {std::move(ceilings), std::move(suite)};
}

namespace {

/// Launches limit whatever case is short enough.
bool is_demanded(const Resource& resource, const std::vector<Group>& suite) {
  if (resource.unit == Unit::launch) return true;
  return std::any_of(suite.begin(), suite.end(), [&](const Group& group) {
    return std::any_of(group.cases.begin(), group.cases.end(), [&](const Case& c) { return c.work.total(resource) > 0; });
  });
}

/// A case's protocol has its share of the duration.
void divide_duration(std::vector<Group>& suite, double seconds) {
  double shares = 0;
  for (const Group& group : suite) {
    for (const Case& c : group.cases) shares += c.unsupported.empty() ? c.protocol.seconds : 0;
  }
  for (Group& group : suite) {
    for (Case& c : group.cases) c.protocol.seconds *= shares > 0 ? seconds / shares : 0;
  }
}

}  // namespace

Plan arranged(std::vector<Group> ceilings, std::vector<Group> suite, const Selection& selection, Backend backend) {
  constexpr double kSmokeSecondsOfGpu = 20, kSmokeSecondsOfCpu = 10, kSustainedSeconds = 300;
  const bool smoke = selection.suite == SuiteName::smoke;
  if (smoke) {
    std::erase_if(ceilings, [&](const Group& group) {
      const auto& raises = group.cases.front().raises;
      return raises && !is_demanded(*raises, suite);
    });
  }
  Plan plan = filtered(std::move(ceilings), std::move(suite), selection.filter);
  if (smoke) {
    plan.ceilings_again = false;
    plan.limit_seconds = backend == Backend::cuda ? kSmokeSecondsOfGpu : kSmokeSecondsOfCpu;
  }
  divide_duration(plan.suite, selection.seconds.value_or(kSustainedSeconds));
  return plan;
}

std::unique_ptr<Fabric> fabric_of(const DeviceInfo& info, const Selection& selection) {
  return selection.only_device ? nullptr : process_fabric(info);
}

Plan plan(const DeviceInfo& info, const Selection& selection, const Fabric* fabric) {
  const Listing listing{info, selection.suite, selection.cache, selection.memory_fraction, fabric};
  std::vector<Group> ceilings, suite;
  for (const NamedFamily& family : families()) {
    for (Group& group : family.list(listing)) {
      (group.cases.front().family == "ceilings" ? ceilings : suite).push_back(std::move(group));
    }
  }
  return arranged(std::move(ceilings), std::move(suite), selection, info.backend);
}

}  // namespace roofmark
