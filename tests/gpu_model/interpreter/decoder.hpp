// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "instruction.hpp"

namespace gpu_model {

struct Operand {
  enum K : u8 { none, reg, imm, symbol, address, vec, sink, label } k = none;
  u32 row = 0;
  Type type = Type::none;  // reg
  Special special = Special::none;
  bool clock = false;
  u8 clock_kind = 0;
  bool is_not = false;
  enum Num : u8 { integer, f32bits, f64bits, decimal } num = integer;
  u64 bits = 0;
  double dec = 0;
  std::string name;
  s64 offset = 0;               // symbol, address base, label
  std::vector<Operand> sub;     // vector elements; address: [0] base, then further ones
  std::vector<Operand> second;  // after '|'
};

struct Mnemonic {
  std::string text;
  std::vector<std::string_view> parts;
  bool has(std::string_view p) const {
    for (std::size_t i = 1; i < parts.size(); ++i)
      if (parts[i] == p) return true;
    return false;
  }
  Type type(int from_end = 0) const {  // the from_end-th type counted from the end
    for (std::size_t i = parts.size(); i-- > 1;) {
      Type t = type_of(parts[i]);
      if (t != Type::none && from_end-- == 0) return t;
    }
    return Type::none;
  }
};

struct Builder {
  Module::Impl* mod = nullptr;
  Function* fn = nullptr;
  virtual ~Builder() = default;
  virtual u32 source(const Operand&, Type as, u8* size = nullptr) = 0;  // row of a register, constant, symbol's address
  virtual u32 dest(const Operand&, u8* size = nullptr) = 0;
  virtual u32 constant(u64 bits, int size) = 0;
  virtual void address(const Operand&, Instruction&) = 0;  // [..] into a, as, imm
};
struct DecodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Fills in `ins` for an opcode with its modifiers and operands; false where it does not know this form of the opcode.
using Decoder = bool(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction&);
Decoder decode_alu, decode_memory, decode_mma, decode_warp;

/// One row of the table of opcodes. `name` is the opcode or the longest beginning of it, whole parts, that one decoder serves:
/// "cp.async.bulk" goes before "cp.async".
struct Opcode {
  std::string_view name;
  Decoder* decode;
};
/// The decoder of an opcode with all its modifiers ("ld.global.v4.f32"); nullptr where the table has none.
Decoder* find_decoder(std::string_view text);

}  // namespace gpu_model
