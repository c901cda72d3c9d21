// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Operands of instructions, and the rows of the register file that they stand for.
#include <algorithm>
#include <cstring>
#include <utility>

#include "function_parser.hpp"
#include "variables.hpp"

namespace gpu_model {
namespace {

constexpr std::pair<std::string_view, Special> special_names[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%is_explicit_cluster", Special::is_explicit_cluster},
    {"%envreg1", Special::envreg1},
    {"%envreg2", Special::envreg2},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%gridid", Special::gridid},
};
constexpr std::pair<std::string_view, Clock> clock_names[] = {
    {"%clock", Clock::cycles},
    {"%clock64", Clock::cycles},
    {"%clock_hi", Clock::cycles_high},
    {"%globaltimer", Clock::nanoseconds},
    {"%globaltimer_lo", Clock::nanoseconds},
    {"%globaltimer_hi", Clock::nanoseconds_high},
};

template <class Value, std::size_t size>
Value find(const std::pair<std::string_view, Value> (&names)[size], std::string_view name) {
  for (const auto& [known, value] : names)
    if (known == name) return value;
  return Value::none;
}

}  // namespace

Mnemonic::Mnemonic(std::string_view opcode) : text(opcode) {
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t dot = std::min(text.find('.', start), text.size());
    parts.push_back(text.substr(start, dot - start));
    start = dot + 1;
  }
}
bool Mnemonic::has(std::string_view modifier) const {
  return std::find(parts.begin() + 1, parts.end(), modifier) != parts.end();
}
Type Mnemonic::type(int from_end) const {
  for (std::size_t k = parts.size(); k-- > 1;) {
    const Type type = type_of(parts[k]);
    if (type != Type::none && from_end-- == 0) return type;
  }
  return Type::none;
}

void decode_operands(Builder& b, const std::vector<Operand>& operands, Instruction& ins, std::initializer_list<Type> sources) {
  const std::size_t count = sources.size() + 1;
  if (operands.size() != count)
    throw DecodeError(std::to_string(operands.size()) + " operands instead of " + std::to_string(count));
  ins.d = b.dest(operands[0], &ins.ds);
  u32* rows[] = {&ins.a, &ins.b, &ins.c, &ins.e};
  u8 size_of_e = 0;
  u8* sizes[] = {&ins.as, &ins.bs, &ins.cs, &size_of_e};
  std::size_t k = 0;
  for (const Type type : sources) {
    *rows[k] = b.source(operands[k + 1], type, sizes[k]);
    ++k;
  }
}

void add_list(Builder& b, Instruction& ins, const std::vector<u32>& rows) {
  std::vector<u32>& lists = b.fn->body.lists;
  ins.list = static_cast<u32>(lists.size());
  ins.list_n = static_cast<u32>(rows.size());
  lists.insert(lists.end(), rows.begin(), rows.end());
}

std::vector<Operand> FunctionParser::read_operands() {
  std::vector<Operand> operands;
  if (scanner_.peek() != ';') do
      operands.push_back(read_operand());
    while (scanner_.take(','));
  scanner_.expect(';');
  return operands;
}

Operand FunctionParser::read_operand() {
  Operand a;
  const char next = scanner_.peek();
  if (scanner_.take('{')) {
    a.k = Operand::vec;
    do a.sub.push_back(read_operand());
    while (scanner_.take(','));
    scanner_.expect('}');
  } else if (next == '[') {
    a = read_address();
  } else if (scanner_.take('!')) {
    a = read_name();
    a.is_not = true;
  } else if ((next >= '0' && next <= '9') || next == '-' || next == '+') {
    a = read_number(scanner_);
  } else {
    a = read_name();
    if (scanner_.take('|')) a.second.push_back(read_name());
  }
  return a;
}

Operand FunctionParser::read_address() {
  Operand a;
  a.k = Operand::address;
  scanner_.expect('[');
  do {
    Operand part = read_operand();
    while (scanner_.peek() == '+' || scanner_.peek() == '-') {
      const bool negative = scanner_.take('-');
      if (!negative) scanner_.expect('+');
      const s64 bytes = static_cast<s64>(scanner_.integer());
      part.offset += negative ? -bytes : bytes;
    }
    a.sub.push_back(std::move(part));
  } while (scanner_.take(','));
  scanner_.expect(']');
  return a;
}

Operand FunctionParser::read_name() {
  Operand a;
  std::string name(scanner_.identifier());
  if (name.empty()) scanner_.fail("expected an operand at " + scanner_.following());
  if (name == "_") {
    a.k = Operand::sink;
    return a;
  }
  if (name[0] == '%' && scanner_.here() == '.') name += scanner_.identifier();
  if (const auto found = registers_.find(name)) {
    a.k = Operand::reg;
    a.row = found->row;
    a.type = found->type;
    return a;
  }
  if (name[0] == '%') {
    a.k = Operand::reg;
    a.type = Type::u32;
    a.special = find(special_names, name);
    a.clock = find(clock_names, name);
    if (a.special == Special::none && a.clock == Clock::none) throw DecodeError("unknown register " + name);
    return a;
  }
  if (name == "WARP_SZ") {
    a.k = Operand::imm;
    a.bits = 32;
    return a;
  }
  a.name = name;
  a.k = symbols_.contains(name) || module_.symbols.contains(name) ? Operand::symbol : Operand::label;
  if (a.k == Operand::symbol && scanner_.take('+')) a.offset = static_cast<s64>(scanner_.integer());
  return a;
}

u32 FunctionParser::source(const Operand& a, Type as, u8* size) {
  const int bytes = size_of(as);
  if (size) *size = static_cast<u8>(bytes == 1 ? 2 : bytes);
  switch (a.k) {
    case Operand::reg:
      if (a.special != Special::none) {
        if (size) *size = 4;
        return special_register(a.special);
      }
      if (a.clock != Clock::none) throw DecodeError("a clock outside mov");
      if ((as == Type::pred) != (a.type == Type::pred)) throw DecodeError("a predicate where a number belongs, or the reverse");
      if (as != Type::pred && size_of(a.type) < bytes) throw DecodeError("a register narrower than the type");
      if (size) *size = static_cast<u8>(size_of(a.type));
      note_use(a, false);
      return a.row;
    case Operand::sink:
      return 0;
    case Operand::imm: {
      u64 bits = immediate_bits(a, as);
      if (as == Type::pred) return constant(bits ? 0xffffffffu : 0, 0);
      if (bytes < 8) bits &= (u64(1) << (8 * bytes)) - 1;
      if (as == Type::s8) bits = static_cast<u16>(static_cast<s8>(bits));
      return constant(bits, bytes);
    }
    case Operand::symbol:
      return symbol_address(a.name, a.offset, bytes);
    default:
      throw DecodeError("an operand of another kind");
  }
}

u32 FunctionParser::dest(const Operand& a, u8* size) {
  if (a.k == Operand::sink) {
    if (size) *size = 8;
    return 0;
  }
  if (a.k != Operand::reg || a.special != Special::none || a.clock != Clock::none)
    throw DecodeError("the destination is no register");
  if (size) *size = static_cast<u8>(size_of(a.type));
  note_use(a, true);
  return a.row;
}

void FunctionParser::address(const Operand& a, Instruction& ins) {
  if (a.k != Operand::address || a.sub.empty()) throw DecodeError("expected an address");
  Operand base = a.sub[0];
  ins.imm = std::exchange(base.offset, 0);
  switch (base.k) {
    case Operand::reg:
      ins.a = base.row;
      note_use(base, false);
      ins.as = static_cast<u8>(size_of(base.type));
      break;
    case Operand::symbol:
    case Operand::imm:
      ins.a = source(base, Type::b64, &ins.as);
      break;
    default:
      throw DecodeError("an address whose base is neither register, symbol nor number");
  }
}

void FunctionParser::branch(const Operand& label) {
  if (label.k != Operand::label) throw DecodeError("the target is no label");
  labels_.branch(label.name, body_.code.size());
}

void FunctionParser::note_use(const Operand& reg, bool writes) {
  const u32 bytes = reg.type == Type::pred ? 4 : static_cast<u32>(size_of(reg.type)) * 32;
  uses_.push_back({body_.code.size(), reg.row, bytes, writes});
}

u32 FunctionParser::new_image_row(std::size_t bytes) {
  const std::size_t row = body_.image.size();
  body_.image.resize(row + bytes);
  return static_cast<u32>(row) | in_image;
}

u32 FunctionParser::constant(u64 bits, int size) {
  if (size == 1) size = 2;
  const auto [found, fresh] = constants_.try_emplace({bits, size}, 0u);
  if (fresh) {
    const std::size_t bytes = static_cast<std::size_t>(size);
    found->second = new_image_row(size == 0 ? 64 : bytes * 32);
    u8* row = body_.image.data() + (found->second & ~in_image);
    if (size == 0)
      std::memcpy(row, &bits, 4);
    else
      for (std::size_t lane = 0; lane < 32; ++lane) std::memcpy(row + lane * bytes, &bits, bytes);
  }
  return found->second;
}

u32 FunctionParser::special_register(Special special) {
  const auto [found, fresh] = special_rows_.try_emplace(special, 0u);
  if (fresh) {
    found->second = new_image_row(4 * 32);
    body_.specials.push_back({found->second & ~in_image, special});
  }
  return found->second;
}

u32 FunctionParser::symbol_address(const std::string& name, s64 offset, int size) {
  auto found = symbols_.find(name);
  if (found == symbols_.end()) {
    found = module_.symbols.find(name);
    if (found == module_.symbols.end()) throw DecodeError("unknown symbol " + name);
  }
  const Symbol& symbol = found->second;
  if (symbol.where != Symbol::shared) return constant(symbol.offset + static_cast<u64>(offset), size);

  u64 place = static_cast<u64>(offset);
  if (symbol.dynamic) {
    place |= Body::SharedUse::dynamic;
    body_.dynamic_align = std::max(body_.dynamic_align, symbol.align);
  } else {
    const auto [start, fresh] = shared_offsets_.try_emplace(name, 0);
    if (fresh) {
      start->second = (shared_end_ + symbol.align - 1) / symbol.align * symbol.align;
      shared_end_ = start->second + symbol.bytes;
    }
    place += start->second;
  }
  const u32 row = new_image_row(static_cast<std::size_t>(size) * 32);
  body_.dynamic_uses.push_back({row & ~in_image, size == 8, place});
  return row;
}

}  // namespace gpu_model
