// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/slots.hpp"

#include <utility>

namespace roofmark {

SlotLayout::SlotLayout(std::vector<SlotArray> arrays, std::size_t alignment) : arrays_(std::move(arrays)) {
  for (const SlotArray& array : arrays_) {
    offsets_.push_back(slot_);
    touched_ += array.bytes();
    slot_ += aligned(array.bytes(), alignment);
  }
}

Slots::Slots(const Setup& setup, SlotLayout layout) : Slots(setup, std::move(layout), setup.slots) {}

Slots::Slots(const Setup& setup, SlotLayout layout, int slots)
    : device_(setup.device), layout_(std::move(layout)), slots_(slots) {
  if (layout_.slot_bytes() == 0) return;
  memory_ = device_.allocate(static_cast<std::size_t>(slots) * layout_.slot_bytes());
  for (int slot = 0; slot < slots_; ++slot) {
    for (std::size_t i = 0; i < layout_.arrays().size(); ++i) {
      const SlotArray& array = layout_[i];
      if (array.count == 0 || array.holds != SlotArray::Holds::random) continue;
      device_.fill(address(slot, i), array.type, array.count, {setup.data, setup.seed, array.sequence});
    }
  }
  poison();
}

Output Slots::output(int slot, std::size_t array) const {
  return {address(slot, array), layout_[array].type, layout_[array].count};
}

void Slots::poison() {
  for (int slot = 0; slot < slots_; ++slot) {
    for (std::size_t i = 0; i < layout_.arrays().size(); ++i) {
      const SlotArray& array = layout_[i];
      if (array.count > 0 && array.holds == SlotArray::Holds::poison) device_.poison(address(slot, i), array.bytes());
    }
  }
}

void* Slots::address(int slot, std::size_t array) const {
  if (layout_[array].count == 0) return nullptr;
  return static_cast<std::byte*>(memory_.get()) + static_cast<std::size_t>(slot) * layout_.slot_bytes() + layout_.offset(array);
}

}  // namespace roofmark
