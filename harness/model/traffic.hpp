// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/device.hpp"
#include "harness/model/protocol.hpp"
#include "harness/model/work.hpp"

namespace roofmark {

/// The innermost cache that holds `touched` bytes from one launch to the next, or null. They may fill half of it: cache hashing
/// and other cores use the rest. On a GPU only the last level counts, since SMs lose their L1 contents between launches.
const CacheLevel* resident_level(const DeviceInfo& device, double touched);

/// The demands on the memory levels of a launch that touches `touched` bytes and must move `moved` of them (each input read
/// once, each output written once). LLC: the size of the last-level cache.
///   warm, the set fits a level (resident_level)   that level: moved
///   warm, up to 4 LLC                             DRAM: moved - LLC, which no replacement can save; LLC: moved
///   warm, from 4 LLC; no cache known              DRAM: moved; a cache may serve LLC bytes of it
///   cold                                          DRAM: moved; a cache may serve LLC / (4 LLC or `touched`) of it
Phase memory_demands(const DeviceInfo& device, double touched, double moved, Cache cache);

}  // namespace roofmark
