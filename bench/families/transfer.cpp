// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/transfer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace roofmark {

std::vector<std::size_t> transfer_sizes() {
  constexpr std::size_t kSmallest = 64, kLargest = std::size_t{4} << 30;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

namespace {

constexpr std::size_t kKiB = std::size_t{1} << 10, kMiB = std::size_t{1} << 20, kGiB = std::size_t{1} << 30;
constexpr std::size_t kSmallestBatch = 4 * kKiB;

const std::vector<std::size_t> kQuickSizes = {64, 16 * kKiB, kMiB, 16 * kMiB, kLargeTransfer};
const std::vector<std::size_t> kFewSizes = {kMiB, 64 * kMiB, kGiB};

/// Each direction alone and both at once, so that their blocks alternate where all fit the host's memory beside one another.
void add_both_ways(CaseList& list, TransferPoint point) {
  Group together;
  for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host, TransferOp::both}) {
    point.op = op;
    Case c = transfer_case(list.listing().device, point);
    if (point.bytes > kLargeTransfer) {
      list.add(std::move(c));
    } else {
      together.cases.push_back(std::move(c));
    }
  }
  if (!together.cases.empty()) list.add(std::move(together));
}

void add_one_way(CaseList& list, TransferPoint point, TransferOp op) {
  point.op = op;
  if (by_sm(point.by)) point.by = op == TransferOp::host_to_device ? TransferBy::sm_read : TransferBy::sm_write;
  list.add(transfer_case(list.listing().device, point));
}
void add_each_way(CaseList& list, const TransferPoint& point) {
  for (const TransferOp op : {TransferOp::host_to_device, TransferOp::device_to_host}) add_one_way(list, point, op);
}

void list_near(CaseList& list, const std::vector<std::size_t>& sizes, const std::vector<std::size_t>& few) {
  for (const std::size_t bytes : sizes) {
    add_both_ways(list, {.bytes = bytes});
    add_each_way(list, {.bytes = bytes, .by = TransferBy::sm_read});
    add_each_way(list, {.bytes = bytes, .memory = HostMemoryKind::pageable});
  }
  for (const std::size_t bytes : few) {
    if (bytes >= kSmallestBatch) add_both_ways(list, {.bytes = bytes, .by = TransferBy::batched});
    add_each_way(list, {.bytes = bytes, .memory = HostMemoryKind::registered});
    // The host reads it too slowly for a check.
    add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::write_combined}, TransferOp::host_to_device);
    add_each_way(list, {.bytes = bytes, .memory = HostMemoryKind::managed});
    // Pages move to whoever touches them: stores of an SM would bring the target to the device.
    add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::managed, .by = TransferBy::sm_read},
                TransferOp::host_to_device);
  }
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
  for (const int node : device.host_nodes) {
    if (device.host_nodes.size() < 2 || node == device.near_node) continue;
    for (const std::size_t bytes : few) add_both_ways(list, {.bytes = bytes, .node = node});
  }
}

void add_host_copy(CaseList& list, std::size_t bytes, int from, int to, std::size_t offset = 0) {
  list.add(transfer_case(list.listing().device, {.op = TransferOp::host_copy,
                                                 .bytes = bytes,
                                                 .memory = HostMemoryKind::pageable,
                                                 .node = from,
                                                 .to_node = to,
                                                 .by = TransferBy::memcpy,
                                                 .offset = offset}));
}

void list_cpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  std::vector<int> nodes = list.listing().device.host_nodes;
  if (nodes.empty()) nodes = {0};
  std::vector<std::size_t> sizes = transfer_sizes();
  const std::size_t large = large_host_copy(list.listing().device);
  if (suite == SuiteName::quick) {
    sizes = kQuickSizes;
    sizes.back() = large;
  }
  for (const int from : nodes) {
    for (const int to : nodes) {
      for (const std::size_t bytes : sizes) {
        const bool first = from == nodes.front() && to == from;
        if (first || suite == SuiteName::full || bytes >= large) add_host_copy(list, bytes, from, to);
      }
    }
  }
}

void list_contract(CaseList& list) {
  for (const std::size_t bytes : {1, 15, 64, 1009, 70001}) {
    for (const std::size_t offset : {0, 3}) {
      if (!list.on_gpu()) {
        add_host_copy(list, bytes, 0, 0, offset);
        continue;
      }
      add_both_ways(list, {.bytes = bytes, .offset = offset});
      add_both_ways(list, {.bytes = bytes, .by = TransferBy::batched, .offset = offset});
      add_each_way(list, {.bytes = bytes, .by = TransferBy::sm_read, .offset = offset});
      for (const HostMemoryKind kind : {HostMemoryKind::pageable, HostMemoryKind::registered, HostMemoryKind::managed}) {
        add_each_way(list, {.bytes = bytes, .memory = kind, .offset = offset});
      }
      add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::managed, .by = TransferBy::sm_read, .offset = offset},
                  TransferOp::host_to_device);
      add_one_way(list, {.bytes = bytes, .memory = HostMemoryKind::write_combined, .offset = offset},
                  TransferOp::host_to_device);
    }
  }
  list_peer_contract(list);
  if (list.on_gpu()) list_copies_beside_product(list);
}

}  // namespace

std::vector<Group> transfer(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark
