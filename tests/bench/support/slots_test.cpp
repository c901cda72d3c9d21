// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/slots.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "harness/device/cpu_device.hpp"
#include "harness/device/random.hpp"

namespace roofmark {
namespace {

constexpr std::size_t kX = 0, kNone = 1, kTable = 2, kOut = 3;

SlotLayout layout(std::size_t alignment = 256) {
  return SlotLayout({SlotArray::input(DataType::fp32, 65, 7), SlotArray::input(DataType::fp64, 0, 1),
                     SlotArray::scratch(DataType::int32, 3), SlotArray::output(DataType::bf16, 5)},
                    alignment);
}

TEST(SlotLayout, PlacesArraysOneAfterTheOtherAligned) {
  const SlotLayout made = layout();
  EXPECT_EQ(made.touched_bytes(), 65U * 4 + 3 * 4 + 5 * 2);
  EXPECT_EQ(made.offset(kX), 0U);
  EXPECT_EQ(made.offset(kTable), 512U);
  EXPECT_EQ(made.offset(kOut), 768U);
  EXPECT_EQ(made.slot_bytes(), 1024U);
  EXPECT_EQ(layout(4096).slot_bytes(), 3U * 4096);
}

TEST(SlotLayout, AnOffsetMovesAnArrayFromItsAlignedAddress) {
  const SlotLayout made({SlotArray::scratch(DataType::int8, 254, 3), SlotArray::output(DataType::fp32, 0)});
  EXPECT_EQ(made.slot_bytes(), 512U);
  EXPECT_EQ(made.bytes(3), 3U * 512);
  std::byte memory[1024];
  EXPECT_EQ(made.address(memory, 1, 0), memory + 512 + 3);
  EXPECT_EQ(made.address(memory, 1, 1), nullptr);
}

TEST(Slots, TakeTheMemoryThatTheyAreGiven) {
  const std::unique_ptr<Device> device = open_cpu_device();
  Memory memory = device->allocate(layout().bytes(2));
  const void* const begin = memory.get();
  const Slots slots({*device, 1, Distribution::normal, 42, {}}, layout(), 2, std::move(memory));
  EXPECT_EQ(slots.at(0, kX), begin);
  EXPECT_EQ(device->allocated_bytes(), layout().bytes(2));
  EXPECT_EQ(slots.at<float>(1, kX)[64], generate(Distribution::normal, DataType::fp32, 42, 7, 64));
  EXPECT_EQ(*slots.at<unsigned char>(1, kOut), 0xff);
}

class FilledSlots : public testing::Test {
 protected:
  const std::unique_ptr<Device> device = open_cpu_device();
  Slots slots{{*device, 2, Distribution::normal, 42, {}}, layout()};
};

TEST_F(FilledSlots, TakeTheMemoryOfTheLayout) { EXPECT_EQ(device->allocated_bytes(), 2 * layout().slot_bytes()); }

TEST_F(FilledSlots, HoldTheSameValuesOfTheGenerator) {
  for (int slot = 0; slot < 2; ++slot) {
    for (std::size_t i = 0; i < 65; ++i) {
      EXPECT_EQ(slots.at<float>(slot, kX)[i], generate(Distribution::normal, DataType::fp32, 42, 7, i)) << slot << " " << i;
    }
  }
}

TEST_F(FilledSlots, HavePoisonedOutputsAndNoAbsentArrays) {
  const unsigned char poison[10] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  for (int slot = 0; slot < 2; ++slot) {
    const Output output = slots.output(slot, kOut);
    EXPECT_EQ(output.type, DataType::bf16);
    EXPECT_EQ(output.count, 5U);
    EXPECT_EQ(std::memcmp(output.data, poison, sizeof(poison)), 0);
    std::memset(output.data, 0, sizeof(poison));
    EXPECT_EQ(slots.at(slot, kNone), nullptr);
  }
  slots.poison();
  EXPECT_EQ(std::memcmp(slots.at(0, kOut), poison, sizeof(poison)), 0);
  EXPECT_EQ(std::memcmp(slots.at(1, kOut), poison, sizeof(poison)), 0);
}

TEST_F(FilledSlots, DoNotOverlap) {
  EXPECT_EQ(slots.at<std::byte>(1, kX) - slots.at<std::byte>(0, kX), 1024);
  EXPECT_EQ(slots.at<std::byte>(0, kOut) - slots.at<std::byte>(0, kX), 768);
}

}  // namespace
}  // namespace roofmark
