// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/present.hpp"

#include <sstream>
#include <string>

#include "bench/program/google_benchmark.hpp"
#include "bench/program/standard_output.hpp"
#include "harness/present/run.hpp"
#include "harness/result/journal.hpp"

namespace roofmark {

bool present(const RunOptions& options, const Run& run, const Conclusions& conclusions, const std::filesystem::path& file,
             const TerminalStyle& style) {
  const auto in_format = [&run](const std::string& format) {
    std::ostringstream text;
    write_google_benchmark(text, format, run.records);
    return text.str();
  };
  std::string text;
  if (!options.format.empty()) {
    text = in_format(options.format);
  } else {
    text = options.quiet ? std::string() : run_text(run, conclusions, style);
    if (!file.empty()) text += file.string() + "\n";
  }
  const bool printed = print_out(text);
  if (!options.out_file.empty()) write_named_file(options.out_file, in_format(options.out_format));
  return printed;
}

}  // namespace roofmark
