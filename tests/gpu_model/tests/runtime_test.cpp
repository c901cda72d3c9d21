// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Holds the stand-in runtime to what CUDA documents, without kernels of its own: capture, errors, order, time.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

static int g_failures = 0;
#define EXPECT(expression, expected)                                                                                \
  do {                                                                                                              \
    const auto got = (expression);                                                                                  \
    if (got != (expected)) {                                                                                        \
      std::printf("line %d: %s is %d (%s)\n", __LINE__, #expression, int(got), cudaGetErrorName(cudaError_t(got))); \
      ++g_failures;                                                                                                 \
    }                                                                                                               \
  } while (0)

int main() {
  cudaStream_t a, b, blocking;
  EXPECT(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaSuccess);
  EXPECT(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), cudaSuccess);
  EXPECT(cudaStreamCreate(&blocking), cudaSuccess);
  char* d = nullptr;
  char* e = nullptr;
  EXPECT(cudaMalloc(reinterpret_cast<void**>(&d), 1000), cudaSuccess);
  EXPECT(cudaMalloc(reinterpret_cast<void**>(&e), 1 << 20), cudaSuccess);
  std::vector<char> host(1 << 20, 7), back(1 << 20);
  // Errors of copies.
  EXPECT(cudaMemcpyAsync(d, host.data(), 1001, cudaMemcpyHostToDevice, a), cudaErrorInvalidValue);
  EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT(cudaGetLastError(), cudaSuccess);
  EXPECT(cudaMemcpyAsync(host.data(), back.data(), 8, cudaMemcpyHostToDevice, a), cudaErrorInvalidValue);
  EXPECT(cudaMemcpyAsync(d, host.data(), 1000, cudaMemcpyHostToDevice, a), cudaSuccess);
  host[0] = 9;  // after the call the source is the caller's
  EXPECT(cudaMemcpyAsync(back.data(), d, 1000, cudaMemcpyDeviceToHost, a), cudaSuccess);
  EXPECT(int(back[0]), 7);
  void* wide = nullptr;
  EXPECT(cudaMalloc(&wide, std::size_t{1} << 60), cudaErrorMemoryAllocation);
  EXPECT(cudaFree(host.data()), cudaErrorInvalidValue);
  cudaGetLastError();
  // Events.
  cudaEvent_t x, y, order;
  EXPECT(cudaEventCreate(&x), cudaSuccess);
  EXPECT(cudaEventCreate(&y), cudaSuccess);
  EXPECT(cudaEventCreateWithFlags(&order, cudaEventDisableTiming), cudaSuccess);
  float ms = 0;
  EXPECT(cudaEventElapsedTime(&ms, x, y), cudaErrorInvalidResourceHandle);
  EXPECT(cudaEventSynchronize(x), cudaSuccess);
  EXPECT(cudaEventRecord(x, a), cudaSuccess);
  for (int i = 0; i < 10; ++i) EXPECT(cudaMemsetAsync(e, i, 1 << 20, a), cudaSuccess);
  EXPECT(cudaEventRecord(y, a), cudaSuccess);
  EXPECT(cudaEventSynchronize(y), cudaSuccess);
  EXPECT(cudaEventElapsedTime(&ms, x, y), cudaSuccess);
  EXPECT(ms > 0.02f, true);
  EXPECT(cudaEventRecord(order, a), cudaSuccess);
  EXPECT(cudaEventSynchronize(order), cudaSuccess);
  EXPECT(cudaEventElapsedTime(&ms, x, order), cudaErrorInvalidResourceHandle);
  // A capture with a fork and a join.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal), cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT(cudaMemsetAsync(e, 1, 1 << 20, a), cudaSuccess);
  EXPECT(cudaEventRecord(order, a), cudaSuccess);
  EXPECT(cudaEventSynchronize(order) != cudaSuccess, true);  // and this ends the capture
  EXPECT(cudaMemsetAsync(e, 1, 1 << 20, a), cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT(graph == nullptr, true);
  EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT(cudaMemsetAsync(e, 1, 1 << 19, a), cudaSuccess);
  EXPECT(cudaEventRecord(order, a), cudaSuccess);
  EXPECT(cudaStreamWaitEvent(b, order, 0), cudaSuccess);
  EXPECT(cudaMemsetAsync(e + (1 << 19), 2, 1 << 19, b), cudaSuccess);
  EXPECT(cudaEventRecord(x, b), cudaSuccess);
  EXPECT(cudaStreamWaitEvent(a, x, 0), cudaSuccess);
  EXPECT(cudaStreamEndCapture(b, &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT(cudaMemsetAsync(e, 1, 1 << 19, a), cudaSuccess);
  EXPECT(cudaEventRecord(order, a), cudaSuccess);
  EXPECT(cudaStreamWaitEvent(b, order, 0), cudaSuccess);
  EXPECT(cudaMemsetAsync(e + (1 << 19), 2, 1 << 19, b), cudaSuccess);
  EXPECT(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT(cudaMemsetAsync(e, 1, 1 << 19, a), cudaSuccess);
  EXPECT(cudaEventRecord(order, a), cudaSuccess);
  EXPECT(cudaStreamWaitEvent(b, order, 0), cudaSuccess);
  EXPECT(cudaMemsetAsync(e + (1 << 19), 2, 1 << 19, b), cudaSuccess);
  EXPECT(cudaEventRecord(x, b), cudaSuccess);
  EXPECT(cudaStreamWaitEvent(a, x, 0), cudaSuccess);
  void* more = nullptr;
  EXPECT(cudaStreamEndCapture(a, &graph), cudaSuccess);
  EXPECT(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT(cudaGraphUpload(exec, a), cudaSuccess);
  EXPECT(cudaGraphLaunch(exec, a), cudaSuccess);
  EXPECT(cudaMemcpyAsync(back.data(), e, 1 << 20, cudaMemcpyDeviceToHost, a), cudaSuccess);
  EXPECT(int(back[0]) * 10 + int(back[1 << 19]), 12);
  EXPECT(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT(cudaGraphDestroy(graph), cudaSuccess);
  // What may not be called meanwhile.
  EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  std::thread([&] { EXPECT(cudaMalloc(&more, 8), cudaSuccess); }).join();  // another thread may
  EXPECT(cudaMalloc(&more, 8), cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT(cudaMemsetAsync(e, 1, 8, nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT(cudaMemsetAsync(e, 1, 8, nullptr), cudaSuccess);  // a does not wait for the legacy stream
  EXPECT(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaEventRecord(y, b), cudaSuccess);
  EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT(cudaStreamWaitEvent(a, y, 0), cudaErrorStreamCaptureIsolation);
  EXPECT(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaStreamDestroy(b), cudaSuccess);
  EXPECT(cudaStreamDestroy(b), cudaErrorInvalidResourceHandle);
  EXPECT(cudaFree(d), cudaSuccess);
  EXPECT(cudaFree(d), cudaErrorInvalidValue);
  EXPECT(cudaSetDevice(7), cudaErrorInvalidDevice);
  std::printf("%d failures\n", g_failures);
  return g_failures != 0;
}
