// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// tcgen05 by one block (.cta_group::1), of dense K-major operands in shared memory, with m 128: products
// of sums in tensor memory, and loads of these in shape 16x256b. A product is performed when the commit that tracks it is; a
// load at tcgen05.wait::ld.
#include "tcgen05.hpp"

#include <algorithm>

#include "addresses.hpp"
#include "lanes.hpp"
#include "matrix_operands.hpp"
#include "mbarriers.hpp"
#include "memory_operands.hpp"

namespace gpu_model {
namespace {

constexpr u32 product_rows = TensorMemory::lanes;  // m

TensorMemory& tensor_memory(const Warp& w, const Instruction& i) {
  if (!w.block->tensor_memory) fault(Fault::Kind::illegal_address, w, i, -1, "no tensor memory is allocated");
  return *w.block->tensor_memory;
}

/// An address is lane << 16 | column. The columns must be allocated.
void check_columns(const Warp& w, const Instruction& i, int lane, u32 address, u32 columns) {
  const TensorMemory& memory = tensor_memory(w, i);
  const u32 first = address & 0xffff;
  for (u32 column = first; column < first + columns; ++column)
    if (column >= TensorMemory::columns || !memory.allocated[column])
      fault(Fault::Kind::illegal_address, w, i, lane, "tensor memory column " + std::to_string(column) + " is not allocated");
}

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
  if (!memory.products.empty()) warn_once(w, i, "tcgen05.dealloc while tcgen05.mma is in flight");
  std::fill_n(memory.allocated.begin() + address, columns, 0u);
  ++w.launch->effects;
}

void tcgen05_relinquish_alloc_permit(Warp& w, const Instruction& i, u32) { tensor_memory(w, i).relinquished = true; }

enum MmaKind : u16 { of_f16, of_tf32, of_f8f6f4, of_i8 };

/// An instruction descriptor (PTX ISA, "Instruction Descriptor").
struct ProductForm {
  Element a{}, b{};
  Accumulator accumulator{};
  u32 n = 0;
};

std::optional<Element> operand_type(MmaKind kind, u32 number) {
  switch (kind) {
    case of_f16:
      return number == 0 ? std::optional(Element::f16) : number == 1 ? std::optional(Element::bf16) : std::nullopt;
    case of_tf32:
      return number == 2 ? std::optional(Element::tf32) : std::nullopt;
    case of_f8f6f4:
      return number == 0 ? std::optional(Element::e4m3) : number == 1 ? std::optional(Element::e5m2) : std::nullopt;
    default:
      return number == 0 ? std::optional(Element::u8) : number == 1 ? std::optional(Element::s8) : std::nullopt;
  }
}

ProductForm product_form(const Warp& w, const Instruction& i, int lane, u32 bits) {
  const auto kind = static_cast<MmaKind>(i.aux);
  const auto a = operand_type(kind, bits >> 7 & 7), b = operand_type(kind, bits >> 10 & 7);
  const u32 sums = bits >> 4 & 3, n = (bits >> 17 & 63) * 8, m = (bits >> 24 & 31) * 16;
  constexpr u32 others = ~(3u << 4 | 63u << 7 | 63u << 17 | 31u << 24);  // sparse, saturating, negated, MN-major, reserved
  const bool possible = kind == of_i8 ? sums == 2 : sums == 1 || (sums == 0 && a == Element::f16 && b == a);
  if (!a || !b || !possible || m != product_rows || (bits & others) != 0)
    fault(Fault::Kind::unsupported, w, i, lane, "tcgen05.mma with instruction descriptor " + std::to_string(bits));
  if (n == 0 || n > 256 || n % 16) fault(Fault::Kind::illegal_instruction, w, i, lane, "tcgen05.mma: n " + std::to_string(n));
  return {*a, *b, sums == 2 ? Accumulator::s32 : sums == 1 ? Accumulator::f32 : Accumulator::f16, n};
}

MatrixDescriptor tcgen05_descriptor(const Warp& w, const Instruction& i, int lane, u64 bits) {
  constexpr u64 defined_bits = 0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 7ull << 49 | 7ull << 61;
  constexpr u64 constant = 1ull << 46;
  if ((bits & ~defined_bits) != constant)
    fault(Fault::Kind::illegal_instruction, w, i, lane,
          "tcgen05.mma: constant bits of a shared memory descriptor are not as defined");
  const u32 swizzle = static_cast<u32>(bits >> 61);  // 0: none; 2, 4, 6: of 128, 64, 32 bytes
  if (swizzle % 2) fault(Fault::Kind::unsupported, w, i, lane, "tcgen05.mma: swizzle " + std::to_string(swizzle));
  return matrix_descriptor(bits, swizzle == 0 ? 16 : 256u >> swizzle / 2);
}

/// A sum in a word of tensor memory. The upper half beside one of 16 bits is undefined.
u32 bits_of_sum(Accumulator accumulator, double sum) {
  if (accumulator == Accumulator::f16) return 0xdead0000u | double_to_half(sum);
  if (accumulator == Accumulator::f32) return std::bit_cast<u32>(static_cast<float>(sum));
  return static_cast<u32>(static_cast<s64>(sum));
}
double value_of_sum(Accumulator accumulator, u32 bits) {
  if (accumulator == Accumulator::f16) return half_to_float(static_cast<u16>(bits));
  return accumulator == Accumulator::f32 ? double{std::bit_cast<float>(bits)} : static_cast<double>(static_cast<s32>(bits));
}

void perform_product(TensorMemory& memory, const TensorProduct& product) {
  Warp& w = *product.warp;
  const Instruction& i = *product.instruction;
  const ProductForm form = product_form(w, i, -1, product.form);
  const SharedOperand of_a{tcgen05_descriptor(w, i, -1, product.a), form.a, false, 0, product_rows};
  const SharedOperand of_b{tcgen05_descriptor(w, i, -1, product.b), form.b, false, 0, form.n};
  static thread_local std::vector<double> a, b, d;
  a.assign(product_rows * of_a.k(), 0);
  b.assign(of_b.k() * form.n, 0);
  d.assign(product_rows * form.n, 0);
  read_operand(w, i, of_a, a.data(), of_a.k(), 1);
  read_operand(w, i, of_b, b.data(), 1, form.n);
  const u32 first = product.d & 0xffff;
  if (product.accumulates)
    for (u32 row = 0; row < product_rows; ++row)
      for (u32 column = 0; column < form.n; ++column)
        d[row * form.n + column] = value_of_sum(form.accumulator, memory.cell(row, first + column));
  multiply_add(a.data(), b.data(), d.data(), product_rows, static_cast<int>(form.n), static_cast<int>(of_a.k()));
  for (u32 row = 0; row < product_rows; ++row)
    for (u32 column = 0; column < form.n; ++column)
      memory.cell(row, first + column) = bits_of_sum(form.accumulator, d[row * form.n + column]);
  ++memory.performed;
  std::fill_n(memory.written_by.begin() + first, form.n, memory.performed);
}

/// What is true of an operand at the issue.
void check_operand(Warp& w, const Instruction& i, int lane, const SharedOperand& operand) {
  check_start(w, i, operand.descriptor);
  check_proxy_fence(w, i, operand);
  race_read(w, i, lane, operand);
}

/// Rows a: D's address, b and c: descriptors of A and B, e: instruction descriptor, imm2: whether it accumulates.
void tcgen05_mma(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  for (const u32 at : Lanes(mask)) {
    const int lane = static_cast<int>(at);
    TensorProduct product;
    product.warp = &w;
    product.instruction = &i;
    product.d = static_cast<u32>(addresses[at]);
    product.form = w.row<u32>(i.e)[at];
    product.a = w.row<u64>(i.b)[at];
    product.b = w.row<u64>(i.c)[at];
    product.accumulates = ((*w.row<u32>(static_cast<u32>(i.imm2)) >> at & 1) != 0) != i.source_not;
    const ProductForm form = product_form(w, i, lane, product.form);
    check_columns(w, i, lane, product.d, form.n);
    if (product.d >> 16)
      fault(Fault::Kind::illegal_address, w, i, lane, "tcgen05.mma: D of 128 rows begins at another lane than 0");
    const SharedOperand a{tcgen05_descriptor(w, i, lane, product.a), form.a, false, 0, product_rows};
    check_operand(w, i, lane, a);
    check_operand(w, i, lane, {tcgen05_descriptor(w, i, lane, product.b), form.b, false, 0, form.n});
    w.launch->counters->mma_flops += 2ull * product_rows * form.n * a.k();
    TensorMemory& memory = tensor_memory(w, i);
    ++memory.issued;
    if (w.launch->async_mode == Completion::early)
      perform_product(memory, product);
    else
      memory.products.push_back(product);
  }
  ++w.launch->effects;
}

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
      perform_products(copy);
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
  for (const auto& product : memory.products) {
    const u32 begin = product.d & 0xffff, end = begin + product_form(w, i, -1, product.form).n;
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

void perform_products(const AsyncCopy& copy) {
  Warp& w = *copy.warp;
  TensorMemory& memory = tensor_memory(w, *copy.instruction);
  while (memory.performed < copy.source) {
    const TensorProduct product = memory.products.front();
    memory.products.pop_front();
    perform_product(memory, product);
  }
  u8* pointer = shared_pointer(w, *copy.instruction, copy.lane, copy.mbarrier, 8);
  mbarrier_complete_arrival(w, *copy.instruction, pointer, copy.clocks);
}

void tensor_memory_exit(Warp& w) {
  if (!w.tensor_loads.empty()) warn_once(w, *w.at, "warp exits with tcgen05.ld not waited for");
  const TensorMemory* memory = w.block->tensor_memory.get();
  if (w.block->live_warps > 0 || !memory) return;
  if (!memory->products.empty()) warn_once(w, *w.at, "block exits with tcgen05.mma not waited for");
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

bool decode_tcgen05_mma(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 5 || args[1].k == Operand::address) return false;
  if (op.has("kind::f16"))
    ins.aux = of_f16;
  else if (op.has("kind::tf32"))
    ins.aux = of_tf32;
  else if (op.has("kind::f8f6f4"))
    ins.aux = of_f8f6f4;
  else
    ins.aux = of_i8;
  b.fn->body.async_proxy = true;
  b.address(args[0], ins);
  ins.b = b.source(args[1], Type::b64);
  ins.c = b.source(args[2], Type::b64);
  ins.e = b.source(args[3], Type::b32);
  ins.imm2 = b.source(args[4], Type::pred);
  ins.source_not = args[4].is_not;
  ins.fn = tcgen05_mma;
  return true;
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
