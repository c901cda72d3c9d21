// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/present/terminal.hpp"
#include "harness/result/run.hpp"

namespace roofmark {

/// All that the terminal shows of a run that has ended: its title, the tables, the findings, the verdict.
std::string run_text(const Run& run, const Conclusions& conclusions, const TerminalStyle& style);

}  // namespace roofmark
