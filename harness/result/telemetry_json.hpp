// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/counter.hpp"
#include "harness/model/telemetry_summary.hpp"
#include "harness/result/json_text.hpp"
#include "harness/team/json_fwd.hpp"

namespace roofmark {

// Each reader throws std::invalid_argument for a file of another form.

Json to_json(const Telemetry& telemetry);
Telemetry telemetry_from_json(const JsonText::View& json);

Json to_json(const TelemetrySummary& summary);
TelemetrySummary telemetry_summary_from_json(const JsonText::View& json);

Json to_json(const RankTelemetry& telemetry);
RankTelemetry rank_telemetry_from_json(const JsonText::View& json);

/// A table: a row per reading, a column per value that any reading has; the throttle reasons apart, a row per change.
Json to_json(const TelemetrySeries& series);
TelemetrySeries telemetry_series_from_json(const JsonText::View& json);

Json to_json(const std::vector<CounterChange>& counters);
std::vector<CounterChange> counters_from_json(const JsonText::View& json);

}  // namespace roofmark
