// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/device_json.hpp"

#include <string>

#include "harness/result/fields.hpp"

namespace roofmark {

void to_json(Json& json, const ForeignProcess& process) {
  json = {{"pid", process.pid}};
  put(json, "name", process.name);
  put(json, "memory_bytes", process.memory_bytes);
}
void from_json(const Json& json, ForeignProcess& process) {
  get(json, "pid", process.pid);
  get(json, "name", process.name);
  get(json, "memory_bytes", process.memory_bytes);
}

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

/// `Info` is DeviceInfo, const when it is written.
template <class Info, class Field>
void visit_gpu(Info& info, const Field& field) {
  auto& gpu = info.gpu;
  field("uuid", gpu.uuid);
  field("pci_bus_id", gpu.pci_bus_id);
  field("cuda_driver_version", gpu.cuda_driver_version);
  field("cuda_runtime_version", gpu.cuda_runtime_version);
  field("multiprocessors", info.multiprocessors);
  field("rated_clock_hz", info.rated_clock_hz);
  field("highest_clock_hz", info.highest_clock_hz);
  field("memory_clock_hz", info.memory_clock_hz);
  field("memory_bus_bits", info.memory_bus_bits);
  field("l2_bytes", gpu.l2_bytes);
  field("shared_memory_per_multiprocessor_bytes", gpu.shared_memory_per_multiprocessor_bytes);
  field("registers_per_multiprocessor", gpu.registers_per_multiprocessor);
  field("ecc", gpu.ecc);
  field("compute_mode", gpu.compute_mode);
  field("numa_node", info.near_node);
  field("host_last_level_cache_bytes", info.host_cache_bytes);
  field("concurrent_managed_access", info.managed_on_demand);
  field("host_page_tables", gpu.host_page_tables);
  field("driver_version", gpu.driver_version);
  field("serial", gpu.serial);
  field("vbios", gpu.vbios);
  field("sm_clock_max_hz", gpu.sm_clock_max_hz);
  field("memory_clock_max_hz", gpu.memory_clock_max_hz);
  field("pcie_generation", gpu.pcie_generation);
  field("pcie_width", gpu.pcie_width);
  field("pcie_generation_max", gpu.pcie_generation_max);
  field("pcie_width_max", gpu.pcie_width_max);
  field("pcie_bytes_per_second", gpu.pcie.bytes_per_second);
  field("pcie_source", gpu.pcie.source);
  field("c2c_bytes_per_second", gpu.c2c.bytes_per_second);
  field("c2c_source", gpu.c2c.source);
  field("nvlink_links", gpu.nvlink_links);
  field("nvlink_bytes_per_second", gpu.nvlink.bytes_per_second);
  field("nvlink_source", gpu.nvlink.source);
  field("nvlink_domain", gpu.nvlink_domain);
  field("power_limit_watts", gpu.power_limit_watts);
  field("power_limit_default_watts", gpu.power_limit_default_watts);
  field("persistence_mode", gpu.persistence_mode);
  field("mig_mode", gpu.mig_mode);
  field("foreign_processes", gpu.foreign_processes);
  field("gate", gpu.gate);
}

Json to_json(const CpuFacts& facts) {
  Json json;
  for (const auto& [key, value] : facts.cpuinfo) json["cpuinfo"][key] = value;
  json["cores"] = facts.cores.size();
  json["logical_cpus"] = facts.logical_cpus;
  json["threads_per_core"] = facts.threads_per_core;
  put(json, "packages", facts.packages);
  put(json, "numa_nodes", facts.numa_nodes);
  put(json, "cpu_quota_cores", facts.cpu_quota);
  json["isa"] = facts.isa;
  json["virtual_machine"] = facts.virtual_machine;
  if (facts.max_clock_hz) json["max_mhz"] = *facts.max_clock_hz / 1e6;
  put(json, "governor", facts.governor);
  put(json, "transparent_hugepage", facts.transparent_hugepage);
  put(json, "machine_memory_bytes", facts.machine_memory_bytes);
  if (facts.machine_memory_bytes) json["memory_limit_bytes"] = facts.memory_bytes;
  return json;
}

/// An object, empty for a device that was made up.
Json details(const DeviceInfo& info) {
  Json json = info.cpu ? to_json(*info.cpu) : Json::object();
  if (info.backend == Backend::cuda) visit_gpu(info, put_into(json));
  if (info.cpu) {
    json["openmp_threads"] = info.openmp_threads;
    json["threads_placed_by"] = info.places_threads ? "roofmark, one per core" : "the environment";
  }
  return json;
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

Json to_json(const Build& build) {
  Json json = {{"version", build.version},
               {"commit", build.commit},
               {"dirty", build.dirty},
               {"compiler", build.compiler},
               {"build_type", build.build_type}};
  if (!build.cuda_toolkit.empty()) {
    json["cuda_toolkit"] = build.cuda_toolkit;
    json["cuda_compiler"] = build.cuda_compiler;
    json["cuda_architectures"] = build.cuda_architectures;
  }
  return json;
}

Json to_json(const BenchmarkContext& context) {
  return {{"date", context.date},     {"host_name", context.host_name},     {"executable", context.executable},
          {"num_cpus", context.cpus}, {"mhz_per_cpu", context.mhz_per_cpu}, {"cpu_scaling_enabled", context.cpu_scaling},
          {"caches", Json::array()},  {"load_avg", context.load_averages},  {"library_build_type", "release"}};
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
  json["name"] = host.name;
  put(json, "os", host.os);
  put(json, "kernel", host.kernel);
  put(json, "cpu", host.cpu);
  json["cores"] = host.cores;
  put(json, "memory_bytes", host.memory_bytes);
  Json& facts = json["details"] = to_json(host.facts);
  if (host.load_average) {
    facts["load_average"] = *host.load_average;
    facts["load_average_cpus"] = host.load_average_cpus;
  }
  return json;
}

DeviceInfo gpu_from_json(const Json& json) {
  DeviceInfo info;
  info.backend = Backend::cuda;
  get(json, "id", info.id);
  get(json, "name", info.name);
  if (json.contains("details")) visit_gpu(info, get_from(json.at("details")));
  return info;
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
  json["details"] = details(info);
  return json;
}

}  // namespace roofmark
