// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bench/program/commands.hpp"
#include "bench/program/flow.hpp"
#include "bench/program/interrupt.hpp"
#include "bench/program/run_all.hpp"
#include "bench/program/settings.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/team/solo_watch.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

namespace {

int run_on(const std::string& id, const RunOptions& options, const std::string& note, Watch& watch, SharedSession& session) {
  watch.doing("opening " + id);
  const auto device = open_device(id);
  const auto fabric = fabric_of(device->info(), options.selection);
  SoloTeam team(&interrupted(), [&] { watch.step(); });
  Origin origin = origin_of(device->info(), fabric.get());
  add_network(origin, describe_network());
  watch.set_timeout(timeout_seconds(options));
  return run_plan(
      options,
      {*device, team, watch, plan(device->info(), options.selection, fabric.get()), std::move(origin), note, style_of(options)},
      session);
}

}  // namespace

int run(const RunOptions& options) {
  SharedSession session;
  // A driver may hang as soon as it is asked for its devices.
  SoloWatch watch(
      opening_seconds(options),
      [&](const Standstill& standstill) {
        int status = kNotMeasured;
        try {
          std::fputs("\n", stderr);
          say("roofmark", standstill.reason);
          status = session.abandon(standstill.reason);
        } catch (const std::exception& error) {
          say("roofmark", error.what());
        }
        if (interrupted()) status = kInterrupted;
        std::_Exit(status);  // the measuring thread is stuck inside a driver and cannot be joined
      },
      [] { return interrupted().load(); });
  watch.doing("looking for devices");
  if (options.expected_gpus) expect_gpus(*options.expected_gpus);
  std::string note;
  const std::vector<std::string> ids = resolve_devices(options.selection.device, note);
  if (options.selection.device != "all") {
    try {
      return run_on(ids.front(), options, note, watch, session);
    } catch (const DeviceError& error) {
      if (!session.is_open()) throw;
      say("roofmark", error.what());
      return session.abandon(error.what());
    }
  }
  watch.rest();  // each device's process has a watch of its own
  return run_on_all(ids, options, !facts_of(options.selection.suite).has_its_own_time());
}

}  // namespace roofmark
