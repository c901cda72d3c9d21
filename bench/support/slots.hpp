// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/model/prepared.hpp"
#include "kernels/base/block_scaled.hpp"

namespace roofmark {

constexpr std::size_t aligned(std::size_t bytes, std::size_t alignment = 256) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// One array of a slot. Without elements it takes no memory and its address is null.
struct SlotArray {
  enum class Holds { random, poison, nothing };

  DataType type = DataType::fp32;
  std::size_t count = 0;
  Holds holds = Holds::nothing;
  std::uint64_t sequence = 0;  ///< of the generator, where it holds random values
  std::size_t offset = 0;      ///< bytes from an aligned address to the first element
  std::int64_t terms = 0;      ///< elements of a line, of a block-scaled type

  BlockScaledLayout block_scaled() const { return {type, static_cast<std::int64_t>(count) / terms, terms}; }
  /// With the padding of a block-scaled matrix, and without.
  std::size_t bytes() const { return is_block_scaled(type) ? block_scaled().bytes() : count * size_of(type); }
  std::size_t data_bytes() const { return is_block_scaled(type) ? block_scaled().data_bytes() : count * size_of(type); }

  static SlotArray input(DataType type, std::size_t count, std::uint64_t sequence) {
    return {type, count, Holds::random, sequence, 0, 0};
  }
  /// `lines` lines of `terms` elements, of any type.
  static SlotArray matrix(DataType type, std::int64_t lines, std::int64_t terms, std::uint64_t sequence) {
    return {type, static_cast<std::size_t>(lines * terms), Holds::random, sequence, 0, terms};
  }
  static SlotArray output(DataType type, std::size_t count) { return {type, count, Holds::poison, 0, 0, 0}; }
  /// The case writes it itself.
  static SlotArray scratch(DataType type, std::size_t count, std::size_t offset = 0) {
    return {type, count, Holds::nothing, 0, offset, 0};
  }
};

/// The arrays of one slot, one after the other, each aligned.
class SlotLayout {
 public:
  explicit SlotLayout(std::vector<SlotArray> arrays, std::size_t alignment = 256);

  const std::vector<SlotArray>& arrays() const { return arrays_; }
  const SlotArray& operator[](std::size_t array) const { return arrays_[array]; }
  std::size_t offset(std::size_t array) const { return offsets_[array]; }
  /// The bytes of the arrays, without and with the padding between them.
  std::size_t touched_bytes() const { return touched_; }
  std::size_t slot_bytes() const { return slot_; }
  std::size_t bytes(int slots) const { return static_cast<std::size_t>(slots) * slot_; }
  /// In `memory` of several slots, one after the other; null of an array without elements.
  std::byte* address(void* memory, int slot, std::size_t array) const;

 private:
  std::vector<SlotArray> arrays_;
  std::vector<std::size_t> offsets_;
  std::size_t touched_ = 0, slot_ = 0;
};

/// Fills `data` with the random values of the array.
void fill(Device& device, void* data, const SlotArray& array, const Setup& setup);

/// A slot of one output.
inline SlotLayout one_output(DataType type, std::size_t count) { return SlotLayout({SlotArray::output(type, count)}); }

/// The copies of a case's arrays, filled and poisoned. All slots hold the same values.
class Slots {
 public:
  Slots(const Setup& setup, const SlotLayout& layout);
  /// With another number of slots than `setup` has.
  Slots(const Setup& setup, const SlotLayout& layout, int slots);
  /// In memory of another allocator, which holds `slots` of the layout.
  Slots(const Setup& setup, SlotLayout layout, int slots, Memory memory);

  const SlotLayout& layout() const { return layout_; }
  template <class T = void>
  T* at(int slot, std::size_t array) const {
    return reinterpret_cast<T*>(layout_.address(memory_.get(), slot, array));
  }
  Output output(int slot, std::size_t array) const;
  /// Poisons the outputs of all slots again.
  void poison();

 private:
  Device& device_;
  SlotLayout layout_;
  int slots_;
  Memory memory_;
};

}  // namespace roofmark
