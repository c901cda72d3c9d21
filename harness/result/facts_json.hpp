// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/result/run_facts.hpp"
#include "harness/team/json_fwd.hpp"

namespace roofmark {

Json to_json(const Host& host);
Json to_json(const Build& build);
/// By name.
Json to_json(const std::vector<Library>& libraries);
/// The top-level entries of the result file that describe the run, its version among them.
Json to_json(const RunFacts& facts);
/// What is written again is the same. Values that no result file holds are left at their defaults.
RunFacts run_facts_from_json(const Json& json);

}  // namespace roofmark
