// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/support/case_list.hpp"
#include "bench/support/fabric.hpp"
#include "harness/model/transfer.hpp"

namespace roofmark::transfer {

/// Which way bytes go.
enum class TransferOp {
  host_to_device,
  device_to_host,
  both,       ///< each of these ways at once
  host_copy,  ///< from host memory to host memory
  /// From managed memory to managed memory, whose pages start in the host's memory, by SMs: the pages come to the device, and
  /// where it has too little memory for all of them, others leave it.
  managed_copy,
  // Between GPUs.
  peer,        ///< from one to another
  peer_both,   ///< each way at once
  peer_round,  ///< each way between all pairs of a round of disjoint pairs
  one_to_all,
  all_to_one
};
std::string_view name(TransferOp op);
bool is_between_gpus(TransferOp op);

/// Who moves them: a GPU's copy engine, its SMs, its copy engine by one call for many pieces, or the host's threads. Between a
/// GPU and the host the GPU's SMs read the host's memory or write it, as the flow goes; several flows share the SMs. Between
/// GPUs the one that receives reads, or the one that sends writes.
enum class TransferBy { copy_engine, copy_engine_read, copy_engine_write, sm, sm_read, sm_write, batched, memcpy };
std::string_view name(TransferBy by);
inline bool by_sm(TransferBy by) { return by == TransferBy::sm || by == TransferBy::sm_read || by == TransferBy::sm_write; }

struct TransferPoint {
  TransferOp op = TransferOp::host_to_device;
  std::size_t bytes = 0;  ///< of each flow
  HostMemoryKind memory = HostMemoryKind::pinned;
  /// NUMA node of the host memory, and of host_copy the node it is copied to; absent: the one near the device.
  std::optional<int> node = {}, to_node = {};
  /// Of pageable and registered memory: whether its pages are huge or small, where that is what is compared; absent: huge
  /// where the kernel gives them.
  std::optional<bool> huge_pages = {};
  TransferBy by = TransferBy::copy_engine;
  Cache cache = Cache::warm;
  std::size_t offset = 0;  ///< of both ends, in bytes from an aligned address
  /// Of a transfer with the host: another GPU than the device under measurement, or all of them at the same time.
  std::optional<int> gpu = {};
  bool all_gpus = false;
  int from = 0, to = 0;  ///< GPUs, where the operation has them
  int round = 0;
  std::vector<int> others = {};  ///< GPUs, of one_to_all and all_to_one; empty: all others
  /// Between GPUs: whether they have access to each other's memory. Without it the driver stages the bytes in the host's.
  bool access = true;
  /// Of managed_copy, instead of `bytes`: source and copy together, over the device's memory.
  std::optional<double> of_memory = {};
};

/// Without a fabric, or with one of several processes, no GPU but the device is within reach.
Case transfer_case(const DeviceInfo& device, const TransferPoint& point, const Fabric* fabric = nullptr);

/// The GPUs of this process that transfers reach; 1 where no other is within reach.
int gpus_within_reach(const Fabric* fabric);

/// The transfers of a suite between GPUs, and of all GPUs with the host. Where one GPU alone is within reach, they say so.
void list_peers(CaseList& list);
void list_peer_contract(CaseList& list);

/// A matrix product alone, and beside copies between the GPU and the host: whether these slow it down.
void list_copies_beside_product(CaseList& list);

/// From 64 B to 4 GiB, by factors of 4.
std::vector<std::size_t> transfer_sizes();

/// The largest transfer of a suite that must not take long.
inline constexpr std::size_t kLargeTransfer = std::size_t{256} << 20;
/// Of the host's last-level caches; 0 if unknown.
std::size_t host_last_level_bytes(const DeviceInfo& device);
/// The same of a copy from host to host memory, which its caches do not serve.
std::size_t large_host_copy(const DeviceInfo& device);

}  // namespace roofmark::transfer
