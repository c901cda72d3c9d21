// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/device/device.hpp"

namespace roofmark {

/// The host as a device. While it is open, every thread of the OpenMP pool is pinned to its own core (one thread per core, or
/// OMP_NUM_THREADS), unless the environment places them (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY).
std::unique_ptr<Device> open_cpu_device();

}  // namespace roofmark
