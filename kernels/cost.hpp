// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
};

struct CostKernels {
  /// The calls of this kind of device; `compute_capability` 90 for 9.0.
  std::vector<HostCallPlan> (*calls)(int compute_capability);
};

namespace cuda {
ROOFMARK_KERNELS CostKernels cost;
}
namespace cpu {
ROOFMARK_KERNELS CostKernels cost;
}

}  // namespace roofmark
