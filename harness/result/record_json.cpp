// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/result/fields.hpp"
#include "harness/result/telemetry_json.hpp"
#include "harness/result/words.hpp"

namespace roofmark {

namespace {

template <class Enum>
Enum word_of(const JsonText::View& json) {
  return parse<Enum>(json.get<std::string>());
}

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
  field("rate_per_clock_ratio", sustained.rate_per_clock_ratio);
  field("explained_by_clock", sustained.explained_by_clock);
  field("launches_checked", sustained.launches_checked);
  field("share_checked", sustained.share_checked);
  field("checking_share_of_time", sustained.checking_share_of_time);
}

Json to_json(const Sustained& sustained) {
  Json json = {{"clock", name(sustained.clock)}};
  visit_sustained(sustained, put_into(json));
  return json;
}

Sustained sustained_from_json(const JsonText::View& json) {
  Sustained sustained;
  // Before there was a choice it was the SM clock.
  if (json.contains("clock")) sustained.clock = parse<ClockDomain>(json.at("clock").get<std::string>());
  visit_sustained(sustained, get_from(json));
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
      put(entry, "clock_hz", times->clock_hz);
      put(entry, "power_watts", times->power_watts);
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
    throw std::invalid_argument("the columns of the samples differ in length, or there are others");
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
  get(json, "clock_hz", times.clock_hz);
  get(json, "power_watts", times.power_watts);
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

Json to_json(const Verification& verification) {
  Json json;
  json["status"] = name(verification.status);
  if (verification.status != Verification::Status::nothing_to_verify) {
    put(json, "error", verification.error);
    put(json, "bound", verification.bound);
  }
  if (verification.wrong) json["wrong"] = verification.wrong;
  json["detail"] = verification.detail;
  return json;
}

Verification verification_from_json(const JsonText::View& json) {
  Verification verification;
  verification.status = word_of<Verification::Status>(json.at("status"));
  verification.error = json.value("error", std::nan(""));
  verification.bound = json.value("bound", 0.0);
  verification.wrong = json.value("wrong", std::size_t{0});
  verification.detail = json.at("detail").get<std::string>();
  return verification;
}

Json to_json(const Message& message) {
  Json json = {
      {"ranks", message.ranks}, {"bytes", message.bytes}, {"count", message.count}, {"bus_factor", message.bus_factor}};
  if (message.pattern != Pattern::collective) json["pattern"] = name(message.pattern);
  if (message.ring_steps > 0) json["ring_steps"] = message.ring_steps;
  if (message.trips != 1) json["trips"] = message.trips;
  if (message.root >= 0) json["root"] = message.root;
  put(json, "reduction", message.reduction);
  put(json, "place", message.place);
  if (!message.groups.empty()) json["groups"] = message.groups;
  return json;
}

Message message_from_json(const JsonText::View& json) {
  Message message;
  if (json.contains("pattern")) message.pattern = word_of<Pattern>(json.at("pattern"));
  message.ring_steps = json.value("ring_steps", 0);
  message.ranks = json.at("ranks").get<int>();
  message.bytes = json.at("bytes").get<std::size_t>();
  message.count = json.at("count").get<std::size_t>();
  message.bus_factor = json.at("bus_factor").get<double>();
  message.trips = json.value("trips", 1);
  message.root = json.value("root", -1);
  get(json, "reduction", message.reduction);
  get(json, "place", message.place);
  if (json.contains("groups")) {
    json.at("groups").for_each([&](const JsonText::View& group) { message.groups.push_back(group.integers()); });
  }
  return message;
}

Transfer transfer_from_json(const JsonText::View& json) {
  Transfer transfer;
  transfer.bytes = json.at("bytes").get<std::size_t>();
  json.at("flows").for_each([&](const JsonText::View& flow) {
    const auto end = [&](const char* key) { return parse_endpoint(flow.at(key).get<std::string>()); };
    transfer.flows.push_back({end("from"), end("to")});
  });
  transfer.one_model = json.value("one_model", true);
  if (json.contains("path")) {
    const JsonText::View given = json.at("path");
    PeerPath& path = transfer.path.emplace();
    if (given.contains("kind")) path.kind = word_of<PathKind>(given.at("kind"));
    path.nvlinks = given.value("nvlinks", 0);
    get(given, "refusal", path.refusal);
  }
  return transfer;
}

Json to_json(const Transfer& transfer) {
  Json json = {{"bytes", transfer.bytes}, {"flows", Json::array()}};
  for (const auto& [from, to] : transfer.flows) json["flows"].push_back({{"from", name(from)}, {"to", name(to)}});
  if (!transfer.one_model) json["one_model"] = false;
  if (transfer.path) json["path"] = to_json(*transfer.path);
  return json;
}

Json to_json(const Placement& placement) {
  Json json = Json::object();
  put(json, "t_min_seconds", placement.t_min_seconds);
  put(json, "bound_by", placement.bound_by);
  put(json, "of_empirical", placement.of_empirical);
  put(json, "of_theoretical", placement.of_theoretical);
  put(json, "of_theoretical_clock", placement.of_theoretical_clock);
  put(json, "flops_per_second", placement.flops_per_second);
  put(json, "bytes_per_second", placement.bytes_per_second);
  put(json, "intensity", placement.intensity);
  return json;
}

Work work_from_json(const JsonText::View& json) {
  Work work;
  json.at("phases").for_each([&](const JsonText::View& demands) {
    Phase& phase = work.phases.emplace_back();
    demands.for_each([&](const JsonText::View& demand) {
      phase.push_back({find_resource(demand.at("resource").get<std::string>()), demand.at("amount").get<double>(),
                       demand.value("avoidable", 0.0)});
    });
  });
  return work;
}

}  // namespace

Json to_json(const Work& work) {
  Json phases = Json::array();
  for (const Phase& phase : work.phases) {
    Json demands = Json::array();
    for (const Demand& demand : phase) {
      Json entry = {{"resource", demand.resource.id}, {"unit", name(demand.resource.unit)}, {"amount", demand.amount}};
      if (demand.avoidable > 0) entry["avoidable"] = demand.avoidable;
      demands.push_back(std::move(entry));
    }
    phases.push_back(std::move(demands));
  }
  return {{"phases", std::move(phases)}};
}

Json to_json(const PeerPath& path) {
  Json json = Json::object();
  if (path.kind) json["kind"] = name(*path.kind);
  if (path.nvlinks > 0) json["nvlinks"] = path.nvlinks;
  put(json, "refusal", path.refusal);
  return json;
}

Json to_json(const Record& record) {
  Json json;
  json["family"] = record.family;
  put(json, "operation", record.operation);
  json["type"] = name(record.type);
  json["shape"] = Json::object();
  for (const auto& [key, value] : record.shape) json["shape"][key] = value;
  json["status"] = name(record.status);
  put(json, "reason", record.reason);
  for (const Status status : record.rank_status) json["rank_status"].push_back(name(status));
  json["pass"] = record.pass;
  if (record.message) json["message"] = to_json(*record.message);
  if (record.overlap) json["overlap"] = {{"role", name(record.overlap->role)}, {"series", record.overlap->series}};
  if (record.transfer) json["transfer"] = to_json(*record.transfer);
  if (record.raises) json["raises"] = record.raises->id;
  if (record.raised_by != RaisedBy::rate) json["raised_by"] = name(record.raised_by);
  json["work"] = to_json(record.work);
  json["memory_bytes"] = record.memory_bytes;
  json["notes"] = Json::object();
  for (const auto& [key, value] : record.notes) json["notes"][key] = value;
  if (record.measurement) {
    json["measurement"] = to_json(*record.measurement);
    const auto& telemetry = record.measurement->telemetry;
    const double flops = record.work.total(Unit::flop);
    if (telemetry && telemetry->joules_per_launch && flops > 0) {
      put(json["measurement"]["telemetry"], "flops_per_joule", flops / *telemetry->joules_per_launch);
    }
  }
  if (record.sustained) json["sustained"] = to_json(*record.sustained);
  if (record.placement) json["placement"] = to_json(*record.placement);
  if (record.verification_before || record.verification_after) {
    Json& verification = json["verification"] = Json::object();
    if (record.verification_before) verification["before"] = to_json(*record.verification_before);
    if (record.verification_after) verification["after"] = to_json(*record.verification_after);
  }
  if (record.fingerprint) {
    json["fingerprint"] = {{"hash", record.fingerprint->hash},
                           {"key", record.fingerprint->key},
                           {"deterministic", record.fingerprint->deterministic}};
    if (!record.fingerprint->differing_ranks.empty()) {
      json["fingerprint"]["differing_ranks"] = record.fingerprint->differing_ranks;
    }
  }
  return json;
}

Record record_from_json(const JsonText::View& json) {
  Record record;
  record.family = json.at("family").get<std::string>();
  get(json, "operation", record.operation);
  record.type = parse_data_type(json.at("type").get<std::string>());
  json.at("shape").for_each(
      [&](std::string_view key, const JsonText::View& value) { record.shape.emplace_back(key, value.get<std::string>()); });
  record.name = case_name(record.family, record.operation, record.type, record.shape);
  record.status = word_of<Status>(json.at("status"));
  get(json, "reason", record.reason);
  get(json, "pass", record.pass);
  if (json.contains("message")) record.message = message_from_json(json.at("message"));
  if (json.contains("overlap")) {
    const JsonText::View overlap = json.at("overlap");
    record.overlap = OverlapPart{word_of<OverlapPart::Role>(overlap.at("role")), overlap.at("series").get<std::string>()};
  }
  if (json.contains("transfer")) record.transfer = transfer_from_json(json.at("transfer"));
  if (json.contains("raises")) record.raises = find_resource(json.at("raises").get<std::string>());
  if (json.contains("raised_by")) record.raised_by = word_of<RaisedBy>(json.at("raised_by"));
  record.work = work_from_json(json.at("work"));
  get(json, "memory_bytes", record.memory_bytes);
  if (json.contains("rank_status")) {
    json.at("rank_status").for_each([&](const JsonText::View& status) {
      record.rank_status.push_back(word_of<Status>(status));
    });
  }
  json.at("notes").for_each(
      [&](std::string_view key, const JsonText::View& value) { record.notes.emplace_back(key, value.get<std::string>()); });
  if (json.contains("measurement")) record.measurement = measurement_from_json(json.at("measurement"));
  if (json.contains("sustained")) record.sustained = sustained_from_json(json.at("sustained"));
  if (json.contains("verification")) {
    const JsonText::View verification = json.at("verification");
    if (verification.contains("before")) record.verification_before = verification_from_json(verification.at("before"));
    if (verification.contains("after")) record.verification_after = verification_from_json(verification.at("after"));
  }
  if (json.contains("fingerprint")) {
    const JsonText::View fingerprint = json.at("fingerprint");
    Fingerprint& made = record.fingerprint.emplace(Fingerprint{fingerprint.at("hash").get<std::string>(),
                                                               fingerprint.at("key").get<std::string>(),
                                                               fingerprint.at("deterministic").get<bool>(),
                                                               {}});
    if (fingerprint.contains("differing_ranks")) made.differing_ranks = fingerprint.at("differing_ranks").integers();
  }
  if ((record.status == Status::ok) != record.measurement.has_value()) {
    throw std::invalid_argument("'" + record.name + "': a measurement belongs to an ok record and to no other");
  }
  return record;
}

}  // namespace roofmark
