// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/finding.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

struct JudgedLink {
  const Ceiling* link = nullptr;
  double healthy_at_least = 0;
};

/// The links whose measured ceiling can be held against what healthy machines reach at least (Ceiling::healthy_at_least, or a
/// third of that where NCCL's log says that no probe used GPUDirect RDMA: the host's memory may be the limit). A probe's
/// message takes 0.1 ms at the theoretical rate, beside which a launch and a latency are little, and no connection of the
/// probes is by IP sockets, for which the rate of RDMA ports says nothing.
std::vector<JudgedLink> judged_links(const Roofline& roofline, const std::vector<Record>& records);

/// link_rate, of those that reach less.
std::vector<Finding> find_slow_links(const Roofline& roofline, const std::vector<Record>& records);

}  // namespace roofmark
