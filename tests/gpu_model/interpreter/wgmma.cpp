// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// wgmma: descriptors (PTX ISA, "Matrix Descriptor Format"), layouts of operands in shared memory (as CuTe states them for
// make_gmma_desc: shapes and strides of K- and MN-major), and when an operation is performed.
#include "wgmma.hpp"

#include <algorithm>

#include "addresses.hpp"
#include "fragments.hpp"
#include "lanes.hpp"
#include "proxies.hpp"
#include "races.hpp"

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

struct Descriptor {
  static constexpr u64 defined_bits = 0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 7ull << 49 | 3ull << 62;
  enum Swizzle : u32 { none, of_128_bytes, of_64_bytes, of_32_bytes };

  explicit Descriptor(u64 bits)
      : start(static_cast<u32>(bits & 0x3fff) << 4),
        leading_offset(static_cast<u32>(bits >> 16 & 0x3fff) << 4),
        stride_offset(static_cast<u32>(bits >> 32 & 0x3fff) << 4),
        base_offset(static_cast<u32>(bits >> 49 & 7)),
        swizzle(static_cast<Swizzle>(bits >> 62)) {}

  /// Bytes of a row within which 16-byte pieces are exchanged.
  u32 span() const { return swizzle == none ? 16 : 256u >> swizzle; }
  u32 swizzled(u32 address) const {
    const u32 in_pattern = address - (base_offset << 7);
    return address ^ (in_pattern >> 3 & (span() - 16));
  }
  /// Address of 16-byte piece `piece` (0, 1) along k of row `mn`, K-major.
  u32 k_major(u32 mn, u32 piece) const {
    if (swizzle == none) return start + mn % 8 * 16 + mn / 8 * stride_offset + piece * leading_offset;
    return swizzled(start + mn % 8 * span() + mn / 8 * stride_offset + piece * 16);
  }
  /// Address of the 16-byte piece that holds elements 8 * mn8 .. 8 * mn8 + 7 of column k, MN-major; elements of 16 bits.
  u32 mn_major(u32 mn8, u32 k) const {
    if (swizzle == none) return start + mn8 * stride_offset + k % 8 * 16 + k / 8 * leading_offset;
    const u32 pieces_per_row = span() / 16;
    return swizzled(start + mn8 % pieces_per_row * 16 + mn8 / pieces_per_row * leading_offset + k % 8 * span() +
                    k / 8 * stride_offset);
  }

  u32 start, leading_offset, stride_offset;  // bytes
  u32 base_offset;                           // of the swizzle pattern: (address >> 7) & 7 of its start
  Swizzle swizzle;
};

/// One operand in shared memory: rows [first, first + count) along m or n, all of k.
struct SharedOperand {
  Descriptor descriptor;
  Element element;
  bool mn_major;
  u32 first, count, k;

  /// Calls use(address, row, column) for each 16-byte piece with the position of its first element, counted from `first`.
  template <class Use>
  void for_each_piece(Use use) const {
    if (mn_major) {
      for (u32 column = 0; column < k; ++column)
        for (u32 row = 0; row < count; row += 8) use(descriptor.mn_major((first + row) / 8, column), row, column);
    } else {
      const u32 neighbours = 16 / static_cast<u32>(bytes_of(element));
      for (u32 row = 0; row < count; ++row)
        for (u32 piece = 0; piece < 2; ++piece) use(descriptor.k_major(first + row, piece), row, piece * neighbours);
    }
  }
};

SharedOperand operand_a(const Warp& w, const WgmmaForm& form, u64 descriptor) {
  return {Descriptor(descriptor), form.a, (form.flags & WgmmaForm::mn_major_a) != 0, w.id % 4 * 16, 16, form.k()};
}
SharedOperand operand_b(const WgmmaForm& form, u64 descriptor) {
  return {Descriptor(descriptor), form.b, (form.flags & WgmmaForm::mn_major_b) != 0, 0, form.n, form.k()};
}

/// Offset of a 16-byte piece in the block's shared memory.
u32 offset_of(const Warp& w, const Instruction& i, u32 address) {
  const Launch& launch = *w.launch;
  if (address < launch.shared_base || address + 16 > launch.shared_base + launch.shared_bytes)
    fault(Fault::Kind::illegal_address, w, i, -1,
          "wgmma: descriptor reaches shared address " + std::to_string(address) + ", outside the block's " +
              std::to_string(launch.shared_bytes) + " bytes from " + std::to_string(launch.shared_base));
  return address - static_cast<u32>(launch.shared_base);
}

/// Reads an operand: element (row, column) to out[row * row_stride + column * column_stride].
void read_shared(Warp& w, const Instruction& i, const SharedOperand& operand, double* out, u32 row_stride, u32 column_stride) {
  const int neighbours = 16 / bytes_of(operand.element);
  const int stride = static_cast<int>(operand.mn_major ? row_stride : column_stride);
  operand.for_each_piece([&](u32 address, u32 row, u32 column) {
    const u32 offset = offset_of(w, i, address);
    race_access(w, i, -1, *w.block, offset, 16, false);
    widen(operand.element, w.block->shared.data() + offset, neighbours, out + row * row_stride + column * column_stride,
          stride);
  });
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
  const Descriptor descriptor(bits);
  if (descriptor.base_offset) warn_once(w, i, "wgmma: base offset in a descriptor is not zero");
  if (bits & ~Descriptor::defined_bits) warn_once(w, i, "wgmma: reserved bits of a descriptor are set");
  const u32 pattern_bytes = descriptor.span() * 8;
  if (descriptor.swizzle != Descriptor::none && !descriptor.base_offset && (descriptor.start & (pattern_bytes - 1) & ~127u))
    warn_once(w, i, "wgmma: operand does not start at its swizzle pattern (base offset 0)");
}

void check_proxy_fence(Warp& w, const Instruction& i, const SharedOperand& operand) {
  operand.for_each_piece([&](u32 address, u32, u32) { check_async_read(w, i, *w.block, offset_of(w, i, address), 16); });
}

/// a, b: descriptors (of A unless the list holds its registers), c: scale-d.
void wgmma_mma_async(Warp& w, const Instruction& i, u32 mask) {
  const WgmmaForm form = form_of(i);
  const WgmmaOperation operation = operation_of(w, i, mask);
  check_fence(w, i);
  w.launch->counters->mma_flops += 2ull * 16 * form.n * form.k();
  if (!form.a_registers) check_descriptor(w, i, operation.a_descriptor);
  check_descriptor(w, i, operation.b_descriptor);
  if (!w.block->generic_writes.empty()) {
    if (!form.a_registers) check_proxy_fence(w, i, operand_a(w, form, operation.a_descriptor));
    if (w.id % 4 == 0) check_proxy_fence(w, i, operand_b(form, operation.b_descriptor));  // once per warpgroup
  }
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
