// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"

namespace roofmark {

std::string findings_text(const std::vector<Finding>& findings, const TerminalStyle& style) {
  // Errors first; kinds of one severity in the order of the table.
  std::vector<FindingType> types(std::begin(kFindingTypes), std::end(kFindingTypes));
  std::stable_sort(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.severity > b.severity; });
  constexpr std::size_t kShown = 3;
  std::string text;
  for (const FindingType& type : types) {
    std::vector<const Finding*> same;
    for (const Finding& finding : findings) {
      if (finding.kind == type.kind) same.push_back(&finding);
    }
    if (same.empty()) continue;
    const std::string label =
        (type.severity == Severity::error ? red : yellow)(style, fmt::format("{}: {}", name(type.severity), type.id));
    for (std::size_t i = 0; i < std::min(same.size(), kShown); ++i) {
      text += fmt::format("{}  {}{}{}\n", label, same[i]->case_name, same[i]->case_name.empty() ? "" : ": ", same[i]->text);
    }
    if (same.size() > kShown) text += fmt::format("{}  and {} more like these\n", label, same.size() - kShown);
    text += fmt::format("  {}\n", type.advice);
  }
  return text;
}

std::string verdict_text(const std::vector<Record>& records, const TerminalStyle& style) {
  struct Word {
    Status status;
    const char* text;
    bool named;  ///< case by case; others once per reason
  };
  constexpr Word kWords[] = {{Status::ok, "ok", false},
                             {Status::wrong, "wrong", true},
                             {Status::failed, "failed", true},
                             {Status::not_run, "not run", false},
                             {Status::unsupported, "unsupported", false}};
  std::string text, counts;
  for (const auto& [status, word, named] : kWords) {
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
    std::size_t count = 0;
    for (const Record& record : records) {
      if (record.status != status) continue;
      ++count;
      auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == record.reason; });
      if (reason == reasons.end()) reason = reasons.insert(reasons.end(), {record.reason, {}});
      reason->second.push_back(record.name);
    }
    if (count) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, word);
    if (status == Status::ok || status == Status::unsupported) continue;
    const std::string label = red(style, word);
    for (const auto& [reason, names] : reasons) {
      const std::size_t listed = named ? names.size() : 1;
      for (std::size_t i = 0; i < listed; ++i) {
        const std::string others = listed < names.size() ? fmt::format(" and {} more", names.size() - listed) : "";
        text += fmt::format("{}  {}{}: {}\n", label, names[i], others, reason);
      }
    }
  }
  return text + counts + "\n";
}

std::string wall_time_text(const WallTime& wall, double total) {
  const double other = total - wall.timing - wall.warm_up - wall.preparation - wall.verification - wall.writing;
  const auto share = [&](double seconds) { return format_share(seconds / total); };
  return fmt::format("{} in all: timing {}, warm-up {}, preparation {}, verification {}, writing {}, other {}\n",
                     format_duration(total), share(wall.timing), share(wall.warm_up), share(wall.preparation),
                     share(wall.verification), share(wall.writing), share(other));
}

}  // namespace roofmark
