// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/convert.cuh"
#include "kernels/cuda/ptx/cluster.cuh"
#include "kernels/cuda/reductions_reference.hpp"
#include "kernels/reductions.hpp"

namespace roofmark::cuda {
namespace {

// A row is read once and held in registers until it is written: 32 elements a thread, by a warp for the shortest rows, a block
// for longer ones and a cluster of blocks for the longest. What of a row must be known of all of it (greatest and sum of
// exponentials, mean and squares) is first made of a thread's own elements and then merged, so that a row waits for its threads
// only once.
//
// By 64 registers a thread an SM has 1024 of them, which have 64 KB of 16-bit elements in flight and 128 KB of fp32: twice and
// more what keeps the memory busy (13 to 30 KB on Hopper), since a block loads nothing while it reduces. With at most 512
// threads a block, two or more blocks are in different phases. At 18.6 bytes a clock for reading and writing (4.3 TB/s over 132
// SMs), an SM has 4.7 16-bit elements a clock to do and 27 instructions for each; a softmax takes about 10, and of the 16
// exponentials a clock 4.7, one an element.
constexpr unsigned kWarp = 32;
constexpr int kElements = 32;
/// Where a packet is one element, whose addresses take registers too.
constexpr int kScalarElements = 16;
constexpr unsigned kMostThreads = 1024, kThreadsOfTwoBlocks = 512, kWarpRowThreads = 256, kMostCluster = 8;
constexpr float kInfinity = INFINITY;

__device__ float warp_sum(float x) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// The greater of two, and NaN when either is, which fmaxf would pass over.
__device__ float greater_or_nan(float a, float b) {
  float greater;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(greater) : "f"(a), "f"(b));
  return greater;
}

/// For rows of 16-bit types e^x by one instruction, within (4 + |x|) roundoffs of fp32 and 0 under 2^-126; a 16-bit type's
/// roundoff is 2^13 and more of them.
template <class T>
__device__ float exponential(float x) {
  if constexpr (std::is_same_v<T, float>) return expf(x);
  constexpr float kLog2E = 1.442695041F;
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * kLog2E));
  return power;
}

// What is known of a part of a row: none() of no elements, merged(a, b) of two parts, across_warp(a) of the parts of a warp's
// threads, the same bits on all of them.

struct Sum {
  float sum;
};
template <class T>
struct LogSumExp {
  float greatest;  ///< m; without elements, and where all are -inf, -inf
  float sum;       ///< of exp(x - base(m))
};
struct Moments {
  float count, mean;
  float squares;  ///< sum of (x - mean)^2
};
struct Greatest {
  float greatest;  ///< |x|, at least 0; NaN when an element is
};

/// What exponents are counted from: nothing but -inf gives terms of 0 until it is divided by their sum.
__device__ float base(float greatest) { return greatest == -kInfinity ? 0 : greatest; }

template <class State>
__device__ State none() {
  return {};
}
template <>
__device__ LogSumExp<float> none() {
  return {-kInfinity, 0};
}
template <>
__device__ LogSumExp<__half> none() {
  return {-kInfinity, 0};
}

__device__ Sum merged(Sum a, Sum b) { return {a.sum + b.sum}; }
__device__ Sum across_warp(Sum a) { return {warp_sum(a.sum)}; }

template <class T>
__device__ LogSumExp<T> merged(LogSumExp<T> a, LogSumExp<T> b) {
  const float greatest = fmaxf(a.greatest, b.greatest), from = base(greatest);
  return {greatest, a.sum * exponential<T>(a.greatest - from) + b.sum * exponential<T>(b.greatest - from)};
}
template <class T>
__device__ LogSumExp<T> across_warp(LogSumExp<T> a) {
  float greatest = a.greatest;
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    greatest = fmaxf(greatest, __shfl_xor_sync(~0u, greatest, distance));
  }
  return {greatest, warp_sum(a.sum * exponential<T>(a.greatest - base(greatest)))};
}

// Parts' means and squares are put together as Chan, Golub and LeVeque do (1979), which cancels nothing.
__device__ Moments merged(Moments a, Moments b) {
  const float count = a.count + b.count, apart = b.mean - a.mean;
  const float share = count > 0 ? b.count / count : 0;
  return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
}
__device__ Moments across_warp(Moments a) {
  const float count = warp_sum(a.count);
  const float mean = count > 0 ? warp_sum(a.count * a.mean) / count : 0;
  const float apart = a.mean - mean;
  return {count, mean, warp_sum(a.squares + a.count * apart * apart)};
}

__device__ Greatest merged(Greatest a, Greatest b) { return {greater_or_nan(a.greatest, b.greatest)}; }
__device__ Greatest across_warp(Greatest a) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    a.greatest = greater_or_nan(a.greatest, __shfl_xor_sync(~0u, a.greatest, distance));
  }
  return a;
}

constexpr bool takes_exponentials(ReductionOp op) { return op == ReductionOp::softmax || op == ReductionOp::cross_entropy; }

template <ReductionOp kOp, class T>
using State =
    std::conditional_t<takes_exponentials(kOp), LogSumExp<std::conditional_t<std::is_same_v<T, float>, float, __half>>,
                       std::conditional_t<kOp == ReductionOp::layer_norm, Moments,
                                          std::conditional_t<kOp == ReductionOp::quantise, Greatest, Sum>>>;

/// This thread's kCount elements of a row: packets first, first + step, ... under `end`. Up to kElements they are kept in fp32,
/// more as they are stored. Where the arrays are not aligned, or rows not all, a packet is an element.
template <class Element, bool kVector, int kCount>
struct Held {
  using T = Element;
  static constexpr int kLanes = kVector ? 16 / static_cast<int>(sizeof(T)) : 1;
  static constexpr int kPackets = kCount / kLanes;
  static constexpr bool kWide = kCount <= kElements;
  using Vector = Stored<T, kLanes>;
  using Values = float[kLanes];

  std::conditional_t<kWide, Values, Vector> packet[kPackets];
  unsigned first, step, end;

  __device__ unsigned at(int i) const { return first + static_cast<unsigned>(i) * step; }
  __device__ bool has(int i) const { return at(i) < end; }
  __device__ void take(int i, const Vector& vector) {
    if constexpr (kWide) {
      widen<T>(vector, packet[i]);
    } else {
      packet[i] = vector;
    }
  }
  __device__ void get(int i, Values& values) const {
    if constexpr (kWide) {
#pragma unroll
      for (int j = 0; j < kLanes; ++j) values[j] = packet[i][j];
    } else {
      // Converted anew each time: the compiler would rather keep what it has converted, in registers that are not there.
      Vector vector = packet[i];
#pragma unroll
      for (unsigned& word : vector.element) asm volatile("" : "+r"(word));
      widen<T>(vector, values);
    }
  }
  /// Keeps what was made of a packet, where it is kept in fp32.
  __device__ void keep(int i, const Values& values) {
    if constexpr (kWide) {
#pragma unroll
      for (int j = 0; j < kLanes; ++j) packet[i][j] = values[j];
    }
  }
};

/// Four chains of operations, so that one does not wait for another.
template <class H, class Use>
__device__ void for_values(const H& held, Use use) {
#pragma unroll
  for (int i = 0; i < H::kPackets; ++i) {
    typename H::Values values;
    held.get(i, values);
#pragma unroll
    for (int j = 0; j < H::kLanes; ++j) use(values[j], i, (i * H::kLanes + j) % 4);
  }
}
template <class H, class Term>
__device__ float sum_of(const H& held, Term term) {
  float sum[4] = {};
  for_values(held, [&](float value, int i, int chain) { sum[chain] += term(value, i); });
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// NaN is passed over. What is kept as stored is compared as stored.
template <class H>
__device__ float greatest_of(const H& held) {
  if constexpr (H::kWide) {
    float greatest[4] = {-kInfinity, -kInfinity, -kInfinity, -kInfinity};
    for_values(held, [&](float value, int, int chain) { greatest[chain] = fmaxf(greatest[chain], value); });
    return fmaxf(fmaxf(greatest[0], greatest[1]), fmaxf(greatest[2], greatest[3]));
  } else {
    using T = typename H::T;
    unsigned greatest = narrowed_pair<T>(-kInfinity, -kInfinity);
#pragma unroll
    for (int i = 0; i < H::kPackets; ++i) {
#pragma unroll
      for (const unsigned word : held.packet[i].element) greatest = greater_pair<T>(greatest, word);
    }
    float pair[2];
    widen<T>(Stored<T, 2>{{greatest}}, pair);
    return fmaxf(pair[0], pair[1]);
  }
}

/// A packet of elements beyond the row's end, which change no greatest and no sum.
template <ReductionOp kOp, class H>
__device__ typename H::Vector beyond_the_end() {
  typename H::Values values;
#pragma unroll
  for (float& value : values) value = takes_exponentials(kOp) ? -kInfinity : 0;
  return narrow<typename H::T>(values);
}

template <ReductionOp kOp, class H>
__device__ typename H::Vector load_packet(const H& held, const typename H::T* row, int i) {
  return held.has(i) ? load_once(reinterpret_cast<const typename H::Vector*>(row) + held.at(i)) : beyond_the_end<kOp, H>();
}

/// Loads this thread's part of a row, all of it before the first is used.
template <ReductionOp kOp, class H>
__device__ void load(H& held, const typename H::T* row) {
  typename H::Vector vector[H::kPackets];
#pragma unroll
  for (int i = 0; i < H::kPackets; ++i) vector[i] = load_packet<kOp>(held, row, i);
#pragma unroll
  for (int i = 0; i < H::kPackets; ++i) held.take(i, vector[i]);
}

/// The same of residual + x, which is rounded and written. Of two arrays, registers have room for a part at a time.
template <class H>
__device__ void load_sum(H& held, const typename H::T* x_row, const typename H::T* residual_row, typename H::T* sum_row) {
  using T = typename H::T;
  using Vector = typename H::Vector;
  constexpr int kTogether = H::kPackets / 2;
#pragma unroll
  for (int begin = 0; begin < H::kPackets; begin += kTogether) {
    Vector x[kTogether], residual[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      x[i] = load_packet<ReductionOp::residual_rms_norm>(held, x_row, begin + i);
      residual[i] = load_packet<ReductionOp::residual_rms_norm>(held, residual_row, begin + i);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      typename H::Values a, b;
      widen<T>(x[i], a);
      widen<T>(residual[i], b);
#pragma unroll
      for (int j = 0; j < H::kLanes; ++j) a[j] += b[j];
      const Vector sum = narrow<T>(a);
      if (held.has(begin + i)) store<true>(reinterpret_cast<Vector*>(sum_row) + held.at(begin + i), sum);
      held.take(begin + i, sum);
    }
  }
}

/// What is known of this thread's elements. Exponentials take the elements' place where these are kept in fp32.
template <ReductionOp kOp, class H>
__device__ State<kOp, typename H::T> state_of(H& held) {
  if constexpr (takes_exponentials(kOp)) {
    const float m = greatest_of(held), from = base(m);
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < H::kPackets; ++i) {
      typename H::Values values;
      held.get(i, values);
#pragma unroll
      for (int j = 0; j < H::kLanes; ++j) {
        values[j] = exponential<typename H::T>(values[j] - from);
        sum[(i * H::kLanes + j) % 4] += values[j];
      }
      held.keep(i, values);
    }
    return {m, (sum[0] + sum[1]) + (sum[2] + sum[3])};
  } else if constexpr (kOp == ReductionOp::layer_norm) {
    float count = 0;
#pragma unroll
    for (int i = 0; i < H::kPackets; ++i) count += held.has(i) ? H::kLanes : 0;
    const float sum = sum_of(held, [](float value, int) { return value; });
    const float mean = count > 0 ? sum / count : 0;
    return {count, mean, sum_of(held, [&](float value, int i) {
              const float apart = held.has(i) ? value - mean : 0;
              return apart * apart;
            })};
  } else if constexpr (kOp == ReductionOp::quantise) {
    float greatest[4] = {};
    for_values(held, [&](float value, int, int chain) { greatest[chain] = greater_or_nan(greatest[chain], fabsf(value)); });
    return {greater_or_nan(greater_or_nan(greatest[0], greatest[1]), greater_or_nan(greatest[2], greatest[3]))};
  } else if constexpr (kOp == ReductionOp::row_sum) {
    return {sum_of(held, [](float value, int) { return value; })};
  } else {
    return {sum_of(held, [](float value, int) { return value * value; })};
  }
}

/// What a block of threads needs to share a row.
template <class S>
struct Parts {
  S part[kMostThreads / kWarp * kMostCluster];  ///< of each warp of each block
  std::uint64_t mailbox;
};

/// Of the states of all threads that share a row: `threads` of this block, and of all the cluster's `cluster` blocks, which
/// have joined.
template <class S>
__device__ S state_of_row(S state, Parts<S>& parts, unsigned threads, unsigned cluster, unsigned rank) {
  state = across_warp(state);
  if (threads == kWarp) return state;
  const unsigned warps = threads / kWarp, warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (cluster == 1) {
    if (lane == 0) parts.part[warp] = state;
    __syncthreads();
  } else {
    wait_for_cluster();
    // Each block gets a copy of all parts, so that it need not look into another, which may have ended.
    if (lane < cluster) {
      const auto* from = reinterpret_cast<const float*>(&state);
      auto* to = reinterpret_cast<float*>(&parts.part[rank * warps + warp]);
#pragma unroll
      for (int i = 0; i < static_cast<int>(sizeof(S) / sizeof(float)); ++i) {
        send_in_cluster(to + i, &parts.mailbox, lane, from[i]);
      }
    }
    receive(&parts.mailbox);
  }
  S all = none<S>();
  for (unsigned part = lane; part < warps * cluster; part += kWarp) all = merged(all, parts.part[part]);
  return across_warp(all);
}

/// Writes what comes of the row. `own`: what state_of found of the elements as they are held.
template <ReductionOp kOp, class H, class S>
__device__ void finish(H& held, const S& own, const S& all, const ReductionArrays& arrays, std::int64_t row, unsigned columns,
                       float picked) {
  using T = typename H::T;
  const bool first_of_row = held.first == 0;
  if constexpr (kOp == ReductionOp::cross_entropy) {
    if (first_of_row) static_cast<float*>(arrays.out)[row] = all.greatest + logf(all.sum) - picked;
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
      offset = base(all.greatest);
      factor = H::kWide ? exponential<T>(own.greatest - offset) / all.sum : 1 / all.sum;
    } else if constexpr (kOp == ReductionOp::quantise) {
      const float scale = greater_or_nan(all.greatest / kGreatestFp8, kLeastScale);
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
      if (!held.has(i)) continue;
      typename H::Values y, w, b;
      held.get(i, y);
      if constexpr (has_weight(kOp)) widen<T>(load_cached(weights + held.at(i)), w);
      if constexpr (kOp == ReductionOp::layer_norm) widen<T>(load_cached(biases + held.at(i)), b);
#pragma unroll
      for (int j = 0; j < H::kLanes; ++j) {
        if constexpr (kOp == ReductionOp::softmax && !H::kWide) y[j] = exponential<T>(y[j] - offset);
        if constexpr (kOp == ReductionOp::layer_norm) {
          y[j] = fmaf((y[j] - offset) * factor, w[j], b[j]);
        } else {
          y[j] *= factor;
          if constexpr (has_weight(kOp)) y[j] *= w[j];
        }
      }
      store<true>(to + held.at(i), narrow<Out>(y));
    }
  }
}

/// The element whose probability a cross-entropy is of, on the thread that writes; asked for before all else.
template <ReductionOp kOp, class T>
__device__ float picked_of(const ReductionArrays& arrays, const T* x_row, std::int64_t row, bool first_of_row) {
  if constexpr (kOp == ReductionOp::cross_entropy) return first_of_row ? widened(x_row[arrays.target[row]]) : 0;
  return 0;
}

/// A row is held by `threads` threads (a warp, or the block) of `cluster` blocks.
template <ReductionOp kOp, class T, bool kVector, int kCount, unsigned kThreads>
__global__ void __launch_bounds__(kThreads, kMostThreads / kThreads)
    held_kernel(ReductionArrays arrays, std::int64_t rows, unsigned columns, unsigned threads, unsigned cluster) {
  using H = Held<T, kVector, kCount>;
  const unsigned rank = blockIdx.x % cluster, in_row = threadIdx.x % threads;
  const std::int64_t row = std::int64_t{blockIdx.x / cluster} * (blockDim.x / threads) + threadIdx.x / threads;
  if (row >= rows) return;  // a warp that has no row; rows of more threads have blocks of their own
  using S = State<kOp, T>;
  __shared__ Parts<S> parts;
  if (cluster > 1) {
    if (threadIdx.x == 0) prepare_mailbox(&parts.mailbox, cluster * threads / kWarp * static_cast<unsigned>(sizeof(S)));
    join_cluster();
  }
  H held;
  held.first = rank * threads * H::kPackets + in_row;
  held.step = threads;
  held.end = columns / H::kLanes;
  const T* x_row = static_cast<const T*>(arrays.x) + row * columns;
  const float picked = picked_of<kOp>(arrays, x_row, row, held.first == 0);
  if constexpr (kOp == ReductionOp::residual_rms_norm) {
    load_sum(held, x_row, static_cast<const T*>(arrays.residual) + row * columns, static_cast<T*>(arrays.sum) + row * columns);
  } else {
    load<kOp>(held, x_row);
  }
  const S own = state_of<kOp>(held);
  finish<kOp>(held, own, state_of_row(own, parts, threads, cluster, rank), arrays, row, columns, picked);
}

/// For rows that are too long to be held: a block reads its row twice.
template <ReductionOp kOp, class T, bool kVector>
__global__ void __launch_bounds__(kThreadsOfTwoBlocks, 2) twice_read_kernel(ReductionArrays arrays, unsigned columns) {
  // Two loops leave fewer registers.
  constexpr int kCount = kVector ? kElements * 2 / static_cast<int>(sizeof(T)) : kScalarElements / 2;
  using H = Held<T, kVector, kCount>;
  const std::int64_t row = blockIdx.x;
  H held;
  held.step = blockDim.x;
  held.end = columns / H::kLanes;
  const unsigned stride = H::kPackets * blockDim.x;
  const T* x_row = static_cast<const T*>(arrays.x) + row * columns;
  T* sum_row = static_cast<T*>(arrays.sum) + row * columns;
  const float picked = picked_of<kOp>(arrays, x_row, row, threadIdx.x == 0);
  auto state = none<State<kOp, T>>();
  for (held.first = threadIdx.x; held.first < held.end; held.first += stride) {
    if constexpr (kOp == ReductionOp::residual_rms_norm) {
      load_sum(held, x_row, static_cast<const T*>(arrays.residual) + row * columns, sum_row);
    } else {
      load<kOp>(held, x_row);
    }
    state = merged(state, state_of<kOp>(held));
  }
  __shared__ Parts<State<kOp, T>> parts;
  const auto all = state_of_row(state, parts, blockDim.x, 1, 0);
  if constexpr (gives_one_number(kOp)) {
    held.first = threadIdx.x;
    finish<kOp>(held, state, all, arrays, row, columns, picked);
  } else {
    for (held.first = threadIdx.x; held.first < held.end; held.first += stride) {
      if constexpr (kOp == ReductionOp::residual_rms_norm) {
        // This thread has written it, so it may not come by the path of what nothing writes.
#pragma unroll
        for (int i = 0; i < H::kPackets; ++i) {
          if (held.has(i)) held.take(i, load_cached(reinterpret_cast<const typename H::Vector*>(sum_row) + held.at(i)));
        }
        finish<kOp>(held, state, all, arrays, row, columns, picked);
      } else {
        load<kOp>(held, x_row);
        const auto own = takes_exponentials(kOp) ? state_of<kOp>(held) : state;
        finish<kOp>(held, own, all, arrays, row, columns, picked);
      }
    }
  }
}

/// Whether blocks of the device in use can be launched as clusters.
bool has_clusters() {
  static const std::vector<bool> all = [] {
    int devices = 0;
    check(cudaGetDeviceCount(&devices));
    std::vector<bool> found;
    for (int i = 0; i < devices; ++i) {
      int value = 0;
      check(cudaDeviceGetAttribute(&value, cudaDevAttrClusterLaunch, i));
      found.push_back(value != 0);
    }
    return found;
  }();
  int device = 0;
  check(cudaGetDevice(&device));
  return all.at(static_cast<std::size_t>(device));
}

/// Who holds a row. elements: a thread's; 0 where the row is too long to be held.
struct Plan {
  unsigned threads, block, cluster;
  int elements;
};

/// elements: what a thread holds; twice_as_many: it may hold twice as many.
Plan plan_for(unsigned columns, bool clusters, int elements, bool twice_as_many) {
  const auto held = static_cast<unsigned>(elements);
  const auto threads_for = [=](unsigned cluster, unsigned elements) {
    const unsigned a_warp = cluster * elements * kWarp;
    return (columns + a_warp - 1) / a_warp * kWarp;
  };
  if (columns <= kWarp * held) return {kWarp, kWarpRowThreads, 1, elements};
  for (unsigned cluster = 1; cluster <= (clusters ? kMostCluster : 1); cluster *= 2) {
    if (const unsigned threads = threads_for(cluster, held); threads <= kThreadsOfTwoBlocks) {
      return {threads, threads, cluster, elements};
    }
  }
  const unsigned cluster = clusters ? kMostCluster : 1;
  if (const unsigned threads = threads_for(cluster, 2 * held); twice_as_many && threads <= kThreadsOfTwoBlocks) {
    return {threads, threads, cluster, 2 * elements};
  }
  if (const unsigned threads = threads_for(cluster, held); threads <= kMostThreads) {
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
void launch_by(const ReductionArrays& arrays, std::int64_t rows, unsigned columns, Stream stream) {
  constexpr int kCount = kVector ? kElements : kScalarElements;
  constexpr bool kTwiceAsMany = kVector && sizeof(T) < sizeof(float);
  const Plan plan = plan_for(columns, has_clusters(), kCount, kTwiceAsMany);
  if (plan.elements == 0) {
    twice_read_kernel<kOp, T, kVector><<<static_cast<unsigned>(rows), plan.block, 0, stream>>>(arrays, columns);
    return check(cudaGetLastError());
  }
  auto kernel = held_kernel<kOp, T, kVector, kCount, kMostThreads>;
  if constexpr (kTwiceAsMany) {
    if (plan.elements > kCount) kernel = held_kernel<kOp, T, kVector, 2 * kCount, kThreadsOfTwoBlocks>;
  }
  const unsigned rows_a_block = plan.block / plan.threads;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = plan.cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>((rows + rows_a_block - 1) / rows_a_block) * plan.cluster);
  config.blockDim = dim3(plan.block);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = plan.cluster > 1 ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, arrays, rows, columns, plan.threads, plan.cluster));
}

template <ReductionOp kOp, class T>
void launch_typed(const ReductionArrays& arrays, std::int64_t rows, std::int64_t columns, Stream stream) {
  if (in_packets<kOp, T>(arrays, columns)) {
    launch_by<kOp, T, true>(arrays, rows, static_cast<unsigned>(columns), stream);
  } else {
    launch_by<kOp, T, false>(arrays, rows, static_cast<unsigned>(columns), stream);
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
