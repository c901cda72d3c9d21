// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/ceilings.hpp"

namespace roofmark::cuda {

namespace {

TensorLayout tensor_layout(TensorProbe probe, ProbeTarget target) {
  switch (probe.instruction) {
    case TensorInstruction::mma:
      return mma_layout(probe.type, probe.accumulate, target);
    case TensorInstruction::wgmma:
      return wgmma_layout(probe.type, probe.accumulate, target);
    case TensorInstruction::tcgen05:
      return tcgen05_layout(probe.type, probe.accumulate, target);
  }
  return {};
}

void tensor(TensorProbe probe, void* sink, const void* a, const void* b, std::size_t iterations, ProbeTarget target,
            Stream stream) {
  switch (probe.instruction) {
    case TensorInstruction::mma:
      return mma(probe.type, probe.accumulate, sink, a, b, iterations, target, stream);
    case TensorInstruction::wgmma:
      return wgmma(probe.type, probe.accumulate, sink, a, b, iterations, target, stream);
    case TensorInstruction::tcgen05:
      return tcgen05(probe.type, probe.accumulate, sink, a, b, iterations, target, stream);
  }
}

}  // namespace

const CeilingKernels ceilings = {.fma_layout = fma_layout,
                                 .fma = fma,
                                 .exp2_layout = exp2_layout,
                                 .exp2 = exp2,
                                 .tensor_layout = tensor_layout,
                                 .tensor = tensor,
                                 .cache_read_sinks = cache_read_sinks,
                                 .cache_read = cache_read,
                                 .l1_read = l1_read,
                                 .cache_write = cache_write,
                                 .cache_copy = cache_copy,
                                 .shared_read_bytes = shared_read_bytes,
                                 .shared_read_sinks = shared_read_sinks,
                                 .shared_read = shared_read,
                                 .empty = empty};

}  // namespace roofmark::cuda
