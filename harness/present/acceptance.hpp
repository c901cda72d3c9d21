// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/judge/acceptance/acceptance.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// Per device, node and delivery: a table with one row per rule and its worst check; then every mandatory check that does not
/// pass, with its full reason; then the verdicts. With many devices, only failing ones have a table.
std::string acceptance_text(const Judgement& judgement, const TerminalStyle& style);

/// A profile's purpose and ancestors, without its rules.
std::string profile_text(const Profile& profile, const TerminalStyle& style);

}  // namespace roofmark
