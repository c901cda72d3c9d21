// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "harness/machine/host.hpp"
#include "harness/result/words.hpp"

namespace roofmark {

namespace {

/// Timing budget per case.
double seconds_of(SuiteName suite) {
  constexpr double seconds[] = {0.05, 0.25, 1.0, 2.0, 1.0, 0.25};
  return seconds[static_cast<int>(suite)];
}

Effort effort_of(SuiteName suite, std::optional<double> max_seconds) {
  Effort effort;
  effort.max_seconds = max_seconds.value_or(seconds_of(suite));
  effort.longer = std::max(1.0, effort.max_seconds / seconds_of(suite));
  // A short timing budget gets a short warm-up and short samples; the record says whether it settled.
  effort.warm_up_seconds = std::min(effort.warm_up_seconds, 4 * effort.max_seconds);
  effort.window_seconds = std::min(effort.window_seconds, 0.2 * effort.max_seconds);
  effort.lead_in_seconds = std::min(effort.lead_in_seconds, 0.2 * effort.max_seconds);
  effort.lead_in_window_seconds = std::min(effort.lead_in_window_seconds, 0.02 * effort.max_seconds);
  effort.sample_seconds = std::min(effort.sample_seconds, 0.1 * effort.max_seconds);
  if (suite == SuiteName::smoke) effort.blocks = 3;
  return effort;
}

}  // namespace

double timeout_seconds(const RunOptions& options) {
  constexpr double kTimeoutSeconds = 120;
  const Selection& selection = options.selection;
  const double smoke = selection.device == "cpu" ? kSmokeSecondsOfCpu : kSmokeSecondsOfGpu;
  return options.timeout.value_or(selection.suite == SuiteName::smoke ? smoke : kTimeoutSeconds);
}

double budget_seconds(const RunOptions& options) {
  const Selection& selection = options.selection;
  if (selection.suite == SuiteName::sustained) return selection.seconds.value_or(kSustainedSeconds);
  return options.max_seconds.value_or(seconds_of(selection.suite));
}

Settings settings_of(const RunOptions& options) {
  Settings settings;
  settings.effort = effort_of(options.selection.suite, options.max_seconds);
  settings.data = options.data;
  settings.seed = options.seed;
  settings.telemetry = !options.no_telemetry;
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
  seconds("per case", options.max_seconds, seconds_of(selection.suite));
  seconds("in all", selection.seconds, kSustainedSeconds);
  scope.text = describe_scope(scope, name(selection.suite), shortened);
  return scope;
}

}  // namespace roofmark
