// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/program/mpi/team_run.hpp"
#include "bench/support/fabric.hpp"
#include "harness/device/device.hpp"
#include "harness/team/rank_info.hpp"
#include "harness/team/watch.hpp"

namespace roofmark {

/// What the ranks know of one another before they measure.
struct Crew {
  std::unique_ptr<Device> device;
  DeviceInfo info;  ///< the device's, with the smallest memory of all ranks
  std::vector<RankInfo> ranks;
  std::string note;
};

/// Opens each rank's device and tells all ranks of one another. Throws on every rank where they cannot measure together.
Crew assemble_crew(MpiTeam& team, const TeamOptions& options);
/// The links between the ranks' devices; their communicators are created when a case asks for them, which `watch` then names.
Fabric make_fabric(MpiTeam& team, const Crew& crew, Watch& watch);

}  // namespace roofmark
