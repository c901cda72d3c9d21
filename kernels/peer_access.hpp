// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/base/kernel.hpp"

namespace roofmark {

/// Access of one GPU to the memory of another, its peer. Devices are ordinals.
struct PeerAccessKernels {
  /// Enables or disables the access of `device` to the memory of `peer` for as long as the result lives; afterwards it is as
  /// before. Results for the same two devices that live at the same time must want the same. Throws Unsupported where the
  /// driver refuses to enable it.
  std::shared_ptr<void> (*hold)(int device, int peer, bool enabled);
};

namespace cuda {
ROOFMARK_KERNELS PeerAccessKernels peer_access;
}

}  // namespace roofmark
