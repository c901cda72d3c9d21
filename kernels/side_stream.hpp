// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// A second stream, of the device or of another, for work beside that of the stream that a launch is enqueued on.
class SideStream {
 public:
  virtual ~SideStream() = default;
  /// The second stream; it waits for what `stream` holds so far.
  virtual Stream fork(Stream stream) = 0;
  /// `stream` waits for what the second stream holds so far.
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
