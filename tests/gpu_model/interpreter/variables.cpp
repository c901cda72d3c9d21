// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "variables.hpp"

#include <cstring>

namespace gpu_model {

Variable read_variable(Scanner& scanner) {
  Variable v;
  u64 lanes = 1;
  for (;;) {
    const std::string_view word = scanner.identifier();
    if (word == ".align") {
      v.align = static_cast<u32>(scanner.integer());
    } else if (word == ".v2" || word == ".v4") {
      lanes = word == ".v2" ? 2 : 4;
    } else if (word == ".attribute") {
      scanner.skip_past(')');
    } else if (word.starts_with('.')) {
      const bool of_pointer = word == ".ptr" || word == ".global" || word == ".const" || word == ".shared" || word == ".local";
      if (of_pointer) continue;
      v.type = type_of(word.substr(1));
      if (v.type == Type::none) scanner.fail("variable type " + std::string(word));
    } else {
      v.name = word;
      break;
    }
  }
  const u64 element = static_cast<u64>(size_of(v.type)) * lanes;
  v.bytes = element;
  while (scanner.take('[')) {
    if (scanner.peek() == ']')
      v.unsized = true;
    else
      v.bytes *= scanner.integer();
    scanner.expect(']');
  }
  if (v.unsized) v.bytes = 0;
  if (!v.align) v.align = static_cast<u32>(element ? element : 1);
  return v;
}

void read_shared_variables(Scanner& scanner, std::unordered_map<std::string, Symbol>& symbols, bool external) {
  do {
    const Variable v = read_variable(scanner);
    symbols[v.name] = {
        .where = Symbol::shared, .bytes = v.bytes, .align = v.align, .dynamic = v.unsized || (external && v.bytes == 0)};
  } while (scanner.take(','));
  scanner.expect(';');
}

Operand read_number(Scanner& scanner) {
  Operand a;
  a.k = Operand::imm;
  bool negative = false;
  for (;;) {
    if (scanner.take('-'))
      negative = !negative;
    else if (!scanner.take('+'))
      break;
  }
  const std::string_view prefix = scanner.upcoming(2);
  if (prefix == "0f" || prefix == "0F") {
    a.num = Operand::f32bits;
    a.bits = scanner.hexadecimal(8) ^ (negative ? 0x80000000u : 0);
  } else if (prefix == "0d" || prefix == "0D") {
    a.num = Operand::f64bits;
    a.bits = scanner.hexadecimal(16) ^ (negative ? u64(1) << 63 : 0);
  } else if (scanner.at_decimal()) {
    a.num = Operand::decimal;
    a.dec = scanner.decimal() * (negative ? -1 : 1);
  } else {
    a.bits = scanner.integer();
    if (negative) a.bits = 0 - a.bits;
  }
  return a;
}

u64 immediate_bits(const Operand& a, Type type) {
  const int bytes = size_of(type);
  const bool as_written =
      a.num == Operand::integer || (a.num == Operand::f32bits && bytes == 4) || (a.num == Operand::f64bits && bytes == 8);
  if (as_written) return a.bits;
  const bool takes_floats = is_float(type) || type == Type::b32 || type == Type::b64;
  if (!takes_floats) throw DecodeError("a floating-point constant as an integer");
  double value = a.dec;
  if (a.num == Operand::f32bits) value = std::bit_cast<float>(static_cast<u32>(a.bits));
  if (a.num == Operand::f64bits) value = std::bit_cast<double>(a.bits);
  if (bytes == 8) return std::bit_cast<u64>(value);
  if (bytes == 4) return std::bit_cast<u32>(static_cast<float>(value));
  return type == Type::bf16 ? double_to_bf16(value) : double_to_half(value);
}

void GlobalVariables::read_initial_value(u8*& at, const u8* end, Type type) {
  if (scanner_.take('{')) {
    do read_initial_value(at, end, type);
    while (scanner_.take(','));
    scanner_.expect('}');
    return;
  }
  const int bytes = size_of(type);
  if (at + bytes > end) scanner_.fail("initialiser too long");
  const char first = scanner_.peek();
  u64 value = 0;
  if ((first >= '0' && first <= '9') || first == '-') {
    value = immediate_bits(read_number(scanner_), type);
  } else {
    std::string name(scanner_.identifier());
    if (name == "generic") {
      scanner_.expect('(');
      name = scanner_.identifier();
      scanner_.expect(')');
    }
    const s64 offset = scanner_.take('+') ? static_cast<s64>(scanner_.integer()) : 0;
    addresses_.push_back({at, name, offset});
  }
  std::memcpy(at, &value, static_cast<std::size_t>(bytes));
  at += bytes;
}

void GlobalVariables::read() {
  constexpr u64 alignment = 256;
  const Variable v = read_variable(scanner_);
  const std::size_t known_addresses = addresses_.size();
  auto storage = std::make_unique<u8[]>(v.bytes + alignment);
  u8* begin = storage.get() + (alignment - reinterpret_cast<u64>(storage.get()) % alignment);
  if (scanner_.take('=')) {
    if (v.unsized) scanner_.fail("a variable without a size has an initialiser");
    u8* at = begin;
    read_initial_value(at, begin + v.bytes, v.type);
  }
  scanner_.expect(';');
  if (module_.symbols.contains(v.name)) {
    addresses_.erase(addresses_.begin() + static_cast<std::ptrdiff_t>(known_addresses), addresses_.end());
    return;
  }
  if (v.bytes) allow_range(begin, v.bytes);
  module_.symbols[v.name] = {
      .where = Symbol::global, .host = begin, .offset = reinterpret_cast<u64>(begin), .bytes = v.bytes, .align = v.align};
  module_.storage.push_back(std::move(storage));
}

void GlobalVariables::resolve_addresses() {
  for (const Address& a : addresses_) {
    const auto found = module_.symbols.find(a.name);
    if (found == module_.symbols.end()) throw std::runtime_error("PTX: an initialiser names the unknown variable " + a.name);
    const u64 value = found->second.offset + static_cast<u64>(a.offset);
    std::memcpy(a.at, &value, sizeof value);
  }
}

}  // namespace gpu_model
