// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "bench/program/plan.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// The scope, one line per case with its memory and work, and the command that measures them; or a JSON array.
void print_plan(const Plan& cases, const RunOptions& options, std::string_view command, bool json, const TerminalStyle& style);

}  // namespace roofmark
