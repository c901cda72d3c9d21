// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/acceptance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/model/units.hpp"
#include "harness/present/grid.hpp"

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

/// Whether the check decides.
std::string in_words(const Check& check) { return check.mandatory ? "yes" : check.if_measured ? "if measured" : "no"; }

std::string table_of(const std::vector<const Check*>& checks, const TerminalStyle& style) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<const Check*, int>> worst;
  for (const Check* check : checks) {
    const auto [found, first] = worst.try_emplace(check->rule, check, 0);
    if (first) order.push_back(check->rule);
    if (worse(*check, *found->second.first)) found->second.first = check;
    ++found->second.second;
  }
  Grid grid{"",
            {{.heading = "rule"},
             {.heading = "verdict", .is_text = true},
             {.heading = "mandatory", .leaves = 3, .is_text = true},
             {.heading = "checks", .leaves = 1},
             {.heading = "margin", .leaves = 2},
             {.heading = "worst (limit)", .is_text = true}}};
  std::vector<std::string> none;  // rules that allow nothing, of which nothing was found
  int checks_of_none = 0;
  for (const std::string& rule : order) {
    const auto& [check, count] = worst.at(rule);
    if (check->verdict == Verdict::pass && check->expected == "<= 0") {
      none.push_back(rule);
      checks_of_none += count;
      continue;
    }
    grid.rows.push_back({rule, std::string(name(check->verdict)), in_words(*check), std::to_string(count), margin_cell(*check),
                         fmt::format("{} ({})", check->found, check->expected)});
  }
  std::string text = grid.rows.empty() ? "" : to_text(grid, style);
  if (none.empty()) return text;
  return text +
         wrapped(fmt::format("PASS, none found in {} check{}: {}", checks_of_none, checks_of_none == 1 ? "" : "s",
                             fmt::join(none, ", ")),
                 static_cast<std::size_t>(style.columns), 2) +
         "\n";
}

/// A check in full.
std::string told(const Check& check, const TerminalStyle& style) {
  std::string measured = check.found;
  if (check.low && check.measured && *check.measured != 0) {
    // Relative to the measured value, which may be a share itself.
    const auto from_measured = [&](double end) { return fmt::format("{:.2f} %", std::abs(end / *check.measured - 1) * 100); };
    measured += check.high
                    ? fmt::format("  (95 % interval: from {} below to {} above it)", from_measured(*check.low),
                                  from_measured(*check.high))
                    : fmt::format("  (95 % interval: from {} below it, without an upper end)", from_measured(*check.low));
  }
  return paragraph(style, red, std::string(name(check.verdict)), fmt::format(" {}: {}", check.rule, check.subject())) +
         pairs_text({{"case", check.of},
                     {"measured", measured},
                     {"limit", check.expected},
                     {"because", check.explanation},
                     {"if it fails", check.reason},
                     {"source", check.source},
                     {"rule", check.origin},
                     {"result", check.file}},
                    style);
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
    text += paragraph(style, bold, checks.front()->subject(), "") + table_of(checks, style) + "\n";
  }
  for (const Check& check : judgement.checks) {
    if (check.verdict != Verdict::pass && check.mandatory) text += told(check, style) + "\n";
  }
  for (const std::string& device : judgement.unknown_devices) {
    text += wrapped(fmt::format("{} is not in the table of known GPUs: the judgement uses ceilings computed from its "
                                "attributes, which do not show disabled units, and no datasheet.",
                                device),
                    static_cast<std::size_t>(style.columns), 2) +
            "\n";
  }
  for (const std::string& doubt : judgement.doubts) {
    text += wrapped("The run's own verdict: " + doubt, static_cast<std::size_t>(style.columns), 2) + "\n";
  }
  if (judgement.devices.size() > 1) text += counts(judgement.devices, "devices") + "\n";
  if (judgement.nodes.size() > 1) text += counts(judgement.nodes, "nodes") + "\n";
  const auto passing = std::count_if(judgement.checks.begin(), judgement.checks.end(),
                                     [](const Check& check) { return check.verdict == Verdict::pass; });
  const SubjectVerdict& delivery = judgement.delivery;
  std::string counted = fmt::format(": {} of {} checks pass", passing, delivery.checks);
  if (delivery.bad > 0) {
    counted += fmt::format("; of the others {} {} mandatory", delivery.bad, delivery.bad == 1 ? "is" : "are");
  } else if (passing < delivery.checks) {
    counted += "; none of the others is mandatory";
  }
  text += judgement.accepted() ? paragraph(style, green, "ACCEPTED", counted) : paragraph(style, red, "NOT ACCEPTED", counted);
  const std::string next = judgement.accepted()
                               ? "  `scripts/acceptance` with the same arguments writes the document to sign."
                               : "  The reasons are above: remove the causes and measure again, or refuse the delivery.";
  return text + wrapped(next, static_cast<std::size_t>(style.columns), 2) + "\n";
}

std::string profile_text(const Profile& profile, const TerminalStyle& style) {
  return wrapped(fmt::format("{}: {}", profile.name, profile.title), static_cast<std::size_t>(style.columns), 2) + "\n" +
         pairs_text({{"inherits", fmt::format("{}", fmt::join(profile.inherited, ", "))},
                     {"devices", profile.devices_in_words()},
                     {"suite", profile.suite}},
                    style);
}

}  // namespace roofmark
