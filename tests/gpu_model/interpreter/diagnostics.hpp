// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "machine.hpp"

namespace gpu_model {

/// A kernel's demangled name, cut to 200 characters.
std::string readable_name(const std::string& mangled);

/// Throws a Fault that says what each warp of the cluster waits for. One warp at least must be live.
[[noreturn]] void fault_deadlock(const Cluster&);

}  // namespace gpu_model
