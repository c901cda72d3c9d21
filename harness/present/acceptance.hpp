// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/judge/acceptance/acceptance.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// Per device, node and delivery: a table with one row per rule and its worst check; then every mandatory check that does not
/// pass, with its full reason; then the verdicts. With many devices, only those that are not accepted have a table, of the
/// rules that refuse them, and none where they are many too; of the checks that do not pass by one rule the worst is told in
/// full. Of several nodes, those that are not accepted are in one table.
std::string acceptance_text(const Judgement& judgement, const TerminalStyle& style);

/// A profile's purpose and ancestors, without its rules.
std::string profile_text(const Profile& profile, const TerminalStyle& style);

}  // namespace roofmark
