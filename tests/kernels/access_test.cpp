// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/access.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace roofmark {
namespace {

using Values = std::vector<double>;

class Access : public KernelTest<AccessKernels> {
 protected:
  Access() : KernelTest(&cuda::access, &cpu::access) {}

  Array array(std::int64_t count, std::size_t offset = 0) { return {*device_, DataType::int32, count, offset}; }

  Values strided_sums(const Array& x, std::int64_t count, std::int64_t stride, std::int64_t sweeps = 1,
                      std::int64_t offset = 0) {
    const Array out = array(sweeps * sum_groups(count), 1);
    kernels_->stride(out.as<std::int32_t>(), x.as<std::int32_t>(), count, stride, sweeps, offset, device_->stream());
    device_->synchronize();
    EXPECT_TRUE(out.untouched_around());
    return out.values();
  }
};

// Fewer elements than a warp has lanes, than a lane has loads, and than a block has groups; each of these, and one more or
// less.
TEST_P(Access, StridedSumsAreThoseOfTheElementsOfEachGroup) {
  constexpr std::int64_t kOffset = 5;
  for (const std::int64_t stride : {1, 2, 17}) {
    for (const std::int64_t count : {1, 31, 32, 33, 992, 993, 1023, 1024, 1025, 8191, 8192, 8193, 20011}) {
      const std::int64_t sweeps = stride == 17 ? 3 : 1;
      SCOPED_TRACE(testing::Message() << count << " elements, stride " << stride);
      const Array x = array((count - 1) * stride + (sweeps - 1) * kOffset + 1, 3);
      x.fill(0);
      const Values values = x.values();
      Values expected(static_cast<std::size_t>(sweeps * sum_groups(count)));
      for (std::int64_t i = 0; i < count * sweeps; ++i) {
        const std::int64_t sweep = i / count, place = sweep * kOffset + i % count * stride;
        expected[static_cast<std::size_t>(sweep * sum_groups(count) + i % count / kSumGroup)] +=
            values[static_cast<std::size_t>(place)];
      }
      EXPECT_EQ(strided_sums(x, count, stride, sweeps, kOffset), expected);
    }
  }
}

TEST_P(Access, StridedSumsAreModulo2To32) {
  const Array x = array(3);
  x.set({0x7fffffff, 0x7fffffff, 3});
  EXPECT_EQ(strided_sums(x, 3, 1), Values{1});
}

// Tables of less than a block copies, of as much, and of more; rows of fewer and of more vectors than a warp has lanes.
TEST_P(Access, GatheredRowsAreThoseOfTheTable) {
  struct Shape {
    std::int64_t rows, width;
  };
  for (const Shape& shape : {Shape{1, 4}, {3, 8}, {67, 12}, {1023, 4}, {1024, 4}, {1025, 4}, {512, 8}, {37, 1024}, {2100, 8}}) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.width);
    const Array table = array(shape.rows * shape.width, 4), out = array(shape.rows * shape.width, 4);
    table.fill(0);
    std::vector<std::uint32_t> index(static_cast<std::size_t>(shape.rows));
    for (std::size_t r = 0; r < index.size(); ++r) index[r] = static_cast<std::uint32_t>((7 * r + 5) % index.size());
    const Memory indices = device_->allocate(index.size() * sizeof(index[0]));
    device_->to_device(indices.get(), index.data(), index.size() * sizeof(index[0]));
    kernels_->gather(out.as<std::int32_t>(), table.as<std::int32_t>(), static_cast<const std::uint32_t*>(indices.get()),
                     shape.rows, shape.width, device_->stream());
    device_->synchronize();
    EXPECT_TRUE(out.untouched_around());
    const Values values = table.values(), got = out.values();
    const auto width = static_cast<std::size_t>(shape.width);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], values[index[i / width] * width + i % width]) << "element " << i;
    }
  }
}

// A part of a group, of a tile of four groups; whole ones; more tiles than the rings of all blocks hold, more groups than there
// are warps.
TEST_P(Access, EveryPassOverAnArrayLeavesTheSumsOfItsGroups) {
  if (!kernels_->read) GTEST_SKIP() << "the device reads arrays by streams alone";
  for (const ReadBy by : {ReadBy::ld_global, ReadBy::cp_async_bulk}) {
    if (by == ReadBy::cp_async_bulk && device_->info().compute_capability < 90) continue;
    for (const std::int64_t count : {4, 1020, 1024, 1028, 4096, 4100, 16380, 600004}) {
      for (const std::int64_t passes : {1, 3}) {
        SCOPED_TRACE(testing::Message() << count << " elements, " << passes << " passes, "
                                        << (by == ReadBy::ld_global ? "loads" : "bulk copies"));
        const Array x = array(count, 4), out = array(passes * sum_groups(count), 1);
        x.fill(0);
        kernels_->read(by, out.as<std::int32_t>(), x.as<std::int32_t>(), count, passes, device_->stream());
        device_->synchronize();
        EXPECT_TRUE(out.untouched_around());
        const Values values = x.values();
        Values expected(static_cast<std::size_t>(passes * sum_groups(count)));
        for (std::size_t i = 0; i < values.size(); ++i) {
          for (std::int64_t pass = 0; pass < passes; ++pass) {
            expected[static_cast<std::size_t>(pass * sum_groups(count)) + i / 1024] += values[i];
          }
        }
        EXPECT_EQ(out.values(), expected);
      }
    }
  }
}

class OnChip : public Access {
 protected:
  void SetUp() override {
    Access::SetUp();
    if (kernels_ && !kernels_->bank_conflicts) GTEST_SKIP() << "the device has no shared memory";
  }
  template <class Word>
  std::vector<Word> words(const Array& out) {
    std::vector<Word> all(out.count() * size_of(out.type()) / sizeof(Word));
    device_->to_host(all.data(), out.data(), all.size() * sizeof(Word));
    return all;
  }

  static constexpr int kProcessors = 2;
};

TEST_P(OnChip, LanesOfAWarpReadWordsOfTheirOwnFromAsManyBanksAsTheWaysLeave) {
  for (const unsigned ways : {1, 2, 4, 8, 16, 32}) {
    for (const unsigned repeats : {1, 4, 7}) {
      SCOPED_TRACE(testing::Message() << ways << " ways, " << repeats << " repeats");
      const Array sink = array(kProcessors * 512);
      kernels_->bank_conflicts(sink.as<std::uint32_t>(), ways, repeats, kProcessors, device_->stream());
      device_->synchronize();
      EXPECT_TRUE(sink.untouched_around());
      const auto got = words<std::uint32_t>(sink);
      for (unsigned i = 0; i < got.size(); ++i) {
        const unsigned lane = i % 32, warp = i % 512 / 32;
        std::uint32_t sum = 0;
        for (unsigned load = 0; load < 8; ++load) sum += (load * 1024 + lane * ways + warp + 1) * 2654435761U;
        ASSERT_EQ(got[i], repeats * sum) << "thread " << i;
      }
    }
  }
}

TEST_P(OnChip, AtomicAdditionsToGlobalMemoryAllCount) {
  constexpr std::int64_t kThreads = kProcessors * 1024;
  for (const DataType type : {DataType::int32, DataType::fp32}) {
    for (const auto& [per, sharing] : {std::pair{AddressPer::grid, kThreads},
                                       {AddressPer::block, std::int64_t{256}},
                                       {AddressPer::warp, std::int64_t{32}},
                                       {AddressPer::thread, std::int64_t{1}}}) {
      for (const unsigned repeats : {1, 8, 11}) {
        SCOPED_TRACE(testing::Message() << name(type) << ", " << sharing << " threads per counter, " << repeats << " repeats");
        const std::int64_t apart = sharing == 1 ? 1 : 32;
        const Array counters = {*device_, type, kThreads / sharing * apart, 0};
        counters.set(Values(counters.count(), 5));
        kernels_->atomic_add_global(type, counters.data(), per, repeats, kProcessors, device_->stream());
        device_->synchronize();
        EXPECT_TRUE(counters.untouched_around());
        const Values got = counters.values();
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(got[i], i % apart == 0 ? 5 + sharing * repeats : 5) << "element " << i;
        }
      }
    }
  }
}

TEST_P(OnChip, AtomicAdditionsToSharedMemoryAllCount) {
  for (const DataType type : {DataType::int32, DataType::fp32}) {
    for (const auto& [per, sharing] : {std::pair{AddressPer::block, std::size_t{256}},
                                       {AddressPer::warp, std::size_t{32}},
                                       {AddressPer::thread, std::size_t{1}}}) {
      for (const unsigned repeats : {1, 8, 11}) {
        SCOPED_TRACE(testing::Message() << name(type) << ", " << sharing << " threads per counter, " << repeats << " repeats");
        const Array out = {*device_, type, kProcessors * 1024, 0};
        kernels_->atomic_add_shared(type, out.data(), per, repeats, kProcessors, device_->stream());
        device_->synchronize();
        EXPECT_TRUE(out.untouched_around());
        const Values got = out.values();
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(got[i], i % 256 < 256 / sharing ? sharing * repeats : 0) << "element " << i;
        }
      }
    }
  }
}

TEST_P(OnChip, AtomicAdditionsAreOfTwoTypes) {
  EXPECT_THROW(kernels_->atomic_add_global(DataType::bf16, nullptr, AddressPer::grid, 1, 1, device_->stream()), Unsupported);
  EXPECT_THROW(kernels_->atomic_add_shared(DataType::fp64, nullptr, AddressPer::block, 1, 1, device_->stream()), Unsupported);
}

TEST_P(OnChip, EachBlockOfAClusterReadsTheSetOfTheNextOne) {
  if (device_->info().compute_capability < 90) GTEST_SKIP() << "the device has no clusters";
  for (const int cluster : {1, 2, 4}) {
    const int blocks = kernels_->dsmem_blocks(cluster);
    ASSERT_GE(blocks, cluster);
    ASSERT_EQ(blocks % cluster, 0);
    ASSERT_LE(blocks, device_->info().multiprocessors);
    // Fewer passes than blocks, as many, and no multiple.
    for (const unsigned passes : {1U, static_cast<unsigned>(blocks), static_cast<unsigned>(5 * blocks + 1)}) {
      SCOPED_TRACE(testing::Message() << "clusters of " << cluster << ", " << passes << " passes of " << blocks << " blocks");
      const Array sink = {*device_, DataType::fp64, std::int64_t{512} * blocks, 0};
      kernels_->dsmem(sink.as<std::uint64_t>(), cluster, blocks, passes, device_->stream());
      device_->synchronize();
      EXPECT_TRUE(sink.untouched_around());
      const auto got = words<std::uint64_t>(sink);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto block = static_cast<unsigned>(i / 512), size = static_cast<unsigned>(cluster);
        const std::uint64_t next = block / size * size + (block + 1) % size;
        const unsigned own = passes / static_cast<unsigned>(blocks) + (block < passes % static_cast<unsigned>(blocks) ? 1 : 0);
        std::uint64_t sum = 0;
        for (std::uint64_t load = 0; load < 4; ++load) {
          const std::uint64_t chunk = i % 512 + 512 * load;
          sum += (next << 32) + 2 * chunk + (next << 32) + 2 * chunk + 1;
        }
        ASSERT_EQ(got[i], own * sum) << "block " << block << ", thread " << i % 512;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, OnChip, testing::Values("cpu", "cuda:0"), device_name);
INSTANTIATE_TEST_SUITE_P(Devices, Access, testing::Values("cpu", "cuda:0"), device_name);

}  // namespace
}  // namespace roofmark
