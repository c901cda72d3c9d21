// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// ld and st.
#include <algorithm>
#include <type_traits>

#include "addresses.hpp"
#include "lanes.hpp"
#include "memory_operands.hpp"

namespace gpu_model {
namespace {

u64 bytes_of_lanes(u32 mask, u32 bytes) { return static_cast<u64>(std::popcount(mask)) * bytes; }

/// Extended to Register with the sign of Memory.
template <class Register, class Memory>
Register read(u64 pointer) {
  Memory value;
  std::memcpy(&value, host_pointer(pointer), sizeof value);
  return static_cast<Register>(value);  // NOLINT(bugprone-signed-char-misuse): s8 is a number
}

template <class Memory, class Register>
void ld(Warp& w, const Instruction& i, u32 mask) {
  u64 pointers[32];
  gather(w, i.a, i.as, i.imm, pointers);
  const u32 bytes = static_cast<u32>(sizeof(Memory)) * i.n;
  resolve(w, i, mask, pointers, bytes, false);
  Counters& counters = *w.launch->counters;
  if (i.space == Space::global || i.space == Space::generic)
    counters.global_load_bytes += bytes_of_lanes(mask, bytes);
  else if (i.space == Space::shared)
    counters.shared_bytes += bytes_of_lanes(mask, bytes);
  if (i.n == 1) {
    Register* out = w.row<Register>(i.d);
    for_lanes(mask, [&](u32 lane) { out[lane] = read<Register, Memory>(pointers[lane]); });
    return;
  }
  const u32* rows = w.body->lists.data() + i.list;
  for (u32 k = 0; k < i.n; ++k) {
    if (rows[k] == 0) continue;
    Register* out = w.row<Register>(rows[k]);
    for_lanes(mask, [&](u32 lane) { out[lane] = read<Register, Memory>(pointers[lane] + k * sizeof(Memory)); });
  }
}

template <class Memory, class Register>
void st(Warp& w, const Instruction& i, u32 mask) {
  u64 pointers[32];
  gather(w, i.a, i.as, i.imm, pointers);
  const u32 bytes = static_cast<u32>(sizeof(Memory)) * i.n;
  resolve(w, i, mask, pointers, bytes, true);
  Launch& launch = *w.launch;
  ++launch.effects;
  if (i.space == Space::global || i.space == Space::generic)
    launch.counters->global_store_bytes += bytes_of_lanes(mask, bytes);
  else if (i.space == Space::shared)
    launch.counters->shared_bytes += bytes_of_lanes(mask, bytes);
  const u32* rows = i.n == 1 ? &i.d : w.body->lists.data() + i.list;
  for (u32 k = 0; k < i.n; ++k) {
    const Register* in = w.row<Register>(rows[k]);
    for (const u32 lane : Lanes(mask)) {
      const Memory value = static_cast<Memory>(in[lane]);
      std::memcpy(host_pointer(pointers[lane]) + k * sizeof(Memory), &value, sizeof value);
    }
  }
}

template <class Memory>
Handler ld_into(int register_bytes) {
  using Signed = std::is_signed<Memory>;
  if (register_bytes < static_cast<int>(sizeof(Memory))) return nullptr;
  switch (register_bytes) {
    case 2:
      return ld<Memory, std::conditional_t<Signed::value, s16, u16>>;
    case 4:
      return ld<Memory, std::conditional_t<Signed::value, s32, u32>>;
    case 8:
      return ld<Memory, std::conditional_t<Signed::value, s64, u64>>;
    default:
      return nullptr;
  }
}

Handler ld_of(Type type, int register_bytes) {
  const bool extends_sign = is_signed(type);
  switch (size_of(type)) {
    case 1:
      return extends_sign ? ld_into<s8>(register_bytes) : ld_into<u8>(register_bytes);
    case 2:
      return extends_sign ? ld_into<s16>(register_bytes) : ld_into<u16>(register_bytes);
    case 4:
      return extends_sign ? ld_into<s32>(register_bytes) : ld_into<u32>(register_bytes);
    case 8:
      return ld_into<u64>(register_bytes);
    default:
      return nullptr;
  }
}

template <class Memory>
Handler st_from(int register_bytes) {
  switch (register_bytes) {
    case 2:
      return st<Memory, u16>;
    case 4:
      return st<Memory, u32>;
    case 8:
      return st<Memory, u64>;
    default:
      return nullptr;
  }
}

Handler st_of(Type type, int register_bytes) {
  switch (size_of(type)) {
    case 1:
      return st_from<u8>(register_bytes);
    case 2:
      return st_from<u16>(register_bytes);
    case 4:
      return st_from<u32>(register_bytes);
    case 8:
      return st_from<u64>(register_bytes);
    default:
      return nullptr;
  }
}

/// The one size of a vector's registers, in bytes; 0 where none is named, -1 where they differ.
int register_bytes_of(Builder& b, const std::vector<Operand>& elements, Type type) {
  int bytes = 0;
  for (const Operand& element : elements) {
    if (element.k != Operand::reg) continue;
    u8 size = 0;
    b.source(element, type, &size);
    if (bytes && bytes != size) return -1;
    bytes = size;
  }
  return bytes;
}

}  // namespace

bool decode_ld(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() < 2) return false;
  const Type type = op.type();
  ins.space = space_of(op);
  b.address(args[1], ins);
  ins.msize = static_cast<u8>(size_of(type));
  int register_bytes = 0;
  if (args[0].k == Operand::vec) {
    std::vector<u32> rows;
    for (const Operand& element : args[0].sub) {
      u8 size = 0;
      rows.push_back(b.dest(element, &size));
      if (element.k == Operand::sink) continue;
      if (register_bytes && register_bytes != size) return false;
      register_bytes = size;
    }
    add_list(b, ins, rows);
    ins.list_written = true;
    ins.n = static_cast<u8>(rows.size());
    if (!register_bytes) register_bytes = std::max<int>(ins.msize, 2);
  } else {
    ins.d = b.dest(args[0], &ins.ds);
    ins.n = 1;
    register_bytes = ins.ds;
  }
  ins.fn = ld_of(type, register_bytes);
  return ins.fn != nullptr;
}

bool decode_st(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() < 2) return false;
  const Type type = op.type();
  ins.space = space_of(op);
  if (ins.space == Space::param) return false;
  b.address(args[0], ins);
  ins.msize = static_cast<u8>(size_of(type));
  ins.d_source = true;
  int register_bytes = 0;
  if (args[1].k == Operand::vec) {
    register_bytes = register_bytes_of(b, args[1].sub, type);
    if (register_bytes < 0) return false;
    const Type of_integers = register_bytes == 2   ? Type::b16
                             : register_bytes == 4 ? Type::b32
                             : register_bytes == 8 ? Type::b64
                                                   : type;
    std::vector<u32> rows;
    for (const Operand& element : args[1].sub) {
      u8 size = 0;
      rows.push_back(b.source(element, element.k == Operand::imm && !is_float(type) ? of_integers : type, &size));
      if (!register_bytes) register_bytes = size;
    }
    add_list(b, ins, rows);
    ins.n = static_cast<u8>(rows.size());
  } else {
    ins.d = b.source(args[1], type, &ins.ds);
    ins.n = 1;
    register_bytes = ins.ds;
  }
  ins.fn = st_of(type, register_bytes);
  return ins.fn != nullptr;
}

}  // namespace gpu_model
