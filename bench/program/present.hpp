// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "bench/program/options.hpp"
#include "harness/present/terminal.hpp"
#include "harness/result/run.hpp"

namespace roofmark {

/// Shows a run that has ended: the tables and the path of its file, if there is one, or its records in Google Benchmark's
/// formats. Writes --benchmark_out. False if standard output could not be written.
bool present(const RunOptions& options, const Run& run, const Conclusions& conclusions, const std::filesystem::path& file,
             const TerminalStyle& style);

}  // namespace roofmark
