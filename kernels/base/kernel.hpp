// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/base/data_type.hpp"

struct CUstream_st;

namespace roofmark {

/// Where an execution is enqueued: a cudaStream_t; null on the CPU, where a call returns when the work is done.
using Stream = CUstream_st*;

/// Every operation is a table of functions, one constant per kind of device: `cuda::<name>` and `cpu::<name>`, declared with
/// this attribute. A table that a build leaves out (no CUDA toolkit, no CPU implementation) has a null address, and its cases
/// are unsupported. There is nothing else to register.
#define ROOFMARK_KERNELS extern const __attribute__((weak))

enum class Backend { cpu, cuda };

/// The table for a kind of device, or null if the build has none: select(backend, &cuda::stream, &cpu::stream).
template <class Kernels>
const Kernels* select(Backend backend, const Kernels* cuda, const Kernels* cpu) {
  return backend == Backend::cuda ? cuda : cpu;
}

}  // namespace roofmark
