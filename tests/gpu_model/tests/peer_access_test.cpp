// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/gpu_model/tests/launched_kernels.hpp"
#include "tests/gpu_model/tests/new_process.hpp"

namespace gpu_model {
namespace {

constexpr std::size_t bytes = 1 << 16;

/// In a process of two devices, the first of which is the current one; with an allocation and a stream of each.
template <class Body>
void with_peers(const Body& body, const char* pattern = "", const char* access = "1") {
  in_new_process(
      {{"GPUMODEL_DEVICES", "2"}, {"GPUMODEL_PEER_ACCESS", access}},
      [&] {
        char* memory[2] = {nullptr, nullptr};
        cudaStream_t stream[2] = {nullptr, nullptr};
        for (const int device : {1, 0}) {
          ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
          ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory[device]), bytes), cudaSuccess);
          ASSERT_EQ(cudaStreamCreateWithFlags(&stream[device], cudaStreamNonBlocking), cudaSuccess);
        }
        body(memory, stream);
      },
      pattern);
}

TEST(Peers, AccessIsEnabledAndDisabledOnce) {
  with_peers([](char* const*, cudaStream_t*) {
    int can = 0;
    EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
    EXPECT_EQ(can, 1);
    EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess);
    EXPECT_EQ(can, 0) << "its own memory takes no access";
    EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 99), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  });
}

TEST(Peers, CopiesNeedNoAccess) {
  with_peers([](char* const* memory, cudaStream_t* stream) {
    std::vector<char> back(bytes);
    ASSERT_EQ(cudaMemsetAsync(memory[0], 5, bytes, stream[0]), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream[0]), cudaSuccess);
    EXPECT_EQ(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, bytes, stream[1]), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream[1]), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(back.data(), memory[1], bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(back, std::vector<char>(bytes, 5));
    EXPECT_EQ(cudaMemcpyPeerAsync(memory[1], 0, memory[0], 0, bytes, stream[1]), cudaErrorInvalidValue) << "not that device's";
    EXPECT_EQ(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 9, bytes, stream[1]), cudaErrorInvalidDevice);
  });
}

TEST(Peers, EventsOrderTheStreamsOfTwoDevices) {
  with_peers([](char* const* memory, cudaStream_t* stream) {
    cudaEvent_t done[2] = {nullptr, nullptr};
    for (int device : {1, 0}) {
      ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
      ASSERT_EQ(cudaEventCreateWithFlags(&done[device], cudaEventDisableTiming), cudaSuccess);
    }
    EXPECT_EQ(cudaEventRecord(done[1], stream[0]), cudaErrorInvalidResourceHandle) << "an event of another device";
    for (int i = 1; i <= 20; ++i) {
      ASSERT_EQ(cudaMemsetAsync(memory[0], i, bytes, stream[0]), cudaSuccess);
      ASSERT_EQ(cudaEventRecord(done[0], stream[0]), cudaSuccess);
      ASSERT_EQ(cudaStreamWaitEvent(stream[1], done[0], 0), cudaSuccess);
      ASSERT_EQ(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, bytes, stream[1]), cudaSuccess);
      ASSERT_EQ(cudaEventRecord(done[1], stream[1]), cudaSuccess);
      ASSERT_EQ(cudaStreamWaitEvent(stream[0], done[1], 0), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(stream[0]), cudaSuccess);
    std::vector<char> back(bytes);
    EXPECT_EQ(cudaMemcpy(back.data(), memory[1], bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(back, std::vector<char>(bytes, 20));
    for (cudaEvent_t event : done) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  });
}

TEST(Peers, AKernelReachesThePeersMemoryByAccessAlone) {
  with_peers([](char* const* memory, cudaStream_t* stream) {
    auto* const peers = reinterpret_cast<float*>(memory[1]);
    ASSERT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(peers, 0, bytes, stream[0]), cudaSuccess);
    EXPECT_EQ(add_one(peers, 4, stream[0]), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream[0]), cudaSuccess);
    float first = 0;
    EXPECT_EQ(cudaMemcpy(&first, peers, sizeof first, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(first, 1);
  });
}

TEST(Peers, AKernelThatReachesThePeersMemoryWithoutAccessIsAFault) {
  with_peers(
      [](char* const* memory, cudaStream_t* stream) {
        EXPECT_EQ(add_one(reinterpret_cast<float*>(memory[0]), 4, stream[0]), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream[0]), cudaSuccess) << "its own";
        // Of the other to the first one's.
        EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
        EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
        EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
        EXPECT_EQ(add_one(reinterpret_cast<float*>(memory[1]), 4, stream[0]), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream[0]), cudaErrorIllegalAddress);
      },
      "FAULT .illegal address.*add_one_kernel");
}

TEST(Peers, AccessCanBeRefused) {
  with_peers(
      [](char* const* memory, cudaStream_t* stream) {
        int can = 1;
        EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
        EXPECT_EQ(can, 0);
        EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
        EXPECT_EQ(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, bytes, stream[0]), cudaSuccess) << "through the host";
        EXPECT_EQ(cudaStreamSynchronize(stream[0]), cudaSuccess);
      },
      "cannot access the memory of device 1", "0");
}

}  // namespace
}  // namespace gpu_model
