// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/team_json.hpp"

#include "harness/result/device_json.hpp"
#include "harness/result/fields.hpp"
#include "harness/result/network_json.hpp"
#include "harness/result/run_json.hpp"

namespace roofmark {
Json to_json(const RankInfo& member) {
  Json json = {{"rank", member.rank}, {"local_rank", member.local_rank}, {"host", member.host}, {"pid", member.pid}};
  put(json, "nccl_host_id", member.nccl_host_id);
  if (member.may_share_gpu) json["may_share_gpu"] = true;
  json["device_id"] = member.device_id;
  json["device_name"] = member.device_name;
  put(json, "uuid", member.uuid);
  put(json, "pci_bus_id", member.pci_bus_id);
  put(json, "serial", member.serial);
  put(json, "ecc", member.ecc);
  put(json, "mig", member.mig);
  put(json, "persistence_mode", member.persistence_mode);
  put(json, "power_limit_watts", member.power_limit_watts);
  put(json, "numa_node", member.numa_node);
  put(json, "nvlink_domain", member.nvlink_domain);
  if (!member.nvlink_peers.empty()) json["nvlink_peers"] = member.nvlink_peers;
  if (!member.cores.empty()) json["cores"] = member.cores;
  if (member.host_cores > 0) json["host_cores"] = member.host_cores;
  json["nics"] = to_json(member.nics);
  if (!member.near_nics.empty()) json["near_nics"] = member.near_nics;
  if (member.port_faults) json["port_faults"] = to_json(*member.port_faults);
  if (member.network_hung) json["network_hung"] = true;
  if (member.virtual_machine) json["virtual_machine"] = true;
  put(json, "nccl_ib_hca", member.nccl_ib_hca);
  if (!member.variables.empty()) json["variables"] = member.variables;
  if (member.nvlinks > 0) json["nvlinks"] = member.nvlinks;
  put(json, "nvlink_bytes_per_second", member.nvlink_bytes_per_second);
  put(json, "nvlink_source", member.nvlink_source);
  put(json, "pcie_bytes_per_second", member.pcie_bytes_per_second);
  put(json, "pcie_source", member.pcie_source);
  put(json, "nic_way_bytes_per_second", member.nic_way_bytes_per_second);
  put(json, "nic_way_source", member.nic_way_source);
  put(json, "host_bytes_per_second", member.host_bytes_per_second);
  put(json, "root_port", member.root_port);
  put(json, "root_port_bytes_per_second", member.root_port_bytes_per_second);
  Json& versions = json["versions"] = Json::object();
  for (const auto& [name, version] : member.versions) versions[name] = version;
  return json;
}

RankInfo rank_info_from_json(const Json& json) {
  RankInfo member;
  member.rank = json.at("rank");
  member.local_rank = json.at("local_rank");
  member.host = json.at("host");
  get(json, "nccl_host_id", member.nccl_host_id);
  member.may_share_gpu = json.value("may_share_gpu", false);
  member.pid = json.at("pid");
  member.device_id = json.at("device_id");
  member.device_name = json.at("device_name");
  get(json, "uuid", member.uuid);
  get(json, "pci_bus_id", member.pci_bus_id);
  get(json, "serial", member.serial);
  get(json, "ecc", member.ecc);
  get(json, "mig", member.mig);
  get(json, "persistence_mode", member.persistence_mode);
  get(json, "power_limit_watts", member.power_limit_watts);
  get(json, "numa_node", member.numa_node);
  get(json, "nvlink_domain", member.nvlink_domain);
  member.nvlink_peers = json.value("nvlink_peers", std::vector<std::string>());
  member.cores = json.value("cores", std::vector<int>());
  member.host_cores = json.value("host_cores", 0);
  member.nics = nics_from_json(json.at("nics"));
  member.near_nics = json.value("near_nics", std::vector<std::string>());
  if (json.contains("port_faults")) member.port_faults = port_faults_from_json(json.at("port_faults"));
  member.network_hung = json.value("network_hung", false);
  member.virtual_machine = json.value("virtual_machine", false);
  get(json, "nccl_ib_hca", member.nccl_ib_hca);
  member.variables = json.value("variables", std::map<std::string, std::string>());
  member.nvlinks = json.value("nvlinks", 0);
  get(json, "nvlink_bytes_per_second", member.nvlink_bytes_per_second);
  get(json, "nvlink_source", member.nvlink_source);
  get(json, "pcie_bytes_per_second", member.pcie_bytes_per_second);
  get(json, "pcie_source", member.pcie_source);
  get(json, "nic_way_bytes_per_second", member.nic_way_bytes_per_second);
  get(json, "nic_way_source", member.nic_way_source);
  get(json, "host_bytes_per_second", member.host_bytes_per_second);
  get(json, "root_port", member.root_port);
  get(json, "root_port_bytes_per_second", member.root_port_bytes_per_second);
  for (const auto& [name, version] : json.at("versions").items()) {
    member.versions.emplace_back(name, version.get<std::string>());
  }
  return member;
}

void to_json(nlohmann::json& json, const RankInfo& rank) { json = to_json(rank); }
void from_json(const nlohmann::json& json, RankInfo& rank) { rank = rank_info_from_json(json); }
void to_json(nlohmann::json& json, const Circumstance& circumstance) { json = to_json(circumstance); }
void from_json(const nlohmann::json& json, Circumstance& circumstance) { circumstance = circumstance_from_json(json); }
void to_json(nlohmann::json& json, const Finding& finding) { json = to_json(finding); }
void from_json(const nlohmann::json& json, Finding& finding) { finding = finding_from_json(json); }
void to_json(nlohmann::json& json, const Roofline& roofline) { json = to_json(roofline); }
void from_json(const nlohmann::json& json, Roofline& roofline) { roofline = roofline_from_json(json); }

Json to_json(const LatencyFit& fit) {
  Json json = {{"series", fit.series}};
  put(json, "latency_seconds", fit.latency_seconds);
  put(json, "bytes_per_second", fit.bytes_per_second);
  put(json, "bus_bytes_per_second", fit.bus_bytes_per_second);
  put(json, "r2", fit.r2);
  json["points"] = fit.points;
  return json;
}

Json to_json(const Communication& communication) {
  Json json;
  Json& fits = json["fits"] = Json::array();
  for (const LatencyFit& fit : communication.fits) fits.push_back(to_json(fit));
  Json& rings = json["rings"] = Json::array();
  for (const RingPrediction& ring : communication.rings) {
    rings.push_back({{"case", ring.case_name}, {"seconds", ring.seconds}, {"ratio", ring.ratio}});
  }
  Json& pairs = json["pairs"] = Json::array();
  for (const PairTime& pair : communication.pairs) {
    pairs.push_back({{"a", pair.a}, {"b", pair.b}, {"bytes", pair.bytes}, {"seconds", pair.seconds}});
  }
  Json& scaling = json["scaling"] = Json::array();
  for (const ScalingRow& row : communication.scaling) {
    Json entry = {{"series", row.series.name()}, {"ranks", row.ranks}, {"bytes", row.bytes}, {"seconds", row.seconds}};
    put(entry, "busbw", row.busbw);
    put(entry, "strong_efficiency", row.strong_efficiency);
    put(entry, "weak_efficiency", row.weak_efficiency);
    scaling.push_back(std::move(entry));
  }
  Json& overlaps = json["overlaps"] = Json::array();
  for (const Overlap& overlap : communication.overlaps) {
    Json entry = {{"series", overlap.series.name()},
                  {"work_seconds", overlap.work_seconds},
                  {"communication_seconds", overlap.communication_seconds},
                  {"together_seconds", overlap.together_seconds},
                  {"hidden", overlap.hidden},
                  {"covered", overlap.covered}};
    put(entry, "hidden_half_width", overlap.hidden_half_width);
    put(entry, "slow_down", overlap.slow_down);
    overlaps.push_back(std::move(entry));
  }
  Json& slowest = json["slowest"] = Json::array();
  for (const Slowest& one : communication.slowest) {
    Json entry = {{"of", one.of},
                  {"who", one.who},
                  {"among", one.among},
                  {"times_median", one.times_median},
                  {"times_fastest", one.times_fastest}};
    put(entry, "mads", one.mads);
    slowest.push_back(std::move(entry));
  }
  Json& groups = json["groups"] = Json::array();
  for (const RankGroup& group : communication.groups) {
    groups.push_back({{"of", group.of}, {"who", group.who}, {"ranks", group.ranks}, {"times_within", group.times_within}});
  }
  json["slow"] = communication.slow;
  return json;
}

}  // namespace roofmark
