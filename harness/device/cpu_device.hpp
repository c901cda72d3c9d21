// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/device/device.hpp"

namespace roofmark {

/// The host as a device. While it is open the threads of the OpenMP pool, one a core (OMP_NUM_THREADS when that is set), each
/// stay on a core of their own, unless the environment places them (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY).
std::unique_ptr<Device> open_cpu_device();

}  // namespace roofmark
