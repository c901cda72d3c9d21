// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/transfer_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/device/cpu/fill.hpp"
#include "harness/device/hash.hpp"
#include "harness/machine/huge_pages.hpp"
#include "kernels/base/check.hpp"

namespace roofmark::transfer {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

std::string staging_note(std::optional<int> thread, std::optional<int> memory) {
  if (!thread || !memory || thread == memory) return {};
  return fmt::format("crosses NUMA nodes: at the end the calling thread is on node {}, the memory on node {}", *thread,
                     *memory);
}

SlotLayout transfer_layout(std::size_t bytes, std::size_t offset) {
  return SlotLayout({SlotArray::scratch(DataType::int8, bytes, offset)});
}

TransferPath::TransferPath(const Setup& setup, std::string what, std::size_t bytes, std::size_t offset, const TransferEnd& from,
                           const TransferEnd& to, std::uint64_t array)
    : what_(std::move(what)),
      bytes_(bytes),
      layout_(transfer_layout(bytes, offset)),
      slots_(setup.slots),
      fill_{setup.data, setup.seed, array},
      from_(make(setup, from)),
      to_(make(setup, to)) {
  Memory made;
  if (!is_reached(from_)) {
    made = generated();
    expected_ = checker().hash(made.get(), bytes_);
  }
  for (int slot = 0; slot < slots_; ++slot) {
    setup.device.progressed();
    if (made) {
      checker().to_host(at(from_, slot), made.get(), bytes_);
    } else {
      from_.device.fill(at(from_, slot), DataType::int8, bytes_, fill_);
    }
  }
  setup.device.progressed();
  if (is_reached(to_)) {
    to_.device.poison(to_.arrays.get(), allocated_bytes());
  } else {
    cpu::set_bytes(to_.arrays.get(), 0xff, allocated_bytes());
  }
}

Memory TransferPath::allocate(Side& side) const {
  const std::size_t bytes = allocated_bytes();
  if (side.end.on_device) return side.device.allocate(bytes);
  HostMemory& memory = side.end.memory;
  try {
    return side.device.allocate_host(bytes, memory);
  } catch (const Unsupported& error) {
    if (side.end.must_lie_there || !memory.node) throw;
    side.refusal = error.what();
  }
  memory.node.reset();
  return side.device.allocate_host(bytes, memory);
}

TransferPath::Side TransferPath::make(const Setup& setup, const TransferEnd& end) const {
  Side side{end, end.owner ? *end.owner : setup.device};
  side.arrays = allocate(side);
  setup.device.progressed();
  if (end.on_device) return side;
  side.placed = placement_of(side.arrays.get(), allocated_bytes());
  if (end.must_lie_there && side.placed.has_others_than(*end.memory.node)) {
    throw Unsupported(fmt::format("{} memory requested on NUMA node {} lies on {}", name(end.memory.kind), *end.memory.node,
                                  in_words(side.placed)));
  }
  if (end.must_be_huge && huge_page_share("/", side.arrays.get()) == 0.0) {
    throw Unsupported(fmt::format("the kernel gave {} memory no huge pages", name(end.memory.kind)));
  }
  const DeviceInfo& info = side.device.info();
  const auto& nodes = info.host_nodes;
  if (!end.must_lie_there && info.near_node && !nodes.empty() &&
      std::find(nodes.begin(), nodes.end(), info.near_node) == nodes.end()) {
    side.refusal = why_without_memory(*info.near_node, "/");
  }
  return side;
}

unsigned char* TransferPath::at(const Side& side, int slot) const {
  return reinterpret_cast<unsigned char*>(layout_.address(side.arrays.get(), slot, 0));
}

CopyRange TransferPath::range(int slot) const { return {at(to_, slot), at(from_, slot), bytes_}; }

Output TransferPath::output(const Device& device, int slot) const {
  return {is_reached(to_) && &to_.device == &device ? at(to_, slot) : nullptr, DataType::int8, bytes_};
}

/// The generator's array in the checker's memory: nothing of it has crossed a link.
Memory TransferPath::generated() {
  Memory made = checker().allocate(bytes_);
  checker().fill(made.get(), DataType::int8, bytes_, fill_);
  return made;
}

std::uint64_t TransferPath::hash_of(const Side& side, int slot) {
  return is_reached(side) ? side.device.hash(at(side, slot), bytes_) : hash_bytes(at(side, slot), bytes_);
}

// Each side hashes its own memory: read back over the link, a byte that went wrong on the way there could be put right on the
// way back.
Verification TransferPath::verify(int slot) {
  if (!expected_) expected_ = checker().hash(generated().get(), bytes_);
  if (hash_of(to_, slot) != *expected_) return name_difference(slot);
  return Verification::within(0, 0, "bytes that differ from the generator's, by a hash of all bytes");
}

Verification TransferPath::name_difference(int slot) {
  const Memory expected = generated();
  constexpr std::size_t kPart = std::size_t{16} << 20;
  std::vector<unsigned char> wanted(std::min(bytes_, kPart)), got(wanted.size());
  std::size_t wrong = 0, first = 0;
  for (std::size_t begin = 0; begin < bytes_; begin += kPart) {
    const std::size_t count = std::min(kPart, bytes_ - begin);
    checker().to_host(wanted.data(), static_cast<const unsigned char*>(expected.get()) + begin, count);
    if (is_reached(to_)) {
      to_.device.to_host(got.data(), at(to_, slot) + begin, count);
    } else {
      std::memcpy(got.data(), at(to_, slot) + begin, count);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (got[i] != wanted[i] && wrong++ == 0) first = begin + i;
    }
  }
  Verification found = Verification::within(static_cast<double>(std::max<std::size_t>(wrong, 1)), 0, {});
  found.wrong = wrong;
  found.detail =
      wrong == 0 ? fmt::format("{}: the hashes differ, but the bytes read back over the link do not", what_)
                 : fmt::format("bytes that differ from the generator's; the first is byte {} of {}, {}", first, bytes_, what_);
  return found;
}

void TransferPath::bring_back(int slot) {
  for (const Side* side : {&from_, &to_}) {
    if (!is_managed(*side)) continue;
    auto* const data = static_cast<volatile unsigned char*>(at(*side, slot));
    for (std::size_t i = 0; i < bytes_; i += kPage) data[i] = data[i];
    data[bytes_ - 1] = data[bytes_ - 1];
  }
}

void TransferPath::add_notes(std::vector<std::pair<std::string, std::string>>& notes) const {
  const bool two = !from_.end.on_device && !to_.end.on_device;
  for (const auto& [side, which] : {std::pair(&from_, "source "), std::pair(&to_, "copy ")}) {
    if (side->end.on_device) continue;
    const HostMemory& memory = side->end.memory;
    const std::string of = fmt::format("{}{} memory", two ? which : "", name(memory.kind));
    const PagePlacement now = placement_of(side->arrays.get(), allocated_bytes());
    const std::string lay = in_words(side->placed), lie = in_words(now);
    notes.emplace_back(of, fmt::format("{}{}{}", lie, lie == lay ? "" : "; when allocated: " + lay,
                                       memory.node ? fmt::format("; asked for node {}", *memory.node) : ""));
    if (side->end.must_lie_there && !is_managed(*side) && now.has_others_than(*memory.node)) {
      notes.emplace_back("pages moved", fmt::format("off node {} since allocation: the name no longer holds", *memory.node));
    }
    if (!side->refusal.empty()) notes.emplace_back("near", fmt::format("{}; it lies on {}", side->refusal, lie));
    if (memory.kind == HostMemoryKind::pageable && !two) {
      const std::string staged = staging_note(node_of_this_thread(), now.only_node());
      if (!staged.empty()) notes.emplace_back("staging copy", staged);
    }
    if (memory.kind != HostMemoryKind::pageable && memory.kind != HostMemoryKind::registered) continue;
    const auto huge = huge_page_share("/", side->arrays.get());
    notes.emplace_back(of + " in huge pages", huge ? fmt::format("{:.0f} %", 100 * *huge) : "unknown");
  }
}

}  // namespace roofmark::transfer
