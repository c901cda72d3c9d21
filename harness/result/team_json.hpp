// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/judge/ranks/communication.hpp"
#include "harness/machine/json_fwd.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

Json to_json(const RankInfo& member);
RankInfo rank_info_from_json(const Json& json);

Json to_json(const LatencyFit& fit);
/// Without the findings, which are among those of the run.
Json to_json(const Communication& communication);

}  // namespace roofmark
