// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "tcgen05.hpp"

#include <algorithm>

#include "addresses.hpp"
#include "fragments.hpp"
#include "lanes.hpp"
#include "mbarriers.hpp"
#include "memory_operands.hpp"

namespace gpu_model {
namespace {

bool is_number_of_columns(u32 columns) {
  return columns >= 32 && columns <= TensorMemory::columns && std::has_single_bit(columns);
}

/// a: where the address goes, b: columns.
void tcgen05_alloc(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  const int lane = first_lane(mask);
  const u32 columns = static_cast<u32>(w.scalar(i.b, i.bs, lane));
  Block& block = *w.block;
  if (!block.tensor_memory) block.tensor_memory = std::make_unique<TensorMemory>();
  TensorMemory& memory = *block.tensor_memory;
  const auto illegal = [&](const char* text) { fault(Fault::Kind::illegal_instruction, w, i, lane, text); };
  if (!is_number_of_columns(columns)) illegal("tcgen05.alloc of another number of columns than 32, 64, 128, 256 or 512");
  if (memory.relinquished) illegal("tcgen05.alloc after tcgen05.relinquish_alloc_permit");
  u32 first = 0;
  const auto is_free = [&](u32 at) {
    return std::none_of(memory.allocated.begin() + at, memory.allocated.begin() + at + columns, [](u32 c) { return c != 0; });
  };
  while (first < TensorMemory::columns && !is_free(first)) first += columns;
  if (first >= TensorMemory::columns) illegal("tcgen05.alloc waits for columns that only its own block could free");
  std::fill_n(memory.allocated.begin() + first, columns, columns);
  std::memcpy(shared_access(w, i, lane, static_cast<u32>(addresses[lane]), 4, true), &first, sizeof first);
  ++w.launch->effects;
}

/// a: address, b: columns.
void tcgen05_dealloc(Warp& w, const Instruction& i, u32 mask) {
  const int lane = first_lane(mask);
  const u32 address = static_cast<u32>(w.scalar(i.a, i.as, lane)), columns = static_cast<u32>(w.scalar(i.b, i.bs, lane));
  check_columns(w, i, lane, address, 1);
  TensorMemory& memory = tensor_memory(w, i);
  if (address >> 16 || memory.allocated[address] != columns || address % columns)
    fault(Fault::Kind::illegal_instruction, w, i, lane, "tcgen05.dealloc of what was not allocated so");
  if (!memory.operations.empty()) warn_once(w, i, "tcgen05.dealloc while tcgen05.mma is in flight");
  std::fill_n(memory.allocated.begin() + address, columns, 0u);
  ++w.launch->effects;
}

void tcgen05_relinquish_alloc_permit(Warp& w, const Instruction& i, u32) { tensor_memory(w, i).relinquished = true; }

/// a: mbarrier.
void tcgen05_commit(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  for (const u32 lane : Lanes(mask)) {
    AsyncCopy copy;
    copy.kind = AsyncCopy::tensor_commit;
    copy.warp = &w;
    copy.instruction = &i;
    copy.lane = static_cast<int>(lane);
    copy.mbarrier = static_cast<u32>(addresses[lane]);
    copy.source = tensor_memory(w, i).issued;
    if (copy.mbarrier & 7) fault_misaligned(w, i, copy.lane, copy.mbarrier, 8);
    check_mbarrier(w, i, copy.lane, shared_pointer(w, i, copy.lane, copy.mbarrier, 8));
    if (!w.clocks.empty()) {
      copy.clocks = w.clocks;
      ++w.clocks[w.index_in_cluster];
    }
    if (w.launch->async_mode == Completion::early)
      perform_commit(copy);
    else
      w.cluster->copies.push_back(std::move(copy));
  }
  ++w.launch->effects;
}

/// a: address, list: registers, four for each 8 columns.
void load_columns(Warp& w, const Instruction& i) {
  const int lane = first_lane(w.live);
  const u32 address = w.row<u32>(i.a)[lane] + static_cast<u32>(i.imm), first_row = address >> 16, first = address & 0xffff;
  TensorMemory& memory = tensor_memory(w, i);
  const u32 columns = i.list_n * 2;
  for (const TensorOperation& operation : memory.operations) {
    const u32 begin = operation.d & 0xffff, end = begin + columns_written(operation);
    if (first < end && begin < first + columns) warn_once(w, i, "tensor memory read while tcgen05.mma is in flight");
  }
  const u32* list = w.body->lists.data() + i.list;
  for (u32 k = 0; k < i.list_n; ++k)
    for (u32 of = 0; of < 32; ++of)
      w.row<u32>(list[k])[of] = memory.cell(first_row + of / 4 + k / 2 % 2 * 8, first + k / 4 * 8 + of % 4 * 2 + k % 2);
}

void tcgen05_ld(Warp& w, const Instruction& i, u32 mask) {
  const int lane = first_lane(mask);
  const u32 address = w.row<u32>(i.a)[lane] + static_cast<u32>(i.imm), row = address >> 16, columns = i.list_n * 2;
  for (const u32 other : Lanes(mask))
    if (w.row<u32>(i.a)[other] != w.row<u32>(i.a)[lane])
      fault(Fault::Kind::illegal_instruction, w, i, lane, "tcgen05.ld: addresses differ within the warp");
  if (row / 32 != w.id % 4 || row % 16)
    fault(Fault::Kind::illegal_address, w, i, lane,
          "tcgen05.ld of 16 lanes from " + std::to_string(row) + " by warp " + std::to_string(w.id));
  check_columns(w, i, lane, address, columns);
  const auto written = tensor_memory(w, i).written_by.begin() + (address & 0xffff);
  if (std::any_of(written, written + columns, [&](u64 product) { return product > w.tensor_memory_seen; }))
    warn_once(w, i, "tcgen05.ld of what tcgen05.mma wrote, without tcgen05.fence::after_thread_sync");
  w.tensor_loads.push_back(&i);
  if (w.launch->async_mode == Completion::early) {
    load_columns(w, i);
    w.tensor_loads.clear();
  }
}

void tcgen05_wait_ld(Warp& w, const Instruction&, u32) {
  for (const Instruction* i : w.tensor_loads) load_columns(w, *i);
  w.tensor_loads.clear();
}

void tcgen05_fence_after_thread_sync(Warp& w, const Instruction&, u32) {
  if (w.block->tensor_memory) w.tensor_memory_seen = w.block->tensor_memory->performed;
}

bool decode_tcgen05_aligned(Instruction& ins, Handler handler) {
  ins.kind = Kind::aligned;
  ins.fn = handler;
  return true;
}

}  // namespace

TensorMemory& tensor_memory(const Warp& w, const Instruction& i) {
  if (!w.block->tensor_memory) fault(Fault::Kind::illegal_address, w, i, -1, "no tensor memory is allocated");
  return *w.block->tensor_memory;
}

void check_columns(const Warp& w, const Instruction& i, int lane, u32 address, u32 columns) {
  const TensorMemory& memory = tensor_memory(w, i);
  const u32 first = address & 0xffff;
  for (u32 column = first; column < first + columns; ++column)
    if (column >= TensorMemory::columns || !memory.allocated[column])
      fault(Fault::Kind::illegal_address, w, i, lane, "tensor memory column " + std::to_string(column) + " is not allocated");
}

void perform_commit(const AsyncCopy& copy) {
  Warp& w = *copy.warp;
  TensorMemory& memory = tensor_memory(w, *copy.instruction);
  while (memory.performed < copy.source) {
    const TensorOperation operation = memory.operations.front();
    memory.operations.pop_front();
    perform(memory, operation);
  }
  u8* pointer = shared_pointer(w, *copy.instruction, copy.lane, copy.mbarrier, 8);
  mbarrier_complete_arrival(w, *copy.instruction, pointer, copy.clocks);
}

void tensor_memory_exit(Warp& w) {
  if (!w.tensor_loads.empty()) warn_once(w, *w.at, "warp exits with tcgen05.ld not waited for");
  const TensorMemory* memory = w.block->tensor_memory.get();
  if (w.block->live_warps > 0 || !memory) return;
  if (!memory->operations.empty()) warn_once(w, *w.at, "block exits with tcgen05.mma not waited for");
  if (std::any_of(memory->allocated.begin(), memory->allocated.end(), [](u32 columns) { return columns != 0; }))
    warn_once(w, *w.at, "block exits with tensor memory allocated");
}

bool decode_tcgen05_alloc(Builder& b, const Mnemonic&, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 2) return false;
  ins.space = Space::shared;
  b.address(args[0], ins);
  ins.b = b.source(args[1], Type::b32, &ins.bs);
  return decode_tcgen05_aligned(ins, tcgen05_alloc);
}

bool decode_tcgen05_dealloc(Builder& b, const Mnemonic&, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 2) return false;
  ins.a = b.source(args[0], Type::b32, &ins.as);
  ins.b = b.source(args[1], Type::b32, &ins.bs);
  return decode_tcgen05_aligned(ins, tcgen05_dealloc);
}

bool decode_tcgen05_relinquish(Builder&, const Mnemonic&, std::vector<Operand>& args, Instruction& ins) {
  return args.empty() && decode_tcgen05_aligned(ins, tcgen05_relinquish_alloc_permit);
}

bool decode_tcgen05_commit(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 1 || !op.has("shared::cluster")) return false;
  ins.space = Space::cluster;
  b.address(args[0], ins);
  ins.fn = tcgen05_commit;
  return true;
}

bool decode_tcgen05_ld(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 2 || !op.has("16x256b")) return false;
  std::vector<u32> registers;
  append_destinations(b, args[0], Type::b32, registers);
  b.address(args[1], ins);
  add_list(b, ins, registers);
  ins.list_written = true;
  return registers.size() % 4 == 0 && decode_tcgen05_aligned(ins, tcgen05_ld);
}

bool decode_tcgen05_wait(Builder&, const Mnemonic& op, std::vector<Operand>&, Instruction& ins) {
  return op.has("wait::ld") && decode_tcgen05_aligned(ins, tcgen05_wait_ld);
}

bool decode_tcgen05_fence(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (op.has("fence::before_thread_sync")) return decode_nothing(b, op, args, ins);
  ins.fn = tcgen05_fence_after_thread_sync;
  return op.has("fence::after_thread_sync");
}

}  // namespace gpu_model
