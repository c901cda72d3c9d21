// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bench/program/commands.hpp"
#include "harness/model/exit_status.hpp"
#include "harness/model/printable.hpp"
#include "harness/present/run.hpp"
#include "harness/result/result_file.hpp"

namespace roofmark {

int show(const std::string& result_or_folder) {
  const ResultFile file = read_result(result_or_folder);
  fmt::print("{}", printable_lines(run_text(file.run, file.conclusions, terminal_style(stdout))));
  return kOk;
}

}  // namespace roofmark
