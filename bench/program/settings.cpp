// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "harness/device/cuda_device.hpp"
#include "harness/machine/host.hpp"
#include "harness/machine/memory_errors.hpp"
#include "harness/result/words.hpp"
#include "harness/team/host_network.hpp"

namespace roofmark {

namespace {

/// Of a suite with a duration, only the ceilings' probes have this budget: beside a short load they are short.
double case_seconds(const RunOptions& options) {
  const Suite& suite = facts_of(options.selection.suite);
  if (suite.total_seconds) return std::min(suite.case_seconds, 0.02 * budget_seconds(options));
  return options.max_seconds.value_or(suite.case_seconds);
}

Effort effort_of(const RunOptions& options, Backend backend) {
  const Suite& suite = facts_of(options.selection.suite);
  Effort effort;
  effort.blocks = suite.blocks;
  effort.max_seconds = case_seconds(options);
  effort.longer = std::max(1.0, effort.max_seconds / suite.case_seconds);
  // A short timing budget gets a short warm-up and short samples; the record says whether it settled.
  effort.warm_up_seconds = std::min(effort.warm_up_seconds, 4 * effort.max_seconds);
  effort.window_seconds = std::min(suite.window_seconds.on(backend), 0.2 * effort.max_seconds);
  effort.candidate_seconds = std::min(effort.candidate_seconds, 0.04 * effort.max_seconds);
  effort.lead_in_seconds = std::min(effort.lead_in_seconds, 0.08 * effort.max_seconds);
  effort.lead_in_window_seconds = std::min(effort.lead_in_window_seconds, 0.01 * effort.max_seconds);
  effort.gap_seconds = std::min(effort.gap_seconds, 0.02 * effort.max_seconds);
  effort.sample_seconds = std::min(effort.sample_seconds, 0.1 * effort.max_seconds);
  return effort;
}

}  // namespace

double timeout_seconds(const RunOptions& options) {
  const std::optional<SecondsOn>& limit = facts_of(options.selection.suite).limit;
  const Backend backend = options.selection.device == "cpu" ? Backend::cpu : Backend::cuda;
  return options.timeout.value_or(limit ? limit->on(backend) : kTimeoutSeconds);
}

double opening_seconds(const RunOptions& options) {
  return options.timeout.value_or(std::max(timeout_seconds(options), kOpeningSeconds));
}

double budget_seconds(const RunOptions& options) {
  const Suite& suite = facts_of(options.selection.suite);
  if (suite.total_seconds) return options.selection.seconds.value_or(*suite.total_seconds);
  return options.max_seconds.value_or(suite.case_seconds);
}

Settings settings_of(const RunOptions& options, Backend backend) {
  Settings settings;
  settings.effort = effort_of(options, backend);
  settings.data = options.data;
  settings.seed = options.seed;
  settings.telemetry = !options.no_telemetry;
  if (settings.telemetry) {
    settings.host_counters = [ports = port_counters(describe_network()),
                              gpus = backend == Backend::cuda ? lost_gpus : nullptr] {
      CounterReadings readings = memory_errors();
      if (gpus) {
        for (const auto& [address, is_lost] : gpus()) readings[address]["host_lost_gpus"] = is_lost ? 1 : 0;
      }
      if (ports) readings.merge(ports());
      return readings;
    };
  }
  settings.memory_fraction = options.selection.memory_fraction;
  settings.build_key = build_key();
  return settings;
}

TerminalStyle style_of(const RunOptions& options, bool launched) {
  TerminalStyle style = terminal_style(stdout);
  if (launched) style.interactive = style.colour = false;
  if (!options.color.empty()) style.colour = options.color == "yes";
  return style;
}

RunScope scope_of(const RunOptions& options, const Plan& plan) {
  const Selection &selection = options.selection, defaults;
  RunScope scope;
  scope.suite_cases = plan.suite_cases;
  for (const auto* groups : {&plan.ceilings, &plan.suite}) {
    for (const Group& group : *groups) scope.cases += group.cases.size();
  }
  const auto change = [&](const std::string& text, bool weaker = true) {
    scope.changes.push_back(text);
    if (weaker) scope.weaker.push_back(text);
  };
  bool shortened = false;
  const auto seconds = [&](const char* what, std::optional<double> chosen, double defined) {
    if (!chosen || *chosen == defined) return;
    change(fmt::format("{:g} s {} instead of {:g} s", *chosen, what, defined), *chosen < defined);
    shortened |= *chosen < defined;
  };
  scope.by_name = !selection.cases.empty();
  for (const std::string& pattern : selection.cases) change(fmt::format("--case '{}'", pattern));
  if (!selection.filter.empty()) change(fmt::format("--filter '{}'", selection.filter));
  if (!selection.exclude.empty()) change(fmt::format("--exclude '{}'", selection.exclude));
  if (selection.cache) change(fmt::format("--cache {}", name(*selection.cache)));
  if (selection.memory_fraction != defaults.memory_fraction) {
    change(fmt::format("--memory-fraction {:g}", selection.memory_fraction),
           selection.memory_fraction < defaults.memory_fraction);
  }
  if (selection.only_device) change("--only-device", false);
  if (options.no_telemetry) change("--no-telemetry");
  if (options.data != Distribution::normal) change(fmt::format("--data {}", name(options.data)));
  const Suite& suite = facts_of(selection.suite);
  seconds("per case", options.max_seconds, suite.case_seconds);
  if (suite.total_seconds) seconds("in all", selection.seconds, *suite.total_seconds);
  std::size_t chosen = 0;
  for (const Group& group : plan.suite) chosen += group.cases.size();
  scope.text =
      selection.cases.empty() ? describe_scope(scope, suite.name, shortened) : describe_chosen(scope, suite.name, chosen);
  return scope;
}

}  // namespace roofmark
