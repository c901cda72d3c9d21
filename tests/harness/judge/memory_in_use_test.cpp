// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/memory_in_use.hpp"

#include <gmock/gmock.h>

#include "harness/judge/health.hpp"

namespace roofmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

DeviceInfo gpu(double memory_bytes, double used_bytes) {
  DeviceInfo device;
  device.backend = Backend::cuda;
  device.memory_bytes = static_cast<std::size_t>(memory_bytes);
  device.used_bytes = static_cast<std::size_t>(used_bytes);
  device.gpu.foreign_processes.emplace();
  return device;
}

TEST(MemoryInUse, DriverAndContextTakeSome) {
  // An H200 and an H100 of the reference results, a MIG instance, a card with a driver's reserve.
  for (const DeviceInfo& device : {gpu(150'109'880'320, 552'402'944), gpu(85'017'493'504, 552'402'944), gpu(10e9, 0.56e9),
                                   gpu(25.3e9, 1.4e9), gpu(190e9, 2e9)}) {
    EXPECT_THAT(find_memory_in_use(device), IsEmpty()) << device.memory_bytes;
    EXPECT_THAT(memory_in_use(device)->unusual, IsEmpty());
  }
}

TEST(MemoryInUse, WhatIsKnownOfItIsSaid) {
  DeviceInfo device = gpu(150e9, 43e9);
  const auto text = [&] { return find_memory_in_use(device).at(0).text; };
  EXPECT_THAT(text(),
              StartsWith("before the run 43.0 GB of 150 GB in use by no process that is visible here; the memory test"));
  EXPECT_THAT(text(), Not(HasSubstr("file caches")));
  device.gpu.foreign_processes = {{7, "train", 40'000'000'000}};
  EXPECT_THAT(text(), StartsWith("before the run 43.0 GB of 150 GB in use by 7 train (40.0 GB); the memory test"));
  device.gpu.foreign_processes = {{7, "train", 30'000'000'000}, {9, "python", 1'000'000'000}};
  EXPECT_THAT(text(), HasSubstr("in use by 7 train (30.0 GB), 9 python (1.00 GB); 12.0 GB by none that is visible here; "));
  device.gpu.foreign_processes = {{7, "train", {}}};
  EXPECT_THAT(text(), StartsWith("before the run 43.0 GB of 150 GB in use by 7 train; the memory test"));
  device.gpu.foreign_processes.reset();
  EXPECT_THAT(text(), HasSubstr("by no process that is visible here"));
  device.gpu.c2c_links_up = 10;
  EXPECT_THAT(text(), HasSubstr("file caches in this GPU's memory"));
}

TEST(MemoryInUse, OnlyOfMemoryOfItsOwnAndWhereItIsKnown) {
  EXPECT_FALSE(memory_in_use(gpu(150e9, 0)));
  DeviceInfo integrated = gpu(64e9, 40e9);
  integrated.integrated = true;
  EXPECT_FALSE(memory_in_use(integrated));
  DeviceInfo cpu = gpu(64e9, 40e9);
  cpu.backend = Backend::cpu;
  EXPECT_FALSE(memory_in_use(cpu));
}

TEST(MemoryInUse, IsARowOfHealthThatEqualGpusShare) {
  const auto row = [](double used) {
    for (const Circumstance& one : health(gpu(150e9, used), {})) {
      if (one.what == "memory in use") return one;
    }
    return Circumstance{};
  };
  EXPECT_EQ(row(0.55e9).state, "less than 4.07 GB");
  EXPECT_EQ(row(0.61e9).state, row(0.55e9).state);
  EXPECT_THAT(row(0.55e9).advice, IsEmpty());
  EXPECT_EQ(row(43e9).state, "43.0 GB of 150 GB in use by no process that is visible here");
  EXPECT_THAT(row(43e9).advice, AllOf(HasSubstr("memory test"), HasSubstr("state D")));
}

}  // namespace
}  // namespace roofmark
