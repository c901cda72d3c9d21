// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/machine/contention.hpp"
#include "harness/model/finding.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

/// This process's part of the CPUs' load, from now on; absent where it loads a GPU, whose own processes the driver knows.
std::optional<CpuShare> begin_share(const DeviceInfo& device);
/// The same until now.
std::optional<CpuShare> end_share(std::optional<CpuShare> begun);

/// What other programs took of the CPUs of the ranks' hosts. Names the host where the ranks have several; `ranks`, by which
/// machines of one name differ, is empty without a team.
std::vector<Finding> foreign_load(const std::vector<std::optional<CpuShare>>& of_ranks, const std::vector<RankInfo>& ranks);

}  // namespace roofmark
