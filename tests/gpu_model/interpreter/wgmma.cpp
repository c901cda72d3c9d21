// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// wgmma: its forms, and when an operation is performed.
#include "wgmma.hpp"

#include <algorithm>

#include "lanes.hpp"
#include "matrix_operands.hpp"

namespace gpu_model {
namespace {

/// In Instruction::imm. The instruction's list holds the registers of D, then those of A.
struct WgmmaForm {
  enum Flag : u8 { negates_a = 1, negates_b = 2, mn_major_a = 4, mn_major_b = 8, saturates = 16 };
  u8 d_registers = 0;
  u8 a_registers = 0;  // 0: A is in shared memory
  u16 n = 0;           // m is 64, of which each warp computes 16 rows; k is 32 bytes
  Element a{}, b{};
  Accumulator accumulator{};
  u8 flags = 0;
  u32 k() const { return 32 / static_cast<u32>(bytes_of(a)); }
};
static_assert(sizeof(WgmmaForm) == sizeof(Instruction::imm));

WgmmaForm form_of(const Instruction& i) { return std::bit_cast<WgmmaForm>(i.imm); }

MatrixDescriptor wgmma_descriptor(u64 bits) {
  const u32 swizzle = static_cast<u32>(bits >> 62);  // 0: none; 1, 2, 3: of 128, 64, 32 bytes
  return matrix_descriptor(bits, swizzle == 0 ? 16 : 256u >> swizzle);
}

SharedOperand operand_a(const Warp& w, const WgmmaForm& form, u64 descriptor) {
  return {wgmma_descriptor(descriptor), form.a, (form.flags & WgmmaForm::mn_major_a) != 0, w.id % 4 * 16, 16};
}
SharedOperand operand_b(const WgmmaForm& form, u64 descriptor) {
  return {wgmma_descriptor(descriptor), form.b, (form.flags & WgmmaForm::mn_major_b) != 0, 0, form.n};
}

void read_shared(Warp& w, const Instruction& i, const SharedOperand& operand, double* out, u32 row_stride, u32 column_stride) {
  race_read(w, i, -1, operand);
  read_operand(w, i, operand, out, row_stride, column_stride);
}

void perform(Warp& w, const WgmmaOperation& operation) {
  const Instruction& i = *operation.instruction;
  const WgmmaForm form = form_of(i);
  const u32 n = form.n, k = form.k();
  const u32* rows = w.body->lists.data() + i.list;
  const Fragment d_fragment{rows, form.d_registers}, a_fragment{rows + form.d_registers, form.a_registers};
  const int width = static_cast<int>(n), depth = static_cast<int>(k);
  static thread_local std::vector<double> a, b, d;
  a.assign(16 * k, 0);
  b.assign(k * n, 0);
  d.assign(16 * n, 0);
  if (a_fragment.count)
    read_a(w, a_fragment, form.a, 16, depth, a.data());
  else
    read_shared(w, i, operand_a(w, form, operation.a_descriptor), a.data(), k, 1);
  read_shared(w, i, operand_b(form, operation.b_descriptor), b.data(), 1, n);
  if (form.flags & WgmmaForm::negates_a)
    for (double& value : a) value = -value;
  if (form.flags & WgmmaForm::negates_b)
    for (double& value : b) value = -value;
  if (operation.scale_d) read_c(w, d_fragment, form.accumulator, width, d.data());
  multiply_add(a.data(), b.data(), d.data(), 16, width, depth);
  write_d(w, d_fragment, form.accumulator, width, form.flags & WgmmaForm::saturates, d.data());
}

void mark_in_flight(Warp& w, const Instruction& i) {
  if (w.in_flight.empty()) w.in_flight.assign((w.body->reg_bytes + w.body->image.size()) / 64 + 2, 0);
  const WgmmaForm form = form_of(i);
  const u32* rows = w.body->lists.data() + i.list;
  for (u32 reg = 0; reg < form.d_registers; ++reg) w.in_flight[rows[reg] / 64] |= Warp::accumulator;
  for (u32 reg = 0; reg < form.a_registers; ++reg) w.in_flight[rows[form.d_registers + reg] / 64] |= Warp::fragment_of_a;
}

/// Performs the oldest groups until `left` are in flight.
void perform_groups(Warp& w, u32 left) {
  if (w.wgmma_groups <= left) return;
  while (w.wgmma_groups > left) {
    const WgmmaOperation operation = w.wgmmas.front();
    w.wgmmas.pop_front();
    if (operation.instruction)
      perform(w, operation);
    else
      --w.wgmma_groups;
  }
  std::fill(w.in_flight.begin(), w.in_flight.end(), u8{0});
  for (const WgmmaOperation& operation : w.wgmmas)
    if (operation.instruction) mark_in_flight(w, *operation.instruction);
}

/// The operands that all lanes must give alike.
WgmmaOperation operation_of(Warp& w, const Instruction& i, u32 mask) {
  const bool a_in_registers = form_of(i).a_registers != 0;
  const u32 scale_d = *w.row<u32>(i.c) ^ (i.source_not ? ~0u : 0);
  const auto of = [&](int lane) {
    return WgmmaOperation{&i, a_in_registers ? 0 : w.row<u64>(i.a)[lane], w.row<u64>(i.b)[lane], (scale_d >> lane & 1) != 0};
  };
  const WgmmaOperation first = of(first_lane(mask));
  for (const u32 lane : Lanes(mask)) {
    const WgmmaOperation other = of(lane);
    if (other.a_descriptor != first.a_descriptor || other.b_descriptor != first.b_descriptor || other.scale_d != first.scale_d)
      fault(Fault::Kind::illegal_instruction, w, i, lane, "wgmma: operands differ within the warp");
  }
  return first;
}

void check_fence(Warp& w, const Instruction& i) {
  if (w.written_at.empty()) return;
  const WgmmaForm form = form_of(i);
  const u32* rows = w.body->lists.data() + i.list;
  if (std::any_of(rows, rows + form.d_registers + form.a_registers,
                  [&](u32 row) { return w.written_at[row / 64] == w.fence_epoch; }))
    warn_once(w, i, "wgmma uses a register that was written after the last wgmma.fence");
}

void check_descriptor(Warp& w, const Instruction& i, u64 bits) {
  constexpr u64 defined_bits = 0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 7ull << 49 | 3ull << 62;
  if (bits & ~defined_bits) warn_once(w, i, "wgmma: reserved bits of a descriptor are set");
  check_start(w, i, wgmma_descriptor(bits));
}

/// a, b: descriptors (of A unless the list holds its registers), c: scale-d.
void wgmma_mma_async(Warp& w, const Instruction& i, u32 mask) {
  const WgmmaForm form = form_of(i);
  const WgmmaOperation operation = operation_of(w, i, mask);
  check_fence(w, i);
  w.launch->counters->mma_flops += 2ull * 16 * form.n * form.k();
  if (!form.a_registers) check_descriptor(w, i, operation.a_descriptor);
  check_descriptor(w, i, operation.b_descriptor);
  if (!form.a_registers) check_proxy_fence(w, i, operand_a(w, form, operation.a_descriptor));
  if (w.id % 4 == 0) check_proxy_fence(w, i, operand_b(form, operation.b_descriptor));  // once per warpgroup
  if (w.launch->wgmma_mode == Completion::early) {
    perform(w, operation);
    return;
  }
  w.wgmmas.push_back(operation);
  mark_in_flight(w, i);
}

void wgmma_commit_group(Warp& w, const Instruction&, u32) {
  Launch& launch = *w.launch;
  if (launch.wgmma_mode == Completion::early) return;
  w.wgmmas.emplace_back();
  ++w.wgmma_groups;
  if (launch.wgmma_mode == Completion::random && (random_next(launch.seed) & 1)) perform_groups(w, 0);
}

/// imm: groups that may stay in flight.
void wgmma_wait_group(Warp& w, const Instruction& i, u32) { perform_groups(w, static_cast<u32>(i.imm)); }

void wgmma_fence(Warp& w, const Instruction&, u32) { ++w.fence_epoch; }

bool decode_plain(Builder& b, Instruction& ins, Handler handler) {
  b.fn->body.async_proxy = true;
  ins.kind = Kind::aligned;
  ins.fn = handler;
  return true;
}

/// The immediates after scale-d: scale-a, scale-b (1 or -1; not for integers), transposition of A (in shared memory) and B (for
/// 16-bit elements). False where they are others.
bool decode_immediates(const std::vector<Operand>& args, WgmmaForm& form) {
  const bool scales = form.accumulator != Accumulator::s32, transposes = bytes_of(form.a) == 2;
  std::vector<WgmmaForm::Flag> flags;
  if (scales) flags = {WgmmaForm::negates_a, WgmmaForm::negates_b};
  if (transposes && !form.a_registers) flags.push_back(WgmmaForm::mn_major_a);
  if (transposes) flags.push_back(WgmmaForm::mn_major_b);
  constexpr std::size_t first = 4;
  if (args.size() != first + flags.size()) return false;
  for (std::size_t k = 0; k < flags.size(); ++k) {
    const Operand& operand = args[first + k];
    if (operand.k != Operand::imm) return false;
    const s64 value = static_cast<s64>(operand.bits);
    const bool is_scale = scales && k < 2;
    if (is_scale && value != 1 && value != -1) return false;
    if (is_scale ? value == -1 : value != 0) form.flags |= flags[k];
  }
  return true;
}

}  // namespace

void check_in_flight(Warp& w, const Instruction& i) {
  if (w.in_flight.empty() || i.is_wgmma) return;
  const auto state = [&](u32 row) { return w.in_flight[row / 64]; };
  u8 read = state(i.a) | state(i.b) | state(i.c) | state(i.e), written = 0;
  (i.d_source ? read : written) |= i.d ? state(i.d) : 0;
  const u32* list = w.body->lists.data() + i.list;
  for (u32 k = 0; k < i.list_n; ++k) (i.list_written ? written : read) |= state(list[k]);
  if (read & Warp::accumulator)
    warn_once(w, i, "register of an accumulator read while wgmma is in flight (before wgmma.wait_group)");
  if (written) warn_once(w, i, "register of a fragment written while wgmma is in flight (before wgmma.wait_group)");
}

void note_written(Warp& w, const Instruction& i) {
  if (!i.d_source) w.written_at[i.d / 64] = w.fence_epoch;
  if (i.list_written)
    for (u32 k = 0; k < i.list_n; ++k) w.written_at[w.body->lists[i.list + k] / 64] = w.fence_epoch;
}

bool decode_wgmma_mma_async(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  const auto shape = shape_of(op);
  const auto a = element_of(op.type(1)), of_b = element_of(op.type(0));
  const auto accumulator = accumulator_of(op.type(2));
  if (op.has("sp") || !shape || shape->m != 64 || args.size() < 4) return false;
  if (!a || !of_b || !accumulator || accumulator == Accumulator::f64 || shape->k * bytes_of(*a) != 32) return false;
  std::vector<u32> rows;
  WgmmaForm form{.n = static_cast<u16>(shape->n), .a = *a, .b = *of_b, .accumulator = *accumulator};
  form.d_registers = static_cast<u8>(append_destinations(b, args[0], Type::b32, rows));
  if (form.d_registers * packed(*accumulator) * 32 != 16u * form.n) return false;
  if (args[1].k == Operand::vec) {
    form.a_registers = static_cast<u8>(append_registers(b, args[1], Type::b32, rows));
    if (form.a_registers != 4) return false;
  } else {
    ins.a = b.source(args[1], Type::b64);
  }
  add_list(b, ins, rows);
  ins.b = b.source(args[2], Type::b64);
  ins.c = b.source(args[3], Type::pred);
  ins.source_not = args[3].is_not;
  if (!decode_immediates(args, form)) return false;
  if (op.has("satfinite")) form.flags |= WgmmaForm::saturates;
  ins.imm = std::bit_cast<s64>(form);
  ins.is_wgmma = true;
  b.fn->body.has_wgmma = true;
  return decode_plain(b, ins, wgmma_mma_async);
}

bool decode_wgmma_commit_group(Builder& b, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  return decode_plain(b, ins, wgmma_commit_group);
}

bool decode_wgmma_wait_group(Builder& b, const Mnemonic&, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 1) return false;
  ins.imm = static_cast<s64>(args[0].bits);
  return decode_plain(b, ins, wgmma_wait_group);
}

bool decode_wgmma_fence(Builder& b, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  return decode_plain(b, ins, wgmma_fence);
}

}  // namespace gpu_model
