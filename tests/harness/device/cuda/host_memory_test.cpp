// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/device/cuda/host_memory.hpp"

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <vector>

#include "harness/device/cuda_device.hpp"
#include "harness/machine/numa.hpp"
#include "kernels/base/check.hpp"

namespace roofmark {

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(HostMemoryKind kind, std::ostream* out) { *out << name(kind); }

namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr std::size_t kBytes = (std::size_t{1} << 21) + 5;
constexpr HostMemoryKind kKinds[] = {HostMemoryKind::pageable, HostMemoryKind::pinned, HostMemoryKind::registered,
                                     HostMemoryKind::write_combined, HostMemoryKind::managed};

class CudaHostMemory : public testing::TestWithParam<HostMemoryKind> {
 protected:
  void SetUp() override {
    const CudaDevices devices = cuda_devices();
    if (devices.ordinals.empty()) GTEST_SKIP() << "no GPU: " << devices.reason;
    device_ = open_cuda_device(devices.ordinals.front());
  }
  Memory allocate(std::size_t bytes, std::optional<int> node = {}) {
    return device_->allocate_host(bytes, {GetParam(), node, false});
  }

  std::unique_ptr<Device> device_;
};

TEST(HostMemoryWhereWanted, IsLargerUntilTheDriverMakesANewChunk) {
  std::vector<std::size_t> sizes;
  const auto allocate = [&](std::size_t bytes) {
    sizes.push_back(bytes);
    return Memory(new std::size_t(bytes), [](void* data) { delete static_cast<std::size_t*>(data); });
  };
  const auto size_of = [](const Memory& memory) { return *static_cast<std::size_t*>(memory.get()); };
  const auto after = [&](std::size_t bytes, std::size_t attempts) {
    sizes.clear();
    return size_of(cuda::allocate_where_wanted(bytes, allocate, [&](const void*) { return sizes.size() >= attempts; }));
  };
  EXPECT_EQ(after(64, 1), 64U);
  EXPECT_THAT(sizes, ElementsAre(64));
  EXPECT_EQ(after(64, 3), std::size_t{4} << 20);
  EXPECT_THAT(sizes, ElementsAre(64, 2 << 20, 4 << 20));
  EXPECT_EQ(after(3 << 20, 2), std::size_t{6} << 20);
  EXPECT_THAT(sizes, ElementsAre(3 << 20, 6 << 20));
  EXPECT_EQ(after(64, 1000), 64U) << "all lie elsewhere: the first takes the least memory, and its record says where it lies";
  EXPECT_EQ(sizes.back(), std::size_t{64} << 20);
  EXPECT_EQ(after(std::size_t{1} << 30, 1000), std::size_t{1} << 30);
  EXPECT_THAT(sizes, SizeIs(1)) << "it is a chunk of its own";
  const auto limited = [&](std::size_t bytes) {
    if (bytes > 64) throw OutOfMemory(bytes, 64, "host memory", "");
    return allocate(bytes);
  };
  sizes.clear();
  EXPECT_EQ(size_of(cuda::allocate_where_wanted(64, limited, [](const void*) { return false; })), 64U) << "a full node";
  EXPECT_THAT(sizes, ElementsAre(64));
  EXPECT_THROW(cuda::allocate_where_wanted(65, limited, [](const void*) { return true; }), OutOfMemory);
}

TEST_P(CudaHostMemory, IsOfBothSidesAndOfItsKind) {
  const std::size_t before = device_->allocated_bytes();
  const Memory memory = allocate(kBytes), device = device_->allocate(kBytes);
  EXPECT_EQ(device_->allocated_bytes() - before, kBytes) << "host memory is none of the device's";
  auto* const bytes = static_cast<unsigned char*>(memory.get());
  EXPECT_EQ(bytes[0] | bytes[kBytes - 1], 0);
  bytes[0] = 3;
  bytes[kBytes - 1] = 5;
  device_->to_device(device.get(), bytes, kBytes);
  std::memset(bytes, 0, kBytes);
  device_->to_host(bytes, device.get(), kBytes);
  EXPECT_EQ(bytes[0], 3);
  EXPECT_EQ(bytes[kBytes - 1], 5);
  void* address = nullptr;
  const bool pinned = GetParam() != HostMemoryKind::pageable && GetParam() != HostMemoryKind::managed;
  EXPECT_EQ(cudaHostGetDevicePointer(&address, bytes, 0) == cudaSuccess, pinned);
  cudaGetLastError();
}

// What is freed can be had again, more often than memory would last.
TEST_P(CudaHostMemory, IsFreed) {
  void* address = nullptr;
  for (int round = 0; round < 3; ++round) {
    const Memory memory = allocate(kBytes);
    address = memory.get();
  }
  EXPECT_NE(cudaHostGetDevicePointer(&address, address, 0), cudaSuccess);
  cudaGetLastError();
}

TEST_P(CudaHostMemory, LiesOnTheNodeThatIsAskedFor) {
  for (const int node : device_->info().host_nodes) {
    Memory memory;
    try {
      memory = allocate(kBytes, node);
    } catch (const Unsupported&) {
      EXPECT_THROW(NodeScope(std::optional(node)), Unsupported) << "the kernel does not refuse it";
      continue;
    }
    const PagePlacement placed = placement_of(memory.get(), kBytes);
    if (placed.only_node()) {
      EXPECT_EQ(*placed.only_node(), node);
    }
  }
  EXPECT_THROW(allocate(kBytes, 1000), Unsupported);
}

TEST_P(CudaHostMemory, WhatTheHostLacksIsSaidWithBothNumbers) {
  constexpr std::size_t kTooMuch = std::size_t{1} << 50;
  try {
    allocate(kTooMuch);
    FAIL() << "a petabyte";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.wanted_bytes, kTooMuch);
    EXPECT_GT(error.free_bytes, 0U);
    EXPECT_NE(std::string(error.what()).find("out of " + std::string(name(GetParam())) + " host memory"), std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaHostMemory, testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<HostMemoryKind>& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace roofmark
