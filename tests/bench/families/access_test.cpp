// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/access.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/suite.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"
#include "harness/measure/slots.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark::access {

std::vector<Group> list(const Listing&);
std::optional<Case> make(const Listing&, const CaseRequest&);

namespace {

std::vector<Case> cases(const DeviceInfo& device, SuiteName suite, const std::string& operation) {
  std::vector<Case> found;
  for (const Group& group : list({device, suite})) {
    for (const Case& c : group.cases) {
      if (c.operation == operation) found.push_back(c);
    }
  }
  return found;
}

std::size_t number(const Case& c, std::string_view key) { return std::stoull(value_of(c.shape, key)); }

TEST(AccessCases, OfStridesUseAnElementOfEachLineAndFindNoneInTheCache) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    const bool gpu = device.backend == Backend::cuda;
    const std::vector<Case> all = cases(device, SuiteName::full, "stride");
    ASSERT_EQ(all.size(), 11U);
    for (const Case& c : all) {
      SCOPED_TRACE(c.name());
      const std::size_t stride = number(c, "stride"),
                        elements = number(c, "bytes") / std::min<std::size_t>(stride, gpu ? 128 : 64);
      const double sums = c.work.total(resource::dram) - 4.0 * static_cast<double>(elements);
      EXPECT_EQ(sums, 4.0 * static_cast<double>(elements) / 1024);
      EXPECT_EQ(static_cast<double>(c.touched_bytes),
                static_cast<double>(elements * std::min<std::size_t>(stride, gpu ? 32 : 64)) + sums);
      EXPECT_EQ(plan_slots(c, last_level_caches(device), device.free_bytes).cache_by, "size");
    }
    EXPECT_EQ(number(all.front(), "stride"), 4U);
    EXPECT_EQ(number(all.back(), "stride"), 4096U);
  }
}

TEST(AccessCases, OfGathersReadEachRowOnceAndCompareOrders) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    std::size_t comparisons = 0;
    for (const Group& group : list({device, SuiteName::full})) {
      for (const Comparison& comparison : group.comparisons) comparisons += comparison.key == "order" ? 1 : 0;
    }
    const std::vector<Case> all = cases(device, SuiteName::full, "gather");
    ASSERT_EQ(all.size(), 16U);
    // Of a GPU that the build has no kernels for, nothing is compared.
    EXPECT_EQ(comparisons, select(device.backend, &cuda::access, &cpu::access) ? 8U : 0U);
    for (const Case& c : all) {
      const std::size_t rows = number(c, "rows"), row = number(c, "row_bytes");
      EXPECT_EQ(c.work.total(resource::dram), static_cast<double>(rows * (2 * row + 4))) << c.name();
      EXPECT_LE(rows, std::size_t{1} << 23) << c.name();
      EXPECT_GE(c.touched_bytes, 4 * device.last_level_cache_bytes()) << c.name();
    }
  }
}

TEST(AccessCases, OfReadsHoldBulkCopiesAgainstLoads) {
  if (!&cuda::access) GTEST_SKIP() << "this build has no CUDA kernels to compare";
  for (const SuiteName suite : {SuiteName::baseline, SuiteName::full}) {
    for (const Group& group : list({h200(), suite})) {
      if (group.cases.front().operation != "read") continue;
      ASSERT_EQ(group.comparisons.size(), 1U);
      EXPECT_EQ(group.comparisons.front().name, "cp_async_bulk against ld_global");
      const Case& c = group.cases.front();
      const bool cold = c.protocol.cache == Cache::cold;
      const double bytes = static_cast<double>(number(c, "bytes")), moved = c.work.total(cold ? resource::dram : resource::l2);
      EXPECT_EQ(std::fmod(moved, bytes * (1 + 1.0 / 1024)), 0) << c.name();
      EXPECT_EQ(c.work.total(cold ? resource::l2 : resource::dram), 0) << c.name();
    }
  }
  DeviceInfo older = h200();
  older.compute_capability = 80;
  for (const Case& c : cases(older, SuiteName::full, "read")) {
    EXPECT_EQ(c.unsupported.empty(), value_of(c.shape, "impl") == "ld_global") << c.name();
  }
  for (const Case& c : cases(older, SuiteName::full, "dsmem")) EXPECT_FALSE(c.unsupported.empty()) << c.name();
}

// Whatever the order of the passes: blocks may share what they read.
TEST(AccessCases, OfReadsFetchTheArrayOnceHoweverOftenTheyReadIt) {
  DeviceInfo device = h200();
  device.caches = {{"l2", 2 << 20, 2 << 20}};
  const auto total = [&](const std::string& bytes, const Resource& level) {
    const Listing listing = {.device = device, .cache = Cache::warm};
    return make(listing, CaseRequest(parse_case_name("access/read/int32/bytes:" + bytes)))->work.total(level);
  };
  const double array = 1 << 20, sums = array / 1024;  // of a pass; the passes are 256
  EXPECT_EQ(total("1048576", resource::l2), 256 * (array + sums));
  EXPECT_EQ(total("1048576", resource::dram), 0);
  EXPECT_EQ(total("2097152", resource::dram), 2 * 256 * sums) << "what is beyond the size of L2";
  EXPECT_EQ(total("16777216", resource::l2), 119 * 16 * (array + sums));
  EXPECT_EQ(total("16777216", resource::dram), 16 * (array + 119 * sums));
}

// So that the ratios of their times are those of their rates.
TEST(AccessCases, OfBankConflictsMoveTheSameBytes) {
  const std::vector<Case> all = cases(h200(), SuiteName::full, "bank_conflicts");
  ASSERT_EQ(all.size(), 6U);
  for (const Case& c : all) EXPECT_EQ(c.work.total(resource::shared), all.front().work.total(resource::shared)) << c.name();
  // 0.25 ms of 128 bytes per clock per SM.
  EXPECT_NEAR(all.front().work.total(resource::shared), 0.25e-3 * 1.98e9 * 128 * 132, 132 * 16384);
}

// Beyond 2^24 an addition of 1 to fp32 is lost.
TEST(AccessCases, OfAtomicsAddNoMoreThanFp32Counts) {
  for (const int processors : {1, 40, 132, 1000}) {
    DeviceInfo device = h200();
    device.multiprocessors = processors;
    const std::vector<Case> all = cases(device, SuiteName::full, "atomic_add");
    ASSERT_EQ(all.size(), 14U);
    for (const Case& c : all) {
      const double added = c.work.total(resource::global_atomic) + c.work.total(resource::shared_atomic);
      const std::string per = value_of(c.shape, "per");
      const double counters = per == "grid" ? 1 : processors * 1024.0 / (per == "block" ? 256 : per == "warp" ? 32 : 1);
      EXPECT_LE(added / counters, 1 << 24) << c.name();
      EXPECT_GE(added, processors * 1024.0) << c.name();
    }
  }
}

// By hand, on 132 SMs of 1.98 GHz at 128 bytes per clock: what a quarter, or a tenth, of a millisecond takes.
TEST(AccessCases, OfSharedMemoryCountWhatTheSmsRead) {
  const double kOfBanks = 512 * 8 * 4, kOfDsmem = 512 * 4 * 16;
  for (const Case& c : cases(h200(), SuiteName::full, "bank_conflicts")) {
    EXPECT_EQ(c.work.total(resource::shared), kOfBanks * std::floor(0.25e-3 * 1.98e9 * 128 / kOfBanks) * 132) << c.name();
    EXPECT_GE(c.slot_bytes, 132U * 512 * 4);
  }
  for (const Case& c : cases(h200(), SuiteName::full, "dsmem")) {
    EXPECT_EQ(c.work.total(resource::shared), kOfDsmem * (std::floor(0.1e-3 * 1.98e9 * 128 / kOfDsmem) * 132 + 1)) << c.name();
    EXPECT_GE(c.slot_bytes, 132U * 512 * 8);
  }
  for (const Case& c : cases(h200(), SuiteName::full, "atomic_add")) {
    if (value_of(c.shape, "per") != "thread") continue;
    const bool global = value_of(c.shape, "space") == "global";
    EXPECT_EQ(c.work.total(global ? resource::global_atomic : resource::shared_atomic), 132.0 * 1024 * (global ? 8192 : 4096))
        << c.name();
    EXPECT_GE(c.slot_bytes, 132U * 1024 * 4);
  }
}

TEST(AccessCases, AreInNoQuickSuite) {
  for (const DeviceInfo& device : {h200(), two_cores()}) {
    EXPECT_TRUE(list({device, SuiteName::quick}).empty());
    EXPECT_FALSE(list({device, SuiteName::baseline}).empty());
  }
}

}  // namespace
}  // namespace roofmark::access
