// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The size of cuBLASLt's cache of heuristics, which the model does not need.
#include <atomic>

#include "cublaslt.hpp"

namespace {

std::atomic<std::size_t> cache_entries = 8192;  // as documented

}  // namespace

extern "C" {

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (!capacity) return gpu_model::runtime::cublaslt::refuse(CUBLAS_STATUS_INVALID_VALUE, "no place for a capacity");
  *capacity = cache_entries;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  cache_entries = capacity;
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
