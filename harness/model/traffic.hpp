// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/device/device.hpp"
#include "harness/model/protocol.hpp"
#include "harness/model/work.hpp"

namespace roofmark {

/// The caches that hold bytes from one launch to the next, innermost first. Of a GPU that is the last level, since SMs lose
/// their L1 contents between launches.
std::span<const CacheLevel> lasting_caches(const DeviceInfo& device);
/// What they hold together: whether a level has copies of what is inside it, or only what was evicted from there, is unknown.
double lasting_cache_bytes(const DeviceInfo& device);

/// The demands on the memory levels of a launch that touches `touched` bytes and must move `moved` of them: what the operation
/// reads and writes, as often as it does. `updated` of the bytes touched are read and written again.
///
/// What lies outside of caches of H bytes may deliver less, whatever the caches replace and in whatever order the launch works:
///   - Bytes that are read several times are fetched once, updated ones are fetched once and written once:
///     once = moved, but at most touched + updated.
///   - Each byte that the caches hold from one launch to the next saves its transfer, an updated one two:
///     saved(H) = H + (H, at most `updated`).
/// So they leave left(H) = once - saved(H) where the launch touches less than 4 H. From there on left(H) = once: caches that
/// exist save next to nothing (one that replaces at random 2 %). C: the size of a level, H: of all inside it, S: of all.
///   warm, touched < 4 (H + C)   the first level: moved; each other: left(H), at most saved(H + C) - saved(H)
///   warm, touched < 4 S         DRAM: left(S)
///   warm, from 4 S; no cache    DRAM: once; caches may serve saved(S) of it
///   cold                        DRAM: once; caches may serve saved(S), at most that of S / (4 LLC) of the bytes, since all
///                               slots together exceed 4 times the last-level cache (LLC)
/// A first level that delivers some bytes several times has its demand in any case. A demand of nothing is left out.
Phase memory_demands(const DeviceInfo& device, double touched, double moved, Cache cache, double updated = 0);

}  // namespace roofmark
