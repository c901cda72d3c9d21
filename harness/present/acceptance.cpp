// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/acceptance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"

namespace roofmark {

namespace {

constexpr std::size_t kFewDevices = 4;

/// Node and device; both empty for the delivery.
using Owner = std::pair<std::string, std::string>;

/// From bad to good: the verdict, then the margin; a check without a margin stands before one with a margin.
bool worse(const Check& a, const Check& b) {
  if (a.verdict != b.verdict) return a.verdict > b.verdict;
  if (a.margin.has_value() != b.margin.has_value()) return !a.margin;
  return a.margin && *a.margin < *b.margin;
}

std::string margin_cell(const Check& check) { return format_change(check.margin); }

std::string verdict_cell(const Check& check) {
  const std::string verdict(name(check.verdict));
  return check.mandatory || check.verdict == Verdict::pass ? verdict : verdict + " (not mandatory)";
}

std::string table_of(const std::vector<const Check*>& checks) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<const Check*, int>> worst;
  for (const Check* check : checks) {
    const auto [found, first] = worst.try_emplace(check->rule, check, 0);
    if (first) order.push_back(check->rule);
    if (worse(*check, *found->second.first)) found->second.first = check;
    ++found->second.second;
  }
  std::vector<Row> rows = {{"rule", "checks", "limit", "worst", "margin", "verdict"}};
  for (const std::string& rule : order) {
    const auto& [check, count] = worst.at(rule);
    rows.push_back({rule, std::to_string(count), check->expected, check->found, margin_cell(*check), verdict_cell(*check)});
  }
  return align(rows);
}

/// A check in full.
std::string told(const Check& check, const TerminalStyle& style) {
  std::string text =
      fmt::format("{} {}: {}\n", red(style, std::string(name(check.verdict))), bold(style, check.rule), check.subject());
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<9}{}\n", what, value);
  };
  line("case", check.of);
  std::string measured = check.found;
  if (check.low && check.high && check.measured && *check.measured != 0) {
    measured += fmt::format("  (95 % interval {:+.2f} to {:+.2f} %)", (*check.low / *check.measured - 1) * 100,
                            (*check.high / *check.measured - 1) * 100);
  }
  line("measured", measured);
  line("limit", check.expected);
  line("because", check.explanation);
  line("reason", check.reason);
  line("source", check.source);
  line("rule", check.origin);
  line("result", check.file);
  return text;
}

std::string counts(const std::vector<SubjectVerdict>& subjects, const char* what) {
  const auto accepted = std::count_if(subjects.begin(), subjects.end(),
                                      [](const SubjectVerdict& subject) { return subject.verdict == Verdict::pass; });
  return fmt::format("{} of {} {} accepted", accepted, subjects.size(), what);
}

}  // namespace

std::string acceptance_text(const Judgement& judgement, const TerminalStyle& style) {
  std::map<Owner, std::vector<const Check*>> owned;
  for (const Check& check : judgement.checks) owned[{check.node, check.device}].push_back(&check);
  std::map<std::string, Verdict> verdicts;
  for (const SubjectVerdict& device : judgement.devices) verdicts[device.name] = device.verdict;
  std::string text;
  for (const auto& [owner, checks] : owned) {
    const bool device = !owner.second.empty();
    if (device && judgement.devices.size() > kFewDevices && verdicts.at(owner.second) == Verdict::pass) continue;
    text += bold(style, checks.front()->subject()) + "\n" + table_of(checks) + "\n";
  }
  for (const Check& check : judgement.checks) {
    if (check.verdict != Verdict::pass && check.mandatory) text += told(check, style) + "\n";
  }
  if (judgement.devices.size() > 1) text += counts(judgement.devices, "devices") + "\n";
  if (judgement.nodes.size() > 1) text += counts(judgement.nodes, "nodes") + "\n";
  const std::string verdict = judgement.accepted() ? "ACCEPTED" : red(style, "NOT ACCEPTED");
  const auto passing = std::count_if(judgement.checks.begin(), judgement.checks.end(),
                                     [](const Check& check) { return check.verdict == Verdict::pass; });
  const SubjectVerdict& delivery = judgement.delivery;
  text += fmt::format("{}: {} of {} checks pass", bold(style, verdict), passing, delivery.checks);
  if (delivery.bad > 0) text += fmt::format("; {} mandatory ones do not", delivery.bad);
  if (const auto others = delivery.checks - passing - delivery.bad; others > 0) {
    text += fmt::format("; {} that are not mandatory do not", others);
  }
  text += "\n";
  return text;
}

std::string profile_text(const Profile& profile) {
  std::string text = fmt::format("{}: {}\n", profile.name, profile.title);
  if (!profile.inherited.empty()) text += fmt::format("inherits  {}\n", fmt::join(profile.inherited, ", "));
  text += fmt::format("devices   {}\nsuite     {}\n\n", profile.devices_in_words(), profile.suite);
  return text;
}

}  // namespace roofmark
