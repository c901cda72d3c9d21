// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "bench/program/chosen_cases.hpp"
#include "bench/program/suite.hpp"
#include "bench/program/usage_error.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/process_fabric.hpp"
#include "harness/model/expression.hpp"

namespace roofmark {

namespace {

/// What an expression of the command line is found in.
Expression expression_of(const char* flag, const std::string& expression) {
  try {
    return Expression(expression);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{} {}", flag, error.what()));
  }
}

/// Leaves the cases that `keep` wants, and no group without any.
template <class Keep>
void reduce(std::vector<Group>& groups, const Keep& keep) {
  for (Group& group : groups) std::erase_if(group.cases, [&](const Case& c) { return !keep(c.name()); });
  std::erase_if(groups, [](const Group& group) { return group.cases.empty(); });
}

}  // namespace

Plan filtered(std::vector<Group> ceilings, std::vector<Group> suite, const Selection& selection) {
  const Expression filter = expression_of("--filter", selection.filter),
                   exclude = expression_of("--exclude", selection.exclude);
  const auto is_chosen = [&](const std::string& name) { return filter.is_found_in(name); };
  const auto is_kept = [&](const std::string& name) { return selection.exclude.empty() || !exclude.is_found_in(name); };
  const bool listed = !suite.empty();
  std::vector<Group> probes = ceilings;
  for (std::vector<Group>* groups : {&suite, &probes}) reduce(*groups, is_chosen);
  if (suite.empty() && probes.empty()) {
    if (!listed) throw UsageError("this suite has no case that fits the device and its free memory");
    const std::string room = selection.memory_fraction == Selection().memory_fraction
                                 ? ""
                                 : fmt::format(" that --memory-fraction {:g} allows", selection.memory_fraction);
    throw UsageError(
        fmt::format("--filter '{}' matches no case of this suite{} (`list` shows the names)", selection.filter, room));
  }
  std::vector<Group>& chosen = suite.empty() ? probes : suite;
  reduce(chosen, is_kept);
  if (chosen.empty()) {
    throw UsageError(selection.filter.empty() ? fmt::format("--exclude '{}' leaves no case of this suite", selection.exclude)
                                              : fmt::format("--filter '{}' and --exclude '{}' leave no case of this suite",
                                                            selection.filter, selection.exclude));
  }
  // A filter that leaves nothing but ceilings asks for these.
  if (suite.empty()) ceilings = std::move(probes);
  return {std::move(ceilings), std::move(suite)};
}

namespace {

std::size_t count(const std::vector<Group>& groups) {
  return std::accumulate(groups.begin(), groups.end(), std::size_t{0},
                         [](std::size_t sum, const Group& group) { return sum + group.cases.size(); });
}

/// Launches limit whatever case is short enough.
bool is_demanded(const Resource& resource, const std::vector<Group>& suite) {
  if (resource.unit == Unit::launch) return true;
  return std::any_of(suite.begin(), suite.end(), [&](const Group& group) {
    return std::any_of(group.cases.begin(), group.cases.end(),
                       [&](const Case& c) { return c.unsupported.empty() && c.work.total(resource) > 0; });
  });
}

/// What few cases demand is probed only where one of the run does. A run of the device alone must not depend on other GPUs.
bool is_probed_on_demand(const Group& ceiling) {
  const Resource& resource = ceiling.cases.front().sets_ceiling->resource;
  const Resource rare[] = {resource::peer_in, resource::peer_out, resource::global_atomic, resource::shared_atomic,
                           resource::network_of_rank};
  return std::find(std::begin(rare), std::end(rare), resource) != std::end(rare);
}

template <class IsOptional>
void drop_undemanded(std::vector<Group>& ceilings, const std::vector<Group>& suite, const IsOptional& is_optional) {
  std::erase_if(ceilings, [&](const Group& group) {
    const auto& sets = group.cases.front().sets_ceiling;
    return sets && !is_demanded(sets->resource, suite) && is_optional(group);
  });
}

/// As Suite::all_ceilings has it.
void drop_by_suite(std::vector<Group>& ceilings, const std::vector<Group>& suite, SuiteName name) {
  if (!facts_of(name).all_ceilings) drop_undemanded(ceilings, suite, [](const Group&) { return true; });
}

/// Cases that a run of the whole suite measures, each ceiling once.
std::size_t count_cases(std::vector<Group> ceilings, const std::vector<Group>& suite) {
  drop_undemanded(ceilings, suite, is_probed_on_demand);
  return count(ceilings) + count(suite);
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

Plan arranged(Lists lists, const Selection& selection, Backend backend) {
  const Suite& facts = facts_of(selection.suite);
  const bool by_name = lists.chosen.has_value();
  std::vector<Group>& suite = by_name ? *lists.chosen : lists.suite;
  drop_by_suite(lists.ceilings, suite, selection.suite);
  const std::size_t suite_cases = count_cases(lists.ceilings, suite);
  Plan plan = filtered(std::move(lists.ceilings), std::move(suite), selection);
  plan.about = std::move(lists.about);
  plan.left_out = std::move(lists.left_out);
  plan.suite_cases = suite_cases;
  if (!plan.suite.empty()) {
    const Expression filter = expression_of("--filter", selection.filter);
    drop_undemanded(plan.ceilings, plan.suite, [&](const Group& ceiling) {
      return by_name || is_probed_on_demand(ceiling) ||
             std::none_of(ceiling.cases.begin(), ceiling.cases.end(),
                          [&](const Case& c) { return filter.is_found_in(c.name()); });
    });
  }
  if (by_name) plan.suite_cases = count(plan.ceilings) + count(plan.suite);
  plan.ceilings_again = facts.all_ceilings;
  if (facts.limit) plan.limit_seconds = facts.limit->on(backend);
  if (facts.total_seconds) divide_duration(plan.suite, selection.seconds.value_or(*facts.total_seconds));
  return plan;
}

std::vector<Group> cases_of(const std::vector<std::string>& names, const Listing& listing, const Selection& selection,
                            bool between_ranks_alone) {
  Lists lists;
  choose(lists, listing, names, between_ranks_alone);
  if (!selection.exclude.empty()) {
    const Expression exclude = expression_of("--exclude", selection.exclude);
    reduce(*lists.chosen, [&](const std::string& name) { return !exclude.is_found_in(name); });
  }
  return *std::move(lists.chosen);
}

Lists lists_of(const Listing& listing, const Selection& selection, bool between_ranks_alone) {
  Lists lists = list_families(listing, between_ranks_alone);
  if (!selection.cases.empty()) choose(lists, listing, selection.cases, between_ranks_alone);
  return lists;
}

std::unique_ptr<Fabric> fabric_of(const DeviceInfo& info, const Selection& selection) {
  return selection.only_device ? nullptr : process_fabric(info);
}

Plan plan(const DeviceInfo& info, const Selection& selection, const Fabric* fabric) {
  const Listing listing{info, selection.suite, selection.cache, selection.memory_fraction, fabric, !selection.only_device};
  Plan plan = arranged(lists_of(listing, selection), selection, info.backend);
  if (!selection.cases.empty()) return plan;
  if (const Selection defaults; selection.cache || selection.memory_fraction != defaults.memory_fraction) {
    Lists defined = list_families({info, selection.suite, {}, defaults.memory_fraction, fabric, !selection.only_device});
    drop_by_suite(defined.ceilings, defined.suite, selection.suite);
    plan.suite_cases = count_cases(std::move(defined.ceilings), defined.suite);
  }
  return plan;
}

}  // namespace roofmark
