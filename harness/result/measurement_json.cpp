// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/measurement_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "harness/result/fields.hpp"
#include "harness/result/telemetry_json.hpp"
#include "harness/result/words.hpp"

namespace roofmark {

namespace {

template <class Of, class Field>
void visit_percentiles(Of& summary, const Field& field) {
  field("p5", summary.p5);
  field("p95", summary.p95);
  field("p99", summary.p99);
  field("cv", summary.cv);
}

/// `Of` is Block, const when it is written.
template <class Of, class Field>
void visit_clocks(Of& block, const Field& field) {
  field("first_clock_hz", block.first_clock_hz);
  field("mean_clock_hz", block.mean_clock_hz);
  field("last_clock_hz", block.last_clock_hz);
}

/// `Of` is RankTimes, const when it is written.
template <class Of, class Field>
void visit_state(Of& times, const Field& field) {
  field("clock_hz", times.clock_hz);
  field("power_watts", times.power_watts);
  field("sm_clock_hz", times.sm_clock_hz);
  field("temperature_celsius", times.temperature_celsius);
  field("memory_temperature_celsius", times.memory_temperature_celsius);
  field("slowdown_margin_celsius", times.slowdown_margin_celsius);
  field("joules_per_launch", times.joules_per_launch);
}

/// `Of` is Dips, const when it is written.
template <class Of, class Field>
void visit_dips(Of& dips, const Field& field) {
  field("count", dips.count);
  field("seconds", dips.seconds);
  field("deepest", dips.deepest);
  field("deepest_after", dips.deepest_after);
  field("deepest_seconds", dips.deepest_seconds);
}

/// `Of` is Sustained, const when it is written.
template <class Of, class Field>
void visit_sustained(Of& sustained, const Field& field) {
  field("burst_rate", sustained.burst_rate);
  field("settled_rate", sustained.settled_rate);
  field("settled_after_seconds", sustained.settled_after_seconds);
  field("settled_of_burst", sustained.settled_of_burst);
  field("burst_clock_hz", sustained.burst_clock_hz);
  field("settled_clock_hz", sustained.settled_clock_hz);
  field("burst_memory_clock_hz", sustained.burst_memory_clock_hz);
  field("settled_memory_clock_hz", sustained.settled_memory_clock_hz);
  field("burst_power_watts", sustained.burst_power_watts);
  field("settled_power_watts", sustained.settled_power_watts);
  field("burst_temperature_celsius", sustained.burst_temperature_celsius);
  field("settled_temperature_celsius", sustained.settled_temperature_celsius);
  field("rate_per_clock_ratio", sustained.rate_per_clock_ratio);
  field("explained_by_clock", sustained.explained_by_clock);
  field("launches_checked", sustained.launches_checked);
  field("share_checked", sustained.share_checked);
  field("checking_share_of_time", sustained.checking_share_of_time);
}

int whole_number(double value) {
  const auto whole = static_cast<int>(std::clamp(value, -1e9, 1e9));
  if (whole != value) throw std::invalid_argument(fmt::format("{} is not a whole number", value));
  return whole;
}

/// Samples are most of a file: they never become values of Json.
std::vector<Sample> samples_from_json(const JsonText::View& json) {
  constexpr const char* kColumns[] = {"start", "seconds", "host_seconds", "block", "throttled"};
  std::vector<std::vector<double>> columns;
  for (const char* name : kColumns) columns.push_back(json.at(name).numbers());
  const std::size_t count = columns.front().size();
  const auto same_size = [&](const auto& column) { return column.size() == count; };
  if (json.members() != columns.size() || !std::all_of(columns.begin(), columns.end(), same_size)) {
    throw std::invalid_argument("the sample columns differ in length, or one is unknown");
  }
  std::vector<Sample> samples;
  samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    samples.push_back({columns[0][i], columns[1][i], columns[2][i], whole_number(columns[3][i]), columns[4][i] != 0});
  }
  return samples;
}

RankTimes rank_times_from_json(const JsonText::View& json) {
  RankTimes times{json.at("median").get<double>(), json.at("maximum").get<double>(), {}, {}};
  get(json, "p95", times.p95);
  get(json, "p99", times.p99);
  if (json.contains("interval")) {
    times.interval_low = json.at("interval").at(0).get<double>();
    times.interval_high = json.at("interval").at(1).get<double>();
  }
  visit_state(times, get_from(json));
  if (json.contains("throttled_share")) times.throttled_share = json.at("throttled_share").numbers_by_name();
  if (json.contains("sustained")) times.sustained = sustained_from_json(json.at("sustained"));
  return times;
}

Block block_from_json(const JsonText::View& json) {
  Block block;
  block.span = {json.at("start").get<double>(), json.at("end").get<double>()};
  block.before = telemetry_from_json(json.at("before"));
  block.after = telemetry_from_json(json.at("after"));
  block.lead_in_seconds = json.at("lead_in_seconds").get<double>();
  block.throttled_share = json.at("throttled_share").numbers_by_name();
  visit_clocks(block, get_from(json));
  return block;
}

}  // namespace

Json to_json(const Sustained& sustained) {
  Json json = {{"clock", name(sustained.clock)}};
  visit_sustained(sustained, put_into(json));
  if (sustained.dips) visit_dips(*sustained.dips, put_into(json["dips"]));
  return json;
}

Sustained sustained_from_json(const JsonText::View& json) {
  Sustained sustained;
  // Before there was a choice it was the SM clock.
  if (json.contains("clock")) sustained.clock = word_of<ClockDomain>(json.at("clock"));
  visit_sustained(sustained, get_from(json));
  if (json.contains("dips")) visit_dips(sustained.dips.emplace(), get_from(json.at("dips")));
  return sustained;
}

Json to_json(const Measurement& m) {
  Json json;
  json["median"] = m.summary.median;
  json["minimum"] = m.summary.minimum;
  json["maximum"] = m.summary.maximum;
  visit_percentiles(m.summary, put_into(json));
  if (m.summary.interval_low && m.summary.interval_high) {
    json["interval"] = {*m.summary.interval_low, *m.summary.interval_high};
  }
  json["launches_per_sample"] = m.launches_per_sample;
  if (m.batches_per_sample > 1) json["batches_per_sample"] = m.batches_per_sample;
  json["path"] = name(m.path);
  json["timed"] = name(m.timed);
  json["cache"] = name(m.cache);
  json["cache_by"] = m.cache_by;
  json["slots"] = m.slots;
  json["settled"] = m.settled;
  json["warm_up_seconds"] = m.warm_up_seconds;
  json["stopped_by"] = name(m.stopped_by);
  json["void_samples"] = m.void_samples;
  json["samples_checked"] = m.samples_checked;
  json["share_checked"] = m.share_checked;
  put(json, "checking_share_of_time", m.checking_share_of_time);
  put(json, "of_rank", m.of_rank);
  put(json, "clock_hz", m.clock_hz);
  if (m.telemetry) json["telemetry"] = to_json(*m.telemetry);
  if (m.background) {
    json["background"] = {{"resource", m.background->resource.id}, {"per_second", m.background->per_second}};
  }
  if (!m.ranks.empty()) {
    Json& ranks = json["ranks"] = Json::array();
    for (const std::optional<RankTimes>& times : m.ranks) {
      Json& entry = ranks.emplace_back();
      if (!times) continue;
      entry = {{"median", times->median}, {"maximum", times->maximum}};
      put(entry, "p95", times->p95);
      put(entry, "p99", times->p99);
      if (times->interval_low && times->interval_high) entry["interval"] = {*times->interval_low, *times->interval_high};
      visit_state(*times, put_into(entry));
      if (times->throttled_share) entry["throttled_share"] = *times->throttled_share;
      if (times->sustained) entry["sustained"] = to_json(*times->sustained);
    }
  }
  Json::array_t start, seconds, host_seconds, block_of, throttled;
  for (Json::array_t* values : {&start, &seconds, &host_seconds, &block_of, &throttled}) values->reserve(m.samples.size());
  for (const Sample& sample : m.samples) {
    start.emplace_back(sample.start_seconds);
    seconds.emplace_back(sample.seconds);
    host_seconds.emplace_back(sample.host_seconds);
    block_of.emplace_back(sample.block);
    throttled.emplace_back(sample.throttled);
  }
  json["samples"] = {{"start", std::move(start)},
                     {"seconds", std::move(seconds)},
                     {"host_seconds", std::move(host_seconds)},
                     {"block", std::move(block_of)},
                     {"throttled", std::move(throttled)}};
  Json& blocks = json["blocks"] = Json::array();
  for (const Block& block : m.blocks) {
    Json entry = {{"start", block.span.first},
                  {"end", block.span.second},
                  {"before", to_json(block.before)},
                  {"after", to_json(block.after)},
                  {"lead_in_seconds", block.lead_in_seconds},
                  {"throttled_share", block.throttled_share}};
    put(entry, "clock_hz", block.clock_hz());
    visit_clocks(block, put_into(entry));
    blocks.push_back(std::move(entry));
  }
  return json;
}

Measurement measurement_from_json(const JsonText::View& json) {
  Measurement m;
  m.samples = samples_from_json(json.at("samples"));
  get(json, "median", m.summary.median);
  get(json, "minimum", m.summary.minimum);
  get(json, "maximum", m.summary.maximum);
  visit_percentiles(m.summary, get_from(json));
  if (json.contains("interval")) {
    const JsonText::View interval = json.at("interval");
    m.summary.interval_low = interval.at(0).get<double>();
    m.summary.interval_high = interval.at(1).get<double>();
  }
  get(json, "launches_per_sample", m.launches_per_sample);
  if (json.contains("batches_per_sample")) get(json, "batches_per_sample", m.batches_per_sample);
  m.path = word_of<Issue>(json.at("path"));
  m.timed = word_of<Timed>(json.at("timed"));
  m.cache = word_of<Cache>(json.at("cache"));
  m.cache_by = json.at("cache_by").get<std::string>();
  get(json, "slots", m.slots);
  get(json, "settled", m.settled);
  get(json, "warm_up_seconds", m.warm_up_seconds);
  m.stopped_by = word_of<StopReason>(json.at("stopped_by"));
  get(json, "void_samples", m.void_samples);
  get(json, "samples_checked", m.samples_checked);
  get(json, "share_checked", m.share_checked);
  get(json, "checking_share_of_time", m.checking_share_of_time);
  get(json, "of_rank", m.of_rank);
  get(json, "clock_hz", m.clock_hz);
  if (json.contains("telemetry")) m.telemetry = telemetry_summary_from_json(json.at("telemetry"));
  if (json.contains("background")) {
    const JsonText::View background = json.at("background");
    m.background =
        Background{find_resource(background.at("resource").get<std::string>()), background.at("per_second").get<double>()};
  }
  if (json.contains("ranks")) {
    json.at("ranks").for_each([&](const JsonText::View& times) {
      m.ranks.push_back(times.is_null() ? std::nullopt : std::optional(rank_times_from_json(times)));
    });
  }
  json.at("blocks").for_each([&](const JsonText::View& block) { m.blocks.push_back(block_from_json(block)); });
  return m;
}

}  // namespace roofmark
