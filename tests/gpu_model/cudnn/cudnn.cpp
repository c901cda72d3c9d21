// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in cuDNN (libcudnn.so.9): it loads, and does not start, as the real one with an unsuitable driver. Like
// that one it leaves an error of the runtime behind, which is nobody else's.
#include <cuda_runtime.h>
#include <cudnn_graph.h>

#include <cstdio>

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_INITIALIZED ? "CUDNN_STATUS_NOT_INITIALIZED" : "another status";
}

void cudnnGetLastErrorString(char* message, size_t most) {
  std::snprintf(message, most, "Reason: the model has no driver for it");
}

cudnnStatus_t cudnnCreate(cudnnHandle_t*) {
  cudaSetDevice(-1);
  return CUDNN_STATUS_NOT_INITIALIZED;
}

// Nothing is asked of what has not started.
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_NOT_INITIALIZED; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_NOT_INITIALIZED; }
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t*) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t) { return CUDNN_STATUS_NOT_INITIALIZED; }
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
                                       int64_t, const void*) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
                                       int64_t, int64_t*, void*) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) { return CUDNN_STATUS_NOT_INITIALIZED; }
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}

}  // extern "C"
