// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/judge/health.hpp"
#include "harness/model/finding.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// Hosts with faulty ports, and hosts that have fewer ports, or slower ones, than most hosts of the team, or none up. Compared
/// are the RDMA ports that collectives use, with those that the host itself shows to be faulty, of hosts with the same model of
/// device: number, kind and rate. What at least half of these hosts have, and of two the one with more, is right; a host that
/// has more is none.
std::vector<Finding> find_network_faults(const std::vector<RankInfo>& members);

/// The ports of rank 0's host, and of those that have faults; and where ports of one kind that collectives use differ between
/// hosts in PortSettings.
std::vector<Circumstance> networks_health(const std::vector<RankInfo>& members);

}  // namespace roofmark
