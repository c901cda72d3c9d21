// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "kernels/base/cuda.hpp"
#include "kernels/transfer.hpp"

namespace roofmark::cuda {
namespace {

constexpr int kThreads = 512;
constexpr std::size_t kVector = sizeof(uint4);

/// `head` bytes, then `vectors` of 16 bytes, then the rest of `bytes`.
__global__ void __launch_bounds__(kThreads)
    copy_range_kernel(unsigned char* to, const unsigned char* from, std::size_t head, std::size_t vectors, std::size_t bytes) {
  const std::size_t thread = std::size_t{blockIdx.x} * kThreads + threadIdx.x, threads = std::size_t{gridDim.x} * kThreads;
  const auto* const source = reinterpret_cast<const uint4*>(from + head);
  auto* const target = reinterpret_cast<uint4*>(to + head);
  for (std::size_t i = thread; i < vectors; i += threads) target[i] = source[i];
  const std::size_t tail = head + vectors * kVector, single = head + (bytes - tail);
  for (std::size_t i = thread; i < single; i += threads) {
    const std::size_t at = i < head ? i : tail + (i - head);
    to[at] = from[at];
  }
}

void by_copy_engine(const CopyRange& range, CopyWay way, Stream stream) {
  const cudaMemcpyKind kind = way == CopyWay::host_to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  check(cudaMemcpyAsync(range.to, range.from, range.bytes, kind, stream));
}

/// By the copy engine of the stream's GPU, which so reads or writes the other one's memory; cudaMemcpyPeerAsync leaves the
/// choice of the engine to the driver. The addresses say on which GPUs the ranges are.
void between_gpus(const CopyRange& range, Stream stream) {
  check(cudaMemcpyAsync(range.to, range.from, range.bytes, cudaMemcpyDefault, stream));
}

void by_sm(const CopyRange& range, int at_once, Stream stream) {
  if (range.bytes == 0) return;
  const auto to = reinterpret_cast<std::uintptr_t>(range.to), from = reinterpret_cast<std::uintptr_t>(range.from);
  std::size_t head = range.bytes, vectors = 0;
  if (to % kVector == from % kVector) {
    head = std::min(range.bytes, (kVector - to % kVector) % kVector);
    vectors = (range.bytes - head) / kVector;
  }
  const DeviceLimits& limits = device_limits();
  const std::size_t all = static_cast<std::size_t>(limits.multiprocessors) * limits.threads_per_multiprocessor / kThreads;
  const std::size_t resident = std::max(all / static_cast<std::size_t>(at_once), std::size_t{1});
  const std::size_t wanted = (std::max(vectors, range.bytes - vectors * kVector) + kThreads - 1) / kThreads;
  copy_range_kernel<<<static_cast<unsigned>(std::min(wanted, resident)), kThreads, 0, stream>>>(
      static_cast<unsigned char*>(range.to), static_cast<const unsigned char*>(range.from), head, vectors, range.bytes);
  check(cudaGetLastError());
}

void* device_address(void* host) {
  void* device = nullptr;
  check(cudaHostGetDevicePointer(&device, host, 0));
  return device;
}

// CUDA 12.8 has the call too, with another list of arguments.
#if CUDART_VERSION >= 13000
class CudaCopyBatch final : public CopyBatch {
 public:
  explicit CudaCopyBatch(const std::vector<CopyRange>& ranges) {
    for (const CopyRange& range : ranges) {
      to_.push_back(range.to);
      from_.push_back(range.from);
      bytes_.push_back(range.bytes);
    }
  }
  void launch(Stream stream) override {
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
    const cudaError_t status =
        cudaMemcpyBatchAsync(to_.data(), from_.data(), bytes_.data(), to_.size(), &attributes, &first, 1, stream);
    if (status == cudaErrorCallRequiresNewerDriver || status == cudaErrorNotSupported) {
      cudaGetLastError();
      throw Unsupported("the driver has no batched copies");
    }
    check(status);
  }

 private:
  std::vector<void*> to_;
  std::vector<const void*> from_;
  std::vector<std::size_t> bytes_;
};

std::unique_ptr<CopyBatch> make_batch(const std::vector<CopyRange>& ranges) { return std::make_unique<CudaCopyBatch>(ranges); }
#else
constexpr std::unique_ptr<CopyBatch> (*make_batch)(const std::vector<CopyRange>& ranges) = nullptr;
#endif

}  // namespace

const TransferKernels transfer = {.by_copy_engine = by_copy_engine,
                                  .between_gpus = between_gpus,
                                  .by_sm = by_sm,
                                  .batch = make_batch,
                                  .device_address = device_address};

}  // namespace roofmark::cuda
