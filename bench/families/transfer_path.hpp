// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/slots.hpp"
#include "harness/device/device.hpp"
#include "harness/machine/numa.hpp"
#include "harness/model/prepared.hpp"
#include "kernels/transfer.hpp"

namespace roofmark::transfer {

/// Placement of one end of a transfer.
struct TransferEnd {
  bool on_device = false;
  HostMemory memory = {};  ///< of the host, otherwise
  /// Whose memory it is, or who allocates it in the host's; null: the device under measurement.
  Device* owner = nullptr;
  /// On memory.node: a transfer of pages that lie elsewhere would be another one. Otherwise they lie there if possible.
  bool must_lie_there = false;
  /// In huge pages, by name: without any, the transfer would be another one. Otherwise they are huge if possible.
  bool must_be_huge = false;
};

/// What the driver's staging of pageable memory crosses, by the nodes of the thread that copies and of the memory; empty if
/// nothing is known to be crossed.
std::string staging_note(std::optional<int> thread, std::optional<int> memory);

/// The array of a slot, on either side.
SlotLayout transfer_layout(std::size_t bytes, std::size_t offset);

/// One direction of a transfer: an array from the generator, and its copy, which starts poisoned; both once per slot, one slot
/// behind the other.
class TransferPath {
 public:
  /// `what` names it: "host_to_device by copy_engine". `array` tells the generator's arrays of one case apart.
  TransferPath(const Setup& setup, std::string what, std::size_t bytes, std::size_t offset, const TransferEnd& from,
               const TransferEnd& to, std::uint64_t array);

  /// By the host's addresses.
  CopyRange range(int slot) const;
  /// Fails on one wrong byte anywhere, and says which.
  Verification verify(int slot);
  /// The copy; null data where the functions of `device` do not reach it.
  Output output(const Device& device, int slot) const;
  bool moves_pages() const { return is_managed(from_) || is_managed(to_); }
  /// Brings the pages of managed memory back to the host.
  void bring_back(int slot);
  /// Where the pages lie, and where they lay when they were allocated if that is elsewhere.
  void add_notes(std::vector<std::pair<std::string, std::string>>& notes) const;

 private:
  struct Side {
    TransferEnd end;
    Device& device;  ///< its owner
    Memory arrays = {};
    PagePlacement placed = {};  ///< when it was allocated
    std::string refusal = {};   ///< why it does not lie on the near node
  };

  static bool is_managed(const Side& side) { return !side.end.on_device && side.end.memory.kind == HostMemoryKind::managed; }
  /// The device that generates and checks: a GPU that holds one end.
  Device& checker() const { return to_.end.on_device ? to_.device : from_.device; }
  Memory allocate(Side& side) const;
  Side make(const Setup& setup, const TransferEnd& end) const;
  static bool is_reached(const Side& side) { return side.end.on_device || side.device.info().backend == Backend::cpu; }
  unsigned char* at(const Side& side, int slot) const;
  std::uint64_t hash_of(const Side& side, int slot);
  Memory generated();
  Verification name_difference(int slot);
  std::size_t allocated_bytes() const { return layout_.bytes(slots_); }

  std::string what_;
  std::size_t bytes_;
  SlotLayout layout_;
  int slots_;
  Fill fill_;
  Side from_, to_;
  std::optional<std::uint64_t> expected_;  ///< hash of the generator's array
};

}  // namespace roofmark::transfer
