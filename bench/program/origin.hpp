// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bench/support/fabric.hpp"
#include "harness/device/device.hpp"
#include "harness/judge/health.hpp"
#include "harness/model/finding.hpp"
#include "harness/model/roofline.hpp"
#include "harness/team/host_network.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// What the header of a result file takes from the device, or from the team.
struct Origin {
  Roofline theoretical;
  bool known = true;  ///< the device is in the table of known ones
  std::vector<Finding> findings;
  std::vector<RankInfo> ranks;       ///< of a team
  std::vector<Circumstance> health;  ///< of the environment
  HostNetwork network;               ///< of a run on one host
};
/// `fabric`: the links to the other devices of this process, if any.
Origin origin_of(const DeviceInfo& device, const Fabric* fabric = nullptr);
/// Adds the ports of this host.
void add_network(Origin& origin, HostNetwork network);

}  // namespace roofmark
