// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/peer_access.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/base/cuda.hpp"
#include "kernels/cuda/on_device.hpp"

namespace roofmark::cuda {

namespace {

class HeldAccess {
 public:
  HeldAccess(int device, int peer, bool enabled) : device_(device), peer_(peer), enabled_(enabled) {
    const OnDevice here(device);
    const cudaError_t status = set(enabled);
    if (status == (enabled ? cudaErrorPeerAccessAlreadyEnabled : cudaErrorPeerAccessNotEnabled)) {
      cudaGetLastError();
      return;
    }
    if (status == cudaErrorPeerAccessUnsupported || status == cudaErrorInvalidDevice || status == cudaErrorTooManyPeers) {
      cudaGetLastError();
      throw Unsupported("the driver refuses cuda:" + std::to_string(device) +
                        " access to the memory of cuda:" + std::to_string(peer) + ": " + cudaGetErrorString(status));
    }
    check(status);
    changed_ = true;
  }
  ~HeldAccess() {
    if (!changed_) return;
    const OnDevice here(device_, std::nothrow);
    if (here.status() != cudaSuccess) return;
    if (set(!enabled_) != cudaSuccess) cudaGetLastError();  // the next launch would be blamed for it
  }
  HeldAccess(const HeldAccess&) = delete;
  HeldAccess& operator=(const HeldAccess&) = delete;

  bool enabled() const { return enabled_; }

 private:
  cudaError_t set(bool enabled) const {
    return enabled ? cudaDeviceEnablePeerAccess(peer_, 0) : cudaDeviceDisablePeerAccess(peer_);
  }

  int device_, peer_;
  bool enabled_, changed_ = false;
};

std::shared_ptr<void> hold(int device, int peer, bool enabled) {
  static std::map<std::pair<int, int>, std::weak_ptr<HeldAccess>> held;
  std::weak_ptr<HeldAccess>& place = held[{device, peer}];
  std::shared_ptr<HeldAccess> access = place.lock();
  if (!access) place = access = std::make_shared<HeldAccess>(device, peer, enabled);
  if (access->enabled() != enabled) {
    throw std::logic_error("access of cuda:" + std::to_string(device) + " to cuda:" + std::to_string(peer) +
                           " is requested both enabled and disabled");
  }
  return access;
}

}  // namespace

const PeerAccessKernels peer_access = {hold};

}  // namespace roofmark::cuda
