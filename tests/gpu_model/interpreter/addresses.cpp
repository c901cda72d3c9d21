// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "addresses.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>

#include "lanes.hpp"
#include "proxies.hpp"
#include "races.hpp"

namespace gpu_model {
namespace {

std::mutex allowed_mutex;
struct Allowed {
  Range range;
  int owner = everyone;
};
std::map<u64, Allowed> allowed;  // by base
std::atomic<u64> allowed_version{1};

/// True where a range holds [first, past). The recent ones answer most accesses without a search.
bool recently_hit(const Launch& launch, u64 first, u64 past) {
  if (launch.last_range.contains(first, past)) return true;
  if (launch.recent_seen != allowed_version.load(std::memory_order_relaxed)) return false;
  return std::any_of(launch.recent_ranges.begin(), launch.recent_ranges.end(),
                     [&](const Range& range) { return range.contains(first, past); });
}

void remember_last_range(Launch& launch) {
  const u64 version = allowed_version.load(std::memory_order_relaxed);
  if (launch.recent_seen != version) {
    launch.recent_seen = version;
    launch.recent_ranges.fill({});
  }
  launch.recent_ranges[launch.recent_next++ % launch.recent_ranges.size()] = launch.last_range;
}

/// Makes the range that holds [first, past) the last one; false where none does.
bool find_range(Launch& launch, u64 first, u64 past) {
  const auto after = std::upper_bound(launch.ranges.begin(), launch.ranges.end(), first,
                                      [](u64 address, const Range& range) { return address < range.base; });
  if (after == launch.ranges.begin() || !std::prev(after)->contains(first, past)) return false;
  launch.last_range = *std::prev(after);
  return true;
}

[[noreturn]] void fault_outside(Warp& w, const Instruction& i, int lane, u64 address, u64 bytes, bool write) {
  char text[192];
  std::snprintf(text, sizeof text, "%s of %llu bytes at 0x%llx is outside every allocation", write ? "write" : "read",
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(address));
  std::string message = text;
  const std::vector<Range>& ranges = w.launch->ranges;
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), address, [](u64 a, const Range& range) { return a < range.base; });
  if (after != ranges.begin()) {
    const Range& below = *std::prev(after);
    std::snprintf(text, sizeof text, " (%llu bytes past the start of one of %llu bytes)",
                  static_cast<unsigned long long>(address - below.base),
                  static_cast<unsigned long long>(below.end - below.base));
    message += text;
  }
  fault(Fault::Kind::illegal_address, w, i, lane, message);
}

u64 local_pointer(Warp& w, const Instruction& i, int lane, u64 offset, u32 bytes) {
  const u64 per_thread = w.body->local_bytes;
  if (offset > per_thread || bytes > per_thread - offset)
    fault(Fault::Kind::illegal_address, w, i, lane, "local address out of range");
  return reinterpret_cast<u64>(w.block->local.data()) + (w.id * 32 + static_cast<u32>(lane)) * per_thread + offset;
}

u64 generic_pointer(Warp& w, const Instruction& i, int lane, u64 address, u32 bytes, bool write) {
  if (address >= local_window) return local_pointer(w, i, lane, address - local_window, bytes);
  if (address >= shared_window)
    return reinterpret_cast<u64>(shared_access(w, i, lane, static_cast<u32>(address - shared_window), bytes, write));
  check_global(w, i, lane, address, bytes, write);
  return address;
}

void resolve_global(Warp& w, const Instruction& i, u32 mask, const u64* addresses, u32 bytes, bool write, u64 lowest,
                    u64 highest) {
  Launch& launch = *w.launch;
  if (recently_hit(launch, lowest, highest + bytes)) return;
  const int first = first_lane(mask);
  check_global(w, i, first, addresses[first], bytes, write);
  remember_last_range(launch);
  if (launch.last_range.contains(lowest, highest + bytes)) return;
  for (const u32 lane : Lanes(mask)) check_global(w, i, lane, addresses[lane], bytes, write);
}

/// Calls pointer_of(lane) for the lanes of the mask; the others get the first one's pointer.
template <class PointerOf>
void resolve_each(u32 mask, u64* addresses, PointerOf pointer_of) {
  for (const u32 lane : Lanes(mask)) addresses[lane] = pointer_of(lane);
  for (const u32 lane : Lanes(~mask)) addresses[lane] = addresses[first_lane(mask)];
}

}  // namespace

void allow_range(const void* base, std::size_t bytes, int owner) {
  const std::lock_guard lock(allowed_mutex);
  const u64 first = reinterpret_cast<u64>(base);
  allowed[first] = {{first, first + bytes}, owner};
  ++allowed_version;
}

void forbid_range(const void* base) {
  const std::lock_guard lock(allowed_mutex);
  allowed.erase(reinterpret_cast<u64>(base));
  ++allowed_version;
}

std::vector<Range> allowed_ranges(u64 owners, u64& version) {
  const std::lock_guard lock(allowed_mutex);
  std::vector<Range> ranges;
  ranges.reserve(allowed.size());
  for (const auto& [base, one] : allowed) {
    if (one.owner == everyone || (owners >> one.owner & 1)) ranges.push_back(one.range);
  }
  version = allowed_version;
  return ranges;
}

void gather(const Warp& w, u32 row, u8 size, s64 offset, u64* out) {
  if (size == 8) {
    const u64* values = w.row<u64>(row);
    for (u32 lane = 0; lane < 32; ++lane) out[lane] = values[lane] + static_cast<u64>(offset);
  } else if (size == 4) {
    const u32* values = w.row<u32>(row);
    for (u32 lane = 0; lane < 32; ++lane) out[lane] = values[lane] + static_cast<u32>(offset);
  } else {
    const u16* values = w.row<u16>(row);
    for (u32 lane = 0; lane < 32; ++lane) out[lane] = values[lane] + static_cast<u32>(offset);
  }
}

void resolve(Warp& w, const Instruction& i, u32 mask, u64* addresses, u32 bytes, bool write) {
  const Launch& launch = *w.launch;
  const int first = first_lane(mask);
  for (const u32 lane : Lanes(~mask)) addresses[lane] = addresses[first];
  u64 lowest = addresses[0], highest = addresses[0], bits = 0;
  for (u32 lane = 0; lane < 32; ++lane) {
    lowest = std::min(lowest, addresses[lane]);
    highest = std::max(highest, addresses[lane]);
    bits |= addresses[lane];
  }
  if (bits & (bytes - 1))
    for (const u32 lane : Lanes(mask))
      if (addresses[lane] & (bytes - 1)) fault_misaligned(w, i, lane, addresses[lane], bytes);
  switch (i.space) {
    case Space::generic:
      if (highest >= shared_window)
        resolve_each(mask, addresses, [&](int lane) { return generic_pointer(w, i, lane, addresses[lane], bytes, write); });
      else
        resolve_global(w, i, mask, addresses, bytes, write, lowest, highest);
      return;
    case Space::global:
    case Space::constant:
      resolve_global(w, i, mask, addresses, bytes, write, lowest, highest);
      return;
    case Space::shared:
    case Space::cluster:
      // The common case: all lanes inside the own block, and nothing to track.
      if (lowest >= launch.shared_base && highest + bytes <= launch.shared_base + launch.shared_bytes && !launch.race &&
          (!write || w.block->generic_writes.empty())) {
        const u64 shift = reinterpret_cast<u64>(w.block->shared.data()) - launch.shared_base;
        for (u32 lane = 0; lane < 32; ++lane) addresses[lane] += shift;
        return;
      }
      resolve_each(mask, addresses, [&](int lane) {
        return reinterpret_cast<u64>(shared_access(w, i, lane, static_cast<u32>(addresses[lane]), bytes, write));
      });
      return;
    case Space::local:
      resolve_each(mask, addresses, [&](int lane) { return local_pointer(w, i, lane, addresses[lane], bytes); });
      return;
    case Space::param:
      if (highest + bytes > w.body->param_bytes)
        fault(Fault::Kind::illegal_address, w, i, first, "parameter address out of range");
      for (u32 lane = 0; lane < 32; ++lane) addresses[lane] += reinterpret_cast<u64>(launch.params);
      return;
  }
}

void check_global(Warp& w, const Instruction& i, int lane, u64 address, u64 bytes, bool write) {
  Launch& launch = *w.launch;
  const u64 past = address + bytes;
  if (launch.last_range.contains(address, past) || find_range(launch, address, past)) return;
  if (allowed_version.load(std::memory_order_relaxed) != launch.ranges_seen) {
    launch.ranges = allowed_ranges(launch.owners, launch.ranges_seen);
    if (find_range(launch, address, past)) return;
  }
  const u64 params = reinterpret_cast<u64>(launch.params);
  if (!write && Range{params, params + launch.body->param_bytes}.contains(address, past)) return;
  fault_outside(w, i, lane, address, bytes, write);
}

Block& block_of(Warp& w, const Instruction& i, int lane, u32 address) {
  const u32 rank_and_one = address >> rank_shift;
  if (rank_and_one == 0) return *w.block;
  if (rank_and_one > w.cluster->blocks.size())
    fault(Fault::Kind::illegal_address, w, i, lane, "shared::cluster address of no block of the cluster");
  return *w.cluster->blocks[rank_and_one - 1];
}

u8* shared_pointer(Warp& w, const Instruction& i, int lane, u32 address, u32 bytes, Block** owner) {
  const Launch& launch = *w.launch;
  Block& block = block_of(w, i, lane, address);
  const u32 in_block = address & offset_mask;
  if (in_block < launch.shared_base || u64{in_block} + bytes > launch.shared_base + launch.shared_bytes)
    fault(Fault::Kind::illegal_address, w, i, lane,
          "shared address " + std::to_string(in_block) + " (+" + std::to_string(bytes) + ") is outside the block's " +
              std::to_string(launch.shared_bytes) + " bytes from " + std::to_string(launch.shared_base));
  if (&block != w.block && block.live_warps == 0)
    fault(Fault::Kind::illegal_address, w, i, lane, "shared memory of a block of the cluster that has exited");
  if (owner) *owner = &block;
  return block.shared.data() + (in_block - launch.shared_base);
}

u8* shared_access(Warp& w, const Instruction& i, int lane, u32 address, u32 bytes, bool write) {
  Block* owner = nullptr;
  u8* pointer = shared_pointer(w, i, lane, address, bytes, &owner);
  const u32 offset = static_cast<u32>(pointer - owner->shared.data());
  if (write) note_generic_write(w, *owner, offset, bytes);
  race_access(w, i, lane, *owner, offset, bytes, write);
  return pointer;
}

}  // namespace gpu_model
