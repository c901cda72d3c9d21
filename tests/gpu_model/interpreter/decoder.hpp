// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "instruction.hpp"

namespace gpu_model {

/// A clock that `mov` can read; the high ones are the upper 32 bits.
enum class Clock : u8 { none, cycles, cycles_high, nanoseconds, nanoseconds_high };

/// An operand as written. Where the kind is `reg`, either `row` or `special` or `clock` says which register.
struct Operand {
  enum K : u8 { none, reg, imm, symbol, address, vec, sink, label } k = none;
  u32 row = 0;
  Type type = Type::none;  // of a register
  Special special = Special::none;
  Clock clock = Clock::none;
  bool is_not = false;  // !predicate
  enum Num : u8 { integer, f32bits, f64bits, decimal } num = integer;
  u64 bits = 0;    // of an immediate that is not decimal
  double dec = 0;  // of a decimal immediate
  std::string name;
  s64 offset = 0;               // bytes added to a symbol or to an address's base
  std::vector<Operand> sub;     // elements of a vector; of an address: base, then coordinates
  std::vector<Operand> second;  // after '|': empty or one
};

/// An opcode with its modifiers, split at the dots: "ld.global.v4.f32" has 4 parts. The text must outlive it.
struct Mnemonic {
  explicit Mnemonic(std::string_view opcode);
  bool has(std::string_view modifier) const;
  /// The type that stands `from_end` types before the last one; none if there are fewer.
  Type type(int from_end = 0) const;

  std::string_view text;
  std::vector<std::string_view> parts;
};

/// What a decoder asks of the function that it decodes for. Rows are byte offsets in the register file. `size` receives the
/// bytes per lane. All throw if the operand does not suit.
struct Builder {
  Function* fn = nullptr;
  virtual ~Builder() = default;
  /// The row of a register, of a constant, or of a symbol's address.
  virtual u32 source(const Operand&, Type as, u8* size = nullptr) = 0;
  virtual u32 dest(const Operand&, u8* size = nullptr) = 0;
  virtual u32 constant(u64 bits, int size) = 0;
  /// Fills in the instruction's a, as and imm from "[base + offset]".
  virtual void address(const Operand&, Instruction&) = 0;
  /// Sets the instruction's target once the label is known.
  virtual void branch(const Operand& label) = 0;
};
struct DecodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Destination and sources in order, one type per source: d, a, b, c, e and their sizes. Throws at another number of operands.
void decode_operands(Builder&, const std::vector<Operand>& operands, Instruction&, std::initializer_list<Type> sources);
/// Makes `rows` the instruction's list operand.
void add_list(Builder&, Instruction&, const std::vector<u32>& rows);

/// Fills in `ins` for an opcode with its modifiers and operands. False, or a DecodeError: the form is not modelled.
using Decoder = bool(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction&);
Decoder decode_binary, decode_mul, decode_mad, decode_min_max, decode_neg_abs, decode_special_function;
Decoder decode_logic, decode_not, decode_shl, decode_shr, decode_shf, decode_prmt, decode_lop3, decode_bfe, decode_bfi;
Decoder decode_popc, decode_clz, decode_brev, decode_bfind;
Decoder decode_setp, decode_selp, decode_cvt, decode_mov;
Decoder decode_shfl, decode_vote, decode_activemask, decode_match, decode_elect, decode_redux;
Decoder decode_bra, decode_exit, decode_nothing, decode_trap, decode_nanosleep, decode_setmaxnreg;
Decoder decode_bar, decode_bar_warp, decode_barrier_cluster, decode_fence_proxy_async;

Decoder decode_ld, decode_st, decode_atom, decode_red;
Decoder decode_cvta, decode_mapa, decode_isspacep, decode_createpolicy, decode_prefetch;
Decoder decode_cp_async, decode_cp_async_commit_group, decode_cp_async_wait_group, decode_cp_async_wait_all;
Decoder decode_cp_async_bulk, decode_cp_async_bulk_tensor, decode_st_async;
Decoder decode_mbarrier_init, decode_mbarrier_inval, decode_mbarrier_arrive, decode_mbarrier_arrive_drop;
Decoder decode_mbarrier_expect_tx, decode_mbarrier_wait;
Decoder decode_mma, decode_ldmatrix, decode_stmatrix, decode_movmatrix;
Decoder decode_wgmma_mma_async, decode_wgmma_commit_group, decode_wgmma_wait_group, decode_wgmma_fence;
Decoder decode_tcgen05_alloc, decode_tcgen05_dealloc, decode_tcgen05_relinquish, decode_tcgen05_mma, decode_tcgen05_cp;
Decoder decode_tcgen05_commit;
Decoder decode_tcgen05_ld, decode_tcgen05_wait, decode_tcgen05_fence;

/// One row of the table of opcodes.
struct Opcode {
  /// The opcode, or the longest beginning of it in whole parts that one decoder serves: "cp.async.bulk" goes before "cp.async".
  std::string_view name;
  Decoder* decode;
  /// The modifiers that the decoder models, separated by spaces. Types need not be listed. `any` leaves the check to the
  /// decoder.
  std::string_view modifiers = any;

  static constexpr std::string_view any = "*";
};
/// Decodes one instruction. Throws a DecodeError that says why if the model lacks it.
void decode(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction&);

}  // namespace gpu_model
