// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <functional>
#include <memory>

#include "harness/device/cuda/gate.hpp"
#include "harness/device/device.hpp"

namespace roofmark::cuda {

/// What a batch needs of the device it runs on, which outlives it.
struct BatchSite {
  int ordinal = 0;
  cudaStream_t stream = nullptr;
  Gate* gate = nullptr;  ///< null where no gate may be used
  std::chrono::steady_clock::time_point opened;
  std::function<void()> flush_caches;  ///< enqueues
};

/// The first run makes one launch that is not timed, which loads what is loaded lazily. A gate is put before a graph as well,
/// so that the events do not time the host's launching of it. What cannot be captured is gated, what cannot be gated (more
/// than Gate::kMaxLaunches launches, no gate to be had, a gate that opened by itself twice running) is timed as it comes.
std::unique_ptr<Batch> make_batch(const BatchSite& site, const BatchPlan& plan, Launch launch);

}  // namespace roofmark::cuda
