// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/facts_json.hpp"

#include "harness/result/device_json.hpp"
#include "harness/result/fields.hpp"
#include "harness/result/journal.hpp"
#include "harness/result/network_json.hpp"
#include "harness/result/words.hpp"

namespace roofmark {

namespace {

// Each of these calls `field(key, member)` for every member; `Of` is const when it is written.
template <class Of, class Field>
void visit_build(Of& build, const Field& field) {
  field("version", build.version);
  field("commit", build.commit);
  field("dirty", build.dirty);
  field("compiler", build.compiler);
  field("build_type", build.build_type);
  field("cuda_toolkit", build.cuda_toolkit);
  field("cuda_compiler", build.cuda_compiler);
  field("cuda_architectures", build.cuda_architectures);
}

template <class Of, class Field>
void visit_context(Of& context, const Field& field) {
  field("date", context.date);
  field("host_name", context.host_name);
  field("executable", context.executable);
  field("num_cpus", context.cpus);
  field("mhz_per_cpu", context.mhz_per_cpu);
  field("cpu_scaling_enabled", context.cpu_scaling);
  field("load_avg", context.load_averages);
}

template <class Of, class Field>
void visit_host(Of& host, const Field& field) {
  field("name", host.name);
  field("os", host.os);
  field("kernel", host.kernel);
  field("cpu", host.cpu);
  field("cores", host.cores);
  field("memory_bytes", host.memory_bytes);
}

Json to_json(const BenchmarkContext& context) {
  Json json;
  visit_context(context, put_into(json));
  json["caches"] = Json::array();
  json["library_build_type"] = "release";
  return json;
}

std::vector<Library> libraries_from_json(const Json& json) {
  std::vector<Library> libraries;
  for (const auto& [name, one] : json.items()) {
    libraries.push_back({name, one.value("version", ""), one.value("path", ""), one.value("unsupported", "")});
  }
  return libraries;
}

Host host_from_json(const Json& json) {
  Host host;
  visit_host(host, get_from(json));
  if (!json.contains("details")) return host;
  const Json& details = json.at("details");
  host.facts = cpu_facts_from_json(details);
  get(details, "load_average", host.load_average);
  host.load_average_cpus = details.value("load_average_cpus", 0);
  return host;
}

}  // namespace

Json to_json(const Build& build) {
  Json json;
  visit_build(build, put_into(json));
  return json;
}

Json to_json(const std::vector<Library>& libraries) {
  Json json = Json::object();
  for (const Library& library : libraries) {
    if (library.unsupported.empty()) {
      json[library.name] = {{"version", library.version}, {"path", library.path}};
    } else {
      json[library.name] = {{"unsupported", library.unsupported}};
    }
  }
  return json;
}

Json to_json(const Host& host) {
  Json json;
  visit_host(host, put_into(json));
  Json& details = json["details"] = to_json(host.facts);
  if (host.load_average) {
    details["load_average"] = *host.load_average;
    details["load_average_cpus"] = host.load_average_cpus;
  }
  return json;
}

Json to_json(const RunFacts& facts) {
  Json json = {{"context", to_json(facts.context)},
               {"schema_version", kSchemaVersion},
               {"suite", facts.suite},
               {"data", name(facts.data)},
               {"seed", facts.seed},
               {"arguments", facts.arguments},
               {"labels", facts.labels},
               {"environment", facts.environment},
               {"families", facts.families},
               {"started_utc", facts.started_utc},
               {"clock_overhead_seconds", facts.clock_overhead_seconds},
               {"build", to_json(facts.build)},
               {"libraries", to_json(facts.libraries)},
               {"host", to_json(facts.host)},
               {"device", to_json(facts.device, facts.device_known)}};
  put(json, "budget_seconds", facts.budget_seconds);
  if (!facts.network.nics.empty() || !facts.network.ports.empty() || facts.network.hung)
    json["network"] = to_json(facts.network);
  return json;
}

RunFacts run_facts_from_json(const Json& json) {
  RunFacts facts;
  visit_context(facts.context, get_present_from(json.at("context")));
  get(json, "suite", facts.suite);
  facts.data = word_of<Distribution>(json.at("data"));
  get(json, "seed", facts.seed);
  get(json, "arguments", facts.arguments);
  get(json, "labels", facts.labels);
  get(json, "environment", facts.environment);
  get(json, "families", facts.families);
  get(json, "budget_seconds", facts.budget_seconds);
  get(json, "started_utc", facts.started_utc);
  facts.clock_overhead_seconds = json.value("clock_overhead_seconds", 0.0);
  visit_build(facts.build, get_from(json.at("build")));
  facts.libraries = libraries_from_json(json.at("libraries"));
  facts.host = host_from_json(json.at("host"));
  facts.device = device_from_json(json.at("device"));
  get(json.at("device"), "known", facts.device_known);
  if (json.contains("network")) facts.network = host_network_from_json(json.at("network"));
  return facts;
}

}  // namespace roofmark
