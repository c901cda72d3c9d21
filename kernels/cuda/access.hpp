// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/access.hpp"

namespace roofmark::cuda {

// The entries of the table AccessKernels.
void read(ReadBy by, std::int32_t* out, const std::int32_t* x, std::int64_t count, std::int64_t passes, Stream stream);

void bank_conflicts(std::uint32_t* sink, unsigned ways, unsigned repeats, int processors, Stream stream);
int dsmem_blocks(int cluster);
void dsmem(std::uint64_t* sink, int cluster, int blocks, unsigned passes, Stream stream);

void atomic_add_global(DataType type, void* counters, AddressPer per, unsigned repeats, int processors, Stream stream);
void atomic_add_shared(DataType type, void* out, AddressPer per, unsigned repeats, int processors, Stream stream);

}  // namespace roofmark::cuda
