// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"

namespace roofmark {

/// The innermost cache that holds `touched` bytes from one launch to the next (at most half of it, so that hashing and
/// neighbours leave it room), or null. A GPU's SMs forget their L1 between launches: there only the last level counts.
const CacheLevel* resident_level(const DeviceInfo& device, double touched);

/// What a launch demands of the memory levels when it touches `touched` bytes and must move `moved` of them (each input read
/// once, each output written once). LLC: the bytes of the last-level cache.
///   warm, the set fits a level (resident_level)   that level: moved
///   warm, up to 4 LLC                             DRAM: moved - LLC, which the best replacement could not save; LLC: moved
///   warm, from 4 LLC; no cache known              DRAM: moved, of which a cache may serve LLC bytes
///   cold                                          DRAM: moved, of which a cache may serve as large a share as LLC has of the
///                                                 slots, that is of 4 LLC or of `touched`
Phase memory_demands(const DeviceInfo& device, double touched, double moved, Cache cache);

}  // namespace roofmark
