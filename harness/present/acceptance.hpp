// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/judge/acceptance/acceptance.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

/// For each device, node and the delivery a row per rule with its worst check; then every mandatory check that does not pass,
/// with its reason unshortened; then the verdicts. Of many devices, only those that do not pass have a table.
std::string acceptance_text(const Judgement& judgement, const TerminalStyle& style);

/// What a profile is for, and what it inherits; without its rules.
std::string profile_text(const Profile& profile, const TerminalStyle& style);

}  // namespace roofmark
