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

/// Something that a program calls to start work, to wait for it, or to get memory, made ready: all that a call takes is there
/// before it is made. Unlike the operations of other headers it may allocate and synchronise: that is what it costs.
class HostCall {
 public:
  virtual ~HostCall() = default;
  virtual void call() = 0;
  /// Where the next call would not be the same: clears what a call has left, frees what was allocated, or allocates what was
  /// freed. The device is idle when it returns. To be called before each call.
  virtual void restore() {}
  virtual bool needs_restore() const { return false; }

  enum class Effect { invisible, missing, there };
  /// Whether calls have had their effect; to be asked when the device is idle. Of a call that was restored: missing.
  virtual Effect effect() const { return Effect::invisible; }
};

struct HostCallPlan {
  std::string operation;                                  ///< launch, allocate
  std::vector<std::pair<std::string, std::string>> keys;  ///< in the order of the case's name
  /// It returns when the device has finished: there is no difference between the two.
  bool waits = false;
  std::size_t device_bytes = 0;  ///< that a call allocates
  std::string unsupported;       ///< why the device cannot do it, or empty
  /// `stream`: where the work goes.
  std::function<std::unique_ptr<HostCall>(Stream stream)> make;
  /// How many calls are timed, where they and restore() take so long that the budget in seconds allows too few; 0: as it
  /// allows.
  int samples = 0;
};

/// What barriers meet at, in device memory.
struct BarrierMemory {
  std::uint64_t* arrivals = nullptr;  ///< 0 before the first launch
  std::uint32_t* passed = nullptr;    ///< by block: a launch writes how many barriers it has passed
  /// By block, 0 before a launch: if given, a barrier counts only if every block is seen to have arrived, after it.
  std::uint32_t* rounds = nullptr;
};

using DeviceCostLaunch = std::function<void(const BarrierMemory& memory, Stream stream)>;

/// Work that the device does again and again in one launch, whose own time is asked for.
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
