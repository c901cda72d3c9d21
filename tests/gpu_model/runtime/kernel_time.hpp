// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// How long a kernel takes in model time, by a roofline of the device's rates. It gives plausible times; they predict nothing.
#pragma once
#include <string>

#include "../interpreter/interpreter.hpp"

namespace gpu_model::runtime {

/// Properties of the PTX that the time depends on.
struct KernelTraits {
  bool reads_timer = false;           ///< %globaltimer
  bool loads_by_l1 = false;           ///< ld.global of 16 bytes, without .cg: the probe of L1
  bool has_tensor_math = false;       ///< mma.sync, wgmma or tcgen05.mma
  double tensor_flops_per_clock = 0;  ///< per SM; attainable with its instructions
};
KernelTraits traits_of(const std::string& ptx);

struct KernelShape {
  Dim3 grid, block;
  double footprint_bytes = 0;  ///< size of the allocations that its parameters point into
};

/// Nanoseconds, without the overhead of the launch.
double kernel_ns(const KernelTraits& traits, const KernelShape& shape, const Counters& counters, double clock_mhz);

}  // namespace gpu_model::runtime
