// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/work.hpp"
#include "kernels/base/kernel.hpp"
#include "kernels/base/operation.hpp"

namespace roofmark {

/// The CPU has no unit for exponentials, and no ceiling of them.
inline void add_demands(Phase& demands, const OperationCounts& counts, double elements, Backend backend) {
  if (counts.flops > 0) demands.push_back({resource::fp32_fma, counts.flops * elements});
  if (counts.exponentials > 0 && backend == Backend::cuda) demands.push_back({resource::exp, counts.exponentials * elements});
}

}  // namespace roofmark
