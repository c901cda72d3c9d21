// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// mov: between registers, to and from packed vectors, of clocks.
#include <cstring>

#include "decoder.hpp"
#include "lanes.hpp"

namespace gpu_model {
namespace {

template <class D, class S>
void run_mov(Warp& w, const Instruction& i, u32 mask) {
  map1<D, S>(w, i, mask, [](S a) { return static_cast<D>(a); });
}
void run_mov_predicate(Warp& w, const Instruction& i, u32 mask) { set_predicate(w, i.d, *w.row<u32>(i.a), mask); }

// The list holds the parts, of msize bytes each, lowest first.
template <bool pack>
void run_mov_vector(Warp& w, const Instruction& i, u32 mask) {
  const u32* parts = w.body->lists.data() + i.list;
  for (u32 k = 0; k < i.list_n; ++k)
    for (const u32 lane : Lanes(mask)) {
      u8* whole = w.registers + (pack ? i.d + lane * i.ds : i.a + lane * i.as) + k * i.msize;
      u8* part = w.registers + parts[k] + lane * i.msize;
      std::memcpy(pack ? whole : part, pack ? part : whole, i.msize);
    }
}

u64 read_clock(const Time& time, Clock clock) {
  switch (clock) {
    case Clock::cycles:
      return time.clock64;
    case Clock::cycles_high:
      return time.clock64 >> 32;
    case Clock::nanoseconds:
      return time.globaltimer_ns;
    default:
      return time.globaltimer_ns >> 32;
  }
}
// aux is the Clock. In wall time the warp gives way: it probably spins until a time has passed.
void run_mov_clock(Warp& w, const Instruction& i, u32 mask) {
  Launch& launch = *w.launch;
  advance_time(launch);
  const u64 value = read_clock(*launch.time, static_cast<Clock>(i.aux));
  for (const u32 lane : Lanes(mask)) std::memcpy(w.registers + i.d + lane * i.ds, &value, i.ds);
  if (launch.time->wall) w.yield = true;
}

bool decode_mov_vector(Builder& b, Type type, const std::vector<Operand>& operands, Instruction& ins, bool pack) {
  const Operand& vector = operands[pack ? 1 : 0];
  const int part_bytes = size_of(type) / static_cast<int>(vector.sub.size());
  if (part_bytes < 2) return false;
  const Type part = part_bytes == 2 ? Type::b16 : part_bytes == 4 ? Type::b32 : Type::b64;
  ins.msize = static_cast<u8>(part_bytes);
  if (pack)
    ins.d = b.dest(operands[0], &ins.ds);
  else
    ins.a = b.source(operands[1], type, &ins.as);
  std::vector<u32> rows;
  for (const Operand& element : vector.sub) {
    u8 bytes = ins.msize;
    rows.push_back(pack ? b.source(element, part, &bytes) : b.dest(element, &bytes));
    if (element.k != Operand::sink && bytes != ins.msize) throw DecodeError("a part of another size");
  }
  add_list(b, ins, rows);
  ins.list_written = !pack;
  ins.fn = pack ? run_mov_vector<true> : run_mov_vector<false>;
  return true;
}

}  // namespace

bool decode_mov(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  if (operands.size() != 2) return false;
  const Type t = op.type();
  const Operand& source = operands[1];
  if (source.clock != Clock::none) {
    ins.d = b.dest(operands[0], &ins.ds);
    ins.aux = static_cast<u16>(source.clock);
    ins.fn = run_mov_clock;
    return true;
  }
  if (operands[0].k == Operand::vec || source.k == Operand::vec)
    return decode_mov_vector(b, t, operands, ins, source.k == Operand::vec);
  decode_operands(b, operands, ins, {t});
  const bool widened_special = source.special != Special::none && ins.ds == 8;
  if (t == Type::pred)
    ins.fn = run_mov_predicate;
  else if (widened_special)
    ins.fn = run_mov<u64, u32>;
  else
    switch (size_of(t)) {
      case 2:
        ins.fn = run_mov<u16, u16>;
        break;
      case 4:
        ins.fn = run_mov<u32, u32>;
        break;
      case 8:
        ins.fn = run_mov<u64, u64>;
        break;
    }
  return ins.fn;
}

}  // namespace gpu_model
