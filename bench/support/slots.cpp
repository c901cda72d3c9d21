// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/slots.hpp"

#include <utility>

namespace roofmark {

SlotLayout::SlotLayout(std::vector<SlotArray> arrays, std::size_t alignment) : arrays_(std::move(arrays)) {
  for (const SlotArray& array : arrays_) {
    offsets_.push_back(slot_ + array.offset);
    touched_ += array.data_bytes();
    slot_ += aligned(array.offset + array.bytes(), alignment);
  }
}

std::byte* SlotLayout::address(void* memory, int slot, std::size_t array) const {
  return arrays_[array].count == 0 ? nullptr : static_cast<std::byte*>(memory) + bytes(slot) + offsets_[array];
}

Slots::Slots(const Setup& setup, const SlotLayout& layout) : Slots(setup, layout, setup.slots) {}

Slots::Slots(const Setup& setup, const SlotLayout& layout, int slots)
    : Slots(setup, layout, slots, layout.slot_bytes() == 0 ? Memory() : setup.device.allocate(layout.bytes(slots))) {}

Slots::Slots(const Setup& setup, SlotLayout layout, int slots, Memory memory)
    : device_(setup.device), layout_(std::move(layout)), slots_(slots), memory_(std::move(memory)) {
  if (layout_.slot_bytes() == 0) return;
  constexpr std::size_t kPart = std::size_t{1} << 28;
  std::size_t filled = 0;
  for (int slot = 0; slot < slots_; ++slot) {
    for (std::size_t i = 0; i < layout_.arrays().size(); ++i) {
      const SlotArray& array = layout_[i];
      if (array.count == 0 || array.holds != SlotArray::Holds::random) continue;
      filled += array.bytes();
      if (filled >= kPart) {
        filled = 0;
        device_.progressed();
      }
      fill(device_, at(slot, i), array, setup);
    }
  }
  poison();
}

void fill(Device& device, void* data, const SlotArray& array, const Setup& setup) {
  const Fill values{setup.data, setup.seed, array.sequence};
  if (is_block_scaled(array.type)) {
    device.fill(data, array.block_scaled(), values);
  } else {
    device.fill(data, array.type, array.count, values);
  }
}

Output Slots::output(int slot, std::size_t array) const { return {at(slot, array), layout_[array].type, layout_[array].count}; }

void Slots::poison() {
  for (int slot = 0; slot < slots_; ++slot) {
    for (std::size_t i = 0; i < layout_.arrays().size(); ++i) {
      const SlotArray& array = layout_[i];
      if (array.count > 0 && array.holds == SlotArray::Holds::poison) device_.poison(at(slot, i), array.bytes());
    }
  }
}

}  // namespace roofmark
