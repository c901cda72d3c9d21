// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/measurement.hpp"

namespace roofmark {

/// The time that rings over all links and network ports need on the measured ceilings: max(bytes inside / rate of a link, bytes
/// over the network / rate of a host). Rings carry bytes x bus factor in both places (nccl-tests, doc/PERFORMANCE.md). Latency
/// is not in it, so small sizes have a low ratio, as on the roofline.
struct RingPrediction {
  std::string case_name;
  double seconds = 0;
  double ratio = 0;  ///< predicted / measured: above 1 the measured one is faster than rings can be
};

/// Of the ok records with Message::ring whose links all have a measured ceiling.
std::vector<RingPrediction> rings_of(const std::vector<Record>& records, const Roofline& roofline);

}  // namespace roofmark
