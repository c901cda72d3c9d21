// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// cvta, mapa, isspacep, createpolicy.
#include <utility>

#include "addresses.hpp"
#include "lanes.hpp"
#include "memory_operands.hpp"

namespace gpu_model {
namespace {

void put(Warp& w, const Instruction& i, int lane, u64 value) {
  std::memcpy(w.registers + i.d + static_cast<u32>(lane) * i.ds, &value, i.ds);
}

/// d = a + imm; imm is where the window of the space begins.
void cvta(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  for (const u32 lane : Lanes(mask)) put(w, i, lane, addresses[lane]);
}
void cvta_same(Warp& w, const Instruction& i, u32 mask) {
  u64* out = w.row<u64>(i.d);
  const u64* in = w.row<u64>(i.a);
  for (const u32 lane : Lanes(mask)) out[lane] = in[lane];
}
/// The parameters lie in the launch's own memory, whose address the decoder cannot know.
void cvta_param(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, i.imm, addresses);
  for (const u32 lane : Lanes(mask)) put(w, i, lane, addresses[lane] + reinterpret_cast<u64>(w.launch->params));
}
void cvta_to_param(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, 0, addresses);
  for (const u32 lane : Lanes(mask)) put(w, i, lane, addresses[lane] - reinterpret_cast<u64>(w.launch->params));
}

/// aux: 1 where the addresses are generic ones.
void mapa(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32], ranks[32];
  gather(w, i.a, i.as, i.imm, addresses);
  gather(w, i.b, i.bs, 0, ranks);
  const u64 window = i.aux ? shared_window : 0;
  for (const u32 lane : Lanes(mask)) {
    if (ranks[lane] >= w.cluster->blocks.size())
      fault(Fault::Kind::illegal_address, w, i, lane,
            "mapa: rank " + std::to_string(ranks[lane]) + " in a cluster of " + std::to_string(w.cluster->blocks.size()));
    const u64 in_block = (addresses[lane] - window) & offset_mask;
    put(w, i, lane, window + ((ranks[lane] + 1) << rank_shift | in_block));
  }
}

void isspacep(Warp& w, const Instruction& i, u32 mask) {
  u64 addresses[32];
  gather(w, i.a, i.as, 0, addresses);
  u32 inside = 0;
  for (const u32 lane : Lanes(mask)) {
    const Space space = addresses[lane] >= local_window    ? Space::local
                        : addresses[lane] >= shared_window ? Space::shared
                                                           : Space::global;
    if (space == i.space) inside |= 1u << lane;
  }
  set_predicate(w, i.d, inside, mask);
}

}  // namespace

bool decode_cvta(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  decode_operands(b, args, ins, {op.type()});
  ins.fn = cvta;
  const bool to = op.has("to");
  switch (space_of(op)) {
    case Space::global:
    case Space::constant:
      if (ins.as == 8 && ins.ds == 8) ins.fn = cvta_same;
      return true;
    case Space::shared:
    case Space::cluster:
      ins.imm = static_cast<s64>(to ? 0 - shared_window : shared_window);
      return true;
    case Space::local:
      ins.imm = static_cast<s64>(to ? 0 - local_window : local_window);
      return true;
    case Space::param:
      ins.fn = to ? cvta_to_param : cvta_param;
      return true;
    default:
      return false;
  }
}

bool decode_mapa(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  ins.aux = op.has("shared::cluster") ? 0 : 1;
  if (args.size() == 3) ins.imm = std::exchange(args[1].offset, 0);
  decode_operands(b, args, ins, {op.type(), Type::b32});
  ins.fn = mapa;
  return true;
}

bool decode_isspacep(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  decode_operands(b, args, ins, {Type::b64});
  ins.space = space_of(op) == Space::cluster ? Space::shared : space_of(op);
  ins.fn = isspacep;
  return true;
}

/// A policy is a value that the loads and stores given it ignore.
bool decode_createpolicy(Builder& b, const Mnemonic&, std::vector<Operand>& args, Instruction& ins) {
  if (args.empty()) return false;
  ins.d = b.dest(args[0], &ins.ds);
  ins.a = b.constant(0, 8);
  ins.as = 8;
  ins.fn = cvta;
  return true;
}

}  // namespace gpu_model
