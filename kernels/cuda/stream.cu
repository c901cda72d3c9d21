// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/vector.cuh"
#include "kernels/stream.hpp"

namespace roofmark::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kBlocks = 4;  ///< minimum per SM

/// Bytes per thread and array of a tile; a block moves kThreads times as much. All loads of a tile are issued before the first
/// result is used. By Little's law, a Hopper SM needs 13 KB in flight for the DRAM's bandwidth at idle latency, and about 30 KB
/// under load, which the blocks of an SM exceed even while some of them start or end.
constexpr int kLargeTile = 64;
constexpr int kReadTile = 128;  ///< one array alone, and no stores
constexpr int kSmallTile = 32;  ///< for arrays whose large tiles would leave SMs idle
constexpr int kMostPartials = 8192;

template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// The arrays: `head` elements up to kVectorAlignment, `body` elements in multiples of it, and the rest.
template <class T>
struct Arrays {
  T* to;
  const T* x;
  const T* y;
  std::size_t head, body, count;
};

template <StreamOp kOp, class C>
__device__ C computed(C x, C y, C s) {
  if constexpr (kOp == StreamOp::write) return s;
  if constexpr (kOp == StreamOp::scale) return s * x;
  if constexpr (kOp == StreamOp::add) return x + y;
  if constexpr (kOp == StreamOp::triad) return fma(s, y, x);
}

__device__ float2 widened(__half2 pair) { return __half22float2(pair); }
__device__ float2 widened(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }
__device__ void narrow(float2 wide, __half2& pair) { pair = __float22half2_rn(wide); }
__device__ void narrow(float2 wide, __nv_bfloat162& pair) { pair = __float22bfloat162_rn(wide); }

template <class T>
inline constexpr bool kIsPair = std::is_same_v<T, __half2> || std::is_same_v<T, __nv_bfloat162>;

/// T: an element, or a pair of them.
template <StreamOp kOp, class T, class C>
__device__ T element(T x, T y, C s) {
  if constexpr (kOp == StreamOp::copy) {
    return x;
  } else if constexpr (kIsPair<T>) {
    const float2 a = widened(x), b = widened(y);
    T pair;
    narrow({computed<kOp>(a.x, b.x, s), computed<kOp>(a.y, b.y, s)}, pair);
    return pair;
  } else {
    return static_cast<T>(computed<kOp>(static_cast<C>(x), static_cast<C>(y), s));
  }
}

template <StreamOp kOp, class C>
__device__ void accumulate(C x, C y, C& sum) {
  if constexpr (kOp == StreamOp::read) sum += x;
  if constexpr (kOp == StreamOp::dot) sum = fma(x, y, sum);
}

template <StreamOp kOp, class T, class C>
__device__ void accumulate_element(T x, T y, C& sum) {
  if constexpr (kIsPair<T>) {
    const float2 a = widened(x), b = widened(y);
    accumulate<kOp>(a.x, b.x, sum);
    accumulate<kOp>(a.y, b.y, sum);
  } else {
    accumulate<kOp>(static_cast<C>(x), static_cast<C>(y), sum);
  }
}

/// The elements before and after the body: at most one per thread.
template <class T, class Use>
__device__ void for_ragged_end(const Arrays<T>& arrays, Use use) {
  const std::size_t i = threadIdx.x < arrays.head ? threadIdx.x : threadIdx.x + arrays.body;
  if (i < arrays.count) use(i);
}

/// What one instruction moves: pairs in the 16-bit types.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, __half>, __half2,
                                std::conditional_t<std::is_same_v<T, __nv_bfloat16>, __nv_bfloat162, T>>;

/// A block's tile: kPackets per thread, kThreads apart. If the arrays' alignments differ, a packet is one element.
template <class T, bool kVector, int kBytes>
struct Tiling {
  using Lane = std::conditional_t<kVector, Wide<T>, T>;
  static constexpr int kLanes = kVector ? kVectorBytes / static_cast<int>(sizeof(Lane)) : 1;
  static constexpr int kPackets = kVector ? kBytes / kVectorBytes : 4;
  static constexpr int kTerms = kPackets * kLanes * static_cast<int>(sizeof(Lane) / sizeof(T));
  static constexpr unsigned kSize = kThreads * kPackets;  ///< packets a tile
  using Vector = Packet<Lane, kLanes>;
  using Held = Vector[kPackets];

  __device__ static std::size_t packets(const Arrays<T>& arrays) { return arrays.body * sizeof(T) / sizeof(Vector); }
  /// This thread's first packet of a tile.
  template <class Element>
  __device__ static auto first(Element* data, const Arrays<T>& arrays, std::size_t tile) {
    using Target = std::conditional_t<std::is_const_v<Element>, const Vector, Vector>;
    return reinterpret_cast<Target*>(data + arrays.head) + tile * kSize + threadIdx.x;
  }

  /// Packets from `end` on, counted from the tile's first, are zeros. kWhole: there are none.
  template <bool kWhole>
  __device__ static void load(Held& held, const Vector* from, unsigned end) {
#pragma unroll
    for (int i = 0; i < kPackets; ++i) {
      held[i] = kWhole || i * kThreads + threadIdx.x < end ? load_once(from + i * kThreads) : Vector{};
    }
  }
  template <bool kWhole, bool kEvictFirst>
  __device__ static void store(Vector* to, const Held& held, unsigned end) {
#pragma unroll
    for (int i = 0; i < kPackets; ++i) {
      if (kWhole || i * kThreads + threadIdx.x < end) cuda::store<kEvictFirst>(to + i * kThreads, held[i]);
    }
  }
};

/// Calls use.operator()<whole>(packets in the tile). Whole tiles need no bounds checks.
template <unsigned kSize, class Use>
__device__ void with_tile(std::size_t tile, std::size_t packets, Use use) {
  const std::size_t left = packets - tile * kSize;
  if (left >= kSize) {
    use.template operator()<true>(kSize);
  } else {
    use.template operator()<false>(static_cast<unsigned>(left));
  }
}

/// One tile per block. The hardware assigns blocks as SMs become free, which balances SMs of different distance to the memory.
template <StreamOp kOp, class T, bool kVector, int kBytes, bool kEvictFirst>
__global__ void __launch_bounds__(kThreads, kBlocks) stream_kernel(Arrays<T> arrays, Compute<T> s) {
  using Tiles = Tiling<T, kVector, kBytes>;
  constexpr int kInputs = input_count(kOp);
  with_tile<Tiles::kSize>(blockIdx.x, Tiles::packets(arrays), [&]<bool kWhole>(unsigned end) {
    typename Tiles::Held x{}, y{};
    if constexpr (kInputs > 0) Tiles::template load<kWhole>(x, Tiles::first(arrays.x, arrays, blockIdx.x), end);
    if constexpr (kInputs > 1) Tiles::template load<kWhole>(y, Tiles::first(arrays.y, arrays, blockIdx.x), end);
#pragma unroll
    for (int i = 0; i < Tiles::kPackets; ++i) {
#pragma unroll
      for (int j = 0; j < Tiles::kLanes; ++j) x[i].element[j] = element<kOp>(x[i].element[j], y[i].element[j], s);
    }
    Tiles::template store<kWhole, kEvictFirst>(Tiles::first(arrays.to, arrays, blockIdx.x), x, end);
  });
  if (blockIdx.x == 0) {
    for_ragged_end(arrays, [&](std::size_t i) {
      arrays.to[i] = element<kOp>(kInputs > 0 ? arrays.x[i] : T{}, kInputs > 1 ? arrays.y[i] : T{}, s);
    });
  }
}

/// The sum over the block's threads, on thread 0; always in the same order.
__device__ double block_sum(double sum) {
  __shared__ double warp_sums[kWarps];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
  __syncthreads();
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return 0;
  for (int warp = 1; warp < kWarps; ++warp) sum += warp_sums[warp];
  return sum;
}

struct Workspace {
  unsigned arrived;  ///< blocks that have stored their partial sum; the last one resets it to 0
  alignas(256) double partial[kMostPartials];
};

/// Block b adds up tiles b, b + blocks, ...; the block that finishes last adds up the blocks' sums, always in the same order.
template <StreamOp kOp, class T, bool kVector, int kBytes>
__global__ void __launch_bounds__(kThreads, kBlocks) reduce_kernel(Arrays<T> arrays, double* to, Workspace* workspace) {
  using Tiles = Tiling<T, kVector, kBytes>;
  static_assert(Tiles::kTerms <= kStreamChunk);
  const std::size_t packets = Tiles::packets(arrays);
  double sum = 0;
  for (std::size_t tile = blockIdx.x; tile * Tiles::kSize < packets; tile += gridDim.x) {
    with_tile<Tiles::kSize>(tile, packets, [&]<bool kWhole>(unsigned end) {
      typename Tiles::Held x, y{};
      Tiles::template load<kWhole>(x, Tiles::first(arrays.x, arrays, tile), end);
      if constexpr (kOp == StreamOp::dot) Tiles::template load<kWhole>(y, Tiles::first(arrays.y, arrays, tile), end);
      Compute<T> lane[Tiles::kLanes] = {};
#pragma unroll
      for (int i = 0; i < Tiles::kPackets; ++i) {
#pragma unroll
        for (int j = 0; j < Tiles::kLanes; ++j) accumulate_element<kOp>(x[i].element[j], y[i].element[j], lane[j]);
      }
#pragma unroll
      for (int width = Tiles::kLanes / 2; width > 0; width /= 2) {
#pragma unroll
        for (int j = 0; j < width; ++j) lane[j] += lane[j + width];
      }
      sum += static_cast<double>(lane[0]);
    });
  }
  if (blockIdx.x == 0) {
    for_ragged_end(arrays, [&](std::size_t i) {
      Compute<T> term = 0;
      accumulate_element<kOp>(arrays.x[i], kOp == StreamOp::dot ? arrays.y[i] : T{}, term);
      sum += static_cast<double>(term);
    });
  }

  __shared__ bool last;
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    workspace->partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&workspace->arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0;
#pragma unroll 8
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kThreads) sum += __ldcg(&workspace->partial[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) *to = sum;
}

/// Blocks that are resident at once, as far as threads limit them.
std::size_t resident_blocks(const DeviceLimits& limits) {
  return static_cast<std::size_t>(limits.multiprocessors) *
         static_cast<std::size_t>(limits.threads_per_multiprocessor / kThreads);
}

std::size_t tiles_of(std::size_t bytes, int tile) {
  const std::size_t block = static_cast<std::size_t>(kThreads) * static_cast<std::size_t>(tile);
  return std::max<std::size_t>(1, (bytes + block - 1) / block);
}

/// Splits the arrays at kVectorAlignment. Returns false, with everything in the body, if their alignments differ.
template <class T>
bool split(Arrays<T>& arrays, std::size_t n, bool writes) {
  const auto past = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % kVectorAlignment; };
  const std::size_t misaligned = writes ? past(arrays.to) : past(arrays.x);
  arrays.count = arrays.body = n;
  arrays.head = 0;
  if ((arrays.x && past(arrays.x) != misaligned) || (arrays.y && past(arrays.y) != misaligned)) return false;
  constexpr std::size_t kUnit = kVectorAlignment / sizeof(T);
  arrays.head = std::min(n, (kUnit - misaligned / sizeof(T)) % kUnit);
  arrays.body = (n - arrays.head) / kUnit * kUnit;
  return true;
}

template <StreamOp kOp, class T>
void launch_map(Arrays<T> arrays, std::size_t n, double scalar, Stream stream) {
  const DeviceLimits& limits = device_limits();
  const bool vector = split(arrays, n, true);
  const std::size_t bytes = arrays.body * sizeof(T);
  const auto s = static_cast<Compute<T>>(scalar);
  const auto run = [&](auto kernel, std::size_t blocks) { kernel<<<blocks, kThreads, 0, stream>>>(arrays, s); };
  if (!vector) {
    run(stream_kernel<kOp, T, false, 0, false>, tiles_of(n, 4));
  } else if (tiles_of(bytes, kLargeTile) < resident_blocks(limits)) {
    run(stream_kernel<kOp, T, true, kSmallTile, false>, tiles_of(bytes, kSmallTile));
  } else if (static_cast<std::size_t>(array_count(kOp)) * bytes <= static_cast<std::size_t>(limits.l2_bytes)) {
    run(stream_kernel<kOp, T, true, kLargeTile, false>, tiles_of(bytes, kLargeTile));
  } else {
    run(stream_kernel<kOp, T, true, kLargeTile, true>, tiles_of(bytes, kLargeTile));
  }
  check(cudaGetLastError());
}

template <StreamOp kOp, class T>
void launch_reduction(Arrays<T> arrays, double* to, std::size_t n, Workspace* workspace, Stream stream) {
  constexpr int kTile = kOp == StreamOp::read ? kReadTile : kLargeTile;
  const DeviceLimits& limits = device_limits();
  const bool vector = split(arrays, n, false);
  const std::size_t bytes = arrays.body * sizeof(T);
  // More blocks than are resident balance the SMs, but the last block has to read the sum of each.
  const std::size_t most = std::min<std::size_t>(4 * resident_blocks(limits), kMostPartials);
  const auto run = [&](auto kernel, std::size_t tiles) {
    kernel<<<std::min(tiles, most), kThreads, 0, stream>>>(arrays, to, workspace);
  };
  if (!vector) {
    run(reduce_kernel<kOp, T, false, 0>, tiles_of(n, 4));
  } else if (tiles_of(bytes, kTile) < 4 * static_cast<std::size_t>(limits.multiprocessors)) {
    run(reduce_kernel<kOp, T, true, kSmallTile>, tiles_of(bytes, kSmallTile));
  } else {
    run(reduce_kernel<kOp, T, true, kTile>, tiles_of(bytes, kTile));
  }
  check(cudaGetLastError());
}

template <StreamOp kOp, class T>
void launch_typed(void* to, const void* x, const void* y, std::size_t n, double s, void* workspace, Stream stream) {
  Arrays<T> arrays = {static_cast<T*>(to), static_cast<const T*>(x), static_cast<const T*>(y), 0, 0, 0};
  if constexpr (is_reduction(kOp)) {
    launch_reduction<kOp>(arrays, static_cast<double*>(to), n, static_cast<Workspace*>(workspace), stream);
  } else {
    launch_map<kOp>(arrays, n, s, stream);
  }
}

template <StreamOp kOp>
void launch_operation(DataType type, void* to, const void* x, const void* y, std::size_t n, double s, void* workspace,
                      Stream stream) {
  switch (type) {
    case DataType::fp64:
      return launch_typed<kOp, double>(to, x, y, n, s, workspace, stream);
    case DataType::fp32:
      return launch_typed<kOp, float>(to, x, y, n, s, workspace, stream);
    case DataType::fp16:
      return launch_typed<kOp, __half>(to, x, y, n, s, workspace, stream);
    case DataType::bf16:
      return launch_typed<kOp, __nv_bfloat16>(to, x, y, n, s, workspace, stream);
    default:
      throw Unsupported("streams of " + std::string(name(type)));
  }
}

bool supports(DataType type) {
  return type == DataType::fp64 || type == DataType::fp32 || type == DataType::fp16 || type == DataType::bf16;
}

void launch(StreamOp op, DataType type, void* to, const void* x, const void* y, std::size_t n, double s, void* workspace,
            Stream stream) {
  using Operation = decltype(&launch_operation<StreamOp::read>);
  constexpr Operation operations[] = {launch_operation<StreamOp::read>, launch_operation<StreamOp::write>,
                                      launch_operation<StreamOp::copy>, launch_operation<StreamOp::scale>,
                                      launch_operation<StreamOp::add>,  launch_operation<StreamOp::triad>,
                                      launch_operation<StreamOp::dot>};
  operations[static_cast<int>(op)](type, to, x, y, n, s, workspace, stream);
}

std::size_t workspace_bytes(StreamOp op, std::size_t) { return is_reduction(op) ? sizeof(Workspace) : 0; }

void library_copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

void library_fill(void* to, unsigned char value, std::size_t bytes, Stream stream) {
  check(cudaMemsetAsync(to, value, bytes, stream));
}

}  // namespace

const StreamKernels stream = {supports, launch, workspace_bytes, library_copy, library_fill};

}  // namespace roofmark::cuda
