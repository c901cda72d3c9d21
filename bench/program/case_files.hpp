// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace roofmark {

/// A command line in which each `--case @FILE` is replaced by a `--case` per line of that file, so that all that follows (other
/// ranks, other processes, the result file) sees the names themselves. What follows a # is a comment; empty lines are left out.
/// Throws UsageError for a file that cannot be read, has no name, or has a line that is no name
/// (harness/model/case_pattern.hpp).
std::vector<std::string> with_cases_of_files(const std::vector<std::string>& words);

}  // namespace roofmark
