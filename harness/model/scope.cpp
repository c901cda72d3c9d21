// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/scope.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace roofmark {

std::string describe_scope(const RunScope& scope, std::string_view suite, bool shortened) {
  const std::string why = scope.changes.empty() ? "" : fmt::format(" ({})", fmt::join(scope.changes, ", "));
  if (scope.cases < scope.suite_cases) {
    return fmt::format("A selection of the {} suite: {} of {} cases{}", suite, scope.cases, scope.suite_cases, why);
  }
  const std::string kind = scope.changes.empty() ? "The" : shortened ? "A shortened" : "A changed";
  const std::string count = scope.cases > scope.suite_cases
                                ? fmt::format("{} cases instead of {}", scope.cases, scope.suite_cases)
                                : fmt::format("all {} cases", scope.cases);
  return fmt::format("{} {} suite: {}{}", kind, suite, count, why);
}

std::string describe_chosen(const RunScope& scope, std::string_view suite, std::size_t chosen) {
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format("{} chosen by name and {}, with the budget of the {} suite ({})", counted(chosen, "case"),
                     counted(scope.cases - chosen, "ceiling"), suite, fmt::join(brief_changes(scope), ", "));
}

std::vector<std::string> brief_changes(const RunScope& scope) {
  constexpr std::string_view kCase = "--case ";
  std::vector<std::string> brief;
  std::size_t cases = 0;
  for (const std::string& change : scope.changes) {
    if (!change.starts_with(kCase) || cases++ == 0) brief.push_back(change);
  }
  if (cases > 1) brief.front() += fmt::format(" and {} more", cases - 1);
  return brief;
}

}  // namespace roofmark
