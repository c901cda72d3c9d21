// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/random.hpp"
#include "harness/model/protocol.hpp"
#include "harness/model/suite.hpp"

namespace roofmark {

/// Which cases run on which device.
struct Selection {
  std::string device = "auto";
  SuiteName suite = SuiteName::baseline;
  std::vector<std::string> cases;  ///< patterns of names: these cases instead of the suite's; empty: the suite's
  std::string filter;              ///< an Expression searched for in the names of cases; empty: all
  std::string exclude;             ///< of these, without those in which this one is found; empty: none
  std::optional<Cache> cache;
  double memory_fraction = 0.9;
  bool only_device = false;
  std::optional<double> seconds;  ///< in all, of a suite with Suite::total_seconds; absent: these
};

inline constexpr double kTimeoutSeconds = 120;
/// The least for opening the devices, and for NCCL's communicators, whatever a suite's own limit: without persistence mode the
/// driver initialises every GPU of the node when it is first asked, some seconds each.
inline constexpr double kOpeningSeconds = 60;

struct RunOptions {
  const char* program = "roofmark";  ///< named in messages
  Selection selection;
  std::string out;  ///< folder; empty: roofmark-results/<UTC time>
  Distribution data = Distribution::normal;
  std::uint64_t seed = 1;
  std::optional<double> max_seconds;  ///< timing budget per case; absent: the suite's
  std::optional<double> timeout;      ///< absent: kTimeoutSeconds, or the suite's own limit
  std::optional<int> expected_gpus;   ///< that the process can use; absent: any number
  std::map<std::string, std::string> labels;
  bool quiet = false;
  bool no_telemetry = false;
  std::vector<std::string> arguments;
  // Google Benchmark's flags that are passed on.
  std::string format, out_file, out_format = "json", color;
};

}  // namespace roofmark
