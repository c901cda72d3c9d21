// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// A prepared host call that starts work, waits for it, or allocates memory. Its arguments are ready before the call. Unlike
/// other operations it may allocate and synchronise: that is the cost being measured.
class HostCall {
 public:
  virtual ~HostCall() = default;
  virtual void call() = 0;
  /// Call before each call(): undoes the previous call (clears its effect, frees what it allocated, allocates what it freed),
  /// so that every call is the same. The device is idle when it returns.
  virtual void restore() {}
  virtual bool needs_restore() const { return false; }

  enum class Effect { invisible, missing, there };
  /// Whether the calls took effect; `missing` after restore(). Requires an idle device.
  virtual Effect effect() const { return Effect::invisible; }
};

struct HostCallPlan {
  std::string operation;                                  ///< launch, allocate
  std::vector<std::pair<std::string, std::string>> keys;  ///< in the order of the case's name
  /// The call returns when the device has finished, so host and device time are the same.
  bool waits = false;
  std::size_t device_bytes = 0;  ///< that a call allocates
  std::string unsupported;       ///< why the device cannot do it, or empty
  /// `stream`: where the work goes.
  std::function<std::unique_ptr<HostCall>(Stream stream)> make;
  /// Number of calls to time if calls and restore() are so slow that the time budget allows too few; 0: as the budget allows.
  int samples = 0;
};

/// State of the barriers, in device memory.
struct BarrierMemory {
  std::uint64_t* arrivals = nullptr;  ///< 0 before the first launch
  std::uint32_t* passed = nullptr;    ///< per block: number of barriers passed in the launch
  /// Per block, 0 before a launch. If given, a barrier counts as passed only if all blocks had arrived before it was left.
  std::uint32_t* rounds = nullptr;
};

using DeviceCostLaunch = std::function<void(const BarrierMemory& memory, Stream stream)>;

/// Work that the device repeats within one launch, to measure the time of one repetition.
struct DeviceCostPlan {
  std::string operation;
  std::vector<std::pair<std::string, std::string>> keys;  ///< in the order of the case's name
  int kernels = 1;                                        ///< that a launch enqueues
  int barriers = 0, blocks = 0;                           ///< of a launch; without barriers BarrierMemory is not used
  bool is_compared = false;                               ///< with the next plan, which is expected to be slower
  std::string unsupported;
  std::function<DeviceCostLaunch()> prepare;
};

/// The device that plans are for.
struct CostTarget {
  int compute_capability = 0;  ///< 90 for 9.0
  int multiprocessors = 1;
};

struct CostKernels {
  std::vector<HostCallPlan> (*calls)(const CostTarget& target);
  std::vector<DeviceCostPlan> (*device_costs)(const CostTarget& target) = nullptr;
};

namespace cuda {
ROOFMARK_KERNELS CostKernels cost;
}
namespace cpu {
ROOFMARK_KERNELS CostKernels cost;
}

}  // namespace roofmark
