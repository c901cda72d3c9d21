// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"
#include "kernels/stream.hpp"

namespace roofmark {

/// The own kernel, or the library's call that does the same: memcpy for copy, memset for write.
enum class StreamBy { kernel, library };

/// One stream over arrays of `bytes` all together: each has floor(bytes / arrays / size of an element) elements. The write
/// has a scalar of equal bytes, so that it and memset leave the same array.
Case stream_case(const DeviceInfo& device, StreamOp op, DataType type, std::size_t bytes, Cache cache,
                 StreamBy by = StreamBy::kernel);

}  // namespace roofmark
