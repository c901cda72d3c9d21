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
    const std::size_t middle = next.size() / 3;
    for (const auto& [begin, end] : {std::pair(middle, next.size()), std::pair(std::size_t{0}, middle)}) {
      if (begin == end) continue;
      kernels_->link(set.get(), stride, static_cast<const std::uint32_t*>(successors.get()), begin, end, device_->stream());
    }
    device_->synchronize();
    return set;
  }
  Memory zeroed(std::size_t bytes) {
    Memory memory = device_->allocate(bytes);
    device_->zero(memory.get(), bytes);
    return memory;
  }
  /// A word that holds the address.
  Memory at_line(void* line) {
    Memory memory = device_->allocate(sizeof(line));
    device_->to_device(memory.get(), &line, sizeof(line));
    return memory;
  }
  template <class T>
  std::vector<T> read(const Memory& memory, std::size_t count) {
    std::vector<T> values(count);
    device_->to_host(values.data(), memory.get(), count * sizeof(T));
    return values;
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

TEST_P(Latency, EachWrongLinkIsCounted) {
  for (const std::size_t lines : {std::size_t{1}, std::size_t{257}, std::size_t{2000000}}) {
    Numbers next(lines);
    for (std::size_t i = 0; i < lines; ++i) next[i] = static_cast<std::uint32_t>((i + 7) % lines);
    const std::size_t stride = lines < 1000 ? kStride : 8;
    const Memory set = linked(next, stride), successors = on_device(next), counter = zeroed(sizeof(std::uint64_t));
    const auto wrong = [&] {
      kernels_->count_wrong_links(static_cast<std::uint64_t*>(counter.get()), set.get(), stride,
                                  static_cast<const std::uint32_t*>(successors.get()), lines, device_->stream());
      device_->synchronize();
      return read<std::uint64_t>(counter, 1).front();
    };
    EXPECT_EQ(wrong(), 0U) << lines;
    std::uint64_t planted = 0;
    for (const std::size_t line : {std::size_t{0}, lines / 2, lines - 1}) {
      // Off by one bit, at each end of the address.
      char* const address = static_cast<char*>(set.get()) + next[line] * stride;
      for (const std::uint64_t bit : {std::uint64_t{1}, std::uint64_t{1} << 63}) {
        const std::uint64_t other = reinterpret_cast<std::uint64_t>(address) ^ bit;
        device_->to_device(static_cast<char*>(set.get()) + line * stride, &other, sizeof(other));
        EXPECT_EQ(wrong(), ++planted) << "line " << line << " of " << lines;
      }
      device_->to_device(static_cast<char*>(set.get()) + line * stride, &address, sizeof(address));
    }
    EXPECT_EQ(wrong(), planted) << lines;
  }
}

TEST_P(Latency, AChaseMakesEachStepAndGoesOnWhereItEnded) {
  const Memory set = linked(kNext, kStride);
  const Memory at = device_->allocate(sizeof(void*)), out = device_->allocate(sizeof(ChaseEnd));
  const std::size_t visited[] = {0, 3, 1, 4, 2};
  for (const ChaseLoad load : {ChaseLoad::ca, ChaseLoad::cg, ChaseLoad::atom}) {
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

TEST_P(Latency, AChaseOnAnSmRunsThereAlone) {
  if (!kernels_->chase_on_sm) GTEST_SKIP() << "the device has no SMs";
  const Memory set = linked(kNext, kStride), at = at_line(set.get()), arrivals = zeroed(sizeof(std::uint64_t));
  const Memory out = device_->allocate(sizeof(ChaseEnd));
  const auto chase = [&](ChaseLoad load, unsigned sm) {
    device_->poison(out.get(), sizeof(ChaseEnd));
    kernels_->chase_on_sm(load, static_cast<ChaseEnd*>(out.get()), static_cast<void**>(at.get()), set.get(), kStride, 82, sm,
                          static_cast<std::uint64_t*>(arrivals.get()), device_->stream());
    device_->synchronize();
    return end_in(out);
  };
  const auto sms = static_cast<unsigned>(device_->info().multiprocessors);
  const std::size_t visited[] = {0, 3, 1, 4, 2};
  std::size_t made = 0;
  for (const ChaseLoad load : {ChaseLoad::ca, ChaseLoad::cg, ChaseLoad::atom}) {
    for (unsigned sm = 0; sm < sms; ++sm) {
      std::uint64_t sum = 0;
      for (int step = 0; step < 82; ++step) sum += visited[made++ % 5] + 1;
      const ChaseEnd end = chase(load, sm);
      EXPECT_EQ(end.end, visited[made % 5] * kStride) << sm;
      EXPECT_EQ(end.sum, sum * kStride) << sm;
    }
  }
  EXPECT_EQ(chase(ChaseLoad::cg, sms).sum, ~std::uint64_t{0}) << "an SM that the device does not have";
  EXPECT_EQ(read<std::uint64_t>(arrivals, 1).front(), std::uint64_t{3 * sms + 1} * sms);
}

TEST_P(Latency, ReadersReadTheirChunksInTurnUntilTheChaseHasEnded) {
  if (!kernels_->chase_under_load) GTEST_SKIP() << "the device has no SMs";
  using Reads = BackgroundReads;
  constexpr std::size_t kRounds = 3, kWords = Reads::kChunk / sizeof(std::uint64_t);
  const int most = device_->info().multiprocessors - 1;
  const Memory set = linked(kNext, kStride), at = at_line(set.get()), out = device_->allocate(sizeof(ChaseEnd));
  for (const int readers : {0, 1, most}) {
    for (const std::uint32_t interval : {0, 1000}) {
      SCOPED_TRACE(testing::Message() << readers << " readers, a chunk per " << interval << " cycles");
      const std::size_t warps = static_cast<std::size_t>(readers) * Reads::kWarpsPerReader;
      const std::size_t words = std::max<std::size_t>(warps, 1) * kRounds * kWords;
      const Memory data = device_->allocate(words * sizeof(std::uint64_t)), time = zeroed(sizeof(std::uint64_t));
      const Memory arrivals = zeroed(sizeof(std::uint64_t));
      kernels_->count_words(static_cast<std::uint64_t*>(data.get()), words, device_->stream());
      const Memory reads = zeroed(std::max<std::size_t>(warps, 1) * sizeof(Reads::Read));
      const Memory ended = zeroed(std::max(readers, 1) * sizeof(Reads::Ended));
      std::uint64_t time_before = 0;
      for (std::uint64_t launch = 1; launch <= 3; ++launch) {
        const std::size_t steps = 5 * 2000;
        kernels_->chase_under_load(static_cast<ChaseEnd*>(out.get()), static_cast<void**>(at.get()), set.get(), kStride, steps,
                                   {.readers = readers,
                                    .rounds = kRounds,
                                    .interval_cycles = interval,
                                    .data = data.get(),
                                    .reads = static_cast<Reads::Read*>(reads.get()),
                                    .ended = static_cast<Reads::Ended*>(ended.get()),
                                    .nanoseconds = static_cast<std::uint64_t*>(time.get())},
                                   static_cast<std::uint64_t*>(arrivals.get()), device_->stream());
        device_->synchronize();
        EXPECT_EQ(end_in(out).end, 0U);
        EXPECT_EQ(end_in(out).sum, steps / 5 * 15 * kStride);
        const std::uint64_t time_after = read<std::uint64_t>(time, 1).front();
        EXPECT_GT(time_after, time_before);
        time_before = time_after;
        const std::vector<Reads::Read> read_by = read<Reads::Read>(reads, warps);
        for (std::size_t warp = 0; warp < warps; ++warp) {
          EXPECT_GE(read_by[warp].chunks, launch);
          std::uint64_t sum = 0;
          for (std::uint64_t i = 0; i < read_by[warp].chunks; ++i) {
            const std::uint64_t first = (i % kRounds * warps + warp) * kWords;
            for (std::uint64_t word = first; word < first + kWords; ++word) sum += word + 1;
          }
          ASSERT_EQ(read_by[warp].sum, sum) << "warp " << warp;
        }
        for (const Reads::Ended& one : read<Reads::Ended>(ended, readers)) EXPECT_EQ(one.chases, launch);
      }
    }
  }
}

TEST_P(Latency, WordsAreCounted) {
  if (!kernels_->count_words) GTEST_SKIP() << "the device has no readers";
  for (const std::size_t count : {1, 255, 257, 2000000}) {
    const Memory words = zeroed((count + 1) * sizeof(std::uint64_t));
    kernels_->count_words(static_cast<std::uint64_t*>(words.get()), count, device_->stream());
    device_->synchronize();
    const std::vector<std::uint64_t> all = read<std::uint64_t>(words, count + 1);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(all[i], i + 1);
    EXPECT_EQ(all[count], 0U);
  }
}

TEST_P(Latency, AChaseInConstantMemoryMakesEachStep) {
  if (!kernels_->chase_constant) GTEST_SKIP() << "the device has no constant memory";
  const Memory out = device_->allocate(sizeof(ChaseEnd));
  const std::size_t visited[] = {0, 3, 1, 4, 2};
  for (const std::size_t stride : {std::size_t{4}, kStride, LatencyKernels::kMostConstant / 5 / 4 * 4}) {
    std::vector<std::uint32_t> words(5 * stride / 4);
    for (std::size_t i = 0; i < 5; ++i) words[i * stride / 4] = kNext[i] * static_cast<std::uint32_t>(stride);
    const Memory set = on_device(words);
    for (const std::size_t steps : {0, 1, 5, 16, 163}) {
      kernels_->chase_constant(static_cast<ChaseEnd*>(out.get()), set.get(), 5, stride, steps, device_->stream());
      device_->synchronize();
      std::uint64_t sum = 0;
      for (std::size_t step = 0; step < steps; ++step) sum += visited[step % 5] + 1;
      EXPECT_EQ(end_in(out).end, visited[steps % 5] * stride) << steps << " steps";
      EXPECT_EQ(end_in(out).sum, sum * stride) << steps << " steps";
    }
  }
}

TEST_P(Latency, AChaseInSharedMemoryMakesEachStep) {
  if (!kernels_->chase_shared) GTEST_SKIP() << "the device has no shared memory";
  const auto chases = device_->info().compute_capability < 90 ? std::vector{kernels_->chase_shared}
                                                              : std::vector{kernels_->chase_shared, kernels_->chase_neighbour};
  const Memory next = on_device(kNext), out = device_->allocate(sizeof(ChaseEnd));
  const std::size_t visited[] = {0, 3, 1, 4, 2};
  for (const auto chase : chases) {
    for (const std::size_t stride : {std::size_t{8}, kStride}) {
      for (const std::size_t steps : {0, 1, 5, 16, 163, 10000}) {
        chase(static_cast<ChaseEnd*>(out.get()), static_cast<const std::uint32_t*>(next.get()), 5, stride, steps,
              device_->stream());
        device_->synchronize();
        std::uint64_t sum = 0;
        for (std::size_t step = 0; step < steps; ++step) sum += visited[step % 5] + 1;
        EXPECT_EQ(end_in(out).end, visited[steps % 5] * stride) << steps << " steps";
        EXPECT_EQ(end_in(out).sum, sum * stride) << steps << " steps";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Latency, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
