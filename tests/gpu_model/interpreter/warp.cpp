// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Instructions between the lanes of a warp. Semantics: PTX ISA, shfl.sync under "Data Movement and Conversion Instructions",
// the others under "Parallel Synchronization and Communication Instructions". The scheduler calls a .sync instruction when all
// lanes of its mask have arrived.
#include <algorithm>

#include "decoder.hpp"
#include "lanes.hpp"

namespace gpu_model {
namespace {

void broadcast(Warp& w, const Instruction& i, u32 mask, u32 value) {
  u32* d = w.row<u32>(i.d);
  for (const u32 lane : Lanes(mask)) d[lane] = value;
}
void put_lanes(Warp& w, const Instruction& i, u32 mask, const u32* values) {
  u32* d = w.row<u32>(i.d);
  for (const u32 lane : Lanes(mask)) d[lane] = values[lane];
}
// The predicate after '|', which the list holds if there is one.
void put_second(Warp& w, const Instruction& i, u32 mask, u32 bits) {
  if (i.list_n) set_predicate(w, w.body->lists[i.list], bits, mask);
}
void decode_second(Builder& b, const Operand& destination, Instruction& ins) {
  if (destination.second.empty()) return;
  add_list(b, ins, {b.dest(destination.second[0])});
  ins.list_written = true;
}

/// The last of `names` that the opcode has, as an index; throws if it has none.
template <std::size_t count>
u16 variant(const Mnemonic& op, const std::string_view (&names)[count]) {
  for (std::size_t k = count; k-- > 0;)
    if (op.has(names[k])) return static_cast<u16>(k);
  throw DecodeError("its operation is missing");
}

enum Shuffle : u16 { up, down, bfly, idx };
constexpr std::string_view shuffle_names[] = {"up", "down", "bfly", "idx"};
void run_shfl(Warp& w, const Instruction& i, u32 mask) {
  constexpr u32 poison = 0xffffffffu;  // what is read of a lane outside the mask is undefined
  const u32 *a = w.row<u32>(i.a), *b = w.row<u32>(i.b), *c = w.row<u32>(i.c);
  u32 result[32], in_range = 0;
  for (const u32 lane : Lanes(mask)) {
    const u32 distance = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    const s32 last = static_cast<s32>((lane & segment) | (clamp & ~segment));
    s32 from = 0;
    switch (i.aux) {
      case up:
        from = static_cast<s32>(lane) - static_cast<s32>(distance);
        break;
      case down:
        from = static_cast<s32>(lane + distance);
        break;
      case bfly:
        from = static_cast<s32>(lane ^ distance);
        break;
      default:
        from = static_cast<s32>((lane & segment) | (distance & ~segment));
    }
    if (i.aux == up ? from >= last : from <= last)
      in_range |= 1u << lane;
    else
      from = static_cast<s32>(lane);
    result[lane] = mask >> from & 1 ? a[from] : poison;
  }
  put_lanes(w, i, mask, result);
  put_second(w, i, mask, in_range);
}

enum Vote : u16 { any, all, uni, ballot };
constexpr std::string_view vote_names[] = {"any", "all", "uni", "ballot"};
void run_vote(Warp& w, const Instruction& i, u32 mask) {
  u32 votes = *w.row<u32>(i.a);
  if (i.source_not) votes = ~votes;
  votes &= mask;
  if (i.aux == ballot) {
    broadcast(w, i, mask, votes);
    return;
  }
  const bool result = i.aux == any ? votes != 0 : i.aux == all ? votes == mask : votes == mask || votes == 0;
  set_predicate(w, i.d, result ? ~0u : 0, mask);
}

void run_activemask(Warp& w, const Instruction& i, u32 mask) { broadcast(w, i, mask, mask); }

// aux: 1 for match.all.
template <class T>
void run_match(Warp& w, const Instruction& i, u32 mask) {
  const T* a = w.row<T>(i.a);
  u32 result[32], all_match = 0;
  for (const u32 lane : Lanes(mask)) {
    result[lane] = 0;
    for (const u32 other : Lanes(mask))
      if (a[other] == a[lane]) result[lane] |= 1u << other;
    if (!i.aux) continue;
    if (result[lane] == mask)
      all_match |= 1u << lane;
    else
      result[lane] = 0;
  }
  put_lanes(w, i, mask, result);
  put_second(w, i, mask, all_match);
}

// The lowest lane; the ISA leaves the choice open.
void run_elect(Warp& w, const Instruction& i, u32 mask) {
  const u32 leader = first_lane(mask);
  if (i.d) broadcast(w, i, mask, leader);
  put_second(w, i, mask, 1u << leader);
}

enum Reduction : u16 { add, min, max, bit_and, bit_or, bit_xor };
constexpr std::string_view reduction_names[] = {"add", "min", "max", "and", "or", "xor"};
template <class T>
void run_redux(Warp& w, const Instruction& i, u32 mask) {
  const T* a = w.row<T>(i.a);
  T result = a[first_lane(mask)];
  for (const u32 lane : Lanes(mask & (mask - 1))) {
    const T value = a[lane];
    switch (i.aux) {
      case add:
        result = static_cast<T>(result + value);
        break;
      case min:
        result = std::min(result, value);
        break;
      case max:
        result = std::max(result, value);
        break;
      case bit_and:
        result &= value;
        break;
      case bit_or:
        result |= value;
        break;
      default:
        result ^= value;
    }
  }
  broadcast(w, i, mask, static_cast<u32>(result));
}

}  // namespace

bool decode_shfl(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  if (!op.has("sync")) return false;
  decode_operands(b, operands, ins, {Type::b32, Type::b32, Type::b32, Type::b32});
  decode_second(b, operands[0], ins);
  ins.kind = Kind::sync;
  ins.aux = variant(op, shuffle_names);
  ins.fn = run_shfl;
  return true;
}
bool decode_vote(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  if (!op.has("sync") || operands.size() != 3) return false;
  ins.kind = Kind::sync;
  ins.aux = variant(op, vote_names);
  ins.d = b.dest(operands[0]);
  ins.a = b.source(operands[1], Type::pred);
  ins.source_not = operands[1].is_not;
  ins.e = b.source(operands[2], Type::b32);
  ins.fn = run_vote;
  return true;
}
bool decode_activemask(Builder& b, const Mnemonic&, std::vector<Operand>& operands, Instruction& ins) {
  decode_operands(b, operands, ins, {});
  ins.fn = run_activemask;
  return true;
}
bool decode_match(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  if (!op.has("sync") || operands.size() != 3) return false;
  ins.kind = Kind::sync;
  ins.aux = op.has("all");
  ins.d = b.dest(operands[0]);
  decode_second(b, operands[0], ins);
  ins.a = b.source(operands[1], t);
  ins.e = b.source(operands[2], Type::b32);
  ins.fn = size_of(t) == 8 ? run_match<u64> : run_match<u32>;
  return true;
}
bool decode_elect(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  if (!op.has("sync") || operands.size() != 2) return false;
  ins.kind = Kind::sync;
  ins.d = b.dest(operands[0]);
  decode_second(b, operands[0], ins);
  ins.e = b.source(operands[1], Type::b32);
  ins.fn = run_elect;
  return true;
}
bool decode_redux(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Type t = op.type();
  if (!op.has("sync") || operands.size() != 3 || size_of(t) != 4 || is_float(t)) return false;
  ins.kind = Kind::sync;
  ins.aux = variant(op, reduction_names);
  ins.d = b.dest(operands[0]);
  ins.a = b.source(operands[1], t);
  ins.e = b.source(operands[2], Type::b32);
  ins.fn = t == Type::s32 ? run_redux<s32> : run_redux<u32>;
  return true;
}

}  // namespace gpu_model
