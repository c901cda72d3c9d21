// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/judge/health.hpp"
#include "harness/model/finding.hpp"
#include "harness/team/host_network.hpp"

namespace roofmark {

/// The ports that are up, those of RDMA devices that are not, and what is wrong with them. Absent on a host without any.
std::optional<Circumstance> network_health(const HostNetwork& network);

/// One for all faults of a host.
std::vector<Finding> find_port_faults(const std::vector<PortFault>& faults);

}  // namespace roofmark
