// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/memory_test.hpp"

#include <gmock/gmock.h>

#include <set>

#include "bench/program/suite.hpp"
#include "bench/support/slots.hpp"
#include "kernels/base/check.hpp"
#include "tests/bench/devices.hpp"

namespace roofmark::memory_test {

std::vector<Group> list(const Listing&);

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The bytes that each phase demands of DRAM.
std::vector<double> dram_by_phase(const Case& c) {
  std::vector<double> found;
  for (const Phase& phase : c.work.phases) {
    double bytes = 0;
    for (const Demand& demand : phase) bytes += demand.resource == resource::dram ? demand.amount : 0;
    found.push_back(bytes);
  }
  return found;
}

std::vector<std::string> names_in(SuiteName suite, const DeviceInfo& device) {
  std::vector<std::string> names;
  for (const Group& group : list({.device = device, .suite = suite})) {
    for (const Case& c : group.cases) names.push_back(c.name());
  }
  return names;
}

// 60 MiB of L2: from four times that on, nothing is left of one pass for the next.
TEST(MemoryTestCase, EveryWordIsReadThreeTimesAndWrittenThreeTimes) {
  const Case large = memory_test_case(h200(), MemoryPattern::random, 1'000'000'000);
  EXPECT_THAT(dram_by_phase(large), ElementsAre(1e9, 2e9, 2e9, 1e9));
  EXPECT_EQ(large.work.total(Unit::byte), 6e9);
  EXPECT_EQ(large.work.main().amount, 6e9) << "what a lasting load tells its rate of";
  EXPECT_EQ(large.name(), "memory_test/int32/bytes:1000000000/pattern:random/impl:own/cache:warm");
}

TEST(MemoryTestCase, InACacheEveryPassDemandsTheCache) {
  const Case small = memory_test_case(h200(), MemoryPattern::solid, 1'000'000);
  EXPECT_THAT(dram_by_phase(small), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(small.work.total(Unit::byte), 6e6);
}

TEST(MemoryTestCase, NamesTheBytesThatItTests) {
  EXPECT_THAT(memory_test_case(h200(), MemoryPattern::solid, 4099).name(), HasSubstr("/bytes:4096/"));
}

// 0.99 x 0.9 x 150 GB, in steps of 1 GiB.
TEST(MemoryTestCase, TestsNearlyAllOfAGpusMemoryWithEachPattern) {
  const auto path = [](std::string_view pattern) {
    return "memory_test/int32/bytes:133143986176/pattern:" + std::string(pattern) + "/impl:own/cache:warm";
  };
  for (const SuiteName suite : {SuiteName::baseline, SuiteName::full}) {
    EXPECT_THAT(names_in(suite, h200()), ElementsAre(path("random"), path("solid"), path("checkerboard")));
  }
  EXPECT_TRUE(names_in(SuiteName::quick, h200()).empty());
  EXPECT_TRUE(names_in(SuiteName::baseline, two_cores()).empty());
  EXPECT_EQ(names_in(SuiteName::full, two_cores()).size(), 3U);
}

class PreparedMemory : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      device_ = open_device(GetParam());
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
    if (!select(device_->info().backend, &cuda::memory_test, &cpu::memory_test)) GTEST_SKIP() << "no such kernels";
    prepared_ =
        memory_test_case(device_->info(), MemoryPattern::checkerboard, kWords * 4).prepare({.device = *device_, .time = {}});
  }
  void launch() {
    prepared_->launch(device_->stream(), 0);
    device_->synchronize();
  }
  /// The tested words lie before the counts of wrong ones.
  std::uint32_t* word(std::size_t i) const {
    return static_cast<std::uint32_t*>(prepared_->outputs(0).front().data) - aligned(kWords * 4) / 4 + i;
  }
  void flip(std::size_t i, std::uint32_t bits) {
    const std::uint32_t wrong = 0x55555555 ^ bits;
    device_->to_device(word(i), &wrong, sizeof(wrong));
  }

  static constexpr std::size_t kWords = 10001;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Prepared> prepared_;
};

TEST_P(PreparedMemory, OneWrongBitOfTheMemoryFailsAndIsToldWithItsPlace) {
  launch();
  ASSERT_EQ(prepared_->verify(0).status, Verification::Status::passed);
  for (const std::size_t i : {std::size_t{0}, kWords / 2, kWords - 1}) {
    flip(i, 0x400);
    const Verification found = prepared_->verify(0);
    EXPECT_EQ(found.status, Verification::Status::failed);
    EXPECT_EQ(found.wrong, 1U);
    EXPECT_EQ(found.error, 1);
    EXPECT_THAT(found.detail, HasSubstr(fmt::format("the lowest at byte {:#x} of the array", 4 * i)));
    EXPECT_THAT(found.detail, HasSubstr("0x00000400"));
    launch();
    EXPECT_EQ(prepared_->verify(0).status, Verification::Status::passed) << "a launch writes all of it first";
  }
}

TEST_P(PreparedMemory, SaysTheShareOfTheMemoryThatItTests) {
  const DeviceInfo& info = device_->info();
  const auto prepared =
      memory_test_case(info, MemoryPattern::solid, info.memory_bytes / 1000).prepare({.device = *device_, .time = {}});
  EXPECT_THAT(prepared->notes(), testing::Contains(testing::Pair("share of the device's memory", "0.1 %")));
}

// A cell may lose a bit in one launch and hold it in the next.
TEST_P(PreparedMemory, WhatALaunchFoundWrongIsNotForgotten) {
  launch();
  const WrongWords once = {.count = 1, .bits = 0x8, .first = ~std::uint64_t{77}};
  device_->to_device(prepared_->outputs(0).front().data, &once, sizeof(once));
  for (int i = 0; i < 3; ++i) {
    prepared_->reset(0);
    launch();
  }
  const Verification found = prepared_->verify(0);
  EXPECT_EQ(found.status, Verification::Status::failed);
  EXPECT_EQ(found.wrong, 1U);
  EXPECT_THAT(found.detail, HasSubstr("byte 0x134 of the array"));
}

INSTANTIATE_TEST_SUITE_P(Devices, PreparedMemory, testing::Values("cpu", "cuda:0"),
                         [](const auto& info) { return std::string(info.param).substr(0, std::string(info.param).find(':')); });

}  // namespace
}  // namespace roofmark::memory_test
