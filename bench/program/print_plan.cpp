// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/print_plan.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "bench/program/settings.hpp"
#include "harness/model/units.hpp"
#include "harness/present/cells.hpp"
#include "harness/present/grid.hpp"
#include "harness/result/record_json.hpp"

namespace roofmark {

namespace {

std::string amount(const Demand& demand) {
  return format_amount(demand.amount, demand.resource.unit) + " " + std::string(demand.resource.id);
}

std::string work_in_words(const Work& work) {
  std::string text;
  for (const Phase& phase : work.phases) {
    if (!text.empty()) text += ", then ";
    for (std::size_t i = 0; i < phase.size(); ++i) text += (i ? " + " : "") + amount(phase[i]);
  }
  return text;
}

}  // namespace

void print_plan(const Plan& cases, const RunOptions& options, std::string_view command, bool json, const TerminalStyle& style) {
  for (const std::string& left_out : cases.left_out) say(options.program, left_out);
  Json all = Json::array();
  Grid grid{"", {{.heading = "case"}, {.heading = "memory"}, {.heading = "work", .is_text = true}}};
  for (const auto* groups : {&cases.ceilings, &cases.suite}) {
    for (const Group& group : *groups) {
      for (const Case& c : group.cases) {
        Json entry = {{"name", c.name()}, {"memory_bytes", c.slot_bytes + c.shared_bytes}, {"work", to_json(c.work)}};
        if (!c.unsupported.empty()) entry["unsupported"] = c.unsupported;
        all.push_back(std::move(entry));
        grid.rows.push_back({c.name(), format_bytes(double(c.slot_bytes + c.shared_bytes)),
                             c.unsupported.empty() ? work_in_words(c.work) : "unsupported: " + c.unsupported});
      }
    }
  }
  if (json) {
    fmt::print("{}\n", all.dump(1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  const std::string next =
      fmt::format("work: what one launch needs of each resource; `{} {}` with the same flags measures these cases",
                  options.program, command);
  fmt::print("{}\n{}\n{}\n", paragraph(style, bold, scope_of(options, cases).text, ""), to_text(grid, style),
             wrapped(next, static_cast<std::size_t>(style.columns), 2));
}

}  // namespace roofmark
