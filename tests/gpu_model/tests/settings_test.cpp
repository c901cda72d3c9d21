// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/gpu_model/tests/launched_kernels.hpp"
#include "tests/gpu_model/tests/new_process.hpp"

namespace gpu_model {
namespace {

using testing::Each;

constexpr int count = 256;
constexpr std::size_t megabyte = 1 << 20;

/// Zeros in device memory. What cannot be done is left to the expectations that follow.
float* zeros() {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, count * sizeof(float)), cudaSuccess);
  EXPECT_EQ(cudaMemset(memory, 0, count * sizeof(float)), cudaSuccess);
  return static_cast<float*>(memory);
}
std::vector<float> on_host(const float* x) {
  std::vector<float> values(count, -1);
  EXPECT_EQ(cudaMemcpy(values.data(), x, count * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
  return values;
}

/// Seconds that a launch takes in model time.
double seconds_of(cudaError_t (*launch)(float*, int, cudaStream_t)) {
  float* const x = zeros();
  cudaEvent_t begin, end;
  EXPECT_EQ(cudaEventCreate(&begin), cudaSuccess);
  EXPECT_EQ(cudaEventCreate(&end), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(begin, nullptr), cudaSuccess);
  EXPECT_EQ(launch(x, count, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(end, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  return static_cast<double>(milliseconds) * 1e-3;
}

cudaDeviceProp properties(int device = 0) {
  cudaDeviceProp found{};
  EXPECT_EQ(cudaGetDeviceProperties(&found, device), cudaSuccess);
  return found;
}

TEST(Settings, AGpuThatIsTakenIsCountedAndHasNoContext) {
  in_new_process({{"GPUMODEL_TAKEN", "1"}}, [] {
    int devices = 0;
    EXPECT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    EXPECT_EQ(devices, 1);
    EXPECT_EQ(cudaSetDevice(0), cudaErrorDevicesUnavailable);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorDevicesUnavailable);
  });
}

TEST(Settings, TheDefaultIsOneGpuOfComputeCapability90) {
  in_new_process({}, [] {
    int devices = 0;
    EXPECT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    EXPECT_EQ(devices, 1);
    EXPECT_EQ(properties().major * 10 + properties().minor, 90);
    EXPECT_EQ(properties().multiProcessorCount, 132);
    EXPECT_EQ(properties().ECCEnabled, 1);
    EXPECT_THAT(properties().name, testing::HasSubstr("model"));
    EXPECT_EQ(launch_cluster(4, nullptr), cudaSuccess);
  });
}

TEST(Settings, ArchitectureEighty) {
  in_new_process({{"GPUMODEL_ARCH", "80"}}, [] {
    EXPECT_EQ(properties().major * 10 + properties().minor, 80);
    EXPECT_EQ(properties().multiProcessorCount, 108);
    EXPECT_EQ(properties().sharedMemPerBlockOptin, 163u * 1024);
    float* const x = zeros();
    EXPECT_EQ(add_one(x, count, nullptr), cudaSuccess);
    EXPECT_THAT(on_host(x), Each(1.0f));
    EXPECT_NE(launch_cluster(2, nullptr), cudaSuccess);
  });
}

TEST(Settings, ArchitectureEightySixHasLittleSharedMemoryAndRunsThePtxOfEighty) {
  in_new_process({{"GPUMODEL_ARCH", "86"}}, [] {
    EXPECT_EQ(properties().major * 10 + properties().minor, 86);
    EXPECT_EQ(properties().sharedMemPerBlockOptin, 99u * 1024);
    EXPECT_EQ(properties().maxThreadsPerMultiProcessor, 1536);
    float* const x = zeros();
    EXPECT_EQ(add_one(x, count, nullptr), cudaSuccess);
    EXPECT_THAT(on_host(x), Each(1.0f));
  });
}

TEST(Settings, AnotherArchitectureEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("GPUMODEL_ARCH", "75", 1);
  EXPECT_EXIT(properties(), testing::ExitedWithCode(2), "GPUMODEL_ARCH.*75");
  unsetenv("GPUMODEL_ARCH");
}

TEST(Settings, ASmallerGpu) {
  in_new_process({{"GPUMODEL_SMS", "2"},
                  {"GPUMODEL_L2", "1M"},
                  {"GPUMODEL_TOTAL", "2M"},
                  {"GPUMODEL_MEMORY", "1M"},
                  {"GPUMODEL_ECC", "0"}},
                 [] {
                   EXPECT_EQ(properties().multiProcessorCount, 2);
                   EXPECT_EQ(static_cast<std::size_t>(properties().l2CacheSize), megabyte);
                   EXPECT_EQ(properties().totalGlobalMem, 2 * megabyte);
                   EXPECT_EQ(properties().ECCEnabled, 0);
                   std::size_t free = 0, total = 0;
                   EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
                   EXPECT_EQ(free, megabyte);
                   void* memory = nullptr;
                   EXPECT_EQ(cudaMalloc(&memory, megabyte + 1), cudaErrorMemoryAllocation);
                   EXPECT_EQ(cudaMalloc(&memory, megabyte / 2), cudaSuccess);
                 });
}

TEST(Settings, DevicesAndTheirVisibility) {
  in_new_process({{"GPUMODEL_DEVICES", "3"}}, [] {
    int devices = 0;
    EXPECT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    EXPECT_EQ(devices, 3);
    const cudaDeviceProp first = properties(0), last = properties(2);
    EXPECT_NE(std::memcmp(&first.uuid, &last.uuid, sizeof first.uuid), 0);
    EXPECT_EQ(cudaSetDevice(2), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(3), cudaErrorInvalidDevice);
  });
  in_new_process({{"GPUMODEL_DEVICES", "3"}, {"CUDA_VISIBLE_DEVICES", "2,0"}}, [] {
    int devices = 0;
    EXPECT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    EXPECT_EQ(devices, 2);
  });
  in_new_process({{"CUDA_VISIBLE_DEVICES", ""}}, [] {
    int devices = -1;
    EXPECT_EQ(cudaGetDeviceCount(&devices), cudaErrorNoDevice);
    EXPECT_EQ(devices, 0);
  });
}

TEST(PlantedFaults, AFlippedBitInTheNthLaunch) {
  in_new_process(
      {{"GPUMODEL_FLIP", "add_one:2:3"}},
      [] {
        float *const first = zeros(), *const second = zeros(), *const other = zeros();
        EXPECT_EQ(add_one(first, count, nullptr), cudaSuccess);
        EXPECT_EQ(add_two(other, count, nullptr), cudaSuccess);
        EXPECT_EQ(add_one(second, count, nullptr), cudaSuccess);
        EXPECT_THAT(on_host(first), Each(1.0f));
        EXPECT_THAT(on_host(other), Each(2.0f));
        // 1.0f is 00 00 80 3f: two bytes of each element change, and the byte counted by 3 is the top one of element 1.
        const std::vector<float> flipped = on_host(second);
        int wrong = 0;
        for (int i = 0; i < count; ++i) wrong += flipped[static_cast<std::size_t>(i)] != 1.0f;
        EXPECT_EQ(wrong, 1);
        EXPECT_NE(flipped[1], 1.0f);
      },
      "planted.*add_one_kernel");
}

TEST(PlantedFaults, AFlippedBitOnOneOfTwoDevices) {
  in_new_process({{"GPUMODEL_DEVICES", "2"}, {"GPUMODEL_FLIP", "add_one:0:0@1"}}, [] {
    for (int device : {0, 1}) {
      EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
      float* const x = zeros();
      EXPECT_EQ(add_one(x, count, nullptr), cudaSuccess);
      EXPECT_EQ(on_host(x)[0] == 1.0f, device == 0);
    }
  });
}

TEST(PlantedFaults, AnIllegalAddressThatStays) {
  in_new_process({{"GPUMODEL_STICKY", "add_one:2"}}, [] {
    float* const x = zeros();
    EXPECT_EQ(add_one(x, count, nullptr), cudaSuccess);
    EXPECT_THAT(on_host(x), Each(1.0f));
    EXPECT_EQ(add_one(x, count, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  });
}

TEST(PlantedFaults, ALaunchThatNeverEnds) {
  in_new_process({{"GPUMODEL_HANG", "add_one:1"}}, [] {
    float* const x = zeros();
    cudaStream_t hung, free;
    EXPECT_EQ(cudaStreamCreateWithFlags(&hung, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&free, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(add_one(x, count, hung), cudaSuccess);
    EXPECT_EQ(add_two(x, count, free), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(free), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(hung), cudaErrorNotReady);
  });
}

TEST(PlantedFaults, ASlowKernel) {
  // So slow that the time that the host takes to enqueue does not count.
  in_new_process({{"GPUMODEL_SLOW", "add_two:1e8"}}, [] {
    EXPECT_LT(seconds_of(add_one), 10);
    EXPECT_GT(seconds_of(add_two), 10);
  });
}

TEST(PlantedFaults, MemoryThatEndsEarly) {
  in_new_process({{"GPUMODEL_OOM_AFTER", "4M"}}, [] {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    EXPECT_GT(free, 64 * megabyte);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 5 * megabyte), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMalloc(&memory, 2 * megabyte), cudaSuccess);
  });
}

TEST(PlantedFaults, HostMemoryThatCannotBePinned) {
  in_new_process({{"GPUMODEL_PINNED", "4M"}}, [] {
    void* memory = nullptr;
    EXPECT_EQ(cudaHostAlloc(&memory, 5 * megabyte, 0), cudaErrorMemoryAllocation);
    std::vector<char> pageable(3 * megabyte);
    EXPECT_EQ(cudaHostRegister(pageable.data(), pageable.size(), 0), cudaSuccess);
    EXPECT_EQ(cudaHostAlloc(&memory, 2 * megabyte, 0), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaHostAlloc(&memory, 1 * megabyte, 0), cudaSuccess);
  });
}

TEST(Settings, SkippedKernelsDoNotRun) {
  in_new_process(
      {{"GPUMODEL_SKIP", "nothing,add_one"}},
      [] {
        float* const x = zeros();
        EXPECT_EQ(add_one(x, count, nullptr), cudaSuccess);
        EXPECT_EQ(add_two(x, count, nullptr), cudaSuccess);
        EXPECT_THAT(on_host(x), Each(2.0f));
      },
      "");
  in_new_process(
      {{"GPUMODEL_SKIP_OVER", "200"}},
      [] {
        float* const x = zeros();
        EXPECT_EQ(add_one(x, 100, nullptr), cudaSuccess);
        EXPECT_EQ(add_two(x, count, nullptr), cudaSuccess);
        EXPECT_EQ(on_host(x)[0], 1.0f);
      },
      "skipped: .*add_two_kernel");
}

TEST(Settings, BlocksThatAreNotLaunchedTogetherWaitForOneAnotherForEver) {
  in_new_process(
      {{"GPUMODEL_SPIN_LIMIT", "100000"}},
      [] {
        unsigned* words = nullptr;
        ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&words), 64), cudaSuccess);
        ASSERT_EQ(cudaMemset(words, 0, 64), cudaSuccess);
        EXPECT_EQ(wait_for_all_blocks(words, words + 1, 2, true, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        EXPECT_EQ(wait_for_all_blocks(words, words + 1, 9, false, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
      },
      "FAULT .deadlock.*wait_for_all_blocks_kernel");
}

TEST(Settings, ADeadlockIsAnErrorOrHangs) {
  in_new_process(
      {},
      [] {
        EXPECT_EQ(deadlock(nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
      },
      "FAULT .deadlock.*deadlock_kernel");
  in_new_process({{"GPUMODEL_DEADLOCK_HANGS", "1"}}, [] {
    EXPECT_EQ(deadlock(nullptr), cudaSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  });
}

TEST(Faults, AMisalignedAddressIsACudaError) {
  in_new_process(
      {},
      [] {
        EXPECT_EQ(misalign(zeros(), nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
      },
      "FAULT .misaligned address.*misaligned_kernel");
}

TEST(Faults, AnAccessBeyondAnAllocationIsACudaError) {
  in_new_process(
      {},
      [] {
        EXPECT_EQ(add_one(zeros(), count + 1, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
      },
      "FAULT .illegal address.*add_one_kernel");
}

TEST(Faults, LaunchesThatTheDeviceCannotRunAreRefused) {
  EXPECT_EQ(launch_too_wide(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(use_shared_memory(48 * 1024, 0, nullptr), cudaSuccess);
  EXPECT_EQ(use_shared_memory(48 * 1024 + 1, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(use_shared_memory(64 * 1024, 64 * 1024, nullptr), cudaSuccess);
  EXPECT_EQ(use_shared_memory(64 * 1024, 228 * 1024, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(launch_cluster(9, nullptr), cudaErrorInvalidClusterSize);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cudaGetLastError();
}

TEST(Settings, ClustersAreResidentAsFarAsThreadsAndSharedMemoryAllow) {
  int clusters = -1;
  ASSERT_EQ(use_shared_memory(0, 200 * 1024, nullptr), cudaSuccess);
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  const int processors = properties.multiProcessorCount;
  // 2048 threads of an SM, in blocks of 32.
  ASSERT_EQ(active_clusters(&clusters, 4, 0), cudaSuccess);
  EXPECT_EQ(clusters, processors * 64 / 4);
  // 228 KiB of an SM, and 1 KiB of each block.
  ASSERT_EQ(active_clusters(&clusters, 1, 75 * 1024), cudaSuccess);
  EXPECT_EQ(clusters, processors * 3);
  ASSERT_EQ(active_clusters(&clusters, 2, 200 * 1024), cudaSuccess);
  EXPECT_EQ(clusters, processors / 2);
  EXPECT_EQ(active_clusters(&clusters, 9, 0), cudaErrorInvalidClusterSize);
  EXPECT_EQ(active_clusters(&clusters, 2, 201 * 1024), cudaErrorInvalidValue);
  cudaGetLastError();
  ASSERT_EQ(use_shared_memory(0, 48 * 1024, nullptr), cudaSuccess);  // as for the other tests
}

TEST(Settings, AnEditChangesALaunchedKernel) {
  in_new_process(
      {{"GPUMODEL_EDIT", "0f3F800000=>0f40E00000"}, {"GPUMODEL_EDIT_KERNEL", "add_one"}},
      [] {
        float* const x = zeros();
        EXPECT_EQ(add_one(x, count, nullptr), cudaSuccess);
        EXPECT_EQ(add_two(x, count, nullptr), cudaSuccess);
        EXPECT_THAT(on_host(x), Each(9.0f));
      },
      "GPUMODEL_EDIT changed 1 lines of .*add_one_kernel");
}

TEST(Settings, TracesAndDumps) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "gpu_model_dump";
  std::filesystem::create_directories(folder);
  const std::string name = folder.string();
  in_new_process(
      {{"GPUMODEL_TRACE", "1"}, {"GPUMODEL_DUMP", name.c_str()}},
      [] {
        float* const x = zeros();
        EXPECT_EQ(add_one(x, count, nullptr), cudaSuccess);
        EXPECT_THAT(on_host(x), Each(1.0f));
      },
      "add_one_kernel.*model");
  std::size_t dumped = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    dumped += entry.path().string().find("add_one_kernel") != std::string::npos && entry.file_size() > 0;
  }
  EXPECT_EQ(dumped, 1u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gpu_model
