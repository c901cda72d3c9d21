// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/present.hpp"

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "bench/program/google_benchmark.hpp"
#include "harness/present/run.hpp"
#include "harness/result/journal.hpp"

namespace roofmark {

void present(const RunOptions& options, const Run& run, const Conclusions& conclusions, const std::filesystem::path& file,
             const TerminalStyle& style) {
  if (!options.format.empty()) {
    write_google_benchmark(std::cout, options.format, run.records);
  } else {
    const std::string text = options.quiet ? std::string() : run_text(run, conclusions, style);
    std::fputs((text + (file.empty() ? "" : file.string() + "\n")).c_str(), stdout);
  }
  if (options.out_file.empty()) return;
  std::ostringstream text;
  write_google_benchmark(text, options.out_format, run.records);
  write_file(options.out_file, text.str());
}

}  // namespace roofmark
