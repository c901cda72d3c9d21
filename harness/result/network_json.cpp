// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/result/network_json.hpp"

#include "harness/result/fields.hpp"

namespace roofmark {

namespace {

template <class Of, class Field>
void visit_nic(Of& nic, const Field& field) {
  field("name", nic.name);
  field("kind", nic.kind);
  field("bytes_per_second", nic.bytes_per_second);
  field("numa_node", nic.numa_node);
  field("part_of", nic.part_of);
  field("firmware", nic.settings.firmware);
  field("partition_key", nic.settings.partition_key);
  field("mtu_bytes", nic.settings.mtu);
}

template <class Of, class Field>
void visit_port(Of& port, const Field& field) {
  visit_nic(port, field);
  field("state", port.state);
  field("physical_state", port.physical_state);
  field("interface", port.interface);
  field("switched_off", port.switched_off);
  field("model", port.model);
  field("position", port.position);
  field("pci_bus_id", port.pci_bus_id);
  field("pcie_generation", port.pcie.generation);
  field("pcie_lanes", port.pcie.lanes);
  field("pcie_generation_at_most", port.pcie_at_most.generation);
  field("pcie_lanes_at_most", port.pcie_at_most.lanes);
}

}  // namespace

Json to_json(const std::vector<PortFault>& faults) {
  Json json = Json::array();
  for (const PortFault& fault : faults) {
    Json& entry = json.emplace_back(Json{{"port", fault.port}, {"what", fault.what}, {"carries", fault.carries}});
    put(entry, "kind", fault.kind);
    put(entry, "bytes_per_second", fault.bytes_per_second);
  }
  return json;
}

std::vector<PortFault> port_faults_from_json(const Json& json) {
  std::vector<PortFault> faults;
  for (const Json& one : json) {
    PortFault& fault = faults.emplace_back(PortFault{one.at("port"), one.at("what"), one.at("carries")});
    get(one, "kind", fault.kind);
    get(one, "bytes_per_second", fault.bytes_per_second);
  }
  return faults;
}

Json to_json(const std::vector<Nic>& nics) {
  Json json = Json::array();
  for (const Nic& nic : nics) visit_nic(nic, put_into(json.emplace_back(Json::object())));
  return json;
}

std::vector<Nic> nics_from_json(const Json& json) {
  std::vector<Nic> nics;
  for (const Json& nic : json) visit_nic(nics.emplace_back(), get_from(nic));
  return nics;
}

Json to_json(const HostNetwork& network) {
  Json json = {{"nics", to_json(network.nics)}, {"rdma_ports", Json::array()}, {"faults", to_json(network.faults)}};
  for (const RdmaPort& port : network.ports) {
    Json& entry = json["rdma_ports"].emplace_back(Json::object());
    visit_port(port, put_into(entry));
    if (port.is_virtual_function) entry["virtual_function"] = true;
  }
  put(json, "nccl_ib_hca", network.nccl_ib_hca);
  if (network.hung) json["hung"] = true;
  return json;
}

HostNetwork host_network_from_json(const Json& json) {
  HostNetwork network;
  network.nics = nics_from_json(json.at("nics"));
  for (const Json& entry : json.at("rdma_ports")) {
    RdmaPort& port = network.ports.emplace_back();
    visit_port(port, get_from(entry));
    port.is_virtual_function = entry.value("virtual_function", false);
  }
  network.faults = port_faults_from_json(json.at("faults"));
  get(json, "nccl_ib_hca", network.nccl_ib_hca);
  network.hung = json.value("hung", false);
  return network;
}

}  // namespace roofmark
