// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/judge/health.hpp"
#include "harness/judge/ranks/communication.hpp"
#include "harness/model/finding.hpp"
#include "harness/team/json_fwd.hpp"
#include "harness/team/rank_info.hpp"

namespace roofmark {

Json to_json(const RankInfo& member);
RankInfo rank_info_from_json(const Json& json);

// For Team::gather, which looks for these names and types.
void to_json(nlohmann::json& json, const RankInfo& rank);
void from_json(const nlohmann::json& json, RankInfo& rank);
void to_json(nlohmann::json& json, const Circumstance& circumstance);
void from_json(const nlohmann::json& json, Circumstance& circumstance);
void to_json(nlohmann::json& json, const Finding& finding);
void from_json(const nlohmann::json& json, Finding& finding);
/// The theoretical ceilings alone.
void to_json(nlohmann::json& json, const Roofline& roofline);
void from_json(const nlohmann::json& json, Roofline& roofline);

Json to_json(const LatencyFit& fit);
/// Without the findings, which are among those of the run.
Json to_json(const Communication& communication);

}  // namespace roofmark
