// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/counter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/model/units.hpp"

namespace roofmark {

namespace {

/// "up to 8 per minute are normal"
std::string tolerance_text(const Tolerance& tolerated) {
  const std::string time = tolerated.seconds == 3600 ? "hour"
                           : tolerated.seconds == 60 ? "minute"
                           : tolerated.seconds == 1  ? "second"
                                                     : fmt::format("{:g} s", tolerated.seconds);
  return fmt::format("up to {:g} per {} are normal", tolerated.amount, time);
}

/// "; the last is number 31, a page fault"
std::string last_event(const CounterType& type, const CounterChange& change) {
  std::string text;
  if (change.number) text += fmt::format("; the last is number {:g}", *change.number);
  if (change.number && type.meaning) text += fmt::format(", {}", type.meaning(*change.number));
  if (change.age_seconds) text += fmt::format(", {} before the run", format_duration(*change.age_seconds));
  return text;
}

}  // namespace

std::string state_text(const CounterType& type, double value) {
  const auto at = static_cast<std::size_t>(std::max(value, 0.0));
  if (type.words.empty()) return format_in_full(value);
  return at < type.words.size() ? std::string(type.words[at]) : fmt::format("unknown ({})", at);
}

std::vector<Finding> find_worse_counters(const std::vector<CounterChange>& changes, const std::vector<CounterOwner>& owners,
                                         double seconds) {
  std::vector<Finding> findings;
  std::map<std::pair<std::string, std::string>, std::size_t> of_hosts;  // by host and counter
  for (const CounterChange& change : changes) {
    const CounterType* const type = find_counter(change.id);
    if (!type) continue;
    const auto rank = static_cast<std::size_t>(change.rank);
    const bool is_host = type->of == CounterOf::host;
    const std::string owner = rank >= owners.size() ? std::string() : is_host ? owners[rank].host : owners[rank].device;
    const std::string whose = owner.empty() ? owner : owner + ": ";
    const std::string where = change.where.empty() ? "" : fmt::format(" ({})", change.where);
    const double worse = change.worse().value_or(0);
    Finding finding{type->finding, {}, {}};
    // What is tolerated is that of one port of a host, and of all links of a device.
    const double untolerated = is_host ? change.largest.value_or(worse) : worse;
    if (type->words.empty() && untolerated > type->tolerated.within(seconds)) {
      const char* const moved = type->is_worse_lower() ? "fell" : "rose";
      finding.text =
          fmt::format("{}{}: {} by {} during the run, from {} to {}{}{}", whose, type->title, moved, format_in_full(worse),
                      format_in_full(*change.before), format_in_full(*change.after), where, last_event(*type, change));
      if (type->tolerated.seconds > 0) finding.text += "; " + tolerance_text(type->tolerated);
      finding.size = worse;
      finding.brief = fmt::format("{}{} {} by {}{}", whose, type->title, moved, format_in_full(worse), where);
    } else if (const auto worst = change.worst(); worst && type->is_unhealthy(*worst)) {
      finding.text = fmt::format("{}{}: {}", whose, type->title, state_text(*type, change.before.value_or(*worst)));
      if (type->kind == CounterKind::past) {
        finding.text += last_event(*type, change);
      } else if (change.before && change.after) {
        finding.text += fmt::format(" before the run, {} after it", state_text(*type, *change.after));
      }
      finding.text += where;
      finding.size = std::abs(*worst - *type->healthy);
      finding.brief = fmt::format("{}{}: {}{}", whose, type->title, state_text(*type, *worst), where);
    } else {
      continue;
    }
    if (!owners.empty()) finding.ranks = {change.rank};
    if (is_host && !owner.empty()) {
      for (std::size_t other = 0; other < owners.size(); ++other) {
        if (other != rank && owners[other].host == owner) finding.ranks.push_back(static_cast<int>(other));
      }
      std::sort(finding.ranks.begin(), finding.ranks.end());
      const auto [known, is_new] = of_hosts.try_emplace({owner, change.id}, findings.size());
      if (!is_new) {
        if (finding.size > findings[known->second].size) findings[known->second] = std::move(finding);
        continue;
      }
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::set<FindingKind> uncounted(const std::vector<CounterChange>& changes, int rank) {
  std::set<FindingKind> kinds, counted, lost;
  for (const FindingType& type : kFindingTypes) {
    if (type.is_found_by(FoundBy::counters)) kinds.insert(type.kind);
  }
  for (const CounterChange& change : changes) {
    const CounterType* const type = find_counter(change.id);
    if (type && change.rank == rank) (change.worse() ? counted : lost).insert(type->finding);
  }
  std::erase_if(kinds, [&](FindingKind kind) { return counted.contains(kind) && !lost.contains(kind); });
  return kinds;
}

}  // namespace roofmark
