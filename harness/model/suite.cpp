// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/suite.hpp"

#include <algorithm>
#include <cstddef>

namespace roofmark {

namespace {

using enum SuiteName;

// clang-format off
constexpr Suite kSuites[] = {
    {.id = smoke, .name = "smoke", .help = "a scheduler's prolog or epilog", .case_seconds = 0.05, .window_seconds = {0.01, 0.01}, .blocks = 3, .all_ceilings = false, .limit = {{20, 10}}},
    {.id = quick, .name = "quick", .help = "one to four minutes", .case_seconds = 0.25, .window_seconds = {0.015, 0.1}, .size = 1},
    {.id = baseline, .name = "baseline", .help = "longer: more cases than quick, or larger ones", .case_seconds = 1, .size = 2},
    {.id = full, .name = "full", .help = "longest: more cases than baseline, or larger ones", .case_seconds = 2, .size = 3},
    {.id = sustained, .name = "sustained", .help = "does the rate of the first second hold?", .case_seconds = 1, .total_seconds = 300},
    {.id = contract, .name = "contract", .help = "", .case_seconds = 0.25, .offered = false},
};
// clang-format on

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < std::size(kSuites); ++i) {
    if (static_cast<std::size_t>(kSuites[i].id) != i) return false;
  }
  return true;
}
static_assert(are_in_order(), "facts_of() looks a suite up by its place in the enumeration");

}  // namespace

std::span<const Suite> suites() { return kSuites; }

const Suite& facts_of(SuiteName id) { return kSuites[static_cast<std::size_t>(id)]; }

const Suite* find_suite(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kSuites), std::end(kSuites), [&](const Suite& one) { return one.offered && one.name == name; });
  return found == std::end(kSuites) ? nullptr : found;
}

}  // namespace roofmark
