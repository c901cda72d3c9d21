// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/device/device.hpp"
#include "harness/judge/gpu_table.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

/// A device as its vendor publishes it: what it should be, where none is at hand. Its memory is all free.
DeviceInfo specified_device(const std::string& name, const Sku& sku);

/// The ceilings of a device from its specification, each with its source:
///   theoretical  SMs x highest clock x operations per clock per SM; DRAM: bus width x memory clock x 2 / 8; from and to the
///   host:
///                what the PCIe link carries at its width, or NVLink-C2C; all as read
///   datasheet    the vendor's figure where the SKU is known, at the clock that the vendor assumed
/// A GPU that is not in the data file has the ceilings of its attributes, and `sku` stays empty; with an unknown compute
/// capability only DRAM has a ceiling. The CPU has none.
Roofline theoretical_roofline(const DeviceInfo& device, std::string* sku = nullptr);

/// Of the links of a GPU that has peers, from and to them: all its NVLinks, or PCIe where it has none; as read.
Roofline theoretical_peer_links(const DeviceInfo& device);

}  // namespace roofmark
