// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/gpu_model/tests/compiled_kernels.hpp"

namespace gpu_model {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GlobalMemory, LoadsAndStoresAreCountedByTheByte) {
  constexpr int n = 10000;
  DeviceArray<float> a(n), b(n), c(n);
  std::iota(a.values().begin(), a.values().end(), 0.0f);
  std::iota(b.values().begin(), b.values().end(), 1.0f);
  const Counters counters = launch("vector_add", {{7}, {96}}, a.data(), b.data(), c.data(), n);
  for (int i = 0; i < n; ++i) EXPECT_EQ(c[i], static_cast<float>(2 * i + 1));
  EXPECT_EQ(counters.global_load_bytes, 8u * n);
  EXPECT_EQ(counters.global_store_bytes, 4u * n);
  EXPECT_EQ(counters.fma_flops[1], static_cast<std::uint64_t>(n));
}

TEST(GlobalMemory, VectorsOfSixteenBytes) {
  DeviceArray<float> from(512), to(512);
  std::iota(from.values().begin(), from.values().end(), 0.5f);
  EXPECT_EQ(launch("vector_copy", {{2}, {64}}, from.data(), to.data()).global_load_bytes, 2048u);
  EXPECT_EQ(to.values(), from.values());
  EXPECT_THAT(text_of_fault(Fault::Kind::misaligned,
                            [&] {
                              launch("vector_copy", {{1}, {1}}, from.data() + 1, to.data());
                            }),
              HasSubstr("vector_copy"));
}

TEST(GlobalMemory, AReductionByShufflesSharedMemoryAndTheLastBlock) {
  constexpr int n = 5000, blocks = 9;
  DeviceArray<float> x(n);
  x.fill(Quarters());
  DeviceArray<double> parts(blocks), out(1);
  const double expected = std::accumulate(x.values().begin(), x.values().end(), 0.0);
  // The ticket must be back at 0 for the second launch.
  for (int launches = 0; launches < 2; ++launches) {
    out[0] = 0;
    launch("reduce_in_last_block", {{blocks}, {256}}, x.data(), parts.data(), out.data(), n);
    EXPECT_EQ(out[0], expected);
  }
}

TEST(GlobalMemory, Atomics) {
  constexpr int threads = 300;
  DeviceArray<int> words(9), old(threads);
  words[1] = words[2] = 5;
  words[5] = -1;
  words[7] = 1;
  DeviceArray<float> sum(1);
  DeviceArray<double> wide_sum(1);
  DeviceArray<unsigned long long> wide(1);
  launch("atomics", {{3}, {100}}, words.data(), sum.data(), wide_sum.data(), wide.data(), old.data());
  unsigned chain = 1;
  int parity = 0;
  for (int i = 0; i < threads; ++i) chain = chain * 3 + 1, parity ^= i;
  EXPECT_THAT(words.values(), ElementsAre(threads * (threads - 1) / 2, threads - 1, -(threads - 1), -1, parity, ~255, threads,
                                          static_cast<int>(chain), 2 * threads));
  EXPECT_THAT(old.values(), Each(1));
  EXPECT_EQ(sum[0], 0.25f * threads);
  EXPECT_EQ(wide_sum[0], 0.125 * threads);
  EXPECT_EQ(wide[0], (threads - 1ull) << 40);
}

TEST(GlobalMemory, InitialisedVariables) {
  DeviceArray<double> doubles(4);
  DeviceArray<int> ints(5);
  launch("read_tables", {{1}, {32}}, doubles.data(), ints.data());
  EXPECT_THAT(doubles.values(), ElementsAre(1.5, -2.25, 3.0, 0.125));
  EXPECT_THAT(ints.values(), ElementsAre(7, -3, 11, 0, 2));
  std::size_t bytes = 0;
  EXPECT_TRUE(compiled_kernels().global("ticket", &bytes));
  EXPECT_EQ(bytes, 4u);
  EXPECT_FALSE(compiled_kernels().global("no_such_variable", &bytes));
}

TEST(LocalMemory, AnIndexedArray) {
  constexpr int threads = 32, n = 20;
  DeviceArray<int> y(threads);
  launch("local_array", {{1}, {threads}}, y.data(), n);
  for (int t = 0; t < threads; ++t) {
    unsigned a[16], sum = 0;
    for (int i = 0; i < 16; ++i) a[i] = static_cast<unsigned>(i * t);
    for (int i = 0; i < n; ++i) a[(i * 7 + t) & 15] += static_cast<unsigned>(i);
    for (unsigned element : a) sum = sum * 5 + element;
    EXPECT_EQ(y[t], static_cast<int>(sum));
  }
}

TEST(LocalMemory, AccessesOutsideOfTheThreadsAreRefused) {
  DeviceArray<int> y(1);
  const auto access = [&](int written, int read) { launch("access_local", {{1}, {32}}, y.data(), written, read); };
  access(15, 15);
  EXPECT_EQ(y[0], 100);
  access(0, 1);
  EXPECT_EQ(y[0], 1);
  for (int outside : {-100, -2, -1, 16, 17, 1 << 20}) {
    EXPECT_THAT(text_of_fault(Fault::Kind::illegal_address, [&] { access(outside, 0); }), HasSubstr("local"));
    EXPECT_THAT(text_of_fault(Fault::Kind::illegal_address, [&] { access(0, outside); }), HasSubstr("local"));
  }
}

TEST(GlobalMemory, AccessesOutsideOfAnAllocationNameKernelBlockAndThread) {
  DeviceArray<float> x(16), y(16);
  const LaunchShape one_thread{{1}, {1}};
  EXPECT_THAT(
      text_of_fault(Fault::Kind::illegal_address, [&] { launch("read_global", one_thread, x.data(), y.data(), 1 << 20); }),
      AllOf(HasSubstr("read_global"), HasSubstr("block (0,0,0)"), HasSubstr("thread (0,0,0)"), HasSubstr("line")));
  text_of_fault(Fault::Kind::illegal_address, [&] { launch("write_global", one_thread, y.data(), 16); });
  text_of_fault(Fault::Kind::illegal_address, [&] { launch("write_global", one_thread, y.data(), -1); });
  // The last four bytes of the address space.
  text_of_fault(Fault::Kind::illegal_address,
                [&] { launch("read_global", one_thread, static_cast<const float*>(nullptr), y.data(), -1); });
  launch("write_global", one_thread, y.data(), 15);
  EXPECT_EQ(y[15], 1.0f);
}

TEST(GlobalMemory, FreedMemoryIsOutside) {
  std::vector<float> freed(4);
  allow_range(freed.data(), 16);
  launch("write_global", {{1}, {1}}, freed.data(), 0);
  forbid_range(freed.data());
  text_of_fault(Fault::Kind::illegal_address, [&] { launch("write_global", {{1}, {1}}, freed.data(), 0); });
}

TEST(GlobalMemory, AMisalignedAddressIsRefused) {
  DeviceArray<float> x(16), y(16);
  auto* const odd = reinterpret_cast<float*>(reinterpret_cast<char*>(x.data()) + 2);
  text_of_fault(Fault::Kind::misaligned, [&] { launch("read_global", {{1}, {1}}, odd, y.data(), 1); });
}

TEST(SharedMemory, AccessesOutsideOfTheBlocksAreRefused) {
  DeviceArray<float> y(1);
  launch("read_shared", {{1}, {8}}, y.data(), 7);
  EXPECT_EQ(y[0], 1.0f);
  text_of_fault(Fault::Kind::illegal_address, [&] { launch("read_shared", {{1}, {8}}, y.data(), 9); });
  launch("read_dynamic_shared", {{1}, {8}, 64}, y.data(), 15);
  EXPECT_EQ(y[0], 3.0f);
  text_of_fault(Fault::Kind::illegal_address, [&] { launch("read_dynamic_shared", {{1}, {8}, 64}, y.data(), 16); });
}

TEST(SharedMemory, ReadsOfWhatNothingWroteAreCountedWithTheRaceDetector) {
  const Setting race("GPUMODEL_RACE", "1"), quiet("GPUMODEL_QUIET", "1");
  DeviceArray<float> y(1);
  EXPECT_EQ(launch("read_shared", {{1}, {8}}, y.data(), 7).uninitialised_shared_reads, 0u);
  EXPECT_GT(launch("read_shared", {{1}, {4}}, y.data(), 7).uninitialised_shared_reads, 0u);
}

TEST(Launch, BadShapesAreRefused) {
  DeviceArray<float> y(1);
  for (const LaunchShape& bad : {LaunchShape{{0}, {1}}, LaunchShape{{1}, {1025}}, LaunchShape{{1, 65536}, {1}},
                                 LaunchShape{{3}, {1}, 0, {2}}, LaunchShape{{1}, {1}, 228 * 1024}}) {
    text_of_fault(Fault::Kind::illegal_instruction, [&] { launch("write_global", bad, y.data(), 0); });
  }
}

}  // namespace
}  // namespace gpu_model
