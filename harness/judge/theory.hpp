// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "harness/device/device.hpp"
#include "harness/machine/json_fwd.hpp"
#include "harness/model/roofline.hpp"

namespace roofmark {

/// The data file of GPUs, built into the program: operations per clock per SM by compute capability, and the published figures
/// of each SKU, each with its source. Its "about" explains the fields.
const Json& gpu_data();

/// The entry of gpu_data()["skus"] for a GPU of this name as its driver reports it, or null. The whole name has to match: an
/// H200 NVL is no H200, and a MIG slice is none of them.
const Json* find_sku(const std::string& device_name);

/// A device as the data file describes it: what it should be, where none is at hand. Its memory is all free.
DeviceInfo specified_device(const std::string& name, const Json& sku);

/// The clock (a figure in MHz) that the published peak of a resource assumes: tensor peaks assume a lower one than vector
/// peaks, except fp64 tensor.
const Json& published_clock(const Json& sku, std::string_view resource_id);

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
