// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/ceilings.hpp"

namespace roofmark::cuda {

/// Whether the instructions offer this accumulator, as listed at TensorProbe.
constexpr bool tensor_accumulates(DataType type, DataType accumulate) {
  switch (type) {
    case DataType::fp64:
      return accumulate == DataType::fp64;
    case DataType::int8:
      return accumulate == DataType::int32;
    case DataType::fp16:
      return accumulate == DataType::fp32 || accumulate == DataType::fp16;
    case DataType::tf32:
    case DataType::bf16:
    case DataType::fp8:
    case DataType::mxfp8:
    case DataType::nvfp4:
      return accumulate == DataType::fp32;
    default:
      return false;
  }
}

// The entries of the table CeilingKernels; tensor_layout and tensor by instruction.
ChainLayout fma_layout(DataType type, ProbeTarget target);
void fma(DataType type, void* sink, std::size_t steps, ProbeTarget target, Stream stream);
ChainLayout exp2_layout(ProbeTarget target);
void exp2(float* sink, std::size_t steps, ProbeTarget target, Stream stream);

TensorLayout mma_layout(DataType type, DataType accumulate, ProbeTarget target);
void mma(DataType type, DataType accumulate, void* sink, const void* a, const void* b, std::size_t iterations,
         ProbeTarget target, Stream stream);
TensorLayout wgmma_layout(DataType type, DataType accumulate, ProbeTarget target);
void wgmma(DataType type, DataType accumulate, void* sink, const void* a, const void* b, std::size_t iterations,
           ProbeTarget target, Stream stream);
TensorLayout tcgen05_layout(DataType type, DataType accumulate, ProbeTarget target);
void tcgen05(DataType type, DataType accumulate, void* sink, const void* a, const void* b, std::size_t iterations,
             ProbeTarget target, Stream stream);

std::size_t cache_read_sinks(ProbeTarget target);
void cache_read(std::uint64_t* sink, const void* data, std::size_t bytes, std::size_t repeats, ProbeTarget target,
                Stream stream);
void l1_read(std::uint64_t* sink, const void* data, std::size_t bytes, std::size_t repeats, ProbeTarget target, Stream stream);
void cache_write(std::uint64_t* to, std::size_t bytes, std::size_t repeats, ProbeTarget target, Stream stream);
void cache_copy(std::uint64_t* to, const std::uint64_t* from, std::size_t bytes, std::size_t repeats, ProbeTarget target,
                Stream stream);
std::size_t shared_read_bytes();
std::size_t shared_read_sinks(ProbeTarget target);
void shared_read(std::uint64_t* sink, const void* data, std::size_t repeats, ProbeTarget target, Stream stream);
void empty(Stream stream);

}  // namespace roofmark::cuda
