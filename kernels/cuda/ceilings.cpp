// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/ceilings.hpp"

namespace roofmark::cuda {

namespace {

TensorLayout tensor_layout(TensorProbe probe, ProbeTarget target) {
  const auto layout = probe.instruction == TensorInstruction::wgmma ? wgmma_layout : mma_layout;
  return layout(probe.type, probe.accumulate, target);
}

void tensor(TensorProbe probe, void* sink, const void* a, const void* b, std::size_t iterations, ProbeTarget target,
            Stream stream) {
  const auto launch = probe.instruction == TensorInstruction::wgmma ? wgmma : mma;
  launch(probe.type, probe.accumulate, sink, a, b, iterations, target, stream);
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
