// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/team/host_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "harness/device/pcie.hpp"
#include "harness/machine/files.hpp"
#include "harness/machine/patience.hpp"
#include "harness/model/units.hpp"
#include "harness/team/variables.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFewestPeers = 3;
/// One of so many may be at fault; where more are not like the others, that is how the host is wired.
constexpr std::size_t kOneOf = 4;

using Peers = std::vector<const RdmaPort*>;

Nic as_nic(const RdmaPort& port) { return {port.name, port.kind, port.bytes_per_second, port.numa_node, port.part_of}; }

/// The ports that may be judged, by kind, model and position.
std::vector<Peers> peers_among(const std::vector<RdmaPort>& ports, const std::string& nccl_ib_hca) {
  std::set<std::string> chosen;
  std::vector<Nic> all;
  for (const RdmaPort& port : ports) all.push_back(as_nic(port));
  if (!nccl_ib_hca.empty()) {
    for (const Nic& nic : ports_of_collectives(all, nccl_ib_hca).counted) chosen.insert(nic.name);
  }
  std::map<std::tuple<std::string, std::string, std::string>, Peers> groups;
  for (const RdmaPort& port : ports) {
    const bool is_left_out = !nccl_ib_hca.empty() && !chosen.contains(port.name);
    const bool may_be_off = !port.is_up() && port.switched_off.value_or(true);
    if (port.model.empty() || port.is_virtual_function || is_left_out || may_be_off) continue;
    groups[{port.kind, port.model, port.position}].push_back(&port);
  }
  std::vector<Peers> found;
  for (auto& [key, peers] : groups) found.push_back(std::move(peers));
  return found;
}

/// That of most ports that are up; of as many, the higher.
std::optional<double> common_rate(const Peers& peers) {
  std::map<double, std::size_t> counts;
  for (const RdmaPort* port : peers) {
    if (port->is_up() && port->bytes_per_second) ++counts[*port->bytes_per_second];
  }
  if (counts.empty()) return std::nullopt;
  return std::max_element(
             counts.begin(), counts.end(),
             [](const auto& a, const auto& b) { return std::tuple(a.second, a.first) < std::tuple(b.second, b.first); })
      ->first;
}

bool is_exception(std::size_t good, std::size_t bad) { return good >= kFewestPeers && bad * kOneOf <= good + bad; }

bool are_all_that_gpus_have(std::size_t ports, int gpus) {
  const auto count = static_cast<std::size_t>(gpus);
  return gpus > 0 && (ports % count == 0 || count % ports == 0);
}

std::string state_of(const RdmaPort& port) {
  const std::string physical = port.physical_state.empty() ? "" : " (" + port.physical_state + ")";
  if (port.state == "DOWN") return "is down" + physical;
  return fmt::format("is not up: {}{}", port.state.empty() ? "unknown" : port.state, physical);
}

void find_missing(const Peers& peers, int gpus, std::vector<PortFault>& faults) {
  const std::optional<double> rate = common_rate(peers);
  if (!rate) return;
  std::size_t alike = 0;
  std::vector<PortFault> others;
  for (const RdmaPort* port : peers) {
    if (!port->is_up()) {
      others.push_back({port->name, state_of(*port)});
    } else if (port->bytes_per_second && *port->bytes_per_second < *rate) {
      others.push_back({port->name, "has " + format_link_rate(*port->bytes_per_second)});
    } else if (port->bytes_per_second == rate) {
      ++alike;
    }
  }
  if (!is_exception(alike, others.size()) || are_all_that_gpus_have(alike, gpus)) return;
  for (PortFault& fault : others) {
    fault.what += fmt::format(", {} of its kind are up with {}", alike, format_link_rate(*rate));
    fault.kind = peers.front()->kind;
    fault.bytes_per_second = rate;
    faults.push_back(std::move(fault));
  }
}

std::optional<double> carried_by(const PciLinkMaximum& link) {
  return pcie_bytes_per_second(link.generation.value_or(0), link.lanes.value_or(0));
}

std::string in_words(const PciLinkMaximum& link) { return fmt::format("PCIe {} x{}", *link.generation, *link.lanes); }

void find_narrow(const Peers& peers, bool virtual_machine, std::vector<PortFault>& faults) {
  Peers narrow;
  std::size_t wide = 0;
  for (const RdmaPort* port : peers) {
    const std::optional<double> carried = carried_by(port->pcie);
    if (!port->is_up() || !port->bytes_per_second || !carried) continue;
    if (*carried < *port->bytes_per_second) {
      narrow.push_back(port);
    } else {
      ++wide;
    }
  }
  for (const RdmaPort* port : narrow) {
    // The slot of a virtual machine is not the hardware's.
    const auto possible = virtual_machine ? std::nullopt : carried_by(port->pcie_at_most);
    const bool supports_more = possible.value_or(0) > *carried_by(port->pcie);
    if (!supports_more && !is_exception(wide, narrow.size())) continue;
    const std::string more = supports_more ? fmt::format("card and slot support {}", in_words(port->pcie_at_most))
                                           : fmt::format("{} of its kind have as much as theirs", wide);
    faults.push_back({port->name,
                      fmt::format("is behind {}, which carries less than its {}; {}", in_words(port->pcie),
                                  format_link_rate(*port->bytes_per_second), more),
                      true});
  }
}

int gpus_on(const fs::path& root) {
  int gpus = 0;
  for (const fs::path& device : entries(root / "sys/bus/pci/devices")) {
    gpus += is_nvidia_gpu(device);
  }
  return gpus;
}

}  // namespace

std::vector<PortFault> port_faults(const std::vector<RdmaPort>& ports, const PortSurroundings& around) {
  std::vector<PortFault> faults;
  for (const Peers& peers : peers_among(ports, around.nccl_ib_hca)) {
    find_missing(peers, around.gpus, faults);
    find_narrow(peers, around.virtual_machine, faults);
  }
  std::stable_sort(faults.begin(), faults.end(), [](const PortFault& a, const PortFault& b) { return a.port < b.port; });
  return faults;
}

HostNetwork describe_network(const std::map<std::string, std::string>& started_with, const fs::path& root) {
  const auto variables = communication_variables(Backend::cuda, started_with, root);
  const auto hca = variables.find("NCCL_IB_HCA");
  const std::string nccl_ib_hca = hca == variables.end() ? std::string() : hca->second;
  // A port is asked through its firmware, which may hang.
  const std::function<HostNetwork()> ask = [root, nccl_ib_hca] {
    HostNetwork network;
    network.nccl_ib_hca = nccl_ib_hca;
    network.nics = read_nics(root);
    network.ports = read_rdma_ports(root);
    network.faults = port_faults(network.ports, {nccl_ib_hca, gpus_on(root), is_virtual_machine(root)});
    return network;
  };
  if (auto network = within_patience(ask)) return *std::move(network);
  HostNetwork unknown;
  unknown.nccl_ib_hca = nccl_ib_hca;
  unknown.hung = true;
  return unknown;
}

std::string in_words(const PortChoice& choice, const std::string& nccl_ib_hca) {
  const auto joined = [](const std::vector<Nic>& ports, const char* separator, const auto& words) {
    std::string text;
    for (const Nic& port : ports) text += (text.empty() ? "" : separator) + words(port);
    return text;
  };
  const auto rate = [](const Nic& nic) {
    return nic.bytes_per_second ? format_link_rate(*nic.bytes_per_second) : "unknown rate";
  };
  const auto with_rate = [&](const Nic& port) { return fmt::format("{} {} {}", port.name, rate(port), port.kind); };
  const Nic& first = choice.counted.front();
  const bool alike = std::all_of(choice.counted.begin(), choice.counted.end(), [&](const Nic& port) {
    return port.bytes_per_second == first.bytes_per_second && port.kind == first.kind;
  });
  const auto name = [](const Nic& port) { return port.name; };
  const char* const plural = choice.counted.size() == 1 ? "" : "s";
  std::string text = !alike                   ? joined(choice.counted, " + ", with_rate)
                     : first.bytes_per_second ? fmt::format("{} port{} of {} {}: {}", choice.counted.size(), plural,
                                                            rate(first), first.kind, joined(choice.counted, ", ", name))
                                              : fmt::format("{} {} port{} of unknown rate: {}", choice.counted.size(),
                                                            first.kind, plural, joined(choice.counted, ", ", name));
  if (!choice.others.empty()) text += "; not counted: " + joined(choice.others, ", ", with_rate);
  if (!nccl_ib_hca.empty()) text += fmt::format("; by NCCL_IB_HCA={}", nccl_ib_hca);
  return text;
}

std::string in_words(const std::vector<PortFault>& faults) {
  std::string text;
  for (const PortFault& fault : faults) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", fault.port, fault.what);
  return text;
}

std::function<std::map<std::string, PortReading>()> port_counters(const HostNetwork& network, const fs::path& root) {
  std::vector<std::string> names;
  for (const Nic& nic : ports_of_collectives(network.nics, network.nccl_ib_hca).counted) {
    if (nic.is_rdma()) names.push_back(nic.name);
  }
  if (names.empty()) return {};
  return [names, root] {
    const std::function<std::map<std::string, PortReading>()> ask = [names, root] { return read_port_counters(names, root); };
    return within_patience(ask).value_or(std::map<std::string, PortReading>());
  };
}

}  // namespace roofmark
