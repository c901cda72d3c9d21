// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "bench/support/slots.hpp"
#include "harness/model/prepared.hpp"
#include "kernels/ceilings.hpp"

namespace roofmark::ceilings {

/// What fused multiply-adds, on one core of a CPU or on all, and matrix products load.
const Resource& fma_resource(DataType type, bool one_core);
const Resource& tensor_resource(DataType type, DataType accumulate);

// The probes of the ceilings, prepared: each verifies all that it writes.

/// Chains of `steps` fused multiply-adds.
std::unique_ptr<Prepared> fma_probe(const Setup& setup, const CeilingKernels& kernels, DataType type, ProbeTarget target,
                                    std::size_t steps);

/// Chains of `steps` exponentials.
std::unique_ptr<Prepared> exp2_probe(const Setup& setup, const CeilingKernels& kernels, ProbeTarget target, std::size_t steps);

/// `iterations` of the layout's product in every block.
std::unique_ptr<Prepared> tensor_probe(const Setup& setup, const CeilingKernels& kernels, TensorProbe probe, ProbeTarget target,
                                       std::size_t iterations);
/// What a launch of it writes.
SlotLayout tensor_sinks(DataType type, const TensorLayout& layout);

/// Sums the 8-byte words of `data` into the sinks.
using ProbeRead = std::function<void(std::uint64_t* sinks, const void* data, Stream)>;
/// `sinks` words of 8 bytes.
SlotLayout read_sinks(std::size_t sinks);
/// A launch of `read` reads each word of `bytes` bytes `times` times.
std::unique_ptr<Prepared> read_probe(const Setup& setup, std::size_t sinks, std::size_t bytes, std::size_t times,
                                     ProbeRead read);

/// Stores to all 8-byte words of `to`; `from` is null where nothing is read.
using ProbeStore = std::function<void(std::uint64_t* to, const std::uint64_t* from, Stream)>;
SlotLayout written_words(std::size_t bytes);
/// A launch of `store` writes `written` bytes in `times` passes; pass p (from 0) stores w + p to word w; with
/// `reads` it reads an array of the same size, and stores from[w] + p.
std::unique_ptr<Prepared> store_probe(const Setup& setup, std::size_t written, bool reads, std::size_t times,
                                      const ProbeStore& store);

/// An empty kernel.
std::unique_ptr<Prepared> launch_probe(const CeilingKernels& kernels);

}  // namespace roofmark::ceilings
