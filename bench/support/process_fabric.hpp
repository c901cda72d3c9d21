// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "bench/support/fabric.hpp"

namespace roofmark {

/// All GPUs that this process sees, where they are several and `device` is the first of them; else null. NCCL connects them: in
/// a build without it, splitting them throws Unsupported.
std::unique_ptr<Fabric> process_fabric(const DeviceInfo& device);

/// So many GPUs of one process, of which only the specification is known: to list their cases, not to run them.
Fabric specified_fabric(const DeviceInfo& device, int gpus);

}  // namespace roofmark
