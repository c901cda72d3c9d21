// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "addresses.hpp"
#include "lanes.hpp"
#include "matrix_operands.hpp"
#include "tcgen05.hpp"

namespace gpu_model {
namespace {

constexpr u32 product_rows = TensorMemory::lanes;  // m
constexpr u32 scale_rows = 32, scale_columns = 4;  // of a copy, which is repeated for the other lanes
constexpr u32 scale_quarters = TensorMemory::lanes / scale_rows;

/// In Instruction::aux.
enum OperationKind : u16 { of_f16, of_tf32, of_f8f6f4, of_i8, of_mxf8f6f4, of_mxf4nvf4, copies_scales };

/// An instruction descriptor (PTX ISA, "Instruction Descriptor").
struct ProductForm {
  Element a{}, b{};
  Accumulator accumulator{};
  u32 n = 0;
  u32 block = 0;           // of k, that shares a scale; 0: no scales
  u32 a_id = 0, b_id = 0;  // the first block's byte in a word of scales
};

std::optional<Element> operand_type(OperationKind kind, u32 number) {
  switch (kind) {
    case of_f16:
      return number == 0 ? std::optional(Element::f16) : number == 1 ? std::optional(Element::bf16) : std::nullopt;
    case of_tf32:
      return number == 2 ? std::optional(Element::tf32) : std::nullopt;
    case of_f8f6f4:
    case of_mxf8f6f4:
      return number == 0 ? std::optional(Element::e4m3) : number == 1 ? std::optional(Element::e5m2) : std::nullopt;
    case of_mxf4nvf4:
      return number == 1 ? std::optional(Element::e2m1) : std::nullopt;
    default:
      return number == 0 ? std::optional(Element::u8) : number == 1 ? std::optional(Element::s8) : std::nullopt;
  }
}

OperationKind kind_of(const Instruction& i) { return static_cast<OperationKind>(i.aux); }
bool has_scales(OperationKind kind) { return kind == of_mxf8f6f4 || kind == of_mxf4nvf4; }

/// What is not modelled is a bit among those that have to be 0: sparse, saturating, negated, MN-major.
ProductForm product_form(const Warp& w, const Instruction& i, int lane, u32 bits) {
  const OperationKind kind = kind_of(i);
  const auto field = [bits](int shift, u32 mask) { return bits >> shift & mask; };
  const auto a = operand_type(kind, field(7, 7)), b = operand_type(kind, field(10, 7));
  ProductForm form;
  form.n = field(17, 63) * 8;
  bool known = a && b && field(24, 31) * 16 == product_rows;
  u32 zeros = ~(63u << 7 | 63u << 17 | 31u << 24 | 3u << 4);
  if (has_scales(kind)) {
    zeros &= ~(3u << 29 | 1u << 23);
    form.block = kind == of_mxf4nvf4 ? 16 : 32;
    form.b_id = field(4, 3);
    form.a_id = field(29, 3);
    const u32 is_ue8m0 = field(23, 1);
    known = known && is_ue8m0 == (kind == of_mxf8f6f4) && (kind == of_mxf8f6f4 || (form.a_id == 0 && form.b_id == 0));
  } else {
    const u32 sums = field(4, 3);
    known = known && (kind == of_i8 ? sums == 2 : sums == 1 || (sums == 0 && a == Element::f16 && b == a));
    form.accumulator = sums == 2 ? Accumulator::s32 : sums == 1 ? Accumulator::f32 : Accumulator::f16;
  }
  if (!known || (bits & zeros) != 0)
    fault(Fault::Kind::unsupported, w, i, lane, "tcgen05.mma with instruction descriptor " + std::to_string(bits));
  if (form.n == 0 || form.n > 256 || form.n % 16)
    fault(Fault::Kind::illegal_instruction, w, i, lane, "tcgen05.mma: n " + std::to_string(form.n));
  form.a = *a;
  form.b = *b;
  return form;
}

MatrixDescriptor tcgen05_descriptor(const Warp& w, const Instruction& i, int lane, u64 bits) {
  constexpr u64 defined_bits = 0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 7ull << 49 | 7ull << 61;
  constexpr u64 constant = 1ull << 46;
  if ((bits & ~defined_bits) != constant)
    fault(Fault::Kind::illegal_instruction, w, i, lane,
          "tcgen05: constant bits of a shared memory descriptor are not as defined");
  const u32 swizzle = static_cast<u32>(bits >> 61);  // 0: none; 2, 4, 6: of 128, 64, 32 bytes
  if (swizzle % 2) fault(Fault::Kind::unsupported, w, i, lane, "tcgen05: swizzle " + std::to_string(swizzle));
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

double value_of_scale(OperationKind kind, u8 bits) {
  if (kind == of_mxf4nvf4) return e4m3_to_float(bits & 0x7f);
  return bits == 0xff ? NAN : std::ldexp(1.0, int{bits} - 127);
}

/// The operands of an operation.
SharedOperand operand_a(const TensorOperation& of, int lane, const ProductForm& form) {
  return {tcgen05_descriptor(*of.warp, *of.instruction, lane, of.a), form.a, false, 0, product_rows};
}
SharedOperand operand_b(const TensorOperation& of, int lane, const ProductForm& form) {
  return {tcgen05_descriptor(*of.warp, *of.instruction, lane, of.b), form.b, false, 0, form.n};
}
/// The rows that are copied, as an operand of 16 bytes per row: bytes.
SharedOperand copied_rows(const TensorOperation& of, int lane) {
  return {tcgen05_descriptor(*of.warp, *of.instruction, lane, of.a), Element::u8, false, 0, scale_rows};
}

/// Multiplies each line's blocks of k by their scales; element (line, k) is values[line * line_stride + k * k_stride].
void scale(TensorMemory& memory, const TensorOperation& of, const ProductForm& form, u32 address, u32 id, u32 lines, u32 k,
           double* values, u32 line_stride, u32 k_stride) {
  const OperationKind kind = kind_of(*of.instruction);
  for (u32 line = 0; line < lines; ++line) {
    const u32 column = (address & 0xffff) + line / scale_rows;
    const u32 word = memory.cell(line % scale_rows, column);
    for (u32 quarter = 1; quarter < scale_quarters; ++quarter)
      if (memory.cell(quarter * scale_rows + line % scale_rows, column) != word)
        warn_once(*of.warp, *of.instruction, "tcgen05.mma: scales differ between the quarters of the lanes");
    for (u32 term = 0; term < k; ++term)
      values[line * line_stride + term * k_stride] *=
          value_of_scale(kind, static_cast<u8>(word >> 8 * (id + term / form.block)));
  }
}

void perform_product(TensorMemory& memory, const TensorOperation& of) {
  Warp& w = *of.warp;
  const Instruction& i = *of.instruction;
  const ProductForm form = product_form(w, i, -1, of.form);
  const SharedOperand of_a = operand_a(of, -1, form), of_b = operand_b(of, -1, form);
  const u32 k = of_a.k();
  static thread_local std::vector<double> a, b, d;
  a.assign(product_rows * k, 0);
  b.assign(k * form.n, 0);
  d.assign(product_rows * form.n, 0);
  read_operand(w, i, of_a, a.data(), k, 1);
  read_operand(w, i, of_b, b.data(), 1, form.n);
  if (form.block) {
    scale(memory, of, form, of.a_scales, form.a_id, product_rows, k, a.data(), k, 1);
    scale(memory, of, form, of.b_scales, form.b_id, form.n, k, b.data(), 1, form.n);
  }
  const u32 first = of.d & 0xffff;
  const auto for_elements = [&](auto use) {
    for (u32 row = 0; row < product_rows; ++row)
      for (u32 column = 0; column < form.n; ++column) use(d[row * form.n + column], memory.cell(row, first + column));
  };
  if (of.accumulates) for_elements([&](double& sum, u32 word) { sum = value_of_sum(form.accumulator, word); });
  multiply_add(a.data(), b.data(), d.data(), product_rows, static_cast<int>(form.n), static_cast<int>(k));
  for_elements([&](double sum, u32& word) { word = bits_of_sum(form.accumulator, sum); });
}

void perform_copy_of_scales(TensorMemory& memory, const TensorOperation& of) {
  const Block& block = *of.warp->block;
  const SharedOperand rows = copied_rows(of, -1);
  for (u32 row = 0; row < scale_rows; ++row) {
    const u32 offset = checked_offset(*of.warp, *of.instruction, rows.descriptor.k_major(row, 0));
    for (u32 column = 0; column < scale_columns; ++column)
      for (u32 quarter = 0; quarter < scale_quarters; ++quarter)
        std::memcpy(&memory.cell(quarter * scale_rows + row, (of.d & 0xffff) + column),
                    block.shared.data() + offset + column * 4, 4);
  }
}

/// What is true of an operand at the issue.
void check_operand(const TensorOperation& of, int lane, const SharedOperand& operand) {
  check_start(*of.warp, *of.instruction, operand.descriptor);
  check_proxy_fence(*of.warp, *of.instruction, operand);
  race_read(*of.warp, *of.instruction, lane, operand);
}

/// What one lane issues, of `address` in tensor memory and with the descriptor in row b.
TensorOperation tensor_operation(Warp& w, const Instruction& i, u32 lane, u64 address) {
  TensorOperation of;
  of.warp = &w;
  of.instruction = &i;
  of.d = static_cast<u32>(address);
  of.a = w.row<u64>(i.b)[lane];
  return of;
}

void issue(const TensorOperation& of) {
  TensorMemory& memory = tensor_memory(*of.warp, *of.instruction);
  ++memory.issued;
  ++of.warp->launch->effects;
  if (of.warp->launch->async_mode == Completion::early)
    perform(memory, of);
  else
    memory.operations.push_back(of);
}

/// Rows a: D's address, b and c: descriptors of A and B, e: instruction descriptor, imm2: whether it accumulates; the list:
/// addresses of the scales.
void tcgen05_mma(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  const u32* list = w.body->lists.data() + i.list;
  for (const u32 at : Lanes(mask)) {
    const int lane = static_cast<int>(at);
    TensorOperation of = tensor_operation(w, i, at, addresses[at]);
    of.form = w.row<u32>(i.e)[at];
    of.b = w.row<u64>(i.c)[at];
    of.accumulates = ((*w.row<u32>(static_cast<u32>(i.imm2)) >> at & 1) != 0) != i.source_not;
    const ProductForm form = product_form(w, i, lane, of.form);
    check_columns(w, i, lane, of.d, form.n);
    if (of.d >> 16) fault(Fault::Kind::illegal_address, w, i, lane, "tcgen05.mma: D of 128 rows begins at another lane than 0");
    if (form.block) {
      of.a_scales = w.row<u32>(list[0])[at];
      of.b_scales = w.row<u32>(list[1])[at];
      check_columns(w, i, lane, of.a_scales, product_rows / scale_rows);
      check_columns(w, i, lane, of.b_scales, (form.n + scale_rows - 1) / scale_rows);
    }
    const SharedOperand a = operand_a(of, lane, form);
    check_operand(of, lane, a);
    check_operand(of, lane, operand_b(of, lane, form));
    w.launch->counters->mma_flops += 2ull * product_rows * form.n * a.k();
    issue(of);
  }
}

/// a: address, b: descriptor.
void tcgen05_cp(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  for (const u32 at : Lanes(mask)) {
    const int lane = static_cast<int>(at);
    const TensorOperation of = tensor_operation(w, i, at, addresses[at]);
    check_columns(w, i, lane, of.d, scale_columns);
    SharedOperand rows = copied_rows(of, lane);
    if (rows.descriptor.span != 16 || of.d >> 16)
      fault(Fault::Kind::unsupported, w, i, lane, "tcgen05.cp of swizzled rows, or to another lane than 0");
    rows.descriptor.leading_offset = 0;  // both pieces are the row
    check_operand(of, lane, rows);
    issue(of);
  }
}

}  // namespace

u32 columns_written(const TensorOperation& of) {
  if (kind_of(*of.instruction) == copies_scales) return scale_columns;
  return product_form(*of.warp, *of.instruction, -1, of.form).n;
}

void perform(TensorMemory& memory, const TensorOperation& of) {
  if (kind_of(*of.instruction) == copies_scales)
    perform_copy_of_scales(memory, of);
  else
    perform_product(memory, of);
  ++memory.performed;
  std::fill_n(memory.written_by.begin() + (of.d & 0xffff), columns_written(of), memory.performed);
}

bool decode_tcgen05_mma(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  constexpr std::pair<std::string_view, OperationKind> kinds[] = {
      {"kind::f16", of_f16}, {"kind::tf32", of_tf32},         {"kind::f8f6f4", of_f8f6f4},
      {"kind::i8", of_i8},   {"kind::mxf8f6f4", of_mxf8f6f4}, {"kind::mxf4nvf4", of_mxf4nvf4}};
  const auto kind = std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& each) { return op.has(each.first); });
  if (kind == std::end(kinds)) return false;
  ins.aux = kind->second;
  const bool scaled = has_scales(kind->second);
  if (op.has("block_scale") != scaled || op.has("scale_vec::1X") != (kind->second == of_mxf8f6f4) ||
      op.has("scale_vec::4X") != (kind->second == of_mxf4nvf4))
    return false;
  if (args.size() != (scaled ? 7 : 5) || args[1].k == Operand::address) return false;
  b.fn->body.async_proxy = true;
  b.address(args[0], ins);
  ins.b = b.source(args[1], Type::b64);
  ins.c = b.source(args[2], Type::b64);
  ins.e = b.source(args[3], Type::b32);
  if (scaled) {
    std::vector<u32> scales;
    for (const std::size_t k : {4, 5}) {
      if (args[k].k != Operand::address || args[k].sub.size() != 1 || args[k].sub[0].offset != 0) return false;
      scales.push_back(b.source(args[k].sub[0], Type::b32));
    }
    add_list(b, ins, scales);
  }
  ins.imm2 = b.source(args.back(), Type::pred);
  ins.source_not = args.back().is_not;
  ins.fn = tcgen05_mma;
  return true;
}

bool decode_tcgen05_cp(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 2 || !op.has("32x128b") || !op.has("warpx4")) return false;
  b.fn->body.async_proxy = true;
  ins.aux = copies_scales;
  b.address(args[0], ins);
  ins.b = b.source(args[1], Type::b64);
  ins.fn = tcgen05_cp;
  return true;
}

}  // namespace gpu_model
