// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "harness/device/cuda/nvml.hpp"

namespace roofmark::cuda {

/// Of each GPU that the kernel's NVIDIA driver has, by its PCI address ("0000:3b:00.0"): whether NVML calls it lost. A GPU of
/// which it says neither this nor that it is there, such as one of another job, is left out. Asks the driver with no limit of
/// time. `root` is "/", or a copy in tests.
std::map<std::string, bool> ask_for_lost_gpus(const Nvml& nvml, const std::filesystem::path& root);

/// What `ask` says once no GPU that it calls lost may be one that another job is resetting: while it calls one lost that is not
/// among those of which it is sure, asks up to five times more, after waits.
std::map<std::string, bool> ask_until_sure(const std::function<std::map<std::string, bool>()>& ask,
                                           const std::function<void()>& wait, std::set<std::string>& sure);

}  // namespace roofmark::cuda
