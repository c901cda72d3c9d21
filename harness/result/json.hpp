// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/judge/analysis.hpp"
#include "harness/machine/json.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

// The words of a result file, as results/schema.json describes them: seconds, bytes and hertz, unscaled; what is unknown is
// absent. Reading throws nlohmann's exceptions or std::invalid_argument on what does not fit.
Json to_json(const Work& work);
Json to_json(const Record& record);
Record record_from_json(const Json& json);
Json to_json(const Roofline& roofline);
/// The theoretical part alone: what a probe measured is found again from the records.
Roofline roofline_from_json(const Json& json);
Json to_json(const Comparison& comparison);
Comparison comparison_from_json(const Json& json);
Json to_json(const ComparisonResult& result);
Json to_json(const Finding& finding);
Finding finding_from_json(const Json& json);
Json to_json(const DeviceInfo& info, bool known);

std::string_view name(Status status);
std::string_view name(Issue issue);
std::string_view name(Cache cache);
std::string_view name(Distribution distribution);
std::string_view name(Verification::Status status);

}  // namespace roofmark
