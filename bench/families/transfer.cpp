// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/families/transfer_notes.hpp"
#include "bench/support/case_request.hpp"
#include "harness/measure/slots.hpp"
#include "harness/model/units.hpp"

namespace roofmark::transfer {

std::vector<std::size_t> transfer_sizes() {
  constexpr std::size_t kSmallest = 64, kLargest = std::size_t{4} << 30;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

namespace {

constexpr std::size_t kSmallestBatch = 4 * kKiB;

/// Making and checking larger ones takes longer than timing them, and the links' ceilings are measured with 256 MiB.
const std::vector<std::size_t> kQuickSizes = {64, 16 * kKiB, kMiB, 16 * kMiB, 64 * kMiB};
const std::vector<std::size_t> kFewSizes = {kMiB, 64 * kMiB, kGiB};
const std::vector<std::size_t> kColdSizes = {64 * kKiB, kMiB, 16 * kMiB, 64 * kMiB};

/// Why slots cannot keep the caches cold; empty if they can.
std::string why_not_cold(const Case& c, const LastLevelCaches& caches, const SlotPlan& plan) {
  if (c.host_slot_bytes && caches.host == 0) return "the kernel does not report the size of the host's last-level cache";
  if (plan.cache_by == "slots") return {};
  return fmt::format("more than {} copies would have to rotate to exceed 4 times the last-level cache ({})",
                     c.protocol.most_slots, format_bytes(static_cast<double>(std::max(caches.device, caches.host))));
}

struct ColdCase {
  Case made;
  std::string obstacle;  ///< why slots cannot keep the caches cold; empty if they can
  bool by_size;          ///< it is too large for the caches anyway
};

/// `point` is cold. Unsupported where slots cannot keep the caches cold.
ColdCase cold_case(const DeviceInfo& device, const TransferPoint& point) {
  Case made = transfer_case(device, point);
  const LastLevelCaches caches = last_level_caches(device);
  const SlotPlan plan = plan_slots(made, caches, std::numeric_limits<std::size_t>::max());
  const std::string obstacle = why_not_cold(made, caches, plan);
  if (made.unsupported.empty()) made.unsupported = obstacle;
  return {std::move(made), obstacle, plan.cache_by == "size"};
}

/// The transfer and, in the larger suites, the same with cold caches, unless --cache names one of the two: at a handful of
/// sizes, in the suite full at all that slots can keep cold. Larger ones are cold by themselves.
Group warm_and_cold(const CaseList& list, TransferPoint point) {
  const Listing& listing = list.listing();
  Group group{{transfer_case(listing.device, point)}, {}};
  const bool offered = listing.suite == SuiteName::baseline || listing.suite == SuiteName::full;
  if (!offered || listing.cache == Cache::warm) return group;
  point.cache = Cache::cold;
  auto [cold, obstacle, by_size] = cold_case(listing.device, point);
  const bool few = std::find(kColdSizes.begin(), kColdSizes.end(), point.bytes) != kColdSizes.end();
  const bool wanted = few || (listing.suite == SuiteName::full && obstacle.empty());
  if (by_size || !wanted) return group;
  group.comparisons = {compare(group.cases.front(), cold)};
  group.cases.push_back(std::move(cold));
  if (listing.cache == Cache::cold) group = {{std::move(group.cases.back())}, {}};
  return group;
}

/// Each direction alone, of some with cold caches too, and both at once, so that their blocks alternate where all fit the
/// host's memory beside one another.
void add_both_ways(CaseList& list, TransferPoint point) {
  Group together;
  for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host, TransferOp::both}) {
    point.op = op;
    const bool has_cold =
        op != TransferOp::both && point.memory == HostMemoryKind::pinned && !point.node && point.by == TransferBy::copy_engine;
    Group added = has_cold ? warm_and_cold(list, point) : Group{{transfer_case(list.listing().device, point)}, {}};
    if (point.bytes > kLargeTransfer) {
      list.add(std::move(added));
      continue;
    }
    std::move(added.cases.begin(), added.cases.end(), std::back_inserter(together.cases));
    std::move(added.comparisons.begin(), added.comparisons.end(), std::back_inserter(together.comparisons));
  }
  if (!together.cases.empty()) list.add(std::move(together));
}

void add_one_way(CaseList& list, TransferPoint point, TransferOp op) {
  point.op = op;
  list.add(transfer_case(list.listing().device, point));
}
void add_each_way(CaseList& list, const TransferPoint& point) {
  for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host}) add_one_way(list, point, op);
}

void list_near(CaseList& list, const std::vector<std::size_t>& sizes, const std::vector<std::size_t>& few) {
  for (const std::size_t bytes : sizes) {
    add_both_ways(list, {.bytes = bytes});
    add_both_ways(list, {.bytes = bytes, .by = TransferBy::sm});
    add_each_way(list, {.bytes = bytes, .memory = HostMemoryKind::pageable});
  }
  for (const std::size_t bytes : few) {
    if (bytes >= kSmallestBatch) add_both_ways(list, {.bytes = bytes, .by = TransferBy::batched});
    add_both_ways(list, {.bytes = bytes, .memory = HostMemoryKind::registered});
    add_each_way(list, {.bytes = bytes, .memory = HostMemoryKind::write_combined});
    add_each_way(list, {.bytes = bytes, .memory = HostMemoryKind::managed});
    // Pages migrate to the processor that touches them: an SM's stores would move the target to the device.
    add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::managed, .by = TransferBy::sm}, TransferOp::host_to_device);
  }
}

/// Host memory in huge and in small pages, where the program may choose them.
void list_pages(CaseList& list) {
  for (const HostMemoryKind kind : {HostMemoryKind::pageable, HostMemoryKind::registered}) {
    for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host}) {
      TransferPoint point{.op = op, .bytes = kLargeTransfer, .memory = kind, .huge_pages = true};
      Group group = {{transfer_case(list.listing().device, point)}, {}};
      point.huge_pages = false;
      group.cases.push_back(transfer_case(list.listing().device, point));
      group.comparisons = {compare(group.cases[0], group.cases[1])};
      list.add(std::move(group));
    }
  }
}

TransferPoint managed_copy() {
  return {.op = TransferOp::managed_copy, .memory = HostMemoryKind::managed, .by = TransferBy::sm};
}

/// A kernel that touches more managed memory than the device has, and one whose memory fits. In one group the pages of one
/// would have to leave the device while the other is timed.
void list_oversubscription(CaseList& list) {
  TransferPoint fits = managed_copy(), exceeds = managed_copy();
  fits.of_memory = 0.5;
  exceeds.of_memory = 1.25;
  const Case within = transfer_case(list.listing().device, fits), beyond = transfer_case(list.listing().device, exceeds);
  list.add(within);
  list.add(beyond);
  list.add_across_groups(compare_rates(within, beyond));
}

TransferPoint host_copy(std::size_t bytes, int from, int to) {
  return {.op = TransferOp::host_copy,
          .bytes = bytes,
          .memory = HostMemoryKind::pageable,
          .node = from,
          .to_node = to,
          .by = TransferBy::memcpy};
}

/// The NUMA nodes of the host; at least one.
std::vector<int> nodes_of(const DeviceInfo& device) {
  return device.host_nodes.empty() ? std::vector<int>{0} : device.host_nodes;
}

void list_gpu(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  const SuiteName suite = list.listing().suite;
  list_peers(list);
  if (suite == SuiteName::quick) {
    for (const std::size_t bytes : kQuickSizes) add_both_ways(list, {.bytes = bytes});
    return;
  }
  list_copies_beside_product(list);
  const std::vector<std::size_t> few = suite == SuiteName::full ? transfer_sizes() : kFewSizes;
  list_near(list, transfer_sizes(), few);
  list_pages(list);
  if (!list.listing().is_alone) return;
  if (suite == SuiteName::full) list_oversubscription(list);
  for (const int node : device.host_nodes) {
    if (device.host_nodes.size() < 2 || node == device.near_node) continue;
    for (const std::size_t bytes : few) {
      add_both_ways(list, {.bytes = bytes, .node = node});
      if (suite != SuiteName::full) continue;
      add_both_ways(list, {.bytes = bytes, .node = node, .by = TransferBy::sm});
      for (const HostMemoryKind kind : {HostMemoryKind::pageable, HostMemoryKind::registered, HostMemoryKind::managed}) {
        add_each_way(list, {.bytes = bytes, .memory = kind, .node = node});
      }
      add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::write_combined, .node = node}, TransferOp::host_to_device);
      if (bytes >= kSmallestBatch) add_both_ways(list, {.bytes = bytes, .node = node, .by = TransferBy::batched});
    }
  }
  // What the host itself copies is often the limit where several GPUs copy at once.
  const std::vector<int> nodes = nodes_of(device);
  for (const int from : nodes) {
    for (const int to : nodes) list.add(transfer_case(device, host_copy(large_host_copy(device), from, to)));
  }
}

void list_cpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  const std::vector<int> nodes = nodes_of(list.listing().device);
  std::vector<std::size_t> sizes = transfer_sizes();
  std::size_t large = large_host_copy(list.listing().device);
  // Making and checking more takes longer than timing it. A virtual machine may state a cache of hundreds of MiB.
  if (suite == SuiteName::quick) {
    const std::size_t last_level = host_last_level_bytes(list.listing().device);
    large = last_level > 0 ? std::min(std::bit_ceil(4 * last_level), kLargeTransfer) : kLargeTransfer;
  }
  if (suite == SuiteName::quick) sizes = {64, kMiB, large};
  for (const int from : nodes) {
    for (const int to : nodes) {
      for (const std::size_t bytes : sizes) {
        const bool first = from == nodes.front() && to == from;
        if (first) {
          list.add(warm_and_cold(list, host_copy(bytes, from, to)));
        } else if (suite == SuiteName::full || bytes >= large) {
          list.add(transfer_case(list.listing().device, host_copy(bytes, from, to)));
        }
      }
    }
  }
}

void list_contract(CaseList& list) {
  for (const std::size_t bytes : {1, 15, 64, 1009, 70001}) {
    for (const std::size_t offset : {0, 3}) {
      const auto add_at_offset = [&](TransferPoint point) {
        point.offset = offset;
        list.add(transfer_case(list.listing().device, point));
      };
      add_at_offset(host_copy(bytes, 0, 0));
      if (!list.on_gpu()) {
        TransferPoint point = host_copy(bytes, 0, 0);
        point.cache = Cache::cold;
        add_at_offset(point);
        continue;
      }
      for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host}) {
        add_at_offset({.op = op, .bytes = bytes, .cache = Cache::cold});
      }
      TransferPoint managed = managed_copy();
      managed.bytes = bytes;
      add_at_offset(managed);
      add_both_ways(list, {.bytes = bytes, .offset = offset});
      add_both_ways(list, {.bytes = bytes, .by = TransferBy::batched, .offset = offset});
      add_both_ways(list, {.bytes = bytes, .by = TransferBy::sm, .offset = offset});
      for (const HostMemoryKind kind : {HostMemoryKind::pageable, HostMemoryKind::registered, HostMemoryKind::managed}) {
        add_each_way(list, {.bytes = bytes, .memory = kind, .offset = offset});
      }
      add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::managed, .by = TransferBy::sm, .offset = offset},
                  TransferOp::host_to_device);
      add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::write_combined, .offset = offset},
                  TransferOp::host_to_device);
    }
  }
  list_peer_contract(list);
  if (list.on_gpu()) list_copies_beside_product(list);
}

}  // namespace

/// Of any size; Sizes::bytes sees to it that a suite has the transfer of some size.
std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  constexpr TransferOp kOps[] = {TransferOp::host_to_device, TransferOp::device_to_host, TransferOp::both,
                                 TransferOp::host_copy,      TransferOp::peer,           TransferOp::peer_both,
                                 TransferOp::peer_round,     TransferOp::one_to_all,     TransferOp::all_to_one};
  constexpr TransferBy kBys[] = {
      TransferBy::copy_engine, TransferBy::copy_engine_read, TransferBy::copy_engine_write, TransferBy::sm,
      TransferBy::sm_read,     TransferBy::sm_write,         TransferBy::batched,           TransferBy::memcpy};
  constexpr HostMemoryKind kKinds[] = {HostMemoryKind::pageable, HostMemoryKind::pinned, HostMemoryKind::registered,
                                       HostMemoryKind::write_combined, HostMemoryKind::managed};
  const auto* const op =
      std::find_if(std::begin(kOps), std::end(kOps), [&](TransferOp one) { return name(one) == asked.operation(); });
  const int gpus = gpus_within_reach(listing.fabric);
  if (op == std::end(kOps) || asked.has("others")) return std::nullopt;
  const DeviceInfo& device = listing.device;
  const bool between = is_between_gpus(*op);
  const bool pair = *op == TransferOp::peer || *op == TransferOp::peer_both;
  if (gpus < 2 && ((between && !pair) || (asked.has("gpu") && !asked.is_or("gpu", "0", "")))) {
    Case c;
    static_cast<CaseName&>(c) = asked.case_name();
    c.unsupported = why_unreached(listing.fabric);
    return c;
  }
  const auto index = [&](std::string_view key, int most) {
    return asked.has(key) ? static_cast<int>(asked.number(key, 0, most)) : 0;
  };
  TransferPoint point;
  if (*op == TransferOp::host_copy) {
    const int first = nodes_of(device).front(), most = std::numeric_limits<int>::max();
    point = host_copy(0, asked.has("from") ? index("from", most) : first, asked.has("to") ? index("to", most) : first);
  } else if (between) {
    point.by = TransferBy::copy_engine_read;
    constexpr int kOutOfReach = 1023;  // and said so
    const int last = gpus < 2 ? kOutOfReach : gpus - 1;
    point.from = index("from", last);
    point.to = asked.has("to") ? index("to", last) : *op == TransferOp::all_to_one ? 0 : 1;
    if (pair && point.from == point.to) throw NotTogether("from and to are the same GPU (without `to`, it is 1)");
    // In both directions at once there is no first one.
    if (*op == TransferOp::peer_both && point.to < point.from) std::swap(point.from, point.to);
    if (!pair) point.round = index("round", static_cast<int>(rounds_of_pairs(gpus).size()) - 1);
    point.access = !asked.is_or("access", "off", "on");
  } else {
    point.memory = asked.one_of("memory", kKinds, HostMemoryKind::pinned);
    if (!asked.is_or("node", "near", "near")) point.node = index("node", std::numeric_limits<int>::max());
    if (asked.has("pages")) point.huge_pages = asked.is_or("pages", "huge", "");
    point.all_gpus = asked.is_or("gpu", "all", "");
    if (asked.has("gpu") && !point.all_gpus) point.gpu = index("gpu", gpus - 1);
    if (point.gpu == cuda_ordinal(device)) point.gpu.reset();
  }
  point.op = *op;
  point.bytes = asked.amount("bytes");
  point.by = asked.one_of("impl", kBys, point.by);
  point.cache = listing.cache.value_or(Cache::warm);
  return point.cache == Cache::cold ? cold_case(device, point).made : transfer_case(device, point, listing.fabric);
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark::transfer
