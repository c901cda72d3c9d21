// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"
#include "kernels/stream.hpp"

namespace roofmark {

/// The own kernel, or the equivalent library call: memcpy for copy, memset for write.
enum class StreamBy { kernel, library };

/// One stream over arrays of `bytes` in total: each has floor(bytes / arrays / element size) elements. All bytes of the written
/// scalar are equal, so that write and memset give the same array.
Case stream_case(const DeviceInfo& device, StreamOp op, DataType type, std::size_t bytes, Cache cache,
                 StreamBy by = StreamBy::kernel);

}  // namespace roofmark
