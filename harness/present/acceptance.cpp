// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/acceptance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/model/units.hpp"
#include "harness/present/grid.hpp"

namespace roofmark {

namespace {

/// Of more, only what refuses them is shown.
constexpr std::size_t kFewDevices = 4;
/// Of more devices and nodes that are not accepted, none has a table.
constexpr std::size_t kMostRefused = 16;
/// Of more different verdicts of runs, the file of --json alone has the rest.
constexpr std::size_t kMostDoubts = 8;

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
std::string in_words(const Check& check) {
  return check.mandatory ? "yes" : check.rule->mandatory == Mandatory::where_measured ? "where measured" : "no";
}

bool refuses(const Check& check) { return check.mandatory && check.verdict != Verdict::pass; }

/// "cuda:5 of node7": without the UUID.
std::string place_of(const Check& check) {
  return check.device.empty() ? check.subject() : fmt::format("{} of {}", check.device_id, check.node);
}

std::string table_of(const std::vector<const Check*>& checks, bool whole, const TerminalStyle& style) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<const Check*, int>> worst;
  for (const Check* check : checks) {
    const auto [found, first] = worst.try_emplace(check->rule->id, check, 0);
    if (first) order.push_back(check->rule->id);
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
  int checks_of_none = 0, unshown = 0;
  for (const std::string& rule : order) {
    const auto& [check, count] = worst.at(rule);
    if (!whole && !refuses(*check)) {
      ++unshown;
      continue;
    }
    if (check->verdict == Verdict::pass && check->expected == "<= 0" && check->limit) {
      none.push_back(rule);
      checks_of_none += count;
      continue;
    }
    grid.rows.push_back({rule, std::string(name(check->verdict)), in_words(*check), std::to_string(count), margin_cell(*check),
                         fmt::format("{} ({})", check->found, check->expected)});
  }
  std::string text = grid.rows.empty() ? "" : to_text(grid, style);
  if (unshown > 0) text += fmt::format("rules that pass or do not decide: {}\n", unshown);
  if (none.empty()) return text;
  return text +
         wrapped(fmt::format("PASS, none found in {} check{}: {}", checks_of_none, checks_of_none == 1 ? "" : "s",
                             fmt::join(none, ", ")),
                 static_cast<std::size_t>(style.columns), 2) +
         "\n";
}

/// Checks that do not pass for one cause, as far as their rule and verdict show it.
struct Refusal {
  const Check* worst;
  std::vector<const Check*> others;
};

/// In the order of their first checks; of few devices each check by itself.
std::vector<Refusal> refusals(const Judgement& judgement) {
  std::vector<Refusal> all;
  std::map<std::tuple<std::string, Verdict, std::string>, std::size_t> known;
  for (const Check& check : judgement.checks) {
    if (!refuses(check)) continue;
    const std::string why = check.verdict == Verdict::not_measured ? check.explanation : "";
    const auto [found, first] = known.try_emplace({check.rule->id, check.verdict, why}, all.size());
    if (first || judgement.devices.size() <= kFewDevices) {
      all.push_back({&check, {}});
      continue;
    }
    Refusal& same = all[found->second];
    same.others.push_back(worse(check, *same.worst) ? std::exchange(same.worst, &check) : &check);
  }
  return all;
}

/// Where else, and in how many checks of each place.
std::string also(const Refusal& refusal) {
  std::vector<std::string> places;
  std::map<std::string, int> checks;
  for (const Check* check : refusal.others) {
    if (++checks[place_of(*check)] == 1) places.push_back(place_of(*check));
  }
  for (std::string& place : places) {
    const int count = checks.at(place);
    if (place == place_of(*refusal.worst)) {
      place = fmt::format("{} more check{} of the same", count, count == 1 ? "" : "s");
    } else if (count > 1) {
      place += fmt::format(" ({} checks)", count);
    }
  }
  return some_of(places);
}

/// The worst check in full, and where the others are.
std::string told(const Refusal& refusal, const TerminalStyle& style) {
  const Check& check = *refusal.worst;
  std::string measured = check.found;
  if (check.low && check.measured && *check.measured != 0) {
    // Relative to the measured value, which may be a share itself.
    const auto from_measured = [&](double end) { return fmt::format("{:.2f} %", std::abs(end / *check.measured - 1) * 100); };
    measured += check.high
                    ? fmt::format("  (95 % interval: from {} below to {} above it)", from_measured(*check.low),
                                  from_measured(*check.high))
                    : fmt::format("  (95 % interval: from {} below it, without an upper end)", from_measured(*check.low));
  }
  return paragraph(style, red, std::string(name(check.verdict)), fmt::format(" {}: {}", check.rule->id, check.subject())) +
         pairs_text({{"case", check.of},
                     {"measured", measured},
                     {"limit", check.expected},
                     {"because", check.explanation},
                     {"if it fails", check.rule->reason},
                     {"source", check.rule->source},
                     {"rule", check.rule->origin},
                     {"result", check.file},
                     {"also", also(refusal)}},
                    style);
}

/// The nodes that are not accepted, and by which rules, the failed ones first.
std::string refused_nodes(const Judgement& judgement, const TerminalStyle& style) {
  struct Node {
    std::set<std::string> devices, refused;
    std::map<std::pair<int, std::string>, std::set<std::string>> rules;  ///< with the ids of the devices
  };
  std::map<std::string, Node> nodes;
  for (const Check& check : judgement.checks) {
    Node& node = nodes[check.node];
    if (!check.device.empty()) node.devices.insert(check.device);
    if (!refuses(check)) continue;
    if (!check.device.empty()) node.refused.insert(check.device);
    node.rules[{-static_cast<int>(check.verdict), check.rule->id}].insert(check.device_id);
  }
  Grid grid{"",
            {{.heading = "not accepted"},
             {.heading = "verdict", .is_text = true},
             {.heading = "devices accepted", .leaves = 1},
             {.heading = "does not pass", .is_text = true}}};
  for (const SubjectVerdict& subject : judgement.nodes) {
    if (subject.verdict == Verdict::pass) continue;
    const Node& node = nodes.at(subject.name);
    std::vector<std::string> rules;
    for (const auto& [rule, ids] : node.rules) {
      const bool of_node = ids.contains(""), of_all = ids.size() > 1 && ids.size() == node.devices.size();
      rules.push_back(rule.second + (of_node ? "" : of_all ? " (all)" : fmt::format(" ({})", fmt::join(ids, ", "))));
    }
    grid.rows.push_back({subject.name, std::string(name(subject.verdict)),
                         fmt::format("{} of {}", node.devices.size() - node.refused.size(), node.devices.size()),
                         some_of(rules)});
  }
  return grid.rows.empty() ? "" : to_text(grid, style) + "\n";
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
  const bool few = judgement.devices.size() <= kFewDevices;
  std::vector<const std::vector<const Check*>*> refused;
  std::string text;
  for (const auto& [owner, checks] : owned) {
    if (few || owner.first.empty()) {
      text += paragraph(style, bold, checks.front()->subject(), "") + table_of(checks, true, style) + "\n";
    } else if (std::any_of(checks.begin(), checks.end(), [](const Check* check) { return refuses(*check); })) {
      refused.push_back(&checks);
    }
  }
  for (const auto* checks : refused) {
    if (refused.size() > kMostRefused) break;
    text += paragraph(style, bold, checks->front()->subject(), "") + table_of(*checks, false, style) + "\n";
  }
  for (const Refusal& refusal : refusals(judgement)) text += told(refusal, style) + "\n";
  for (const std::string& device : judgement.unknown_devices) {
    text += wrapped(fmt::format("{} is not in the table of known GPUs: the judgement uses ceilings computed from its "
                                "attributes, which do not show disabled units, and no datasheet.",
                                device),
                    static_cast<std::size_t>(style.columns), 2) +
            "\n";
  }
  const std::vector<std::string>& doubts = judgement.doubts;
  for (std::size_t i = 0; i < std::min(doubts.size(), kMostDoubts); ++i) {
    text += wrapped("The run's own verdict: " + doubts[i], static_cast<std::size_t>(style.columns), 2) + "\n";
  }
  if (doubts.size() > kMostDoubts) text += fmt::format("and {} more verdicts of runs\n", doubts.size() - kMostDoubts);
  if (judgement.nodes.size() > 1) text += refused_nodes(judgement, style);
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
  std::vector<std::string> agreed;
  for (const auto& [setting, agreement] : profile.agreed) agreed.push_back(setting_text(setting, agreement.value));
  return wrapped(fmt::format("{}: {}", profile.name, profile.title), static_cast<std::size_t>(style.columns), 2) + "\n" +
         pairs_text({{"inherits", fmt::format("{}", fmt::join(profile.inherited, ", "))},
                     {"devices", profile.devices_in_words()},
                     {"suite", profile.suite},
                     {"agreed", fmt::format("{}", fmt::join(agreed, ", "))}},
                    style);
}

}  // namespace roofmark
