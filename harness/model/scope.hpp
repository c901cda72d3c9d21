// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark {

/// What a run takes of its suite.
struct RunScope {
  std::size_t suite_cases = 0;       ///< of the suite as it is defined, on this device, each ceiling once
  std::size_t cases = 0;             ///< of this run
  std::vector<std::string> changes;  ///< what makes the run differ from the suite: "--filter 'gemm'"
  std::string text;                  ///< the same in one line, for people
  /// Of `changes`, what makes its results say less of the device than the suite's do: fewer cases, less time or memory, other
  /// data.
  std::vector<std::string> weaker = {};
  bool by_name = false;  ///< its cases were chosen by name: each of them was asked for, and counts as the suite's
};

/// "A selection of the quick suite: 31 of 52 cases (--filter 'gemm')". `shortened`: a case takes less time than in the suite.
std::string describe_scope(const RunScope& scope, std::string_view suite, bool shortened);
/// "2 cases chosen by name and 5 ceilings, with the budget of the quick suite (--case 'gemm/bf16/m=n=k:64,128')". `chosen`: of
/// the run's cases those that are no ceilings.
std::string describe_chosen(const RunScope& scope, std::string_view suite, std::size_t chosen);

/// The changes, of several cases by name the first alone: "--case 'gemm/bf16/m=n=k:64' and 3 more".
std::vector<std::string> brief_changes(const RunScope& scope);

}  // namespace roofmark
