// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "bench/program/commands.hpp"
#include "bench/program/run_folder.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/judge/verdict.hpp"
#include "harness/model/printable.hpp"
#include "harness/present/summary.hpp"
#include "harness/result/journal.hpp"
#include "harness/result/result_file.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

// The number of records in the result file of a finished run; absent if there is none.
std::optional<std::size_t> finished_records(const fs::path& path) {
  std::error_code unknown;
  if (!fs::exists(path, unknown)) return std::nullopt;
  const Json result = Json::parse(read_regular_file(path, kMostResultBytes), nullptr, false);
  if (!result.is_object() || !result.contains("finished_utc")) return std::nullopt;
  return result.value("benchmarks", Json::array()).size() + result.value("unmeasured", Json::array()).size();
}

}  // namespace

int recover(const std::string& result_or_folder, const std::string& out) {
  const fs::path given = result_or_folder;
  const fs::path journal = fs::is_directory(given) ? given / "result.jsonl" : fs::path(given).replace_extension(".jsonl");
  if (!fs::exists(journal)) {
    throw ReadError(fs::exists(given)
                        ? fmt::format("no journal {}{}", journal.string(), fs::is_directory(given) ? results_below(given) : "")
                        : fmt::format("no file or folder {}", result_or_folder));
  }
  int skipped = 0;
  Run run = read_journal(journal, skipped);
  check_each_once(run.records, journal);
  const fs::path result = out.empty() ? fs::path(journal).replace_extension(".json") : make_folder(out) / "result.json";
  const Conclusions conclusions = conclude(run);
  const auto finished = finished_records(result);
  if (finished && (!run.footer || skipped > 0 || run.records.size() < *finished)) {
    throw ReadError(fmt::format("{} belongs to a finished run, and {} has been damaged since ({}): nothing was replaced",
                                result.string(), journal.string(),
                                skipped       ? unreadable(skipped)
                                : !run.footer ? "its last line is missing"
                                              : fmt::format("{} records of {}", run.records.size(), *finished)));
  }
  write_with_checksum(result, result_text(run, conclusions));
  const std::size_t lost = without_record(run.header.scope, run.records);
  fmt::print("{}: {} records{}{}\n", printable(result.string()), run.records.size(),
             !run.footer             ? ", of a run that was cut off"
             : !run.footer->complete ? ", of a run that ended early"
             : lost > 0              ? fmt::format(", of a finished run; {} of its cases are not in the journal", lost)
                                     : ", complete",
             skipped ? "; " + unreadable(skipped) : "");
  const auto& [trust, headline, advice] = conclusions.verdict;
  fmt::print("{}", verdict_text({trust, printable(headline), printable(advice)}, terminal_style(stdout)));
  return exit_status(run, conclusions);
}

}  // namespace roofmark
