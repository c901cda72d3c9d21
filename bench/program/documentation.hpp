// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace roofmark {

// Made from a program's commands, of which nothing is written twice.

/// What --help prints, in 80 columns.
std::string help_text(const CLI::App& command);
/// The manual page, in roff's macros for manuals. `version`: "roofmark 0.1.0".
std::string manual_page(const CLI::App& app, const std::string& version);
/// A script for bash that completes commands, flags, and values of which there are only some.
std::string bash_completion(const CLI::App& app);

}  // namespace roofmark
