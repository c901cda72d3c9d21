// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/device_json.hpp"

#include <string>

#include "harness/result/fields.hpp"

namespace roofmark {
namespace {

/// `Of` is Ceiling, const when it is written.
template <class Of, class Field>
void visit_theoretical(Of& ceiling, const Field& field) {
  field("theoretical", ceiling.theoretical);
  field("theoretical_source", ceiling.theoretical_source);
  field("theoretical_clock_hz", ceiling.theoretical_clock_hz);
  field("rated_clock_hz", ceiling.rated_clock_hz);
  field("datasheet", ceiling.datasheet);
  field("datasheet_source", ceiling.datasheet_source);
}

void put_line(Json& json, const char* key, const std::optional<CeilingLine>& line) {
  if (!line) return;
  Json& entry = json[key] = {{"fixed_seconds", line->fixed_seconds}, {"points", line->points}};
  put(entry, "r2", line->r2);
}

}  // namespace

Json to_json(const Roofline& roofline) {
  Json all = Json::array();
  for (const Ceiling& ceiling : roofline.ceilings()) {
    Json json;
    json["resource"] = ceiling.resource.id;
    json["title"] = ceiling.resource.title;
    json["unit"] = name(ceiling.resource.unit);
    visit_theoretical(ceiling, put_into(json));
    put(json, "first", ceiling.first);
    put(json, "first_by", ceiling.first_by);
    put_line(json, "first_line", ceiling.first_line);
    put(json, "last", ceiling.last);
    put(json, "last_by", ceiling.last_by);
    put_line(json, "last_line", ceiling.last_line);
    put(json, "empirical", ceiling.empirical());
    put(json, "drift", ceiling.drift());
    json["doubtful"] = ceiling.doubtful;
    all.push_back(std::move(json));
  }
  return all;
}

Roofline roofline_from_json(const Json& json) {
  Roofline roofline;
  for (const Json& entry : json) {
    Ceiling& ceiling = roofline.at(find_resource(entry.at("resource").get<std::string>()));
    visit_theoretical(ceiling, get_from(entry));
  }
  return roofline;
}

Json to_json(const DeviceInfo& info, bool known) {
  Json json;
  json["id"] = info.id;
  json["kind"] = info.backend == Backend::cuda ? "cuda" : "cpu";
  json["name"] = info.name;
  json["known"] = known;
  json["multiprocessors"] = info.multiprocessors;
  if (info.compute_capability) {
    json["compute_capability"] =
        std::to_string(info.compute_capability / 10) + "." + std::to_string(info.compute_capability % 10);
  }
  put(json, "rated_clock_hz", info.rated_clock_hz);
  put(json, "highest_clock_hz", info.highest_clock_hz);
  put(json, "memory_clock_hz", info.memory_clock_hz);
  if (info.memory_bus_bits) json["memory_bus_bits"] = *info.memory_bus_bits;
  json["memory_bytes"] = info.memory_bytes;
  json["free_bytes"] = info.free_bytes;
  json["caches"] = Json::array();
  for (const CacheLevel& level : info.caches) {
    json["caches"].push_back(
        {{"name", level.name}, {"total_bytes", level.total_bytes}, {"instance_bytes", level.instance_bytes}});
  }
  json["details"] = *info.details;
  return json;
}

}  // namespace roofmark
