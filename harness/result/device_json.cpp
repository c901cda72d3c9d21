// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/device_json.hpp"

#include <cmath>
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
  field("theoretical_at_most", ceiling.theoretical_at_most);
  field("healthy_at_least", ceiling.healthy_at_least);
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
  field("pcie_generation_of_gpu", gpu.pcie_generation_of_gpu);
  field("pcie_width_of_gpu", gpu.pcie_width_of_gpu);
  field("pcie_generation_of_slot", gpu.pcie_generation_of_slot);
  field("iommu", gpu.iommu);
  field("pcie_bytes_per_second", gpu.pcie.bytes_per_second);
  field("pcie_source", gpu.pcie.source);
  field("way_to_host_bytes_per_second", gpu.way_to_host.bytes_per_second);
  field("way_to_host_source", gpu.way_to_host.source);
  field("root_port", gpu.root_port);
  field("root_port_bytes_per_second", gpu.root_port_bytes_per_second);
  field("c2c_bytes_per_second", gpu.c2c.bytes_per_second);
  field("c2c_source", gpu.c2c.source);
  field("c2c_links", gpu.c2c_links);
  field("c2c_links_up", gpu.c2c_links_up);
  field("nvlink_links", gpu.nvlink_links);
  field("nvlink_bytes_per_second", gpu.nvlink.bytes_per_second);
  field("nvlink_source", gpu.nvlink.source);
  field("nvlink_domain", gpu.nvlink_domain);
  field("power_limit_watts", gpu.power_limit_watts);
  field("power_limit_default_watts", gpu.power_limit_default_watts);
  field("application_clock_hz", gpu.application_clock_hz);
  field("application_clock_default_hz", gpu.application_clock_default_hz);
  field("application_memory_clock_hz", gpu.application_memory_clock_hz);
  field("application_memory_clock_default_hz", gpu.application_memory_clock_default_hz);
  field("persistence_mode", gpu.persistence_mode);
  field("mig_mode", gpu.mig_mode);
  field("confidential_computing", gpu.confidential_computing);
  field("mig_uuid", gpu.mig_uuid);
  field("mps", gpu.mps);
  field("mps_active_thread_percentage", gpu.mps_active_thread_percentage);
  field("foreign_processes", gpu.foreign_processes);
  field("no_nvml", gpu.no_nvml);
  field("gate", gpu.gate);
}

/// `Info` is DeviceInfo, const when it is written.
template <class Info, class Field>
void visit_device(Info& info, const Field& field) {
  field("multiprocessors", info.multiprocessors);
  field("rated_clock_hz", info.rated_clock_hz);
  field("highest_clock_hz", info.highest_clock_hz);
  field("memory_clock_hz", info.memory_clock_hz);
  field("memory_bus_bits", info.memory_bus_bits);
  field("memory_bytes", info.memory_bytes);
  field("free_bytes", info.free_bytes);
}

/// `Facts` is CpuFacts, const when it is written.
template <class Facts, class Field>
void visit_cpu(Facts& facts, const Field& field) {
  field("cores", facts.cores);
  field("logical_cpus", facts.logical_cpus);
  field("threads_per_core", facts.threads_per_core);
  field("packages", facts.packages);
  field("numa_nodes", facts.numa_nodes);
  field("cpu_quota_cores", facts.cpu_quota);
  field("isa", facts.isa);
  field("virtual_machine", facts.virtual_machine);
  field("max_clock_hz", facts.max_clock_hz);
  field("governor", facts.governor);
  field("transparent_hugepage", facts.transparent_hugepage);
  field("numa_balancing", facts.numa_balancing);
  field("machine_memory_bytes", facts.machine_memory_bytes);
}

constexpr const char* kPlacedByProgram = "roofmark, one per core";

/// An object, empty for a device that was made up.
Json details(const DeviceInfo& info) {
  Json json = info.cpu ? to_json(*info.cpu) : Json::object();
  if (info.backend == Backend::cuda) visit_gpu(info, put_into(json));
  if (info.cpu) {
    json["openmp_threads"] = info.openmp_threads;
    json["threads_placed_by"] = info.places_threads ? kPlacedByProgram : "the environment";
  }
  return json;
}

void put_line(Json& json, const char* key, const std::optional<CeilingLine>& line) {
  if (!line) return;
  Json& entry = json[key] = {{"fixed_seconds", line->fixed_seconds}, {"points", line->points}};
  put(entry, "r2", line->r2);
}

}  // namespace

Json to_json(const CpuFacts& facts) {
  Json json;
  for (const auto& [key, value] : facts.cpuinfo) json["cpuinfo"][key] = value;
  visit_cpu(facts, put_into(json));
  if (facts.machine_memory_bytes) json["memory_limit_bytes"] = facts.memory_bytes;
  return json;
}

CpuFacts cpu_facts_from_json(const Json& json) {
  CpuFacts facts;
  if (json.contains("cpuinfo")) {
    for (const auto& [key, value] : json.at("cpuinfo").items()) facts.cpuinfo.emplace_back(key, value);
  }
  visit_cpu(facts, get_present_from(json));
  facts.memory_bytes = json.value("memory_limit_bytes", std::size_t{0});
  return facts;
}

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
    put(json, "first_clock_hz", ceiling.first_clock_hz);
    put_line(json, "first_line", ceiling.first_line);
    put(json, "last", ceiling.last);
    put(json, "last_by", ceiling.last_by);
    put(json, "last_clock_hz", ceiling.last_clock_hz);
    put_line(json, "last_line", ceiling.last_line);
    put(json, "empirical", ceiling.empirical());
    put(json, "drift", ceiling.drift());
    put(json, "unexplained_drift", ceiling.unexplained_drift());
    if (ceiling.drift() && ceiling.drift_half_width() > 0) json["drift_half_width"] = ceiling.drift_half_width();
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
  if (info.compute_capability) {
    json["compute_capability"] =
        std::to_string(info.compute_capability / 10) + "." + std::to_string(info.compute_capability % 10);
  }
  visit_device(info, put_into(json));
  json["caches"] = Json::array();
  for (const CacheLevel& level : info.caches) {
    json["caches"].push_back(
        {{"name", level.name}, {"total_bytes", level.total_bytes}, {"instance_bytes", level.instance_bytes}});
  }
  json["details"] = details(info);
  return json;
}

DeviceInfo device_from_json(const Json& json) {
  DeviceInfo info;
  get(json, "id", info.id);
  info.backend = json.at("kind") == "cuda" ? Backend::cuda : Backend::cpu;
  get(json, "name", info.name);
  if (json.contains("compute_capability")) {
    info.compute_capability = static_cast<int>(std::lround(10 * std::stod(json.at("compute_capability").get<std::string>())));
  }
  visit_device(info, get_from(json));
  for (const Json& level : json.at("caches")) {
    info.caches.push_back({level.at("name"), level.at("total_bytes"), level.at("instance_bytes")});
  }
  const Json& details = json.at("details");
  if (info.backend == Backend::cuda) visit_gpu(info, get_present_from(details));
  if (details.contains("threads_placed_by")) {
    info.cpu = cpu_facts_from_json(details);
    info.openmp_threads = details.value("openmp_threads", 0);
    info.places_threads = details.at("threads_placed_by") == kPlacedByProgram;
  }
  return info;
}

}  // namespace roofmark
