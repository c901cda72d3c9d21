// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "bench/support/fabric.hpp"
#include "harness/model/transfer.hpp"

namespace roofmark::transfer {

/// The fewest NVLinks of a pair of GPUs between which it has a flow; absent without NVLink, and where that is unknown.
std::optional<int> fewest_nvlinks(const Transfer& transfer, const Fabric& fabric);

/// Whether a GPU's links to other GPUs, NVLink or PCIe, are as wide and fast as those of the first, whose ceilings are
/// measured.
bool has_peer_links_of_first(const RankInfo& member, const Fabric& fabric);

/// Sets Demand::part of the demands on links of which a transfer has a part only:
///   peer_in, peer_out                between two GPUs, as many of the NVLinks that the ceilings count as connect these two
///   host_to_device, device_to_host   of several GPUs below one port of the host, what that port's link leaves to each where
///                                    the kernel states its rate; it may carry more than the link of a GPU
/// The busiest link still counts: one GPU that sends to three others by 4 NVLinks each has all 12 of its own.
void take_part_of_links(Phase& demands, const Transfer& transfer, const Fabric& fabric, const DeviceInfo& device);

}  // namespace roofmark::transfer
