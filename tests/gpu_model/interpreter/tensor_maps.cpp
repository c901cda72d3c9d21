// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor_maps.hpp"

#include <algorithm>

#include "addresses.hpp"
#include "proxies.hpp"

namespace gpu_model {
namespace {

u32 element_bytes(const TensorMap& map) {  // by CUtensorMapDataType
  constexpr u32 bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return map.type < std::size(bytes) ? bytes[map.type] : 0;
}

u32 step(const TensorMap& map, u32 dimension) { return std::max<u32>(1, map.element_strides[dimension]); }

/// Elements that a tile has along a dimension.
u32 extent(const TensorMap& map, u32 dimension) {
  return (map.box[dimension] + step(map, dimension) - 1) / step(map, dimension);
}

/// Bytes of a row within which 16-byte pieces are exchanged, by CUtensorMapSwizzle; 0: no swizzle.
constexpr u32 swizzle_spans[] = {0, 32, 64, 128};

/// The swizzle exchanges 16-byte pieces by bits of the shared memory address itself, so that its pattern repeats every 256, 512
/// or 1024 bytes of addresses (CUDA C++ Programming Guide, "Tensor Memory Access", swizzle modes).
u32 swizzled(u32 address, u8 mode) {
  constexpr u32 exchanged[] = {0, 0x10, 0x30, 0x70};
  return address ^ (address >> 3 & exchanged[mode]);
}

void check_row(const AsyncCopy& copy, u32 row_bytes) {
  Warp& w = *copy.warp;
  const Instruction& i = *copy.instruction;
  if (row_bytes % 16)
    fault(Fault::Kind::illegal_instruction, w, i, copy.lane,
          "tensor map: inner box dimension of " + std::to_string(row_bytes) + " bytes");
  const u8 mode = copy.map.swizzle;
  if (mode == 0) return;
  if (mode >= std::size(swizzle_spans) || row_bytes > swizzle_spans[mode])
    fault(Fault::Kind::illegal_instruction, w, i, copy.lane, "tensor map: inner box dimension exceeds the swizzle span");
  // No document says where rows narrower than the span lie.
  if (row_bytes != swizzle_spans[mode])
    warn_once(w, i, "tensor map: inner box dimension below the swizzle span (layout assumed dense)");
}

template <class T>
void fill_with(std::vector<u8>& row, T value) {
  for (std::size_t at = 0; at < row.size(); at += sizeof value) std::memcpy(&row[at], &value, sizeof value);
}

/// What elements outside the tensor read as: zero, or NaN for floating types where the map asks for it.
void fill_outside(const TensorMap& map, std::vector<u8>& row) {
  if (map.oob_fill && element_bytes(map) == 2)
    fill_with(row, u16{0x7fff});
  else if (map.oob_fill && element_bytes(map) == 4)
    fill_with(row, u32{0x7fffffff});
  else
    fill_with(row, u8{0});
}

/// Reads the part of a row that lies inside the tensor; `global` is the address of the row's element 0.
void read_row(const AsyncCopy& copy, u64 global, std::vector<u8>& row) {
  const TensorMap& map = copy.map;
  const s64 bytes = element_bytes(map), first = copy.coordinates[0], length = static_cast<s64>(map.dims[0]);
  const auto read = [&](s64 from, s64 past, s64 at) {  // elements of the tensor, first element in the row
    const u64 address = global + static_cast<u64>(from * bytes), size = static_cast<u64>((past - from) * bytes);
    check_global(*copy.warp, *copy.instruction, copy.lane, address, size, false);
    std::memcpy(row.data() + at * bytes, host_pointer(address), size);
  };
  if (step(map, 0) == 1) {
    const s64 from = std::max<s64>(0, first), past = std::min<s64>(length, first + extent(map, 0));
    if (from < past) read(from, past, from - first);
    return;
  }
  for (s64 k = 0; k < extent(map, 0); ++k) {
    const s64 element = first + k * step(map, 0);
    if (element >= 0 && element < length) read(element, element + 1, k);
  }
}

void write_row(const AsyncCopy& copy, Block& to, u32 address, const std::vector<u8>& row) {
  const Launch& launch = *to.cluster->launch;
  for (u32 piece = 0; piece < row.size(); piece += 16) {
    const u32 at = swizzled(address + piece, copy.map.swizzle);
    if (at < launch.shared_base || at + 16 > launch.shared_base + launch.shared_bytes)
      fault(Fault::Kind::illegal_address, *copy.warp, *copy.instruction, copy.lane,
            "tensor copy beyond the block's shared memory");
    const u32 offset = at - static_cast<u32>(launch.shared_base);
    std::memcpy(to.shared.data() + offset, row.data() + piece, 16);
    note_async_write(to, offset, 16);
  }
}

}  // namespace

const TensorMap& read_tensor_map(Warp& w, const Instruction& i, int lane, u64 address) {
  if (address & 63) fault_misaligned(w, i, lane, address, 64);
  check_global(w, i, lane, address, 128, false);
  const TensorMap& map = *reinterpret_cast<const TensorMap*>(host_pointer(address));
  if (map.magic != TensorMap{}.magic) fault(Fault::Kind::illegal_instruction, w, i, lane, "no tensor map at this address");
  return map;
}

u64 tile_bytes(const TensorMap& map) {
  if (map.interleave != 0) return 0;
  u64 bytes = element_bytes(map);
  for (u32 k = 0; k < map.rank; ++k) bytes *= extent(map, k);
  return bytes;
}

void load_tile(const AsyncCopy& copy, Block& to, u32 destination) {
  const TensorMap& map = copy.map;
  std::vector<u8> row(extent(map, 0) * element_bytes(map));
  check_row(copy, static_cast<u32>(row.size()));
  u32 index[5] = {};  // of the row in the tile; dimension 0 lies within the row
  for (u32 address = destination;; address += static_cast<u32>(row.size())) {
    bool inside = true;
    u64 global = map.address;
    for (u32 k = 1; k < map.rank; ++k) {
      const s64 coordinate = s64{copy.coordinates[k]} + s64{index[k]} * step(map, k);
      inside = inside && static_cast<u64>(coordinate) < map.dims[k];  // a negative one wraps around
      global += static_cast<u64>(coordinate) * map.strides[k - 1];
    }
    fill_outside(map, row);
    if (inside) read_row(copy, global, row);
    write_row(copy, to, address, row);
    u32 k = 1;
    for (; k < map.rank && ++index[k] == extent(map, k); ++k) index[k] = 0;
    if (k >= map.rank) return;
  }
}

}  // namespace gpu_model
