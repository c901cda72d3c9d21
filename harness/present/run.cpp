// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/present/cells.hpp"
#include "harness/present/roofline_plot.hpp"
#include "harness/present/summary.hpp"
#include "harness/present/tables.hpp"
#include "harness/present/terminal_communication.hpp"
#include "harness/present/transfers.hpp"
#include "harness/result/words.hpp"

namespace roofmark {
namespace {

/// Of the operands. What collectives carry is fixed.
std::string data_in_words(const RunFacts& facts, const std::vector<Record>& records) {
  const auto carries = [](const Record& record) { return record.message.has_value(); };
  std::string given = fmt::format("{} data", name(facts.data));
  if (std::none_of(records.begin(), records.end(), carries)) return given;
  return std::all_of(records.begin(), records.end(), carries) ? "small integers as data"
                                                              : given + ", small integers in collectives";
}

}  // namespace

std::string run_text(const Run& run, const Conclusions& conclusions, const TerminalStyle& style) {
  const RunFacts& facts = run.header.facts;
  const std::vector<RankInfo>& ranks = run.header.ranks;
  const std::string where =
      ranks.empty() ? facts.host.name
                    : fmt::format("{} rank{} (rank 0 on {})", ranks.size(), ranks.size() == 1 ? "" : "s", ranks.front().host);
  const auto columns = static_cast<std::size_t>(style.columns);
  std::string text = "\n" + bold(style, wrapped(run.header.scope.text, columns, 2)) + "\n";
  text += wrapped(fmt::format("{} on {}, {}, seed {}", facts.device.name, where, data_in_words(facts, run.records), facts.seed),
                  columns, 2) +
          "\n\n";
  const Analysis& analysis = conclusions.analysis;
  const std::vector<Record>& records = run.records;
  // The last screen says whether the device is well and at the end of a good link.
  for (const std::string& part :
       {ceilings_table(analysis.roofline, style), communication_tables(records, conclusions.communication, ranks, style),
        records_table(records, style), ladders_table(conclusions.ladders, style),
        sm_latencies_table(conclusions.sm_latencies, style), loaded_latencies_table(conclusions.loaded_latencies, style),
        calls_table(records, style), call_lines_table(conclusions.call_lines, style), sustained_table(records, style),
        comparisons_table(analysis.comparisons, style), roofline_plot(analysis.roofline, records, style),
        transfers_text(conclusions.transfers, analysis.roofline, style), health_text(run.header.health, style),
        findings_text(conclusions.all_findings(), style), unmeasured_text(records, style)}) {
    if (!part.empty()) text += part + "\n";
  }
  text += link_text(run.header, analysis.roofline, style);
  text += verdict_text(conclusions.verdict, style);
  if (run.footer) text += wall_time_text(run.footer->wall, run.footer->total_seconds, style);
  return text;
}

}  // namespace roofmark
