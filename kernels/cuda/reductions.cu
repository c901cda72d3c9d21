// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <type_traits>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/convert.cuh"
#include "kernels/cuda/launch_config.hpp"
#include "kernels/cuda/reductions_reference.hpp"
#include "kernels/cuda/row_fragment.cuh"
#include "kernels/cuda/row_statistics.cuh"
#include "kernels/reductions.hpp"

namespace roofmark::cuda {
namespace {

using namespace rows;

// One pass: a row is read once and stays in registers until its result is stored, 32 elements per thread. A warp holds the
// shortest rows, a block longer ones and a cluster of blocks the longest. Every thread first computes the statistic of its own
// elements (maximum and sum of exponentials, or mean and squares); these are then merged, so that a row synchronises only once.
//
// At 64 registers per thread, an SM has 1024 threads with 64 KB of 16-bit elements or 128 KB of fp32 in flight: at least twice
// what keeps the memory busy (13 to 30 KB on Hopper), because a block loads nothing while it reduces. At no more than 512
// threads per block, at least two blocks are in different phases. At 18.6 bytes per clock for reads and writes (4.3 TB/s over
// 132 SMs), an SM processes 4.7 16-bit elements per clock, with 27 instructions for each. A softmax takes about 10, and 4.7 of
// the 16 exponentials per clock, one per element.

/// Elements per thread if a packet is one element: the addresses take registers too.
constexpr int kScalarElements = 16;
constexpr unsigned kThreadsOfTwoBlocks = 512, kWarpRowThreads = 256;

/// Computes and stores the row's result. `own` is this thread's statistic, `all` the row's.
template <ReductionOp kOp, class H, class S>
__device__ void finish(H& fragment, const S& own, const S& all, const ReductionArrays& arrays, std::int64_t row,
                       unsigned columns, float picked) {
  using T = typename H::T;
  const bool first_of_row = fragment.first == 0;
  if constexpr (kOp == ReductionOp::cross_entropy) {
    if (first_of_row) static_cast<float*>(arrays.out)[row] = all.maximum + logf(all.sum) - picked;
    return;
  } else if constexpr (kOp == ReductionOp::row_sum) {
    if (first_of_row) static_cast<float*>(arrays.out)[row] = all.sum;
    return;
  } else {
    using Out = std::conditional_t<kOp == ReductionOp::quantise, Fp8, T>;
    using Written = Stored<Out, H::kLanes>;
    using Vector = typename H::Vector;
    auto* to = reinterpret_cast<Written*>(static_cast<Out*>(arrays.out) + row * columns);
    const auto* weights = static_cast<const Vector*>(arrays.weight);
    const auto* biases = static_cast<const Vector*>(arrays.bias);
    float factor, offset = 0;
    if constexpr (kOp == ReductionOp::softmax) {
      offset = exponent_base(all.maximum);
      factor = H::kWide ? exp_for<T>(own.maximum - offset) / all.sum : 1 / all.sum;
    } else if constexpr (kOp == ReductionOp::quantise) {
      const float scale = max_nan(all.maximum / kGreatestFp8, kLeastScale);
      if (first_of_row) arrays.scale[row] = scale;
      factor = 1 / scale;
    } else if constexpr (kOp == ReductionOp::layer_norm) {
      offset = all.mean;
      factor = rsqrtf(all.squares / all.count + kNormEpsilon);
    } else {
      factor = rsqrtf(all.sum / static_cast<float>(columns) + kNormEpsilon);
    }
#pragma unroll
    for (int i = 0; i < H::kPackets; ++i) {
      if (!fragment.has(i)) continue;
      typename H::Values y, w, b;
      fragment.get(i, y);
      if constexpr (has_weight(kOp)) widen<T>(load_cached(weights + fragment.at(i)), w);
      if constexpr (kOp == ReductionOp::layer_norm) widen<T>(load_cached(biases + fragment.at(i)), b);
#pragma unroll
      for (int j = 0; j < H::kLanes; ++j) {
        if constexpr (kOp == ReductionOp::softmax && !H::kWide) y[j] = exp_for<T>(y[j] - offset);
        if constexpr (kOp == ReductionOp::layer_norm) {
          y[j] = fmaf((y[j] - offset) * factor, w[j], b[j]);
        } else {
          y[j] *= factor;
          if constexpr (has_weight(kOp)) y[j] *= w[j];
        }
      }
      store<true>(to + fragment.at(i), narrow<Out>(y));
    }
  }
}

/// Cross-entropy: the target's element, for the thread that stores the result. Loaded ahead of everything else.
template <ReductionOp kOp, class T>
__device__ float picked_of(const ReductionArrays& arrays, const T* x_row, std::int64_t row, bool first_of_row) {
  if constexpr (kOp == ReductionOp::cross_entropy) return first_of_row ? widened(x_row[arrays.target[row]]) : 0;
  return 0;
}

/// Reads every row once and keeps it in the registers of `threads` threads (a warp or a block) of each of `cluster` blocks.
template <ReductionOp kOp, class T, bool kVector, int kCount, unsigned kThreads>
__global__ void __launch_bounds__(kThreads, kMaxThreads / kThreads)
    one_pass_kernel(ReductionArrays arrays, std::int64_t rows, unsigned columns, unsigned threads, unsigned cluster) {
  using H = RowFragment<T, kVector, kCount>;
  const unsigned rank = blockIdx.x % cluster, in_row = threadIdx.x % threads;
  const std::int64_t row = std::int64_t{blockIdx.x / cluster} * (blockDim.x / threads) + threadIdx.x / threads;
  if (row >= rows) return;  // whole warps: rows of more threads have blocks of their own
  using S = Statistic<kOp, T>;
  __shared__ RowExchange<S> exchange;
  begin_exchange(exchange, threads, cluster);
  H fragment;
  fragment.first = rank * threads * H::kPackets + in_row;
  fragment.step = threads;
  fragment.end = columns / H::kLanes;
  const T* x_row = static_cast<const T*>(arrays.x) + row * columns;
  const float picked = picked_of<kOp>(arrays, x_row, row, fragment.first == 0);
  if constexpr (kOp == ReductionOp::residual_rms_norm) {
    load_sum(fragment, x_row, static_cast<const T*>(arrays.residual) + row * columns,
             static_cast<T*>(arrays.sum) + row * columns);
  } else {
    load<kOp>(fragment, x_row);
  }
  const S own = statistic_of<kOp>(fragment);
  finish<kOp>(fragment, own, across_row(own, exchange, threads, cluster, rank), arrays, row, columns, picked);
}

/// For rows that do not fit into registers: a block reads its row twice.
template <ReductionOp kOp, class T, bool kVector>
__global__ void __launch_bounds__(kThreadsOfTwoBlocks, 2) two_pass_kernel(ReductionArrays arrays, unsigned columns) {
  // Half as many elements: two loops leave fewer registers.
  constexpr int kCount = kVector ? kElements * 2 / static_cast<int>(sizeof(T)) : kScalarElements / 2;
  using H = RowFragment<T, kVector, kCount>;
  const std::int64_t row = blockIdx.x;
  H fragment;
  fragment.step = blockDim.x;
  fragment.end = columns / H::kLanes;
  const unsigned stride = H::kPackets * blockDim.x;
  const T* x_row = static_cast<const T*>(arrays.x) + row * columns;
  T* sum_row = static_cast<T*>(arrays.sum) + row * columns;
  const float picked = picked_of<kOp>(arrays, x_row, row, threadIdx.x == 0);
  auto own = identity<Statistic<kOp, T>>();
  for (fragment.first = threadIdx.x; fragment.first < fragment.end; fragment.first += stride) {
    if constexpr (kOp == ReductionOp::residual_rms_norm) {
      load_sum(fragment, x_row, static_cast<const T*>(arrays.residual) + row * columns, sum_row);
    } else {
      load<kOp>(fragment, x_row);
    }
    own = merged(own, statistic_of<kOp>(fragment));
  }
  __shared__ RowExchange<Statistic<kOp, T>> exchange;
  const auto all = across_row(own, exchange, blockDim.x, 1, 0);
  if constexpr (gives_one_number(kOp)) {
    fragment.first = threadIdx.x;
    finish<kOp>(fragment, own, all, arrays, row, columns, picked);
  } else {
    for (fragment.first = threadIdx.x; fragment.first < fragment.end; fragment.first += stride) {
      if constexpr (kOp == ReductionOp::residual_rms_norm) {
        // Not load_once: this thread has written it.
#pragma unroll
        for (int i = 0; i < H::kPackets; ++i) {
          if (fragment.has(i))
            fragment.take(i, load_cached(reinterpret_cast<const typename H::Vector*>(sum_row) + fragment.at(i)));
        }
        finish<kOp>(fragment, own, all, arrays, row, columns, picked);
      } else {
        load<kOp>(fragment, x_row);
        if constexpr (takes_exponentials(kOp)) own = statistic_of<kOp>(fragment);
        finish<kOp>(fragment, own, all, arrays, row, columns, picked);
      }
    }
  }
}

/// How a row is divided: threads per row and block, threads per block, blocks per row, elements per thread. 0 elements: two
/// passes.
struct Plan {
  unsigned threads, block, cluster;
  int elements;
};

/// elements: per thread; twice_as_many: a thread may hold twice as many.
Plan plan_for(unsigned columns, bool clusters, int elements, bool twice_as_many) {
  const auto kept = static_cast<unsigned>(elements);
  const auto threads_for = [=](unsigned cluster, unsigned elements) {
    const unsigned per_warp = cluster * elements * kWarp;
    return (columns + per_warp - 1) / per_warp * kWarp;
  };
  if (columns <= kWarp * kept) return {kWarp, kWarpRowThreads, 1, elements};
  for (unsigned cluster = 1; cluster <= (clusters ? kMaxCluster : 1); cluster *= 2) {
    if (const unsigned threads = threads_for(cluster, kept); threads <= kThreadsOfTwoBlocks) {
      return {threads, threads, cluster, elements};
    }
  }
  const unsigned cluster = clusters ? kMaxCluster : 1;
  if (const unsigned threads = threads_for(cluster, 2 * kept); twice_as_many && threads <= kThreadsOfTwoBlocks) {
    return {threads, threads, cluster, 2 * elements};
  }
  if (const unsigned threads = threads_for(cluster, kept); threads <= kMaxThreads) {
    return {threads, threads, cluster, elements};
  }
  return {kThreadsOfTwoBlocks, kThreadsOfTwoBlocks, 1, 0};
}

template <ReductionOp kOp, class T>
bool in_packets(const ReductionArrays& arrays, std::int64_t columns) {
  constexpr std::size_t kBytes = 16, kLanes = kBytes / sizeof(T);
  const auto aligned = [](const void* data, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(data) % bytes == 0; };
  const std::size_t out_bytes = kLanes * size_of(output_type(kOp, sizeof(T) == 4 ? DataType::fp32 : DataType::fp16));
  return columns % kLanes == 0 && aligned(arrays.x, kBytes) && aligned(arrays.residual, kBytes) &&
         aligned(arrays.weight, kBytes) && aligned(arrays.bias, kBytes) && aligned(arrays.sum, kBytes) &&
         (gives_one_number(kOp) || aligned(arrays.out, out_bytes));
}

template <ReductionOp kOp, class T, bool kVector>
void launch_packets(const ReductionArrays& arrays, std::int64_t rows, unsigned columns, Stream stream) {
  constexpr int kCount = kVector ? kElements : kScalarElements;
  constexpr bool kTwiceAsMany = kVector && sizeof(T) < sizeof(float);
  const Plan plan = plan_for(columns, device_limits().clusters, kCount, kTwiceAsMany);
  if (plan.elements == 0) {
    two_pass_kernel<kOp, T, kVector><<<static_cast<unsigned>(rows), plan.block, 0, stream>>>(arrays, columns);
    return check(cudaGetLastError());
  }
  auto kernel = one_pass_kernel<kOp, T, kVector, kCount, kMaxThreads>;
  if constexpr (kTwiceAsMany) {
    if (plan.elements > kCount) kernel = one_pass_kernel<kOp, T, kVector, 2 * kCount, kThreadsOfTwoBlocks>;
  }
  const unsigned rows_per_block = plan.block / plan.threads;
  LaunchConfig config(static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block) * plan.cluster, plan.block, stream);
  if (plan.cluster > 1) config.set_clusters(plan.cluster);
  check(cudaLaunchKernelEx(config.get(), kernel, arrays, rows, columns, plan.threads, plan.cluster));
}

template <ReductionOp kOp, class T>
void launch_typed(const ReductionArrays& arrays, std::int64_t rows, std::int64_t columns, Stream stream) {
  if (in_packets<kOp, T>(arrays, columns)) {
    launch_packets<kOp, T, true>(arrays, rows, static_cast<unsigned>(columns), stream);
  } else {
    launch_packets<kOp, T, false>(arrays, rows, static_cast<unsigned>(columns), stream);
  }
}

template <ReductionOp kOp>
void launch_operation(DataType type, const ReductionArrays& arrays, std::int64_t rows, std::int64_t columns, Stream stream) {
  switch (type) {
    case DataType::fp32:
      return launch_typed<kOp, float>(arrays, rows, columns, stream);
    case DataType::fp16:
      return launch_typed<kOp, __half>(arrays, rows, columns, stream);
    case DataType::bf16:
      return launch_typed<kOp, __nv_bfloat16>(arrays, rows, columns, stream);
    default:
      throw Unsupported("reductions of " + std::string(name(type)));
  }
}

bool supports(ReductionOp, DataType type) { return type == DataType::fp32 || type == DataType::fp16 || type == DataType::bf16; }

void launch(ReductionOp op, DataType type, const ReductionArrays& arrays, std::int64_t rows, std::int64_t columns,
            Stream stream) {
  if (rows == 0) return;
  using Operation = decltype(&launch_operation<ReductionOp::softmax>);
  constexpr Operation operations[] = {
      launch_operation<ReductionOp::softmax>,       launch_operation<ReductionOp::layer_norm>,
      launch_operation<ReductionOp::rms_norm>,      launch_operation<ReductionOp::residual_rms_norm>,
      launch_operation<ReductionOp::cross_entropy>, launch_operation<ReductionOp::row_sum>,
      launch_operation<ReductionOp::quantise>};
  operations[static_cast<int>(op)](type, arrays, rows, columns, stream);
}

}  // namespace

const ReductionKernels reductions = {supports, launch, reductions_reference};

}  // namespace roofmark::cuda
