// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace roofmark {

namespace {

/// Of a case that some ranks measured and another one could have, what became of it there.
Status worst_of(const Record& record) {
  Status worst = record.status;
  for (const Status status : record.rank_status) {
    if (type_of(status).is_bad() && is_worse(status, worst)) worst = status;
  }
  return worst;
}

/// The cases by the worst status of their passes and ranks.
class Counts {
 public:
  explicit Counts(const std::vector<Record>& records) {
    std::map<std::string, Status> cases;
    for (const Record& record : records) {
      const Status status = worst_of(record);
      const auto [place, fresh] = cases.try_emplace(record.name(), status);
      if (!fresh && is_worse(status, place->second)) place->second = status;
    }
    for (const auto& [name, status] : cases) ++counts_[status];
    recorded_ = cases.size();
  }

  std::size_t missing(std::size_t planned) const { return planned > recorded_ ? planned - recorded_ : 0; }
  /// Those that the run added to its plan.
  std::size_t added(std::size_t planned) const { return recorded_ > planned ? recorded_ - planned : 0; }

  std::size_t of(Status status) const {
    const auto found = counts_.find(status);
    return found == counts_.end() ? 0 : found->second;
  }

  /// Those that could have passed and have not.
  std::size_t bad() const {
    std::size_t sum = 0;
    for (const auto& [status, count] : counts_) sum += type_of(status).is_bad() ? count : 0;
    return sum;
  }

  std::string in_words() const {
    std::vector<std::string> parts;
    for (const auto& [status, count] : counts_) parts.push_back(fmt::format("{} {}", count, type_of(status).words));
    return parts.empty() ? "nothing was measured" : fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  std::map<Status, std::size_t> counts_;
  std::size_t recorded_ = 0;
};

/// The kinds of findings that put the same in doubt, in the order of the table; of each kind the worst.
std::vector<std::pair<const FindingType*, std::string>> doubts_of(const std::vector<Finding>& findings, Doubt doubt) {
  std::vector<std::pair<const FindingType*, std::string>> doubts;
  for (const FindingType& type : kFindingTypes) {
    if (type.doubt != doubt) continue;
    const Finding* worst = nullptr;
    std::size_t count = 0;
    for (const Finding& finding : findings) {
      if (finding.kind != type.kind) continue;
      ++count;
      if (!worst || finding.size > worst->size) worst = &finding;
    }
    if (!worst) continue;
    doubts.emplace_back(
        &type, (worst->brief.empty() ? worst->text : worst->brief) + (count > 1 ? fmt::format(" ({} more)", count - 1) : ""));
  }
  return doubts;
}

/// Whether a case that was asked for by name is not possible here, or no case but ceilings. Of a suite's cases, some may be
/// left out.
bool lacks_chosen(const RunScope& scope, const std::vector<Record>& records) {
  std::size_t cases = 0, impossible = 0;
  for (const Record& record : records) {
    if (record.sets_ceiling) continue;
    ++cases;
    if (record.status == Status::unsupported) ++impossible;
  }
  return impossible > 0 && (scope.by_name || impossible == cases);
}

/// Where and why a run ended early, without saying the case twice.
std::string in_words(const RunEnd& ended) {
  const bool named = ended.case_name.empty() || ended.reason.find(ended.case_name) != std::string::npos;
  return fmt::format("The run was cut off{}{}: {}", named ? "" : " in ", named ? "" : ended.case_name, ended.reason);
}

}  // namespace

std::size_t without_record(const RunScope& scope, const std::vector<Record>& records) {
  return Counts(records).missing(scope.cases);
}

bool reports_faults(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    const Doubt doubt = type_of(finding.kind).doubt;
    return doubt == Doubt::device || doubt == Doubt::host;
  });
}

RunVerdict judge_run(const RunScope& scope, const std::vector<Record>& records, const std::vector<Finding>& findings,
                     const std::optional<RunEnd>& ended, const std::string& slow) {
  const Counts counts(records);
  std::vector<std::string> parts;
  RunVerdict verdict;
  const auto say = [&](Trust trust, const std::string& part, std::string_view advice) {
    parts.push_back(part);
    if (trust > verdict.trust || (verdict.trust == trust && verdict.advice.empty())) verdict.advice = advice;
    verdict.trust = std::max(verdict.trust, trust);
  };
  const bool wrong = counts.of(Status::wrong) > 0;
  if (ended) {
    say(Trust::bad, in_words(*ended), wrong ? "" : "The measured cases are valid; the others have not passed. Run again.");
  }
  std::vector<std::string> differences = brief_changes(scope);
  const std::size_t added = counts.added(scope.cases);
  if (scope.cases != scope.suite_cases) {
    differences.insert(differences.begin(), fmt::format("{} of {} cases{}", scope.cases, scope.suite_cases,
                                                        added ? fmt::format(" and {} more", added) : ""));
  } else if (added) {
    differences.insert(differences.begin(), fmt::format("{} more than the suite's", added));
  }
  const std::size_t missing = counts.missing(scope.cases);
  const std::string measured = counts.in_words() + (missing ? fmt::format(", {} not reached", missing) : "") +
                               (differences.empty() ? "" : fmt::format(" ({})", fmt::join(differences, ", ")));
  if (wrong) {
    say(Trust::bad, measured,
        "Do not use any number from this device until the wrong result is explained: repeat the case, check the ECC counters "
        "and the Xid messages.");
  } else if (counts.bad() + missing > 0 || records.empty() || lacks_chosen(scope, records)) {
    say(Trust::bad, measured, "Cases that were not measured have not passed: fix the reasons given, then run again.");
  } else {
    say(Trust::good, measured, scope.cases < scope.suite_cases ? "To judge the whole device, run the whole suite." : "");
  }
  struct Group {
    Doubt doubt;
    Trust trust;
    const char* title;
  };
  constexpr Group groups[] = {{Doubt::device, Trust::bad, "the device reports faults"},
                              {Doubt::host, Trust::bad, "the host reports faults"},
                              {Doubt::roofs, Trust::doubtful, "the roofs are in doubt"},
                              {Doubt::rates, Trust::doubtful, "rates are in doubt"},
                              {Doubt::network, Trust::doubtful, "the network has faults"}};
  for (const auto& [doubt, trust, title] : groups) {
    const auto found = doubts_of(findings, doubt);
    if (found.empty()) continue;
    std::vector<std::string> briefs;
    for (const auto& [type, brief] : found) briefs.push_back(brief);
    say(trust, fmt::format("{}: {}", title, fmt::join(briefs, ", ")), found.front().first->advice);
  }
  if (!slow.empty()) {
    const auto places = doubts_of(findings, Doubt::place);
    say(places.empty() ? Trust::good : Trust::doubtful, slow, places.empty() ? "" : places.front().first->advice);
  }
  verdict.headline = fmt::format("{}", fmt::join(parts, "; "));
  return verdict;
}

}  // namespace roofmark
