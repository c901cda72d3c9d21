// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Copies of the async proxy that complete on an mbarrier: cp.async.bulk, cp.async.bulk.tensor, st.async.
#include "async_copies.hpp"

#include "addresses.hpp"
#include "lanes.hpp"
#include "mbarriers.hpp"
#include "memory_operands.hpp"
#include "proxies.hpp"
#include "races.hpp"
#include "tcgen05.hpp"
#include "tensor_maps.hpp"

namespace gpu_model {
namespace {

bool goes_to(const AsyncCopy& copy, const Block& block) {
  if (copy.multicast) return copy.destination_blocks >> block.rank & 1;
  return &block == &block_of(*copy.warp, *copy.instruction, copy.lane, copy.destination);
}

void issue(AsyncCopy&& copy) {
  Warp& w = *copy.warp;
  Launch& launch = *w.launch;
  ++launch.effects;
  if (!w.clocks.empty()) {
    // For the race detector the issuer writes now: all earlier uses of the destination must be ordered before the issue.
    const u32 offset = (copy.destination & offset_mask) - static_cast<u32>(launch.shared_base);
    for (const auto& block : w.cluster->blocks)
      if (goes_to(copy, *block)) race_access(w, *copy.instruction, copy.lane, *block, offset, copy.bytes, true);
    copy.clocks = w.clocks;
    ++w.clocks[w.index_in_cluster];
  }
  if (launch.async_mode == Completion::early)
    perform(*w.cluster, copy);
  else
    w.cluster->copies.push_back(std::move(copy));
}

AsyncCopy copy_by(Warp& w, const Instruction& i, int lane, AsyncCopy::Kind kind, u64 destination, u64 mbarrier) {
  AsyncCopy copy;
  copy.kind = kind;
  copy.warp = &w;
  copy.instruction = &i;
  copy.lane = lane;
  copy.destination = static_cast<u32>(destination);
  copy.mbarrier = static_cast<u32>(mbarrier);
  if (copy.mbarrier & 7) fault_misaligned(w, i, lane, mbarrier, 8);
  return copy;
}

/// a: destination, b: mbarrier, list: the values.
void st_async(Warp& w, const Instruction& i, u32 mask) {
  u64 destinations[32], mbarriers[32];
  gather(w, i.a, i.as, i.imm, destinations);
  gather(w, i.b, i.bs, i.imm2, mbarriers);
  const u32* rows = w.body->lists.data() + i.list;
  for (const u32 lane : Lanes(mask)) {
    AsyncCopy copy = copy_by(w, i, lane, AsyncCopy::st_async, destinations[lane], mbarriers[lane]);
    copy.bytes = u32{i.msize} * i.n;
    if (copy.destination % copy.bytes) fault_misaligned(w, i, lane, copy.destination, copy.bytes);
    for (u32 k = 0; k < i.n; ++k) {
      const u64 value = w.scalar(rows[k], i.msize, lane);
      std::memcpy(copy.value.data() + k * i.msize, &value, i.msize);
    }
    if (&block_of(w, i, lane, copy.destination) != &block_of(w, i, lane, copy.mbarrier))
      fault(Fault::Kind::illegal_address, w, i, lane, "st.async: data and mbarrier in different blocks");
    issue(std::move(copy));
  }
}

/// a: destination, b: source, c: mbarrier, e: bytes.
void cp_async_bulk(Warp& w, const Instruction& i, u32 mask) {
  u64 destinations[32], sources[32], mbarriers[32];
  gather(w, i.a, i.as, i.imm, destinations);
  gather(w, i.b, i.bs, i.imm2, sources);
  gather(w, i.c, i.cs, i.imm3, mbarriers);
  for (const u32 lane : Lanes(mask)) {
    AsyncCopy copy = copy_by(w, i, lane, AsyncCopy::bulk_load, destinations[lane], mbarriers[lane]);
    copy.source = sources[lane];
    copy.bytes = static_cast<u32>(w.scalar(i.e, i.ds, lane));
    const u64 aligned = copy.destination | copy.bytes | copy.source;
    if (aligned & 15) fault_misaligned(w, i, lane, aligned, 16);
    shared_pointer(w, i, lane, copy.destination, copy.bytes);
    check_global(w, i, lane, copy.source, copy.bytes, false);
    issue(std::move(copy));
  }
}

/// a: destination, b: tensor map, list: coordinates, c: mbarrier, e: mask of destination blocks (0: none).
void cp_async_bulk_tensor(Warp& w, const Instruction& i, u32 mask) {
  u64 destinations[32], maps[32], mbarriers[32];
  gather(w, i.a, i.as, i.imm, destinations);
  gather(w, i.b, i.bs, i.imm2, maps);
  gather(w, i.c, i.cs, i.imm3, mbarriers);
  const u32* rows = w.body->lists.data() + i.list;
  for (const u32 lane : Lanes(mask)) {
    AsyncCopy copy = copy_by(w, i, lane, AsyncCopy::tensor_load, destinations[lane], mbarriers[lane]);
    copy.map = read_tensor_map(w, i, lane, maps[lane]);
    if (copy.map.rank != i.list_n)
      fault(Fault::Kind::illegal_instruction, w, i, lane,
            "tensor copy of " + std::to_string(i.list_n) + " dimensions through a map of " + std::to_string(copy.map.rank));
    for (u32 k = 0; k < i.list_n; ++k) copy.coordinates[k] = w.row<s32>(rows[k])[lane];
    if (copy.destination & 127) fault_misaligned(w, i, lane, copy.destination, 128);
    copy.bytes = static_cast<u32>(tile_bytes(copy.map));
    if (copy.bytes == 0) fault(Fault::Kind::unsupported, w, i, lane, "tensor map with interleave or of an unknown type");
    shared_pointer(w, i, lane, copy.destination, copy.bytes);
    check_mbarrier(w, i, lane, shared_pointer(w, i, lane, copy.mbarrier, 8));
    if (i.e) {
      copy.multicast = true;
      copy.destination_blocks = static_cast<u16>(w.scalar(i.e, i.ds, lane));
    }
    issue(std::move(copy));
  }
}

void prefetch_tensormap(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  for (const u32 lane : Lanes(mask)) read_tensor_map(w, i, lane, addresses[lane]);
}

void write_bytes(const AsyncCopy& copy, const void* from) {
  Block* owner = nullptr;
  u8* to = shared_pointer(*copy.warp, *copy.instruction, copy.lane, copy.destination, copy.bytes, &owner);
  std::memcpy(to, from, copy.bytes);
  note_async_write(*owner, static_cast<u32>(to - owner->shared.data()), copy.bytes);
}

void complete(const AsyncCopy& copy, u32 mbarrier) {
  u8* pointer = shared_pointer(*copy.warp, *copy.instruction, copy.lane, mbarrier, 8);
  mbarrier_complete_tx(*copy.warp, *copy.instruction, pointer, copy.bytes, copy.clocks);
}

/// From global to shared memory, completing on an mbarrier: the direction that the model has.
bool is_supported_load(const Mnemonic& op) {
  const bool to_shared = op.has("shared::cluster") || op.has("shared::cta");
  return to_shared && op.has("global") && op.has("mbarrier::complete_tx::bytes");
}

}  // namespace

void perform(Cluster& cluster, const AsyncCopy& copy) {
  Counters& counters = *cluster.launch->counters;
  if (copy.kind == AsyncCopy::tensor_load || copy.kind == AsyncCopy::bulk_load) {
    counters.tma_bytes += copy.bytes;
    counters.global_load_bytes += copy.bytes;
  }
  switch (copy.kind) {
    case AsyncCopy::tensor_commit:
      perform_commit(copy);
      return;
    case AsyncCopy::st_async:
      write_bytes(copy, copy.value.data());
      complete(copy, copy.mbarrier);
      return;
    case AsyncCopy::bulk_load:
      check_global(*copy.warp, *copy.instruction, copy.lane, copy.source, copy.bytes, false);
      write_bytes(copy, host_pointer(copy.source));
      complete(copy, copy.mbarrier);
      return;
    case AsyncCopy::tensor_load:
      for (const auto& block : cluster.blocks) {
        if (!goes_to(copy, *block)) continue;
        load_tile(copy, *block, copy.destination & offset_mask);
        // A multicast completes on the mbarrier at the same offset in each destination block.
        complete(copy, copy.multicast ? (block->rank + 1) << rank_shift | (copy.mbarrier & offset_mask) : copy.mbarrier);
      }
      return;
  }
}

bool decode_st_async(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 3 || !op.has("mbarrier::complete_tx::bytes")) return false;
  const Type type = op.type();
  ins.space = Space::cluster;
  b.address(args[0], ins);
  second_address(b, args[2], ins);
  ins.msize = static_cast<u8>(size_of(type));
  std::vector<u32> rows;
  const std::vector<Operand> values = args[1].k == Operand::vec ? args[1].sub : std::vector<Operand>{args[1]};
  for (const Operand& value : values) rows.push_back(b.source(value, type));
  ins.n = static_cast<u8>(rows.size());
  add_list(b, ins, rows);
  ins.fn = st_async;
  return ins.msize != 0 && u32{ins.msize} * ins.n <= sizeof AsyncCopy::value;
}

bool decode_cp_async_bulk(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (!is_supported_load(op) || args.size() < 4) return false;
  b.fn->body.async_proxy = true;
  b.address(args[0], ins);
  second_address(b, args[1], ins);
  third_address(b, args[3], ins);
  ins.e = b.source(args[2], Type::b32, &ins.ds);
  ins.fn = cp_async_bulk;
  return true;
}

bool decode_cp_async_bulk_tensor(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (!is_supported_load(op) || args.size() < 3) return false;
  if (args[1].sub.size() != 2 || args[1].sub[1].k != Operand::vec) return false;
  const bool multicast = op.has("multicast::cluster");
  if (multicast && args.size() < 4) return false;
  b.fn->body.async_proxy = true;
  b.address(args[0], ins);
  second_address(b, args[1], ins);
  third_address(b, args[2], ins);
  std::vector<u32> rows;
  for (const Operand& coordinate : args[1].sub[1].sub) rows.push_back(b.source(coordinate, Type::b32));
  if (rows.size() > std::size(AsyncCopy{}.coordinates)) return false;
  add_list(b, ins, rows);
  if (multicast) ins.e = b.source(args[3], Type::b16, &ins.ds);
  ins.fn = cp_async_bulk_tensor;
  return true;
}

/// Prefetches are without effect, but a tensor map must be one.
bool decode_prefetch(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (!op.has("tensormap")) return decode_nothing(b, op, args, ins);
  if (args.size() != 1) return false;
  b.address(args[0], ins);
  ins.fn = prefetch_tensormap;
  return true;
}

}  // namespace gpu_model
