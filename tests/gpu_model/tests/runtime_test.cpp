// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: one short test per group of functions of the CUDA runtime.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/gpu_model/tests/launched_kernels.hpp"

namespace gpu_model {
namespace {

constexpr std::size_t small_bytes = 1000, bytes = 1 << 20, half = bytes / 2;

/// Streams that do not wait for the legacy stream and one that does, and two allocations.
class Runtime : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&other_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreate(&blocking_), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&small_, small_bytes), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory_), bytes), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&begin_), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&end_), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&order_, cudaEventDisableTiming), cudaSuccess);
  }
  void TearDown() override {
    for (cudaEvent_t event : {begin_, end_, order_}) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(cudaFree(small_), cudaSuccess);
    EXPECT_EQ(cudaFree(memory_), cudaSuccess);
    for (cudaStream_t stream : {stream_, other_, blocking_}) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    cudaGetLastError();
  }

  void begin_capture(cudaStream_t stream) {
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  }
  void expect_invalidated(cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  }
  /// A fill of the first half in stream_, then one of the second half in other_; joined or not.
  void capture_fork(bool join) {
    begin_capture(stream_);
    EXPECT_EQ(cudaMemsetAsync(memory_, 1, half, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(order_, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other_, order_, 0), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(memory_ + half, 2, half, other_), cudaSuccess);
    if (!join) return;
    EXPECT_EQ(cudaEventRecord(begin_, other_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(stream_, begin_, 0), cudaSuccess);
  }

  cudaStream_t stream_ = nullptr, other_ = nullptr, blocking_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr, order_ = nullptr;
  void* small_ = nullptr;
  char* memory_ = nullptr;
  std::vector<char> host_ = std::vector<char>(bytes, 7), back_ = std::vector<char>(bytes);
};

TEST_F(Runtime, CopiesBeyondAnAllocationAreRefused) {
  EXPECT_EQ(cudaMemcpyAsync(small_, host_.data(), small_bytes + 1, cudaMemcpyHostToDevice, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(small_, host_.data(), small_bytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
}

TEST_F(Runtime, CopiesInAnotherDirectionThanTheirKindAreRefused) {
  EXPECT_EQ(cudaMemcpyAsync(host_.data(), back_.data(), 8, cudaMemcpyHostToDevice, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(small_, host_.data(), 8, cudaMemcpyDeviceToHost, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(small_, host_.data(), 8, cudaMemcpyDefault, stream_), cudaSuccess);
}

TEST_F(Runtime, TheLastErrorIsKeptUntilItIsRead) {
  EXPECT_EQ(cudaMemcpyAsync(small_, host_.data(), small_bytes + 1, cudaMemcpyHostToDevice, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Runtime, APageableSourceIsTheCallersAfterTheCall) {
  EXPECT_EQ(cudaMemcpyAsync(small_, host_.data(), small_bytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  host_[0] = 9;
  EXPECT_EQ(cudaMemcpyAsync(back_.data(), small_, small_bytes, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_EQ(back_[0], 7);
}

TEST_F(Runtime, NewMemoryIsNotZero) {
  EXPECT_EQ(cudaMemcpy(back_.data(), memory_, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_NE(back_[0], 0);
  EXPECT_NE(back_[bytes - 1], 0);
}

TEST_F(Runtime, AnAllocationThatDoesNotFitFails) {
  void* pointer = small_;
  EXPECT_EQ(cudaMalloc(&pointer, std::size_t{1} << 60), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
}

TEST_F(Runtime, OnlyWhatWasAllocatedCanBeFreedAndOnce) {
  EXPECT_EQ(cudaFree(host_.data()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(memory_ + 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 8), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pointer), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
}

TEST_F(Runtime, FreedMemoryIsFreeAgain) {
  std::size_t before = 0, with = 0, after = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 10 * bytes), cudaSuccess);
  EXPECT_EQ(cudaMemGetInfo(&with, &total), cudaSuccess);
  EXPECT_LE(with + 10 * bytes, before);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(after, before);
}

TEST_F(Runtime, PinnedMemoryHasADeviceAddress) {
  void *pinned = nullptr, *device = nullptr;
  EXPECT_EQ(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped), cudaSuccess);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, pinned, 0), cudaSuccess);
  EXPECT_NE(device, nullptr);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host_.data(), 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(Runtime, FreeingInAStreamHappensWhenTheStreamComesToIt) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocFromPoolAsync(&memory, bytes, pool, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(memory, 1, bytes, stream_), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, stream_), cudaErrorInvalidValue) << "freed twice";
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

TEST_F(Runtime, AStreamCallsTheHostInItsOrder) {
  static std::vector<int> called;
  called.clear();
  static int numbers[] = {0, 1, 2};
  for (int& number : numbers) {
    EXPECT_EQ(cudaLaunchHostFunc(
                  stream_, [](void* data) { called.push_back(*static_cast<int*>(data)); }, &number),
              cudaSuccess);
  }
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(called, (std::vector<int>{0, 1, 2}));
}

TEST_F(Runtime, PageableMemoryIsPinnedByRegisteringIt) {
  void* device = nullptr;
  ASSERT_EQ(cudaHostRegister(host_.data(), half, cudaHostRegisterPortable | cudaHostRegisterMapped), cudaSuccess);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host_.data(), 0), cudaSuccess);
  EXPECT_EQ(device, host_.data());
  EXPECT_EQ(cudaHostRegister(host_.data() + half - 1, 2, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(host_.data() + half, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostRegister(nullptr, half, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostRegister(host_.data() + half, half, cudaHostRegisterIoMemory), cudaErrorNotSupported);
  EXPECT_EQ(cudaFreeHost(host_.data()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(host_.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(host_.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host_.data(), 0), cudaErrorInvalidValue);
}

TEST_F(Runtime, ManagedMemoryIsOfTheHostAndOfTheDevice) {
  char* managed = nullptr;
  EXPECT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&managed), 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&managed), half, 8), cudaErrorInvalidValue);
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&managed), half, cudaMemAttachGlobal), cudaSuccess);
  managed[half - 1] = 5;
  EXPECT_EQ(cudaMemcpy(memory_, managed, half, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemset(managed, 9, half), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(managed[half - 1], 9);
  EXPECT_EQ(cudaMemcpy(managed, memory_, half, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(managed[half - 1], 5);
  EXPECT_EQ(cudaFreeHost(managed), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
}

#if CUDART_VERSION >= 13000
TEST_F(Runtime, ABatchOfCopiesNamesTheAttributesOfEach) {
  cudaMemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  void* const to[] = {memory_, memory_ + half};
  const void* const from[] = {host_.data(), host_.data() + half};
  const std::size_t sizes[] = {half, half};
  std::size_t firsts[] = {0, 1};
  const auto copy = [&](std::size_t count, std::size_t attribute_count, cudaStream_t stream) {
    return cudaMemcpyBatchAsync(to, from, sizes, count, attributes, firsts, attribute_count, stream);
  };
  EXPECT_EQ(copy(2, 2, nullptr), cudaErrorInvalidValue) << "the legacy stream";
  EXPECT_EQ(copy(0, 1, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(copy(2, 3, stream_), cudaErrorInvalidValue);
  ASSERT_EQ(copy(2, 2, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(back_.data(), memory_, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back_, host_);
  firsts[0] = 1;
  EXPECT_EQ(copy(2, 1, stream_), cudaErrorInvalidValue) << "the first copy has no attributes";
  firsts[0] = 0;
  attributes[0].srcAccessOrder = static_cast<cudaMemcpySrcAccessOrder>(0);
  EXPECT_EQ(copy(2, 1, stream_), cudaErrorInvalidValue) << "no order";
}
#endif

TEST_F(Runtime, EventsMeasureModelTime) {
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin_, end_), cudaErrorInvalidResourceHandle) << "never recorded";
  EXPECT_EQ(cudaEventSynchronize(begin_), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(begin_, stream_), cudaSuccess);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(cudaMemsetAsync(memory_, i, bytes, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(end_, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(end_), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin_, end_), cudaSuccess);
  EXPECT_GT(milliseconds, 0.02f) << "2 us at least for each fill";
}

TEST_F(Runtime, EventsWithoutTimingHaveNoTime) {
  float milliseconds = 0;
  EXPECT_EQ(cudaEventRecord(begin_, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(order_, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(order_), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin_, order_), cudaErrorInvalidResourceHandle);
}

TEST_F(Runtime, AStreamWaitsForAnEventOfAnother) {
  EXPECT_EQ(cudaMemsetAsync(memory_, 1, bytes, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(order_, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other_, order_, 0), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(back_.data(), memory_, bytes, cudaMemcpyDeviceToHost, other_), cudaSuccess);
  EXPECT_EQ(back_, std::vector<char>(bytes, 1));
}

TEST_F(Runtime, TheLegacyStreamOrdersBlockingStreams) {
  EXPECT_EQ(cudaMemsetAsync(memory_, 1, bytes, blocking_), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(memory_, 2, bytes, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(back_.data(), memory_, bytes, cudaMemcpyDeviceToHost, blocking_), cudaSuccess);
  EXPECT_EQ(back_, std::vector<char>(bytes, 2));
}

TEST_F(Runtime, ADestroyedStreamIsUnknown) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

TEST_F(Runtime, DevicesThatAreNotThereAreRefused) {
  EXPECT_EQ(cudaSetDevice(7), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 7), cudaErrorInvalidDevice);
}

TEST_F(Runtime, ErrorsHaveNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(98765)), "unrecognized error code");
}

using Capture = Runtime;

TEST_F(Capture, OfTheLegacyStreamIsRefused) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal), cudaErrorStreamCaptureUnsupported);
}

TEST_F(Capture, OfACapturedStreamIsRefused) {
  begin_capture(stream_);
  EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaErrorIllegalState);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorIllegalState);
}

TEST_F(Capture, AWaitForACapturedEventEndsIt) {
  begin_capture(stream_);
  EXPECT_EQ(cudaMemsetAsync(memory_, 1, bytes, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(order_, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(order_), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaMemsetAsync(memory_, 1, bytes, stream_), cudaErrorStreamCaptureInvalidated);
  expect_invalidated(stream_);
}

TEST_F(Capture, AWaitForTheStreamEndsIt) {
  begin_capture(stream_);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  expect_invalidated(stream_);
}

TEST_F(Capture, MustEndInTheStreamWhereItBegan) {
  capture_fork(true);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(other_, &graph), cudaErrorStreamCaptureUnmatched);
  expect_invalidated(stream_);
}

TEST_F(Capture, MustJoinTheStreamsThatItForked) {
  capture_fork(false);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureUnjoined);
}

TEST_F(Capture, AGraphTakesTheWorkOfAnotherOfItsShape) {
  const auto captured = [&](int value, int times) {
    begin_capture(stream_);
    for (int i = 0; i < times; ++i) EXPECT_EQ(cudaMemsetAsync(memory_, value, half, stream_), cudaSuccess);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    return graph;
  };
  cudaGraph_t first = captured(1, 1), same = captured(2, 1), longer = captured(3, 2);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, first, 0), cudaSuccess);
  cudaGraphExecUpdateResultInfo result = {};
  EXPECT_EQ(cudaGraphExecUpdate(executable, longer, &result), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(result.result, cudaGraphExecUpdateErrorTopologyChanged);
  EXPECT_EQ(cudaGraphExecUpdate(executable, same, &result), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(back_.data(), memory_, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back_[0], 2);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  for (cudaGraph_t graph : {first, same, longer}) EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Capture, AForkAndItsJoinRunWithTheGraph) {
  EXPECT_EQ(cudaMemsetAsync(memory_, 0, bytes, stream_), cudaSuccess);
  capture_fork(true);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphUpload(executable, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(back_.data(), memory_, bytes, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_EQ(back_, std::vector<char>(bytes, 0)) << "the capture itself ran something";
  EXPECT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(back_.data(), memory_, bytes, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_EQ(std::vector<char>(back_.begin(), back_.begin() + half), std::vector<char>(half, 1));
  EXPECT_EQ(std::vector<char>(back_.begin() + half, back_.end()), std::vector<char>(half, 2));
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Capture, AllocationsOfItsThreadEndIt) {
  begin_capture(stream_);
  void* pointer = nullptr;
  std::thread([&] {
    EXPECT_EQ(cudaMalloc(&pointer, 8), cudaSuccess);
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  }).join();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(cudaMalloc(&pointer, 8), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  expect_invalidated(stream_);
}

TEST_F(Capture, TheLegacyStreamEndsThatOfABlockingStream) {
  begin_capture(blocking_);
  EXPECT_EQ(cudaMemsetAsync(memory_, 1, 8, nullptr), cudaErrorStreamCaptureImplicit);
  expect_invalidated(blocking_);
  begin_capture(stream_);
  EXPECT_EQ(cudaMemsetAsync(memory_, 1, 8, nullptr), cudaSuccess) << "stream_ does not wait for the legacy stream";
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Capture, AnEventFromOutsideEndsIt) {
  EXPECT_EQ(cudaEventRecord(end_, other_), cudaSuccess);
  begin_capture(stream_);
  EXPECT_EQ(cudaStreamWaitEvent(stream_, end_, 0), cudaErrorStreamCaptureIsolation);
  expect_invalidated(stream_);
}

TEST_F(Capture, OfTwoStreamsCannotMerge) {
  begin_capture(stream_);
  begin_capture(other_);
  EXPECT_EQ(cudaEventRecord(order_, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other_, order_, 0), cudaErrorStreamCaptureMerge);
  expect_invalidated(stream_);
  expect_invalidated(other_);
}

TEST_F(Capture, EndsOnlyInItsOwnThread) {
  begin_capture(stream_);
  std::thread([&] {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureWrongThread);
  }).join();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Runtime, BlocksOfACooperativeLaunchRunTogether) {
  constexpr int blocks = 7;
  auto* const words = reinterpret_cast<unsigned*>(memory_);
  ASSERT_EQ(cudaMemsetAsync(words, 0, 64, stream_), cudaSuccess);
  ASSERT_EQ(wait_for_all_blocks(words, words + 1, blocks, true, stream_), cudaSuccess);
  unsigned seen[1 + blocks] = {};
  ASSERT_EQ(cudaMemcpyAsync(seen, words, sizeof seen, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  for (const unsigned count : seen) EXPECT_EQ(count, unsigned{blocks});
  int processors = 0, shared = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0), cudaSuccess);
  constexpr int shared_of_block = 47 << 10;
  const int too_many = processors * (shared / (shared_of_block + 1024)) + 1;
  EXPECT_EQ(wait_for_all_blocks(words, words + 1, too_many, true, stream_, shared_of_block),
            cudaErrorCooperativeLaunchTooLarge);
}

TEST_F(Runtime, ConstantVariablesAreWrittenInTheOrderOfTheStream) {
  char bytes[64] = {};
  for (int i = 0; i < 64; ++i) bytes[i] = static_cast<char>(i);
  ASSERT_EQ(cudaMemcpyAsync(memory_, bytes, 64, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  ASSERT_EQ(set_constant(memory_, 64, 0, stream_), cudaSuccess);
  ASSERT_EQ(get_constant(memory_ + 64, stream_), cudaSuccess);
  ASSERT_EQ(set_constant(memory_ + 32, 8, 56, stream_), cudaSuccess);
  ASSERT_EQ(get_constant(memory_ + 128, stream_), cudaSuccess);
  char read[128] = {};
  ASSERT_EQ(cudaMemcpyAsync(read, memory_ + 64, 128, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(read[i], i);
    EXPECT_EQ(read[64 + i], i < 56 ? i : i - 24);
  }
  EXPECT_EQ(set_constant(memory_, 9, 56, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbolAsync(memory_, memory_, 4, 0, cudaMemcpyDeviceToDevice, stream_), cudaErrorInvalidSymbol);
}

}  // namespace
}  // namespace gpu_model
