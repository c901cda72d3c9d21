// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "bench/support/listing.hpp"

namespace roofmark {

/// Which way bytes go. both: each way at once, on two streams. host_copy: from host memory to host memory.
enum class TransferOp { host_to_device, device_to_host, both, host_copy };

/// Who moves them: a GPU's copy engine, its SMs by reads or by writes of host memory, its copy engine by one call for many
/// pieces, or the host's threads.
enum class TransferBy { copy_engine, sm_read, sm_write, batched, memcpy };

struct TransferPoint {
  TransferOp op = TransferOp::host_to_device;
  std::size_t bytes = 0;  ///< in each direction
  HostMemoryKind memory = HostMemoryKind::pinned;
  /// NUMA node of the host memory, and of host_copy the node it is copied to; absent: the one near the device.
  std::optional<int> node = {}, to_node = {};
  TransferBy by = TransferBy::copy_engine;
  std::size_t offset = 0;  ///< of both ends, in bytes from an aligned address
};

Case transfer_case(const DeviceInfo& device, const TransferPoint& point);

/// The largest transfer of a suite that must not take long.
inline constexpr std::size_t kLargeTransfer = std::size_t{256} << 20;
/// The same of a CPU, where a copy of it is not served by the caches.
std::size_t large_host_copy(const DeviceInfo& device);

}  // namespace roofmark
