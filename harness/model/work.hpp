// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/resource.hpp"

namespace roofmark {

/// The minimum that one execution must take from a resource, in the resource's unit.
struct Demand {
  Resource resource;
  double amount = 0;
  /// The part of `amount` that an implementation may rightly avoid: a cache above the resource serves it, or the network
  /// reduces on the way. It counts in the placement, but not where a rate is compared with a theoretical ceiling.
  double avoidable = 0;
  /// The part of the resource that is there for it, as 4 of the 12 NVLinks that its ceiling counts.
  double part = 1;
  /// The case loads the resource less than the probe of its ceiling does, as one pair of ranks where the probe has all: it may
  /// be faster than that.
  bool lighter = false;
};

/// The device's background work during launches, as counted by the launches.
struct Background {
  Resource resource;
  double per_second = 0;  ///< in units of the resource, during the work
};

/// Demands that can be met at the same time.
using Phase = std::vector<Demand>;

/// The minimum that a case must do: phases that follow one another. Counted from the operation, never from its
/// implementation: model FLOPs; compulsory bytes, each input read once and each output written once.
struct Work {
  std::vector<Phase> phases;

  /// The amount of one unit over all phases (FLOPs: Unit::flop and Unit::op; bytes: of one level).
  double total(Unit unit) const;
  double total(const Resource& resource) const;
  /// The resource of the first demand, which the case is measured for, and its total. There must be one.
  Demand main() const;
};

}  // namespace roofmark
