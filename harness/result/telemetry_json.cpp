// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/telemetry_json.hpp"

#include <algorithm>
#include <utility>

#include "harness/result/fields.hpp"

namespace roofmark {

namespace {

struct Column {
  const char* key;
  std::optional<double> Telemetry::*member;
};
constexpr Column kColumns[] = {{"sm_clock_hz", &Telemetry::sm_clock_hz},
                               {"memory_clock_hz", &Telemetry::memory_clock_hz},
                               {"power_watts", &Telemetry::power_watts},
                               {"energy_joules", &Telemetry::energy_joules},
                               {"temperature_celsius", &Telemetry::temperature_celsius},
                               {"memory_temperature_celsius", &Telemetry::memory_temperature_celsius},
                               {"slowdown_margin_celsius", &Telemetry::slowdown_margin_celsius},
                               {"utilization", &Telemetry::utilization},
                               {"pcie_in_bytes", &Telemetry::pcie_in_bytes},
                               {"pcie_out_bytes", &Telemetry::pcie_out_bytes},
                               {"pcie_bytes_per_second", &Telemetry::pcie_bytes_per_second},
                               {"pcie_bytes_per_second_at_most", &Telemetry::pcie_bytes_per_second_at_most},
                               {"nvlink_in_bytes", &Telemetry::nvlink_in_bytes},
                               {"nvlink_out_bytes", &Telemetry::nvlink_out_bytes}};

/// `Of` is TelemetrySummary, const when it is written.
template <class Of, class Field>
void visit_summary(Of& summary, const Field& field) {
  field("sm_clock_hz", summary.sm_clock_hz);
  field("memory_clock_hz", summary.memory_clock_hz);
  field("power_watts", summary.power_watts);
  field("temperature_celsius", summary.temperature_celsius);
  field("memory_temperature_celsius", summary.memory_temperature_celsius);
  field("slowdown_margin_celsius", summary.slowdown_margin_celsius);
  field("energy_joules", summary.energy_joules);
  field("integrated_joules", summary.integrated_joules);
  field("joules_per_launch", summary.joules_per_launch);
}

}  // namespace

Json to_json(const Telemetry& telemetry) {
  Json json = Json::object();
  for (const Column& column : kColumns) put(json, column.key, telemetry.*column.member);
  if (telemetry.throttle_reasons) json["throttle_reasons"] = *telemetry.throttle_reasons;
  return json;
}

Telemetry telemetry_from_json(const JsonText::View& json) {
  Telemetry telemetry;
  for (const Column& column : kColumns) get(json, column.key, telemetry.*column.member);
  if (json.contains("throttle_reasons")) telemetry.throttle_reasons = json.at("throttle_reasons").strings();
  return telemetry;
}

Json to_json(const TelemetrySummary& summary) {
  Json json = {{"seconds", summary.seconds}};
  visit_summary(summary, put_into(json));
  if (summary.throttled_share) json["throttled_share"] = *summary.throttled_share;
  return json;
}

TelemetrySummary telemetry_summary_from_json(const JsonText::View& json) {
  TelemetrySummary summary;
  summary.seconds = json.at("seconds").get<double>();
  visit_summary(summary, get_from(json));
  if (json.contains("throttled_share")) summary.throttled_share = json.at("throttled_share").numbers_by_name();
  return summary;
}

Json to_json(const TelemetrySeries& series) {
  std::vector<Column> columns;
  std::copy_if(std::begin(kColumns), std::end(kColumns), std::back_inserter(columns), [&](const Column& column) {
    return std::any_of(series.readings.begin(), series.readings.end(),
                       [&](const Reading& reading) { return (reading.state.*column.member).has_value(); });
  });
  Json names = {"seconds"}, rows = Json::array(), reasons = Json::array();
  for (const Column& column : columns) names.push_back(column.key);
  std::optional<std::vector<std::string>> last;
  for (const Reading& reading : series.readings) {
    Json row = {reading.seconds};
    for (const Column& column : columns) {
      const auto& value = reading.state.*column.member;
      row.push_back(value ? Json(*value) : Json());
    }
    rows.push_back(std::move(row));
    if (!reading.state.throttle_reasons) continue;
    const std::vector<std::string>& now = *reading.state.throttle_reasons;
    if (last ? now != *last : !now.empty()) {
      Json change = {reading.seconds};
      for (const std::string& reason : now) change.push_back(reason);
      reasons.push_back(std::move(change));
    }
    last = now;
  }
  Json json = {{"period_seconds", series.period_seconds}};
  put(json, "power", series.power);
  json["cpu_seconds"] = series.cpu_seconds;
  if (series.gave_up) json["gave_up"] = true;
  json["columns"] = std::move(names);
  json["rows"] = std::move(rows);
  if (last) json["reasons"] = std::move(reasons);
  return json;
}

TelemetrySeries telemetry_series_from_json(const JsonText::View& json) {
  TelemetrySeries series;
  series.period_seconds = json.at("period_seconds").get<double>();
  get(json, "power", series.power);
  series.cpu_seconds = json.at("cpu_seconds").get<double>();
  series.gave_up = json.value("gave_up", false);
  std::vector<std::optional<double> Telemetry::*> columns;
  for (const std::string& name : json.at("columns").strings()) {
    const auto is_it = [&](const Column& column) { return name == column.key; };
    const Column* const known = std::find_if(std::begin(kColumns), std::end(kColumns), is_it);
    columns.push_back(known == std::end(kColumns) ? nullptr : known->member);
  }
  // Reasons stand where they change.
  std::vector<JsonText::View> changes;
  const bool has_reasons = json.contains("reasons");
  if (has_reasons) json.at("reasons").for_each([&](const JsonText::View& change) { changes.push_back(change); });
  auto change = changes.begin();
  std::vector<std::string> now;
  json.at("rows").for_each([&](const JsonText::View& row) {
    Reading& reading = series.readings.emplace_back();
    std::size_t i = 0;
    row.for_each([&](const JsonText::View& value) {
      if (i >= columns.size()) throw std::invalid_argument("a row of the telemetry has more values than there are columns");
      if (i == 0) {
        reading.seconds = value.get<double>();
      } else if (columns[i] && !value.is_null()) {
        reading.state.*columns[i] = value.get<double>();
      }
      ++i;
    });
    if (i != columns.size()) throw std::invalid_argument("a row of the telemetry has fewer values than there are columns");
    for (; change != changes.end() && change->at(0).get<double>() <= reading.seconds; ++change) {
      now.clear();
      bool is_time = true;
      change->for_each([&](const JsonText::View& reason) {
        if (!std::exchange(is_time, false)) now.push_back(reason.get<std::string>());
      });
    }
    if (has_reasons) reading.state.throttle_reasons = now;
  });
  return series;
}

Json to_json(const RankTelemetry& telemetry) {
  return {{"summary", to_json(telemetry.summary)}, {"course", to_json(telemetry.course)}};
}

RankTelemetry rank_telemetry_from_json(const JsonText::View& json) {
  return {telemetry_summary_from_json(json.at("summary")), telemetry_series_from_json(json.at("course"))};
}

Json to_json(const std::vector<CounterChange>& counters) {
  Json json = Json::array();
  for (const CounterChange& counter : counters) {
    Json entry = {{"id", counter.id}, {"rank", counter.rank}};
    if (const CounterType* const type = find_counter(counter.id)) entry["title"] = type->title;
    put(entry, "before", counter.before);
    put(entry, "after", counter.after);
    put(entry, "worse", counter.worse());
    put(entry, "number", counter.number);
    put(entry, "where", counter.where);
    put(entry, "largest", counter.largest);
    put(entry, "age_seconds", counter.age_seconds);
    json.push_back(std::move(entry));
  }
  return json;
}

std::vector<CounterChange> counters_from_json(const JsonText::View& json) {
  std::vector<CounterChange> counters;
  json.for_each([&](const JsonText::View& entry) {
    CounterChange& counter = counters.emplace_back();
    counter.id = entry.at("id").get<std::string>();
    counter.rank = entry.at("rank").get<int>();
    get(entry, "before", counter.before);
    get(entry, "after", counter.after);
    get(entry, "number", counter.number);
    get(entry, "where", counter.where);
    get(entry, "largest", counter.largest);
    get(entry, "age_seconds", counter.age_seconds);
  });
  return counters;
}

}  // namespace roofmark
