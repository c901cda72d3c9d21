// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/origin.hpp"

#include <string>
#include <utility>

#include "harness/judge/gpu_links.hpp"
#include "harness/judge/lowered_clocks.hpp"
#include "harness/judge/memory_in_use.hpp"
#include "harness/judge/network_health.hpp"
#include "harness/judge/ranks/variables_health.hpp"
#include "harness/judge/theory.hpp"
#include "harness/machine/host.hpp"

namespace roofmark {

Origin origin_of(const DeviceInfo& device, const Fabric* fabric) {
  Origin origin;
  origin.health = health(device, describe_host());
  std::string sku;
  origin.theoretical = theoretical_roofline(device, &sku);
  if (fabric) {
    const Roofline links = theoretical_links(fabric->members);
    for (const Ceiling& link : links.ceilings()) origin.theoretical.at(link.resource) = link;
    for (Circumstance& limit : limiting_variables_health(fabric->members)) origin.health.push_back(std::move(limit));
    if (fabric->local) {
      const Roofline peers = theoretical_peer_links(device, first_has_nvlink(*fabric), nvlinks_to_others(*fabric, device));
      for (const Ceiling& link : peers.ceilings()) origin.theoretical.at(link.resource) = link;
    }
  }
  if (device.backend == Backend::cuda) {
    origin.findings = find_missing_links(device);
    for (Finding& finding : find_lowered_clocks(device.gpu)) origin.findings.push_back(std::move(finding));
    for (Finding& finding : find_memory_in_use(device)) origin.findings.push_back(std::move(finding));
  }
  origin.known = device.backend == Backend::cpu || !sku.empty();
  if (!origin.known) {
    origin.findings.push_back({FindingKind::unknown_device,
                               "this GPU is not in the table of known GPUs: its ceilings come only from its attributes",
                               {}});
  }
  if (device.gpu.nvml_hung) {
    origin.findings.push_back({FindingKind::telemetry_lost,
                               "NVML did not answer in time when the device was opened: it was not asked again",
                               {},
                               0,
                               "the device's telemetry was given up"});
  }
  if (const auto& others = device.gpu.foreign_processes; others && !others->empty()) {
    origin.findings.push_back({FindingKind::foreign_process,
                               "other processes use this GPU: " + name_processes(*others),
                               {},
                               static_cast<double>(others->size()),
                               "other processes use the GPU"});
  }
  return origin;
}

void add_network(Origin& origin, HostNetwork network) {
  if (auto row = network_health(network)) origin.health.push_back(*std::move(row));
  for (Finding& finding : find_port_faults(network.faults)) origin.findings.push_back(std::move(finding));
  origin.network = std::move(network);
}

}  // namespace roofmark
