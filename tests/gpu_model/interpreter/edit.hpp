// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace gpu_model {

/// Plants a fault in a kernel's PTX before it is parsed, for tests that ask whether such a mistake would show.
///   GPUMODEL_EDIT="pattern=>replacement"  on every line that matches the regular expression (ECMAScript; $1 in the
///   replacement) GPUMODEL_EDIT_PLACE=n                 on the n-th matching line alone, from 0 GPUMODEL_EDIT_KERNEL=pattern in
///   kernels whose mangled name matches
/// Says on stderr how many lines changed. Throws where the edit is malformed.
std::string edited(const std::string& ptx, const std::string& kernel);

}  // namespace gpu_model
