// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <regex>

#include "bench/commands.hpp"
#include "bench/suite.hpp"

namespace roofmark {

Plan plan(const DeviceInfo& info, const Selection& selection) {
  std::regex filter;
  try {
    filter = std::regex(selection.filter.empty() ? "." : selection.filter);
  } catch (const std::regex_error& error) {
    throw UsageError("--filter '" + selection.filter + "' is not a regular expression: " + error.what());
  }
  const auto matches = [&](const Case& c) { return std::regex_search(c.name(), filter); };
  const Listing listing{info, selection.suite, selection.cache, selection.memory_fraction};

  Plan plan;
  bool any = false;
  for (const NamedFamily& family : families()) {
    std::vector<Group> groups = family.list(listing);
    const bool ceilings = family.name == families().front().name;
    for (Group& group : groups) {
      const auto wanted = std::count_if(group.cases.begin(), group.cases.end(), matches);
      any = any || wanted > 0;
      if (ceilings) {
        plan.ceilings.push_back(std::move(group));
      } else if (wanted > 0) {
        std::erase_if(group.cases, [&](const Case& c) { return !matches(c); });
        plan.suite.push_back(std::move(group));
      }
    }
  }
  if (!any) throw UsageError("--filter '" + selection.filter + "' matches no case of this suite (see: roofmark list)");
  return plan;
}

}  // namespace roofmark
