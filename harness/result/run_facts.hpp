// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/machine/host.hpp"
#include "harness/machine/libraries.hpp"
#include "harness/team/host_network.hpp"

namespace roofmark {

/// What was measured, by what program and where. Of a team, rank 0's.
struct RunFacts {
  BenchmarkContext context;
  std::string suite;
  Distribution data = Distribution::normal;  ///< of the operands
  std::uint64_t seed = 0;
  std::vector<std::string> arguments;              ///< of the command line
  std::map<std::string, std::string> labels;       ///< from --label
  std::map<std::string, std::string> environment;  ///< variables that affect rates
  std::map<std::string, std::string> families;     ///< one sentence about each, for the report
  std::optional<double> budget_seconds;            ///< of timing: per case, or of the whole suite sustained
  std::string started_utc;
  double clock_overhead_seconds = 0;  ///< between two readings of the host's clock that follow one another
  Build build;
  std::vector<Library> libraries;
  Host host;
  DeviceInfo device;
  bool device_known = false;  ///< its published figures are known
  HostNetwork network;        ///< of a run on one host
};

}  // namespace roofmark
