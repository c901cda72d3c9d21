// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace gpu_model::nccl {

/// Bytes per element; 0 for a type that is not known.
std::size_t width(ncclDataType_t type);

/// to[i] = reduction of terms[r][i] over the ranks r, i < count. Every rank that computes it gets the same bits: the terms are
/// taken in the order of ranks, and each step is rounded to the type. An average scales each floating-point term by 1/n rounded
/// to the type; integers are summed, then divided towards 0.
void reduce(ncclDataType_t type, ncclRedOp_t op, const std::vector<const char*>& terms, char* to, std::size_t count);

}  // namespace gpu_model::nccl
