// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/support/listing.hpp"
#include "kernels/stream.hpp"

namespace roofmark::stream {

/// The own kernel, or the equivalent library call: memcpy for copy, memset for write.
enum class StreamBy { kernel, library };

/// One stream over arrays of `bytes` in total: each has floor(bytes / arrays / element size) elements. All bytes of the written
/// scalar are equal, so that write and memset give the same array.
Case stream_case(const DeviceInfo& device, StreamOp op, DataType type, std::size_t bytes, Cache cache,
                 StreamBy by = StreamBy::kernel);

/// Bytes that a stream's arrays may take together to fill the memory that a case may use, or one part of `parts`; a multiple of
/// a step, so that every run has the same name. At least one step: a case that does not fit is listed as unsupported.
std::size_t nearly_all_memory(const Listing& listing, std::size_t parts = 1);

}  // namespace roofmark::stream
