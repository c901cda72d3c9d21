// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/ranks/pairs.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

/// Time of a ring: ring steps x latency + bytes x bus factor / rate, with the latency and rate that neighbours measured: a
/// series of Pattern::neighbours over the same ranks, or the slowest neighbours' pairs (one direction at a time).
struct RingPrediction {
  std::string case_name;
  double seconds = 0;
  double ratio = 0;  ///< predicted / measured: above 1 the measured one is faster than a ring
};

std::vector<RingPrediction> rings_of(const std::vector<Record>& records, const PairTimes& times);

}  // namespace roofmark
