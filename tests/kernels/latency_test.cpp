// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/latency.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

using Numbers = std::vector<std::uint32_t>;

// 0 -> 3 -> 1 -> 4 -> 2 -> 0.
const Numbers kNext = {3, 4, 0, 1, 2};
// Lines of other sizes than the pointers and than a power of two.
constexpr std::size_t kStride = 160;

class Latency : public KernelTest<LatencyKernels> {
 protected:
  Latency() : KernelTest(&cuda::latency, &cpu::latency) {}

  Memory on_device(const Numbers& next) {
    Memory memory = device_->allocate(next.size() * sizeof(next[0]));
    device_->to_device(memory.get(), next.data(), next.size() * sizeof(next[0]));
    return memory;
  }
  Memory linked(const Numbers& next, std::size_t stride) {
    Memory set = device_->allocate(next.size() * stride);
    device_->poison(set.get(), next.size() * stride);
    const Memory successors = on_device(next);
    kernels_->link(set.get(), stride, static_cast<const std::uint32_t*>(successors.get()), next.size(), device_->stream());
    device_->synchronize();
    return set;
  }
  ChaseEnd end_in(const Memory& out) {
    ChaseEnd end;
    device_->to_host(&end, out.get(), sizeof(end));
    return end;
  }
};

TEST_P(Latency, EachLineHoldsTheAddressOfTheNextAndNothingElse) {
  for (const std::size_t lines : {1, 5, 257, 2000000}) {
    Numbers next(lines);
    for (std::size_t i = 0; i < lines; ++i) next[i] = static_cast<std::uint32_t>((i + 7) % lines);
    const std::size_t stride = lines < 1000 ? kStride : 8;
    const Memory set = linked(next, stride);
    std::vector<unsigned char> bytes(lines * stride);
    device_->to_host(bytes.data(), set.get(), bytes.size());
    for (std::size_t i = 0; i < lines; ++i) {
      const char* address = nullptr;
      std::memcpy(&address, &bytes[i * stride], sizeof(address));
      ASSERT_EQ(address, static_cast<char*>(set.get()) + next[i] * stride) << "line " << i << " of " << lines;
      for (std::size_t b = sizeof(address); b < stride; ++b) ASSERT_EQ(bytes[i * stride + b], 0xff) << i << ", " << b;
    }
  }
}

TEST_P(Latency, AChaseMakesEachStepAndGoesOnWhereItEnded) {
  const Memory set = linked(kNext, kStride);
  const Memory at = device_->allocate(sizeof(void*)), out = device_->allocate(sizeof(ChaseEnd));
  const std::size_t visited[] = {0, 3, 1, 4, 2};
  for (const ChaseLoad load : {ChaseLoad::ca, ChaseLoad::cg}) {
    void* first = set.get();
    device_->to_device(at.get(), &first, sizeof(first));
    std::size_t made = 0;
    // Within a lap, across its end, several laps, more than an unrolled loop, and none.
    for (const std::size_t steps : {1, 3, 4, 15, 16, 17, 163, 0, 1000}) {
      for (const std::size_t preload : {0, 5}) {
        SCOPED_TRACE(testing::Message() << steps << " steps from step " << made << " on, " << preload << " preloaded");
        kernels_->chase(load, static_cast<ChaseEnd*>(out.get()), static_cast<void**>(at.get()), set.get(), kStride, preload,
                        steps, device_->stream());
        device_->synchronize();
        std::uint64_t sum = preload == 0 ? 0 : 1 + 2 + 3 + 4 + 5;
        for (std::size_t step = 0; step < steps; ++step) sum += visited[made++ % 5] + 1;
        EXPECT_EQ(end_in(out).end, visited[made % 5] * kStride);
        EXPECT_EQ(end_in(out).sum, sum * kStride);
        void* reached = nullptr;
        device_->to_host(&reached, at.get(), sizeof(reached));
        EXPECT_EQ(reached, static_cast<char*>(set.get()) + visited[made % 5] * kStride);
      }
    }
  }
}

TEST_P(Latency, AllLinesOfALargeSetArePreloaded) {
  constexpr std::uint64_t kLines = 1000;
  Numbers next(kLines);
  for (std::size_t i = 0; i < kLines; ++i) next[i] = static_cast<std::uint32_t>((i + 1) % kLines);
  const Memory set = linked(next, kStride);
  const Memory at = device_->allocate(sizeof(void*)), out = device_->allocate(sizeof(ChaseEnd));
  void* first = set.get();
  device_->to_device(at.get(), &first, sizeof(first));
  kernels_->chase(ChaseLoad::ca, static_cast<ChaseEnd*>(out.get()), static_cast<void**>(at.get()), set.get(), kStride, kLines,
                  0, device_->stream());
  device_->synchronize();
  EXPECT_EQ(end_in(out).sum, kLines * (kLines + 1) / 2 * kStride);
}

TEST_P(Latency, AChaseInSharedMemoryMakesEachStep) {
  if (!kernels_->chase_shared) GTEST_SKIP() << "the device has no shared memory";
  const Memory next = on_device(kNext), out = device_->allocate(sizeof(ChaseEnd));
  const std::size_t visited[] = {0, 3, 1, 4, 2};
  for (const std::size_t stride : {std::size_t{4}, kStride}) {
    for (const std::size_t steps : {0, 1, 5, 16, 163}) {
      kernels_->chase_shared(static_cast<ChaseEnd*>(out.get()), static_cast<const std::uint32_t*>(next.get()), 5, stride, steps,
                             device_->stream());
      device_->synchronize();
      std::uint64_t sum = 0;
      for (std::size_t step = 0; step < steps; ++step) sum += visited[step % 5] + 1;
      EXPECT_EQ(end_in(out).end, visited[steps % 5] * stride) << steps << " steps";
      EXPECT_EQ(end_in(out).sum, sum * stride) << steps << " steps";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Latency, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
