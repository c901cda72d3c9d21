// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>

#include "harness/device/cuda/gate.hpp"
#include "harness/device/device.hpp"

namespace roofmark::cuda {

/// The device's parts that a batch uses; the device outlives the batch.
struct BatchSite {
  int ordinal = 0;
  cudaStream_t stream = nullptr;
  Gate* gate = nullptr;                ///< null where no gate may be used
  double opened = 0;                   ///< steady_seconds() then
  std::function<void()> flush_caches;  ///< enqueues
};

/// The first run starts with one untimed launch, for what is loaded lazily. A graph is gated too, so that the events do not
/// time the host's graph launch. Work that cannot be captured is gated instead. Work that cannot be gated is timed without a
/// gate: more than Gate::kMaxLaunches launches, no usable gate, or a gate that timed out twice in a row.
std::unique_ptr<Batch> make_batch(const BatchSite& site, const BatchPlan& plan, Launch launch);

}  // namespace roofmark::cuda
