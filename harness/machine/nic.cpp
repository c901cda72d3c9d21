// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/nic.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/machine/facts.hpp"
#include "harness/machine/files.hpp"
#include "harness/machine/rdma_ports.hpp"

namespace roofmark {
namespace {

namespace fs = std::filesystem;

std::vector<Nic> rdma_nics(const fs::path& root) {
  std::vector<Nic> found;
  for (const RdmaPort& port : read_rdma_ports(root)) {
    if (!port.is_up()) continue;
    found.push_back({port.name, port.kind, port.bytes_per_second, port.numa_node, port.part_of, port.settings});
  }
  return found;
}

bool is_up(const fs::path& interface) {
  const auto state = first_line(interface / "operstate");
  return state == "up" || (state == "unknown" && number_in(interface / "carrier") == 1);
}

/// The one node of all its members.
std::optional<int> bond_numa_node(const fs::path& bond) {
  std::set<std::optional<int>> nodes;
  std::ifstream in(bond / "bonding/slaves");
  for (std::string member; in >> member;) nodes.insert(numa_node(bond.parent_path() / member / "device"));
  return nodes.size() == 1 ? *nodes.begin() : std::nullopt;
}

std::vector<Nic> interfaces(const fs::path& root) {
  constexpr double kEthernet = 1;  // ARPHRD_ETHER
  std::vector<Nic> hardware, pairs;
  for (const fs::path& interface : entries(root / "sys/class/net")) {
    if (number_in(interface / "type") != kEthernet || !is_up(interface)) continue;
    // A bond stands for its members, and a virtual machine's paravirtual interface for its fast path. A bridge is no hardware:
    // its members count.
    const bool behind_bridge = is_there(interface / "brport");
    if (is_there(interface / "master") && !behind_bridge) continue;
    const bool bond = is_there(interface / "bonding");
    const bool stacked = !entries(interface, "lower_").empty();  // such as a VLAN
    Nic nic{interface.filename().string(),
            "Ethernet",
            interface_rate(interface),
            numa_node(interface / "device"),
            physical_device(interface / "device", "net"),
            {{}, {}, interface_mtu(interface)}};
    if (bond) nic.numa_node = bond_numa_node(interface);
    if (bond || is_there(interface / "device")) {
      hardware.push_back(std::move(nic));
    } else if (!behind_bridge && !stacked && number_in(interface / "iflink") != number_in(interface / "ifindex")) {
      nic.bytes_per_second.reset();  // the kernel gives every pair 10 Gb/s
      pairs.push_back(std::move(nic));
    }
  }
  return hardware.empty() ? pairs : hardware;
}

int number_of(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// As NCCL reads it: an empty list names all. Of device:port:rail:plane each field but the first may be empty.
bool is_named(const Nic& port, std::string_view list, bool whole_names) {
  const std::string_view name = port.name;
  const auto colon = name.find(':');
  const std::string_view device = name.substr(0, colon);
  const int number = colon == std::string_view::npos ? 0 : number_of(name.substr(colon + 1));
  bool any = false;
  while (!list.empty()) {
    const auto comma = list.find(',');
    const std::string_view entry = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    const std::string_view its = entry.substr(0, entry.find(':'));
    if (its.empty()) continue;
    any = true;
    std::string_view port_number = entry.substr(std::min(its.size() + 1, entry.size()));
    port_number = port_number.substr(0, port_number.find(':'));
    const bool is_device = whole_names ? device == its : device.starts_with(its);
    if (is_device && (port_number.empty() || number_of(port_number) == number)) return true;
  }
  return !any;
}

/// The names of those that are wanted. Of the parts of one device's port and that port itself, which all share one rate, one.
template <class Wanted>
std::set<std::string> distinct_ports(const std::vector<Nic>& ports, const Wanted& is_wanted) {
  std::set<std::string> names, of_parts;
  for (const Nic& port : ports) {
    if (port.part_of.empty() && is_wanted(port)) names.insert(port.name);
  }
  for (const Nic& port : ports) {
    if (port.part_of.empty() || !is_wanted(port) || names.contains(port.part_of)) continue;
    if (of_parts.insert(port.part_of).second) names.insert(port.name);
  }
  return names;
}

}  // namespace

PortChoice ports_of_collectives(const std::vector<Nic>& ports, const std::string& nccl_ib_hca) {
  const auto divide = [&](const auto& is_counted) {
    const std::set<std::string> counted = distinct_ports(ports, is_counted);
    PortChoice choice;
    for (const Nic& port : ports) (counted.contains(port.name) ? choice.counted : choice.others).push_back(port);
    return choice;
  };
  if (!nccl_ib_hca.empty() && std::any_of(ports.begin(), ports.end(), [](const Nic& nic) { return nic.is_rdma(); })) {
    std::string_view list = nccl_ib_hca;
    const bool all_but = list.starts_with('^');
    if (all_but) list.remove_prefix(1);
    const bool whole_names = list.starts_with('=');
    if (whole_names) list.remove_prefix(1);
    return divide([&](const Nic& port) { return port.is_rdma() && is_named(port, list, whole_names) != all_but; });
  }
  if (std::any_of(ports.begin(), ports.end(), [](const Nic& port) { return !port.bytes_per_second; })) {
    return divide([](const Nic&) { return true; });
  }
  using Class = std::pair<double, std::string>;
  const auto class_of = [](const Nic& port) { return Class(*port.bytes_per_second, port.kind); };
  const std::set<std::string> distinct = distinct_ports(ports, [](const Nic&) { return true; });
  std::map<Class, int> counts;
  for (const Nic& port : ports) {
    if (distinct.contains(port.name)) ++counts[class_of(port)];
  }
  const auto most = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.second * a.first.first, a.second) < std::tuple(b.second * b.first.first, b.second);
  });
  return divide([&](const Nic& port) { return distinct.contains(port.name) && class_of(port) == most->first; });
}

std::vector<Nic> read_nics(const fs::path& root) {
  std::vector<Nic> ports = rdma_nics(root);
  return ports.empty() ? interfaces(root) : ports;
}

}  // namespace roofmark
