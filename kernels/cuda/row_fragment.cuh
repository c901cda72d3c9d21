// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "kernels/cuda/convert.cuh"
#include "kernels/cuda/ptx/registers.cuh"
#include "kernels/cuda/row_statistics.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/reductions.hpp"

// A thread's part of a row, and the statistic of it that each ReductionOp needs.
namespace roofmark::cuda::rows {

inline constexpr int kElements = 32;

constexpr bool takes_exponentials(ReductionOp op) { return op == ReductionOp::softmax || op == ReductionOp::cross_entropy; }

template <ReductionOp kOp, class T>
using Statistic =
    std::conditional_t<takes_exponentials(kOp), LogSumExp<std::conditional_t<std::is_same_v<T, float>, float, __half>>,
                       std::conditional_t<kOp == ReductionOp::layer_norm, Moments,
                                          std::conditional_t<kOp == ReductionOp::quantise, AbsoluteMaximum, Sum>>>;

/// A thread's kCount elements of a row, in registers: packets first, first + step, ... below `end`. Up to kElements are kept in
/// fp32, more in the type in which they are stored. Without kVector, for arrays or rows that are not aligned, a packet is one
/// element.
template <class Element, bool kVector, int kCount>
struct RowFragment {
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
      // Converts again at each call: the compiler would keep the converted values, for which there are no registers.
      Vector vector = packet[i];
#pragma unroll
      for (unsigned& word : vector.element) opaque(word);
      widen<T>(vector, values);
    }
  }
  /// Replaces a packet's values if they are kept in fp32.
  __device__ void keep(int i, const Values& values) {
    if constexpr (kWide) {
#pragma unroll
      for (int j = 0; j < kLanes; ++j) packet[i][j] = values[j];
    }
  }
};

/// Calls use(value, packet, chain). Four chains of operations hide the latency of one.
template <class H, class Use>
__device__ void for_each_value(const H& fragment, Use use) {
#pragma unroll
  for (int i = 0; i < H::kPackets; ++i) {
    typename H::Values values;
    fragment.get(i, values);
#pragma unroll
    for (int j = 0; j < H::kLanes; ++j) use(values[j], i, (i * H::kLanes + j) % 4);
  }
}
template <class H, class Term>
__device__ float sum_of(const H& fragment, Term term) {
  float sum[4] = {};
  for_each_value(fragment, [&](float value, int i, int chain) { sum[chain] += term(value, i); });
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Ignores NaN. Elements that are kept as stored are compared as stored.
template <class H>
__device__ float maximum_of(const H& fragment) {
  if constexpr (H::kWide) {
    float maximum[4] = {-kInfinity, -kInfinity, -kInfinity, -kInfinity};
    for_each_value(fragment, [&](float value, int, int chain) { maximum[chain] = fmaxf(maximum[chain], value); });
    return fmaxf(fmaxf(maximum[0], maximum[1]), fmaxf(maximum[2], maximum[3]));
  } else {
    using T = typename H::T;
    unsigned maximum = narrowed_pair<T>(-kInfinity, -kInfinity);
#pragma unroll
    for (int i = 0; i < H::kPackets; ++i) {
#pragma unroll
      for (const unsigned word : fragment.packet[i].element) maximum = max_pair<T>(maximum, word);
    }
    float pair[2];
    widen<T>(Stored<T, 2>{{maximum}}, pair);
    return fmaxf(pair[0], pair[1]);
  }
}

/// A packet for elements beyond the row's end, which change neither maximum nor sum.
template <ReductionOp kOp, class H>
__device__ typename H::Vector padding() {
  typename H::Values values;
#pragma unroll
  for (float& value : values) value = takes_exponentials(kOp) ? -kInfinity : 0;
  return narrow<typename H::T>(values);
}

template <ReductionOp kOp, class H>
__device__ typename H::Vector load_packet(const H& fragment, const typename H::T* row, int i) {
  return fragment.has(i) ? load_once(reinterpret_cast<const typename H::Vector*>(row) + fragment.at(i)) : padding<kOp, H>();
}

/// Loads this thread's part of a row; all loads are issued before the first result is used.
template <ReductionOp kOp, class H>
__device__ void load(H& fragment, const typename H::T* row) {
  typename H::Vector vector[H::kPackets];
#pragma unroll
  for (int i = 0; i < H::kPackets; ++i) vector[i] = load_packet<kOp>(fragment, row, i);
#pragma unroll
  for (int i = 0; i < H::kPackets; ++i) fragment.take(i, vector[i]);
}

/// The same for residual + x, which is rounded and stored. In batches, because the registers do not hold both arrays at once.
template <class H>
__device__ void load_sum(H& fragment, const typename H::T* x_row, const typename H::T* residual_row, typename H::T* sum_row) {
  using T = typename H::T;
  using Vector = typename H::Vector;
  constexpr int kBatch = H::kPackets / 2;
#pragma unroll
  for (int begin = 0; begin < H::kPackets; begin += kBatch) {
    Vector x[kBatch], residual[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      x[i] = load_packet<ReductionOp::residual_rms_norm>(fragment, x_row, begin + i);
      residual[i] = load_packet<ReductionOp::residual_rms_norm>(fragment, residual_row, begin + i);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      typename H::Values a, b;
      widen<T>(x[i], a);
      widen<T>(residual[i], b);
#pragma unroll
      for (int j = 0; j < H::kLanes; ++j) a[j] += b[j];
      const Vector sum = narrow<T>(a);
      if (fragment.has(begin + i)) store<true>(reinterpret_cast<Vector*>(sum_row) + fragment.at(begin + i), sum);
      fragment.take(begin + i, sum);
    }
  }
}

/// The statistic of this thread's elements. Exponentials replace the elements if these are kept in fp32.
template <ReductionOp kOp, class H>
__device__ Statistic<kOp, typename H::T> statistic_of(H& fragment) {
  if constexpr (takes_exponentials(kOp)) {
    const float m = maximum_of(fragment), from = exponent_base(m);
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < H::kPackets; ++i) {
      typename H::Values values;
      fragment.get(i, values);
#pragma unroll
      for (int j = 0; j < H::kLanes; ++j) {
        values[j] = exp_for<typename H::T>(values[j] - from);
        sum[(i * H::kLanes + j) % 4] += values[j];
      }
      fragment.keep(i, values);
    }
    return {m, (sum[0] + sum[1]) + (sum[2] + sum[3])};
  } else if constexpr (kOp == ReductionOp::layer_norm) {
    float count = 0;
#pragma unroll
    for (int i = 0; i < H::kPackets; ++i) count += fragment.has(i) ? H::kLanes : 0;
    const float sum = sum_of(fragment, [](float value, int) { return value; });
    const float mean = count > 0 ? sum / count : 0;
    return {count, mean, sum_of(fragment, [&](float value, int i) {
              const float difference = fragment.has(i) ? value - mean : 0;
              return difference * difference;
            })};
  } else if constexpr (kOp == ReductionOp::quantise) {
    float maximum[4] = {};
    for_each_value(fragment, [&](float value, int, int chain) { maximum[chain] = max_nan(maximum[chain], fabsf(value)); });
    return {max_nan(max_nan(maximum[0], maximum[1]), max_nan(maximum[2], maximum[3]))};
  } else if constexpr (kOp == ReductionOp::row_sum) {
    return {sum_of(fragment, [](float value, int) { return value; })};
  } else {
    return {sum_of(fragment, [](float value, int) { return value * value; })};
  }
}

}  // namespace roofmark::cuda::rows
