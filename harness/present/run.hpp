// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/present/terminal.hpp"
#include "harness/result/run.hpp"

namespace roofmark {

/// The terminal output of a finished run: title, tables, findings, verdict.
std::string run_text(const Run& run, const Conclusions& conclusions, const TerminalStyle& style);

}  // namespace roofmark
