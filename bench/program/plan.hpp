// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/options.hpp"
#include "bench/program/suite.hpp"
#include "bench/support/fabric.hpp"
#include "harness/device/device.hpp"
#include "harness/model/case.hpp"

namespace roofmark {

/// A selection of a suite on a device. The ceilings come first: all, or with a filter those that it names or its cases demand.
struct Plan {
  std::vector<Group> ceilings;
  std::vector<Group> suite;
  bool ceilings_again = true;                     ///< the ceilings are measured after the suite too
  std::optional<double> limit_seconds = {};       ///< of the whole run: what has not begun by then is left out
  std::size_t suite_cases = 0;                    ///< of the suite as it is defined, each ceiling once, or of the chosen cases
  std::map<std::string, std::string> about = {};  ///< Lists::about
  std::vector<std::string> left_out = {};         ///< Lists::left_out
};
Plan plan(const DeviceInfo& info, const Selection& selection, const Fabric* fabric = nullptr);
/// The connections to the other GPUs of this process, where the selection takes them.
std::unique_ptr<Fabric> fabric_of(const DeviceInfo& info, const Selection& selection);
/// Throws UsageError when a filter is malformed or nothing is left.
Plan filtered(std::vector<Group> ceilings, std::vector<Group> suite, const Selection& selection);
/// The cases of these names alone, without those that the selection excludes.
std::vector<Group> cases_of(const std::vector<std::string>& names, const Listing& listing, const Selection& selection,
                            bool between_ranks_alone);
/// The families' cases, and those that the selection chooses by name.
Lists lists_of(const Listing& listing, const Selection& selection, bool between_ranks_alone = false);
/// With what Suite says of ceilings, limit and duration.
Plan arranged(Lists lists, const Selection& selection, Backend backend);

}  // namespace roofmark
