// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Entry points of memory pools. Memory is obtained when the call is made, and given back when the stream comes to it: whoever
// uses it in another order meets an illegal address. A pool keeps nothing.
#include "memory.hpp"
#include "operations.hpp"
#include "state.hpp"

struct CUmemPoolHandle_st {
  int device = 0;
};

namespace gpu_model::runtime {
namespace {

cudaError_t allocate_in(int device, void** pointer, std::size_t bytes, cudaStream_t given) {
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  return allocate(pointer, bytes, device, Kind::device);
}

}  // namespace
}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  GPUMODEL_CHECK(enter());
  if (!pool || !properties || properties->allocType != cudaMemAllocationTypePinned ||
      properties->location.type != cudaMemLocationTypeDevice || properties->location.id < 0 ||
      static_cast<std::size_t>(properties->location.id) >= state().devices.size()) {
    return fail(cudaErrorInvalidValue);
  }
  *pool = new CUmemPoolHandle_st{properties->location.id};
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  GPUMODEL_CHECK(enter());
  return pool && value && attribute == cudaMemPoolAttrReleaseThreshold ? cudaSuccess : fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  delete pool;
  return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  GPUMODEL_CHECK(enter());
  if (!pool) return fail(cudaErrorInvalidValue);
  return allocate_in(pool->device, pointer, bytes, stream);
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  GPUMODEL_CHECK(enter());
  return allocate_in(current_device().ordinal(), pointer, bytes, stream);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  GPUMODEL_CHECK(enter());
  const auto found = find_allocation(pointer);
  if (!found || found->base != pointer || found->kind != Kind::device) {
    return fail(cudaErrorInvalidValue, "cudaFreeAsync of a pointer that no allocation of a device returned");
  }
  return submit(stream, "cudaFreeAsync", [allocation = *found](Device&, double start, double) {
    give_back(allocation);
    return start;
  });
}

}  // extern "C"
