// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/device.hpp"

namespace roofmark {

/// Devices to list cases for, none of which need be there.
inline DeviceInfo h200() {
  DeviceInfo info;
  info.id = "cuda:0";
  info.backend = Backend::cuda;
  info.name = "NVIDIA H200";
  info.compute_capability = 90;
  info.multiprocessors = 132;
  info.rated_clock_hz = info.highest_clock_hz = 1.98e9;
  info.memory_bytes = info.free_bytes = 150'000'000'000;
  info.caches = {{"l1", std::size_t{132} << 18, std::size_t{1} << 18}, {"l2", std::size_t{60} << 20, std::size_t{60} << 20}};
  return info;
}

/// One of no table of known GPUs.
inline DeviceInfo unnamed_gpu(int compute_capability) {
  DeviceInfo info;
  info.id = "cuda:0";
  info.backend = Backend::cuda;
  info.compute_capability = compute_capability;
  info.memory_bytes = info.free_bytes = std::size_t{141} << 30;
  info.caches = {{"l2", std::size_t{60} << 20, std::size_t{60} << 20}};
  return info;
}

inline DeviceInfo two_cores() {
  DeviceInfo info;
  info.id = "cpu";
  info.multiprocessors = 2;
  info.memory_bytes = info.free_bytes = 25'000'000'000;
  info.caches = {{"l1", 64 << 10, 32 << 10}, {"l2", 2 << 20, 1 << 20}, {"l3", 32 << 20, 32 << 20}};
  return info;
}

}  // namespace roofmark
