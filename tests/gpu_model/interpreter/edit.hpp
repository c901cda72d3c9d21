// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace gpu_model {

// clang-format off
/// Plants a fault in a kernel's PTX before it is parsed, for tests that ask whether such a mistake would be found.
///
/// variable              value                   effect
/// GPUMODEL_EDIT         pattern=>replacement    replaces on every line that matches the regular expression (ECMAScript)
/// GPUMODEL_EDIT_PLACE   n                       only on the n-th matching line, from 0
/// GPUMODEL_EDIT_KERNEL  pattern                 only in kernels whose mangled name matches
///
/// Prints to stderr how many lines it changed, if any. Throws std::runtime_error if GPUMODEL_EDIT has no "=>".
// clang-format on
std::string edited(const std::string& ptx, const std::string& kernel);

}  // namespace gpu_model
