// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// mma.sync, and ldmatrix, stmatrix, movmatrix, which arrange its fragments.
#include "addresses.hpp"
#include "fragments.hpp"

namespace gpu_model {
namespace {

/// In Instruction::imm. The instruction's list holds the registers of D, A, B and C; C has as many as D.
struct MmaForm {
  u8 d_registers = 0, a_registers = 0, b_registers = 0;
  u8 m = 0, k = 0;  // n is 8
  Element a{}, b{};
  Accumulator accumulator{};
};
static_assert(sizeof(MmaForm) == sizeof(Instruction::imm));

/// aux: 1 saturates.
void mma(Warp& w, const Instruction& i, u32) {
  const auto form = std::bit_cast<MmaForm>(i.imm);
  const u32* rows = w.body->lists.data() + i.list;
  const Fragment d_fragment{rows, form.d_registers}, a_fragment{rows + form.d_registers, form.a_registers},
      b_fragment{a_fragment.registers + form.a_registers, form.b_registers},
      c_fragment{b_fragment.registers + form.b_registers, form.d_registers};
  double a[16 * 32], b[32 * 8], d[16 * 8];
  read_a(w, a_fragment, form.a, form.m, form.k, a);
  read_b(w, b_fragment, form.b, 8, b);
  read_c(w, c_fragment, form.accumulator, 8, d);
  multiply_add(a, b, d, form.m, 8, form.k);
  write_d(w, d_fragment, form.accumulator, 8, i.aux, d);
  w.launch->counters->mma_flops += 2ull * form.m * 8 * form.k;
}

using Matrix8x8 = u16[8][8];

/// Lane l holds elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4; of the transposed matrix where aux is 1.
u32 fragment_of(const Matrix8x8& x, int lane, bool transposed) {
  const int row = lane / 4, column = lane % 4 * 2;
  const u16 low = transposed ? x[column][row] : x[row][column], high = transposed ? x[column + 1][row] : x[row][column + 1];
  return u32{low} | u32{high} << 16;
}
void set_fragment(Matrix8x8& x, int lane, bool transposed, u32 value) {
  const int row = lane / 4, column = lane % 4 * 2;
  (transposed ? x[column][row] : x[row][column]) = static_cast<u16>(value);
  (transposed ? x[column + 1][row] : x[row][column + 1]) = static_cast<u16>(value >> 16);
}

/// Row r of matrix k has its address in lane 8 k + r.
u8* matrix_row(Warp& w, const Instruction& i, int lane, u64 address, bool write) {
  if (address >= shared_window) address -= shared_window;
  if (address & 15) fault_misaligned(w, i, lane, address, 16);
  return shared_access(w, i, lane, static_cast<u32>(address), 16, write);
}

void ldmatrix(Warp& w, const Instruction& i, u32) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  const u32* rows = w.body->lists.data() + i.list;
  for (int k = 0; k < i.n; ++k) {
    Matrix8x8 x;
    for (int lane = 8 * k; lane < 8 * k + 8; ++lane)
      std::memcpy(x[lane % 8], matrix_row(w, i, lane, addresses[lane], false), 16);
    u32* out = w.row<u32>(rows[k]);
    for (u32 lane = 0; lane < 32; ++lane) out[lane] = fragment_of(x, lane, i.aux);
  }
  w.launch->counters->shared_bytes += 128u * i.n;
}

void stmatrix(Warp& w, const Instruction& i, u32) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  const u32* rows = w.body->lists.data() + i.list;
  for (int k = 0; k < i.n; ++k) {
    Matrix8x8 x;
    const u32* in = w.row<u32>(rows[k]);
    for (u32 lane = 0; lane < 32; ++lane) set_fragment(x, lane, i.aux, in[lane]);
    for (int lane = 8 * k; lane < 8 * k + 8; ++lane)
      std::memcpy(matrix_row(w, i, lane, addresses[lane], true), x[lane % 8], 16);
  }
  ++w.launch->effects;
  w.launch->counters->shared_bytes += 128u * i.n;
}

void movmatrix(Warp& w, const Instruction& i, u32) {
  Matrix8x8 x;
  const u32* in = w.row<u32>(i.a);
  for (u32 lane = 0; lane < 32; ++lane) set_fragment(x, lane, false, in[lane]);
  u32* out = w.row<u32>(i.d);
  for (u32 lane = 0; lane < 32; ++lane) out[lane] = fragment_of(x, lane, true);
}

int matrices_of(const Mnemonic& op) { return op.has("x1") ? 1 : op.has("x2") ? 2 : op.has("x4") ? 4 : 0; }

}  // namespace

bool decode_mma(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  const auto shape = shape_of(op);
  if (!shape || shape->n != 8 || (shape->m != 16 && shape->m != 8) || args.size() != 4) return false;
  if (!op.has("row") || !op.has("col")) return false;
  const Type type_of_a = op.type(2);
  const auto a = element_of(type_of_a), of_b = element_of(op.type(1));
  const auto accumulator = accumulator_of(op.type(3));
  if (!a || !of_b || !accumulator || accumulator_of(op.type(0)) != accumulator) return false;
  if (shape->m == 8 && a != Element::f64) return false;
  const Type reg = a == Element::f64 ? Type::b64 : Type::b32, sum = accumulator == Accumulator::f64 ? Type::b64 : Type::b32;
  std::vector<u32> rows;
  const u32 d_registers = append_destinations(b, args[0], sum, rows), a_registers = append_registers(b, args[1], reg, rows),
            b_registers = append_registers(b, args[2], reg, rows), c_registers = append_registers(b, args[3], sum, rows);
  add_list(b, ins, rows);
  const u32 m = static_cast<u32>(shape->m), k = static_cast<u32>(shape->k);
  const u32 per_register = static_cast<u32>(size_of(reg) / bytes_of(*a));
  if (a_registers * per_register * 32 != m * k || b_registers * per_register * 32 != 8 * k || c_registers != d_registers ||
      d_registers * packed(*accumulator) * 32 != m * 8)
    return false;
  ins.imm = std::bit_cast<s64>(MmaForm{.d_registers = static_cast<u8>(d_registers),
                                       .a_registers = static_cast<u8>(a_registers),
                                       .b_registers = static_cast<u8>(b_registers),
                                       .m = static_cast<u8>(m),
                                       .k = static_cast<u8>(k),
                                       .a = *a,
                                       .b = *of_b,
                                       .accumulator = *accumulator});
  ins.aux = op.has("satfinite");
  ins.kind = Kind::aligned;
  ins.fn = mma;
  return true;
}

bool decode_ldmatrix(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (!op.has("m8n8") || !op.has("b16") || args.size() != 2) return false;
  std::vector<u32> rows;
  ins.n = static_cast<u8>(append_destinations(b, args[0], Type::b32, rows));
  b.address(args[1], ins);
  add_list(b, ins, rows);
  ins.list_written = true;
  ins.aux = op.has("trans");
  ins.kind = Kind::aligned;
  ins.fn = ldmatrix;
  return ins.n == matrices_of(op);
}

bool decode_stmatrix(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (!op.has("m8n8") || !op.has("b16") || args.size() != 2) return false;
  std::vector<u32> rows;
  ins.n = static_cast<u8>(append_registers(b, args[1], Type::b32, rows));
  b.address(args[0], ins);
  add_list(b, ins, rows);
  ins.aux = op.has("trans");
  ins.kind = Kind::aligned;
  ins.fn = stmatrix;
  return ins.n == matrices_of(op);
}

bool decode_movmatrix(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (!op.has("trans") || args.size() != 2) return false;
  ins.d = b.dest(args[0]);
  ins.a = b.source(args[1], Type::b32);
  ins.kind = Kind::aligned;
  ins.fn = movmatrix;
  return true;
}

}  // namespace gpu_model
