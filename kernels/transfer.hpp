// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// One copy: to[i] = from[i] for i < bytes. The two do not overlap and may be unaligned.
struct CopyRange {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};

enum class CopyWay { host_to_device, device_to_host };

/// Copies enqueued by one call; their order is undefined.
class CopyBatch {
 public:
  virtual ~CopyBatch() = default;
  virtual void launch(Stream stream) = 0;
};

/// Copies between host and device memory, between the memory of two devices, or from host to host memory. Null: not supported
/// on the device.
struct TransferKernels {
  /// By the copy engine of a GPU (cudaMemcpyAsync). Pageable memory is staged by the calling thread, which waits. The direction
  /// is explicit: by addresses, managed memory would count as the device's.
  void (*by_copy_engine)(const CopyRange& range, CopyWay way, Stream stream) = nullptr;
  /// From the memory of one GPU to another's, by the copy engine of the stream's GPU. If neither has access to the other's
  /// memory, the driver stages the bytes in the host's.
  void (*between_gpus)(const CopyRange& range, Stream stream) = nullptr;
  /// By loads and stores of the current device's SMs, 16 bytes per thread if both sides are equally aligned. The device must be
  /// able to access both. `at_once`: number of concurrent copies that share the SMs.
  void (*by_sm)(const CopyRange& range, int at_once, Stream stream) = nullptr;
  /// By cudaMemcpyBatchAsync, of CUDA 13 on. Launching throws Unsupported if the driver lacks it.
  std::unique_ptr<CopyBatch> (*batch)(const std::vector<CopyRange>& ranges) = nullptr;
  /// The device's address of host memory that it reaches: pinned, registered, or write-combined.
  void* (*device_address)(void* host) = nullptr;

  /// By memcpy on these threads of the OpenMP team, each a share.
  void (*by_threads)(const CopyRange& range, const std::vector<int>& threads) = nullptr;
  /// The threads of the OpenMP team that run on these CPUs; all threads if none does.
  std::vector<int> (*threads_on)(const std::vector<int>& cpus) = nullptr;
};

namespace cuda {
ROOFMARK_KERNELS TransferKernels transfer;
}
namespace cpu {
ROOFMARK_KERNELS TransferKernels transfer;
}

}  // namespace roofmark
