// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/result/fields.hpp"
#include "harness/result/measurement_json.hpp"
#include "harness/result/words.hpp"

namespace roofmark {

namespace {

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
  if (message.trips != 1) json["trips"] = message.trips;
  if (message.root >= 0) json["root"] = message.root;
  put(json, "reduction", message.reduction);
  put(json, "place", message.place);
  if (!message.ring.phases.empty()) json["ring"] = to_json(message.ring);
  if (!message.groups.all().empty()) json["groups"] = message.groups.all();
  return json;
}

Work work_from_json(const JsonText::View& json) {
  Work work;
  json.at("phases").for_each([&](const JsonText::View& demands) {
    Phase& phase = work.phases.emplace_back();
    demands.for_each([&](const JsonText::View& demand) {
      phase.push_back({find_resource(demand.at("resource").get<std::string>()), demand.at("amount").get<double>(),
                       demand.value("avoidable", 0.0), demand.value("part", 1.0), demand.value("lighter", false)});
    });
    if (phase.empty()) throw std::invalid_argument("a phase of the work has no demands");
  });
  return work;
}

Message message_from_json(const JsonText::View& json) {
  Message message;
  if (json.contains("pattern")) message.pattern = word_of<Pattern>(json.at("pattern"));
  message.ranks = json.at("ranks").get<int>();
  message.bytes = json.at("bytes").get<std::size_t>();
  message.count = json.at("count").get<std::size_t>();
  message.bus_factor = json.at("bus_factor").get<double>();
  message.trips = json.value("trips", 1);
  message.root = json.value("root", -1);
  get(json, "reduction", message.reduction);
  get(json, "place", message.place);
  if (json.contains("ring")) message.ring = work_from_json(json.at("ring"));
  if (json.contains("groups")) {
    RankGroups::Groups groups;
    json.at("groups").for_each([&](const JsonText::View& group) { groups.push_back(group.integers()); });
    message.groups = std::move(groups);
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
  transfer.staged = json.value("staged", false);
  if (json.contains("host_node")) {
    const JsonText::View given = json.at("host_node");
    transfer.host_node = {given.at("number").get<int>(), given.at("distance").get<int>()};
  }
  if (json.contains("path")) {
    const JsonText::View given = json.at("path");
    PeerPath& path = transfer.path.emplace();
    if (given.contains("kind")) path.kind = word_of<PathKind>(given.at("kind"));
    path.nvlinks = given.value("nvlinks", 0);
    get(given, "refusal", path.refusal);
    path.by_design = given.value("by_design", false);
  }
  if (json.contains("refused")) {
    json.at("refused").for_each([&](const JsonText::View& pair) {
      const auto end = [&](const char* key) { return parse_endpoint(pair.at(key).get<std::string>()); };
      const bool by_design = pair.value("by_design", false);
      transfer.refused.push_back({end("one"), end("other"), pair.at("reason").get<std::string>(), by_design});
    });
  }
  return transfer;
}

Json to_json(const Transfer& transfer) {
  Json json = {{"bytes", transfer.bytes}, {"flows", Json::array()}};
  for (const auto& [from, to] : transfer.flows) json["flows"].push_back({{"from", name(from)}, {"to", name(to)}});
  if (!transfer.one_model) json["one_model"] = false;
  if (transfer.staged) json["staged"] = true;
  if (const auto& node = transfer.host_node) json["host_node"] = {{"number", node->number}, {"distance", node->distance}};
  if (transfer.path) json["path"] = to_json(*transfer.path);
  for (const RefusedAccess& pair : transfer.refused) {
    Json& entry =
        json["refused"].emplace_back(Json{{"one", name(pair.one)}, {"other", name(pair.other)}, {"reason", pair.reason}});
    if (pair.by_design) entry["by_design"] = true;
  }
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

}  // namespace

Json to_json(const Work& work) {
  Json phases = Json::array();
  for (const Phase& phase : work.phases) {
    Json demands = Json::array();
    for (const Demand& demand : phase) {
      Json entry = {{"resource", demand.resource.id}, {"unit", name(demand.resource.unit)}, {"amount", demand.amount}};
      if (demand.avoidable > 0) entry["avoidable"] = demand.avoidable;
      if (demand.part < 1) entry["part"] = demand.part;
      if (demand.lighter) entry["lighter"] = true;
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
  if (path.by_design) json["by_design"] = true;
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
  if (record.overlap) json["overlap"] = {{"role", name(*record.overlap)}, {"series", overlap_series(record).name()}};
  if (record.transfer) json["transfer"] = to_json(*record.transfer);
  if (record.sets_ceiling) {
    json["sets_ceiling"] = {{"resource", record.sets_ceiling->resource.id}, {"by", name(record.sets_ceiling->by)}};
  }
  json["work"] = to_json(record.work);
  json["memory_bytes"] = record.memory_bytes;
  json["notes"] = Json::object();
  for (const auto& [key, value] : record.notes) json["notes"][key] = value;
  if (!record.transports.empty()) json["transports"] = record.transports;
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
  record.status = word_of<Status>(json.at("status"));
  get(json, "reason", record.reason);
  get(json, "pass", record.pass);
  if (json.contains("message")) record.message = message_from_json(json.at("message"));
  if (json.contains("overlap")) record.overlap = word_of<OverlapRole>(json.at("overlap").at("role"));
  if (json.contains("transfer")) record.transfer = transfer_from_json(json.at("transfer"));
  if (json.contains("raises"))
    throw std::invalid_argument("has the key 'raises' of an earlier build, which this one cannot read");
  if (json.contains("sets_ceiling")) {
    const JsonText::View sets = json.at("sets_ceiling");
    record.sets_ceiling =
        SetsCeiling{find_resource(sets.at("resource").get<std::string>()), word_of<SetsCeiling::By>(sets.at("by"))};
  }
  record.work = work_from_json(json.at("work"));
  get(json, "memory_bytes", record.memory_bytes);
  if (json.contains("rank_status")) {
    json.at("rank_status").for_each([&](const JsonText::View& status) {
      record.rank_status.push_back(word_of<Status>(status));
    });
  }
  json.at("notes").for_each(
      [&](std::string_view key, const JsonText::View& value) { record.notes.emplace_back(key, value.get<std::string>()); });
  if (json.contains("transports")) {
    json.at("transports").for_each([&](std::string_view transport, const JsonText::View& ranks) {
      record.transports.emplace(transport, ranks.integers());
    });
  }
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
    throw std::invalid_argument("'" + record.name() + "': a record has a measurement if and only if it is ok");
  }
  if (record.sustained && record.work.phases.empty()) {
    throw std::invalid_argument("'" + record.name() + "': a sustained rate needs the work of a launch");
  }
  return record;
}

}  // namespace roofmark
