// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/result/json_text.hpp"
#include "harness/result/run.hpp"
#include "harness/team/json_fwd.hpp"

namespace roofmark {

Json to_json(const Comparison& comparison);
Comparison comparison_from_json(const JsonText::View& json);
/// As `roofmark info` and the result file have it.
Json to_json(const Circumstance& circumstance);
Circumstance circumstance_from_json(const Json& json);
Json to_json(const Finding& finding);
Json to_json(const std::vector<Finding>& findings);
/// Throws std::invalid_argument for a kind that this version does not know.
Finding finding_from_json(const Json& json);
Json to_json(const RunHeader& header);
RunHeader header_from_json(const Json& json);
Json to_json(const Seen& seen);
/// Adds its readings, and takes its counters where it has any.
void add_seen(Seen& seen, const JsonText::View& json);
Json to_json(const RunFooter& footer);
/// Of a result file, whose findings stand together, without them.
RunFooter footer_from_json(const JsonText::View& json, bool with_findings = true);

/// The result file: Google Benchmark's format with ours beside it.
Json to_json(const Run& run, const Conclusions& conclusions);
std::string result_text(const Run& run, const Conclusions& conclusions);

}  // namespace roofmark
