// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "bench/program/commands.hpp"
#include "bench/program/plan.hpp"
#include "bench/program/print_plan.hpp"
#include "bench/program/selected_device.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/present/terminal.hpp"

namespace roofmark {

int list(const RunOptions& options, bool json) {
  const Selection& selection = options.selection;
  std::string note;
  const auto device = open_selected(selection.device, note);
  const auto fabric = fabric_of(device->info(), selection);
  const Plan cases = plan(device->info(), selection, fabric.get());
  if (!note.empty()) say("roofmark", note);
  print_plan(cases, options, "run", json, terminal_style(stdout));
  return kOk;
}

}  // namespace roofmark
