// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "harness/model/case.hpp"

namespace roofmark {

/// `contract` is no suite of measurements: every operation and type at awkward small shapes (one element, primes, sizes that
/// are no multiple of a vector), for the contract test.
enum class SuiteName { quick, baseline, full, contract };

std::string_view name(SuiteName suite);

struct Fabric;

/// What a family is listed for.
struct Listing {
  const DeviceInfo& device;
  SuiteName suite = SuiteName::baseline;
  std::optional<Cache> cache = {};  ///< --cache, where the case offers both
  double memory_fraction = 0.9;     ///< of the free memory, the most that a case may take
  const Fabric* fabric = nullptr;   ///< what connects this rank to others, where there are any
  bool only_device = false;         ///< without what uses other devices of this process too
  bool short_probes = false;        ///< probes of ceilings that are right but too short for a rate: tests
};

/// A family's cases for a device and a suite, in the order they run.
using Family = std::vector<Group> (*)(const Listing&);

}  // namespace roofmark
