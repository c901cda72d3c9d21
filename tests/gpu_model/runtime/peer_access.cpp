// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Access of a device to another one's memory.
#include "state.hpp"

namespace gpu_model::runtime {
namespace {

/// What enabling and disabling begin with.
cudaError_t check_peer(int peer) {
  GPUMODEL_CHECK(enter());
  if (!exists(peer) || peer == current_device().ordinal() || !settings().peer_access) {
    return fail(cudaErrorInvalidDevice, "the current device cannot access the memory of device " + std::to_string(peer));
  }
  return cudaSuccess;
}

}  // namespace
}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  GPUMODEL_CHECK(enter(false));
  if (!can) return fail(cudaErrorInvalidValue);
  if (!exists(device) || !exists(peer)) return fail(cudaErrorInvalidDevice);
  *can = device != peer && settings().peer_access;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  GPUMODEL_CHECK(check_peer(peer));
  if (flags != 0) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(state().mutex);
  const bool added = state().peer_access.emplace(current_device().ordinal(), peer).second;
  return added ? cudaSuccess : fail(cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  GPUMODEL_CHECK(enter());
  if (!exists(peer)) return fail(cudaErrorInvalidDevice);
  const std::lock_guard lock(state().mutex);
  const bool removed = state().peer_access.erase({current_device().ordinal(), peer}) > 0;
  return removed ? cudaSuccess : fail(cudaErrorPeerAccessNotEnabled);
}

}  // extern "C"
