// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/device/device.hpp"
#include "harness/judge/gpu_table.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

/// The DeviceInfo of a SKU from its published specification, for use without a device. All memory is free.
DeviceInfo specified_device(const std::string& name, const Sku& sku);

/// Operations per clock per SM of a device: of its board, else of its class of card, else of its compute capability. It may be
/// too inexact for a ceiling (Figure::approximate). Null: unknown.
const Figure* operations_per_clock(const DeviceInfo& device, const Resource& resource);

/// The ceilings of a device from its specification, each with its source:
///   theoretical  SMs x highest clock x operations per clock per SM
///                DRAM: bus width (at most the SKU's) x memory clock x transfers per clock (2, or the SKU's) / 8
///                from and to the host: the narrowest PCIe link on the way, or NVLink-C2C
///                all from attributes read on the device
///   datasheet    the vendor's figure for a known SKU, at the clock that the vendor assumed
/// Where sources differ on the operations per clock, theoretical_at_most is by the highest of their figures.
/// A GPU that is not in the data file has ceilings from its attributes, and `sku` stays empty; with an unknown compute
/// capability only DRAM has a ceiling, and an integrated GPU not even that. The CPU has none.
Roofline theoretical_roofline(const DeviceInfo& device, std::string* sku = nullptr);

/// Ceilings of a GPU's links to and from its peers: its NVLinks, or PCIe where it has none or they lead to none of these peers.
/// `links`: number of the NVLinks that lead to these peers; absent: all.
Roofline theoretical_peer_links(const DeviceInfo& device, bool by_nvlink, std::optional<int> links = {});

}  // namespace roofmark
