// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/team/host_network.hpp"
#include "harness/team/json.hpp"

namespace roofmark {

Json to_json(const std::vector<PortFault>& faults);
std::vector<PortFault> port_faults_from_json(const Json& json);

Json to_json(const std::vector<Nic>& nics);
std::vector<Nic> nics_from_json(const Json& json);

Json to_json(const HostNetwork& network);
HostNetwork host_network_from_json(const Json& json);

}  // namespace roofmark
