// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/ptx/barrier.cuh"
#include "kernels/cuda/ptx/cluster.cuh"
#include "kernels/cuda/ptx/math.cuh"
#include "kernels/cuda/ptx/mbarrier.cuh"
#include "kernels/cuda/ptx/memory.cuh"

// Statistics of a row, and how the threads that share the row merge theirs.
namespace roofmark::cuda::rows {

inline constexpr unsigned kWarp = 32, kMaxThreads = 1024, kMaxCluster = 8;
inline constexpr float kInfinity = INFINITY;

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// e^x for a result that is rounded to T. The error of exp_approx_ftz is far below the roundoff of a 16-bit type.
template <class T>
__device__ inline float exp_for(float x) {
  if constexpr (std::is_same_v<T, float>) return expf(x);
  return exp_approx_ftz(x);
}

// A statistic of some elements of a row: identity() is that of no elements, merged(a, b) that of both, and across_warp(a)
// merges those of a warp's threads, to the same bits on all of them.

struct Sum {
  float sum;
};
template <class T>
struct LogSumExp {
  float maximum;  ///< m; -inf if there are no elements, or if all are -inf
  float sum;      ///< of exp(x - exponent_base(m))
};
struct Moments {
  float count, mean;
  float squares;  ///< sum of (x - mean)^2
};
struct AbsoluteMaximum {
  float maximum;  ///< of |x|, at least 0; NaN if an element is NaN
};

/// What is subtracted from the exponents. If all elements are -inf, their exponentials are 0 and not NaN.
__device__ inline float exponent_base(float maximum) { return maximum == -kInfinity ? 0 : maximum; }

template <class Statistic>
__device__ Statistic identity() {
  return {};
}
template <>
__device__ inline LogSumExp<float> identity() {
  return {-kInfinity, 0};
}
template <>
__device__ inline LogSumExp<__half> identity() {
  return {-kInfinity, 0};
}

__device__ inline Sum merged(Sum a, Sum b) { return {a.sum + b.sum}; }
__device__ inline Sum across_warp(Sum a) { return {warp_sum(a.sum)}; }

template <class T>
__device__ LogSumExp<T> merged(LogSumExp<T> a, LogSumExp<T> b) {
  const float maximum = fmaxf(a.maximum, b.maximum), from = exponent_base(maximum);
  return {maximum, a.sum * exp_for<T>(a.maximum - from) + b.sum * exp_for<T>(b.maximum - from)};
}
template <class T>
__device__ LogSumExp<T> across_warp(LogSumExp<T> a) {
  float maximum = a.maximum;
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, distance));
  }
  return {maximum, warp_sum(a.sum * exp_for<T>(a.maximum - exponent_base(maximum)))};
}

// Chan, Golub and LeVeque (1979): means and squares merge without cancellation.
__device__ inline Moments merged(Moments a, Moments b) {
  const float count = a.count + b.count, difference = b.mean - a.mean;
  const float share = count > 0 ? b.count / count : 0;
  return {count, a.mean + difference * share, a.squares + b.squares + difference * difference * a.count * share};
}
__device__ inline Moments across_warp(Moments a) {
  const float count = warp_sum(a.count);
  const float mean = count > 0 ? warp_sum(a.count * a.mean) / count : 0;
  const float difference = a.mean - mean;
  return {count, mean, warp_sum(a.squares + a.count * difference * difference)};
}

__device__ inline AbsoluteMaximum merged(AbsoluteMaximum a, AbsoluteMaximum b) { return {max_nan(a.maximum, b.maximum)}; }
__device__ inline AbsoluteMaximum across_warp(AbsoluteMaximum a) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    a.maximum = max_nan(a.maximum, __shfl_xor_sync(~0u, a.maximum, distance));
  }
  return a;
}

/// Shared memory through which the threads of a row exchange their statistics.
template <class S>
struct RowExchange {
  S part[kMaxThreads / kWarp * kMaxCluster];  ///< one per warp of each block
  std::uint64_t barrier;                      ///< an mbarrier, for clusters
};

/// Before across_row: in a cluster, every block initialises the mbarrier that counts the bytes it will be sent.
template <class S>
__device__ void begin_exchange(RowExchange<S>& exchange, unsigned threads, unsigned cluster) {
  if constexpr (kClusters) {
    if (cluster == 1) return;
    if (threadIdx.x == 0) {
      const std::uint32_t barrier = shared_address(&exchange.barrier);
      mbarrier_init(barrier, 1);
      fence_mbarrier_init();
      mbarrier_arrive_expect_tx(barrier, cluster * threads / kWarp * static_cast<unsigned>(sizeof(S)));
    }
    __syncwarp();  // the warp arrives as one
    barrier_cluster_arrive_relaxed();
  }
}

/// The statistic of a row from those of its threads: `threads` of this block and of each other block of the cluster.
template <class S>
__device__ S across_row(S own, RowExchange<S>& exchange, unsigned threads, unsigned cluster, unsigned rank) {
  own = across_warp(own);
  if (threads == kWarp) return own;
  const unsigned warps = threads / kWarp, warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (cluster == 1) {
    if (lane == 0) exchange.part[warp] = own;
    __syncthreads();
  } else if constexpr (kClusters) {
    barrier_cluster_wait_acquire();
    // Every block gets a copy of all statistics: it must not read those of another block, which may have exited. st.async needs
    // no fence, which would wait for all other stores too. A block exits only after it has received what it expects.
    if (lane < cluster) {
      const auto* from = reinterpret_cast<const float*>(&own);
      auto* to = reinterpret_cast<float*>(&exchange.part[rank * warps + warp]);
#pragma unroll
      for (int i = 0; i < static_cast<int>(sizeof(S) / sizeof(float)); ++i) {
        const std::uint32_t target = mapa(shared_address(to + i), lane);
        const std::uint32_t barrier = mapa(shared_address(&exchange.barrier), lane);
        st_async(target, from[i], barrier);
      }
    }
    mbarrier_try_wait_parity<Scope::cluster>(shared_address(&exchange.barrier), 0);
  } else {
    __trap();
  }
  S all = identity<S>();
  for (unsigned part = lane; part < warps * cluster; part += kWarp) all = merged(all, exchange.part[part]);
  return across_warp(all);
}

}  // namespace roofmark::cuda::rows
