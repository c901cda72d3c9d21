// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace roofmark {

// Made from a program's commands, so that nothing is written twice.

/// What --help prints, in 80 columns.
std::string help_text(const CLI::App& command);
/// The manual page, in roff's macros for manuals. `version`: "roofmark 0.1.0".
std::string manual_page(const CLI::App& app, const std::string& version);
/// A script for bash that completes commands, flags, and the values of options that take one of a few words.
std::string bash_completion(const CLI::App& app);

}  // namespace roofmark
