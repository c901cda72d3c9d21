// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/network_health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace roofmark {

std::optional<Circumstance> network_health(const HostNetwork& network) {
  constexpr const char* kWhat = "network ports";
  if (network.hung) {
    return Circumstance{kWhat, "unknown: the kernel did not answer in time",
                        "the firmware of a NIC may hang: look for it in the kernel's log (dmesg)"};
  }
  if (network.nics.empty() && network.ports.empty()) return std::nullopt;
  const PortChoice choice = ports_of_collectives(network.nics, network.nccl_ib_hca);
  std::string state = choice.counted.empty() ? "none that collectives use is up" : in_words(choice, network.nccl_ib_hca);
  std::string down;
  for (const RdmaPort& port : network.ports) {
    const bool is_faulty = std::any_of(network.faults.begin(), network.faults.end(),
                                       [&](const PortFault& fault) { return fault.port == port.name; });
    if (port.is_up() || port.is_virtual_function || is_faulty) continue;
    const std::string why = port.switched_off.value_or(false) ? ", switched off" : "";
    down += fmt::format("{}{} ({}{})", down.empty() ? "" : ", ", port.name,
                        port.physical_state.empty() ? port.state : port.physical_state, why);
  }
  if (!down.empty()) state += "; not up: " + down;
  const std::string faults = in_words(network.faults);
  return Circumstance{kWhat, state,
                      faults.empty()
                          ? ""
                          : fmt::format("what goes over these ports is slower: {}; check cable, transceiver, switch port "
                                        "and slot",
                                        faults)};
}

std::vector<Finding> find_port_faults(const std::vector<PortFault>& faults) {
  if (faults.empty()) return {};
  const PortFault& first = faults.front();
  const std::string more = faults.size() > 1 ? fmt::format(" ({} more ports)", faults.size() - 1) : "";
  return {{FindingKind::network_ports,
           in_words(faults),
           {},
           static_cast<double>(faults.size()),
           fmt::format("{} {}{}", first.port, first.what, more)}};
}

}  // namespace roofmark
