// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// A second stream, on the same or another device, for work concurrent with a launch's stream.
class SideStream {
 public:
  virtual ~SideStream() = default;
  /// Forks: the second stream waits for the work in `stream` so far.
  virtual Stream fork(Stream stream) = 0;
  /// Joins: `stream` waits for the work in the second stream so far.
  virtual void join(Stream stream) = 0;
};

struct SideStreamKernels {
  /// On the current device.
  std::unique_ptr<SideStream> (*make)();
  /// On the device of this ordinal, for work beside a stream of the current device.
  std::unique_ptr<SideStream> (*make_on)(int device);
};

namespace cuda {
ROOFMARK_KERNELS SideStreamKernels side_stream;
}

}  // namespace roofmark
