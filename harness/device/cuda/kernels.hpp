// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "harness/device/clock_stamp.hpp"
#include "harness/device/matrix_view.hpp"
#include "harness/device/random.hpp"
#include "kernels/base/cuda.hpp"

namespace roofmark::cuda {

/// The code of this build that the current device runs.
struct Code {
  cudaError_t status = cudaSuccess;  ///< else what each kernel would fail with
  int compiled_for = 0;              ///< the compute capability of its PTX, as 90: what its source saw as __CUDA_ARCH__ / 10
};
Code find_code();

/// data[i] = generate<type>(..., i). Enqueues.
void fill(void* data, DataType type, std::size_t count, const Fill& fill, cudaStream_t stream);
/// Each block is generate_block<type>(..., its first element); the scales' padding is zeros. Enqueues.
void fill(void* data, const BlockScaledLayout& layout, const Fill& fill, cudaStream_t stream);

/// Scratch memory for the reductions below.
inline constexpr std::size_t kReductionScratchBytes = 16 * 1024;

/// The hash of hash.hpp. Synchronises the stream, as every reduction does.
std::uint64_t hash(const void* data, std::size_t bytes, void* scratch, cudaStream_t stream);
/// The same to device memory, without scratch. Enqueues.
void enqueue_hash(const void* data, std::size_t bytes, std::uint64_t* result, cudaStream_t stream);

/// The bits of the largest elementwise_error (NaN is above all), and the first index that has it.
struct WorstError {
  std::uint64_t error_bits, index;
};
/// out[i] against alpha * x[i] + beta * y[i] + constant; x and y may be null.
struct LinearComparison {
  const void *out, *x, *y;
  double alpha, beta, constant;
};
WorstError compare_linear(DataType type, const LinearComparison& comparison, std::size_t count, void* scratch,
                          cudaStream_t stream);

/// out[i] against expected[i] in units of u(type) * scale[i].
WorstError compare(DataType type, const void* out, const double* expected, const double* scale, std::size_t count,
                   void* scratch, cudaStream_t stream);

/// Over x[i] * y[i], or x[i] where y is null.
struct SumAndSquares {
  double sum, squares;
};
SumAndSquares sum_terms(DataType type, const void* x, const void* y, std::size_t count, void* scratch, cudaStream_t stream);

/// sums[r * blocks + b] = sum over the columns c of block b of view(r, c) * sign(seed, c), squares likewise of view(r, c)^2
/// (may be null). Enqueues.
void signed_block_sums(const MatrixView& view, std::int64_t block, std::uint64_t seed, double* sums, double* squares,
                       cudaStream_t stream);

/// sums[r] = sum over the columns c of view(r, c)^4. Enqueues.
void fourth_power_sums(const MatrixView& view, double* sums, cudaStream_t stream);

/// products [view.rows, n] = view * right [view.columns, n], row-major, in fp64. Enqueues.
void multiply_fp64(const MatrixView& view, const double* right, std::int64_t n, double* products, cudaStream_t stream);

/// Blocks the stream until *opened >= ticket, at most for `limit_nanoseconds`; then writes the ticket to *expired. Both words
/// are mapped host memory. Enqueues.
void wait_at_gate(const std::uint32_t* opened, std::uint32_t* expired, std::uint32_t ticket, std::uint64_t limit_nanoseconds,
                  cudaStream_t stream);

/// SM clock cycles between two readings of the nanosecond timer; both 0 if the timer did not advance.
struct ClockReading {
  std::int64_t cycles;
  std::uint64_t nanoseconds;
};
/// Each of `blocks` blocks writes one reading, over about 200 us. Enqueues.
void read_clocks(ClockReading* readings, int blocks, cudaStream_t stream);

/// Each of `blocks` blocks writes one stamp; which SMs they run on is the hardware's choice. Enqueues.
void stamp_clocks(ClockStamp* stamps, int blocks, cudaStream_t stream);

/// Writes and then reads `bytes` (a multiple of 16) of the buffer: this evicts the previous contents of the caches and leaves
/// almost no dirty line for the next kernel to write back. Enqueues.
void sweep(void* buffer, std::size_t bytes, cudaStream_t stream);

}  // namespace roofmark::cuda
