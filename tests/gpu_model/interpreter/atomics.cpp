// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// atom and red. Host atomics, since streams and devices run on threads of their own.
#include <algorithm>
#include <string_view>
#include <type_traits>

#include "addresses.hpp"
#include "lanes.hpp"
#include "memory_operands.hpp"

namespace gpu_model {
namespace {

enum class Operation : u8 { add, min, max, bit_and, bit_or, bit_xor, exch, cas, inc, dec };

/// The new value of memory that held `old`.
template <class T, Operation operation>
T apply(T old, T b, T c) {
  if constexpr (operation == Operation::add)
    return static_cast<T>(old + b);
  else if constexpr (operation == Operation::min)
    return std::min(old, b);
  else if constexpr (operation == Operation::max)
    return std::max(old, b);
  else if constexpr (operation == Operation::exch)
    return b;
  else if constexpr (operation == Operation::cas)
    return old == b ? c : old;
  else if constexpr (operation == Operation::inc)
    return old >= b ? T(0) : static_cast<T>(old + 1);
  else if constexpr (operation == Operation::dec)
    return old == 0 || old > b ? b : static_cast<T>(old - 1);
  else if constexpr (operation == Operation::bit_and)
    return old & b;
  else if constexpr (operation == Operation::bit_or)
    return old | b;
  else
    return old ^ b;
}

template <class T, Operation operation>
void atom(Warp& w, const Instruction& i, u32 mask) {
  using Bits = std::conditional_t<sizeof(T) == 8, u64, std::conditional_t<sizeof(T) == 4, u32, u16>>;
  u64 pointers[32];
  gather(w, i.a, i.as, i.imm, pointers);
  resolve(w, i, mask, pointers, sizeof(T), true);
  ++w.launch->effects;
  const u64 bytes = static_cast<u64>(std::popcount(mask)) * sizeof(T);
  w.launch->counters->global_load_bytes += bytes;
  w.launch->counters->global_store_bytes += bytes;
  for (const u32 lane : Lanes(mask)) {
    const T b = w.row<T>(i.b)[lane], c = operation == Operation::cas ? w.row<T>(i.c)[lane] : T{};
    Bits* memory = reinterpret_cast<Bits*>(host_pointer(pointers[lane]));
    Bits old = __atomic_load_n(memory, __ATOMIC_SEQ_CST), desired;
    do desired = std::bit_cast<Bits>(apply<T, operation>(std::bit_cast<T>(old), b, c));
    while (!__atomic_compare_exchange_n(memory, &old, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    if (i.d) w.row<Bits>(i.d)[lane] = old;
  }
}

template <bool modelled, class T, Operation operation>
Handler atom_if() {
  if constexpr (modelled)
    return atom<T, operation>;
  else
    return nullptr;
}

template <Operation operation>
Handler atom_of(Type type) {
  constexpr bool exchanges = operation == Operation::exch || operation == Operation::cas;
  constexpr bool of_floats = operation == Operation::add || operation == Operation::exch;
  constexpr bool wraps = operation == Operation::inc || operation == Operation::dec;
  if constexpr (wraps)
    return type == Type::u32 ? atom<u32, operation> : nullptr;
  else {
    switch (type) {
      case Type::u32:
      case Type::b32:
        return atom<u32, operation>;
      case Type::u64:
      case Type::b64:
        return atom<u64, operation>;
      case Type::s32:
        return atom<s32, operation>;
      case Type::s64:
        return atom<s64, operation>;
      case Type::b16:
        return atom_if<exchanges, u16, operation>();
      case Type::f32:
        return atom_if<of_floats, float, operation>();
      case Type::f64:
        return atom_if<of_floats, double, operation>();
      default:
        return nullptr;
    }
  }
}

constexpr struct {
  std::string_view name;
  Handler (*handler)(Type);
} operations[] = {
    {"add", atom_of<Operation::add>},     {"min", atom_of<Operation::min>},   {"max", atom_of<Operation::max>},
    {"and", atom_of<Operation::bit_and>}, {"or", atom_of<Operation::bit_or>}, {"xor", atom_of<Operation::bit_xor>},
    {"exch", atom_of<Operation::exch>},   {"cas", atom_of<Operation::cas>},   {"inc", atom_of<Operation::inc>},
    {"dec", atom_of<Operation::dec>},
};

/// atom has a destination before the operands of red.
bool decode(Builder& b, const Mnemonic& op, const std::vector<Operand>& args, Instruction& ins, std::size_t first) {
  const Type type = op.type();
  if (args.size() < first + 2 || args[first].k != Operand::address) return false;
  if (size_of(type) == 0 || args[first + 1].k == Operand::vec) return false;
  ins.is_atomic = true;
  ins.space = space_of(op);
  b.address(args[first], ins);
  if (first) ins.d = b.dest(args[0], &ins.ds);
  ins.b = b.source(args[first + 1], type, &ins.bs);
  if (op.has("cas")) {
    if (args.size() < first + 3) return false;
    ins.c = b.source(args[first + 2], type, &ins.cs);
  }
  const auto* found =
      std::find_if(std::begin(operations), std::end(operations), [&](const auto& known) { return op.has(known.name); });
  if (found != std::end(operations)) ins.fn = found->handler(type);
  return ins.fn != nullptr;
}

}  // namespace

bool decode_atom(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  return decode(b, op, args, ins, 1);
}
bool decode_red(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  return decode(b, op, args, ins, 0);
}

}  // namespace gpu_model
