// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/model/case.hpp"
#include "harness/model/suite.hpp"

namespace roofmark {

struct Fabric;

/// The device and the choices that a family lists its cases for.
struct Listing {
  const DeviceInfo& device;
  SuiteName suite = SuiteName::baseline;
  std::optional<Cache> cache = {};  ///< --cache, for cases that offer both
  double memory_fraction = 0.9;     ///< largest share of free memory that one case may use
  const Fabric* fabric = nullptr;   ///< the connections to the other ranks, if any
  bool is_alone = true;             ///< nothing else measures on this host, and no other rank lists the same cases
  bool short_probes = false;        ///< for tests: correct probes, too short for a rate
};

/// A family's cases for a device and a suite, in the order they run.
using Family = std::vector<Group> (*)(const Listing&);

}  // namespace roofmark
