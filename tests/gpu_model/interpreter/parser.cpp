// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Reads a PTX text once, into decoded instructions. Grammar: PTX ISA, "Syntax", "State Spaces, Types and Variables",
// "Directives".
#include <cstdlib>
#include <mutex>

#include "decoder.hpp"
#include "edit.hpp"
#include "lanes.hpp"
#include "machine.hpp"

namespace gpu_model {

Type type_of(std::string_view s) {
  switch (s.size()) {
    case 2:
      if (s == "u8") return Type::u8_;
      if (s == "s8") return Type::s8_;
      if (s == "b8") return Type::b8;
      break;
    case 3:
      if (s == "u16") return Type::u16_;
      if (s == "s16") return Type::s16_;
      if (s == "b16") return Type::b16;
      if (s == "u32") return Type::u32_;
      if (s == "s32") return Type::s32_;
      if (s == "b32") return Type::b32;
      if (s == "u64") return Type::u64_;
      if (s == "s64") return Type::s64_;
      if (s == "b64") return Type::b64;
      if (s == "f16") return Type::f16;
      if (s == "f32") return Type::f32;
      if (s == "f64") return Type::f64;
      break;
    default:
      if (s == "pred") return Type::pred;
      if (s == "bf16") return Type::bf16;
      if (s == "f16x2") return Type::f16x2;
      if (s == "bf16x2") return Type::bf16x2;
      if (s == "e4m3x2") return Type::e4m3x2;
      if (s == "e5m2x2") return Type::e5m2x2;
      if (s == "e4m3") return Type::e4m3;
      if (s == "e5m2") return Type::e5m2;
      if (s == "tf32") return Type::tf32;
      if (s == "b128") return Type::b128;
  }
  return Type::none;
}
int size_of(Type t) {
  switch (t) {
    case Type::u8_:
    case Type::s8_:
    case Type::b8:
    case Type::e4m3:
    case Type::e5m2:
      return 1;
    case Type::u16_:
    case Type::s16_:
    case Type::b16:
    case Type::f16:
    case Type::bf16:
    case Type::e4m3x2:
    case Type::e5m2x2:
      return 2;
    case Type::u32_:
    case Type::s32_:
    case Type::b32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::tf32:
      return 4;
    case Type::u64_:
    case Type::s64_:
    case Type::b64:
    case Type::f64:
      return 8;
    case Type::b128:
      return 16;
    default:
      return 0;
  }
}
bool is_float(Type t) {
  return t == Type::f16 || t == Type::f16x2 || t == Type::bf16 || t == Type::bf16x2 || t == Type::f32 || t == Type::f64 ||
         t == Type::tf32 || t == Type::e4m3x2 || t == Type::e5m2x2;
}
bool is_signed(Type t) { return t == Type::s8_ || t == Type::s16_ || t == Type::s32_ || t == Type::s64_; }

namespace {
constexpr u32 image_flag = 0x80000000u;  // a row among the constants, until the function's end is known
constexpr u64 shared_base_unset = 0;

struct Decl {
  Type type = Type::none;
  u32 count = 0;
  std::vector<u32> rows;
  u32 single = 0;
};

struct Scope {
  std::unordered_map<std::string, Decl> regs;  // "%r<" for numbered ones
  std::unordered_map<std::string, u32> labels;
  std::vector<std::pair<u32, std::string>> open;  // branches to labels not seen yet: instruction, label
};

Special special_of(std::string_view n) {
  static const std::unordered_map<std::string, Special> names = {{"%tid.x", Special::tid_x},
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
                                                                 {"%dynamic_smem_size", Special::dynamic_smem_size},
                                                                 {"%total_smem_size", Special::total_smem_size},
                                                                 {"%gridid", Special::gridid_}};
  auto it = names.find(std::string(n));
  return it == names.end() ? Special::none : it->second;
}

struct Parser final : Builder {
  const char *p, *end;
  u32 line = 1;
  std::vector<Scope> scopes;
  std::vector<u32> free_rows[4];  // by log2 of the lane size: rows of closed scopes
  u32 reg_bytes = 256;            // row 0 is the sink
  u32 pred_free = 0, pred_left = 0;
  std::map<std::pair<u64, int>, u32> constants;
  std::map<Special, u32> special_rows;
  std::unordered_map<std::string, Symbol> local_symbols;
  std::unordered_map<std::string, u64> shared_offsets;  // placed for this function
  u64 shared_end = 0;
  std::string unsupported_now;
  u32 loc = 0;

  explicit Parser(const std::string& text, Module::Impl* m) : p(text.data()), end(text.data() + text.size()) { mod = m; }

  [[noreturn]] void bad(const std::string& what) const {
    throw std::runtime_error("PTX line " + std::to_string(line) + ": " + what);
  }

  void skip() {
    while (p < end) {
      if (*p == '\n') {
        ++line;
        ++p;
      } else if (*p == ' ' || *p == '\t' || *p == '\r')
        ++p;
      else if (*p == '/' && p + 1 < end && p[1] == '/') {
        while (p < end && *p != '\n') ++p;
      } else if (*p == '/' && p + 1 < end && p[1] == '*') {
        p += 2;
        while (p + 1 < end && !(p[0] == '*' && p[1] == '/')) {
          if (*p == '\n') ++line;
          ++p;
        }
        p += 2;
      } else
        break;
    }
  }
  bool at(char c) {
    skip();
    return p < end && *p == c;
  }
  bool take(char c) {
    if (at(c)) {
      ++p;
      return true;
    }
    return false;
  }
  void expect(char c) {
    if (!take(c))
      bad(std::string("expected '") + c + "' at \"" +
          std::string(p, std::min<std::size_t>(40, static_cast<std::size_t>(end - p))) + "\"");
  }
  static bool ident_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
  }
  std::string_view ident() {  // also with a leading % or .
    skip();
    const char* s = p;
    if (p < end && (*p == '%' || *p == '.')) ++p;
    while (p < end && ident_char(*p)) ++p;
    return {s, static_cast<std::size_t>(p - s)};
  }
  std::string_view word() {  // an opcode with its dots and double colons
    skip();
    const char* s = p;
    while (p < end &&
           (ident_char(*p) || *p == '.' || (*p == ':' && p + 1 < end && p[1] == ':') || (*p == ':' && p > s && p[-1] == ':')))
      ++p;
    return {s, static_cast<std::size_t>(p - s)};
  }
  void skip_to(char c) {
    while (p < end && *p != c) {
      if (*p == '\n') ++line;
      ++p;
    }
    if (p < end) ++p;
  }
  u64 integer() {
    skip();
    char* e = nullptr;
    bool neg = take('-');
    u64 v = std::strtoull(p, &e, 0);
    if (e == p) bad("expected a number");
    p = e;
    if (p < end && *p == 'U') ++p;
    return neg ? 0 - v : v;
  }

  // ---- rows ----
  u32 new_row(Type t) {
    int s = t == Type::pred ? 0 : size_of(t);
    if (s == 0) {
      if (!free_rows[0].empty()) {
        u32 r = free_rows[0].back();
        free_rows[0].pop_back();
        return r;
      }
      if (pred_left == 0) {
        pred_free = reg_bytes;
        reg_bytes += 64;
        pred_left = 16;
      }
      --pred_left;
      pred_free += 4;
      return pred_free - 4;
    }
    if (s == 1) s = 2;
    int k = s == 2 ? 1 : s == 4 ? 2 : 3;
    if (!free_rows[k].empty()) {
      u32 r = free_rows[k].back();
      free_rows[k].pop_back();
      return r;
    }
    u32 r = reg_bytes;
    reg_bytes += static_cast<u32>(s) * 32;
    return r;
  }
  void declare_regs() {  // after ".reg"
    skip();
    std::string_view t = ident();  // .b32
    if (t == ".v2" || t == ".v4") bad("vector registers are not supported");
    Type type = type_of(t.substr(1));
    if (type == Type::none || type == Type::b128) bad("register type " + std::string(t));
    if (size_of(type) == 1) type = Type::b16;
    do {
      std::string name(ident());
      Decl d;
      d.type = type;
      if (take('<')) {
        d.count = static_cast<u32>(integer());
        expect('>');
        d.rows.assign(d.count, 0);
        name += '<';
      }
      scopes.back().regs[name] = std::move(d);
    } while (take(','));
    expect(';');
  }
  bool find_reg(const std::string& name, u32& row, Type& type) {
    std::string base;
    u32 number = 0;
    std::size_t k = name.size();
    while (k > 0 && name[k - 1] >= '0' && name[k - 1] <= '9') --k;
    bool numbered = k < name.size() && k > 0;
    if (numbered) {
      base = name.substr(0, k) + "<";
      number = static_cast<u32>(std::strtoul(name.c_str() + k, nullptr, 10));
    }
    for (std::size_t s = scopes.size(); s-- > 0;) {
      auto it = scopes[s].regs.find(name);
      if (it != scopes[s].regs.end()) {
        if (!it->second.single) it->second.single = new_row(it->second.type);
        row = it->second.single;
        type = it->second.type;
        return true;
      }
      if (numbered) {
        auto jt = scopes[s].regs.find(base);
        if (jt != scopes[s].regs.end() && number < jt->second.count) {
          u32& r = jt->second.rows[number];
          if (!r) r = new_row(jt->second.type);
          row = r;
          type = jt->second.type;
          return true;
        }
      }
    }
    return false;
  }
  void close_scope() {
    Scope& s = scopes.back();
    for (auto& [name, d] : s.regs) {
      int k = d.type == Type::pred ? 0 : size_of(d.type) == 2 ? 1 : size_of(d.type) == 4 ? 2 : 3;
      if (d.single) free_rows[k].push_back(d.single);
      for (u32 r : d.rows)
        if (r) free_rows[k].push_back(r);
    }
    for (auto& [at, label] : s.open) {
      auto it = s.labels.find(label);
      if (it != s.labels.end())
        fn->body.code[at].imm = it->second;
      else if (scopes.size() > 1)
        scopes[scopes.size() - 2].open.emplace_back(at, label);
      else
        bad("no label " + label);
    }
    scopes.pop_back();
  }

  u32 constant(u64 bits, int size) override {
    if (size == 1) size = 2;
    auto [it, fresh] = constants.try_emplace({bits, size}, 0u);
    if (fresh) {
      auto& im = fn->body.image;
      it->second = static_cast<u32>(im.size());
      im.resize(im.size() + (size == 0 ? 64 : static_cast<std::size_t>(size) * 32));
      if (size == 0)
        std::memcpy(im.data() + it->second, &bits, 4);
      else
        for (u32 l = 0; l < 32; ++l)
          std::memcpy(im.data() + it->second + l * static_cast<u32>(size), &bits, static_cast<std::size_t>(size));
    }
    return it->second | image_flag;
  }
  // The address of a symbol as a constant row. Shared: relative to the launch's base, patched at launch for dynamic variables.
  u32 symbol_row(const std::string& name, s64 offset, int size) {
    Symbol* s = nullptr;
    auto it = local_symbols.find(name);
    if (it != local_symbols.end())
      s = &it->second;
    else {
      auto jt = mod->symbols.find(name);
      if (jt == mod->symbols.end()) bad("unknown symbol " + name);
      s = &jt->second;
    }
    if (s->where == Symbol::shared) {
      u64 at = 0;
      if (s->dynamic)
        fn->body.dynamic_align = std::max(fn->body.dynamic_align, s->align);
      else {
        auto [o, fresh] = shared_offsets.try_emplace(name, 0);
        if (fresh) {
          shared_end = (shared_end + s->align - 1) / s->align * s->align;
          o->second = shared_end;
          shared_end += s->bytes;
        }
        at = o->second;
      }
      // a row of its own: the launch adds the base
      auto& im = fn->body.image;
      u32 row = static_cast<u32>(im.size());
      im.resize(im.size() + static_cast<std::size_t>(size) * 32);
      fn->body.dynamic_uses.push_back({row, size == 8, (s->dynamic ? u64(1) << 63 : 0) | (at + static_cast<u64>(offset))});
      return row | image_flag;
    }
    return constant(s->offset + static_cast<u64>(offset), size);
  }
  u32 source(const Operand& a, Type t, u8* size) override {
    const int want = size_of(t);
    if (size) *size = static_cast<u8>(want == 1 ? 2 : want);
    switch (a.k) {
      case Operand::reg:
        if (a.special != Special::none) {
          auto [it, fresh] = special_rows.try_emplace(a.special, 0u);
          if (fresh) {
            it->second = static_cast<u32>(fn->body.image.size());
            fn->body.image.resize(fn->body.image.size() + 128);
            fn->body.specials.push_back({it->second, a.special});
          }
          if (size) *size = 4;
          return it->second | image_flag;
        }
        if (size) *size = static_cast<u8>(size_of(a.type));
        if ((t == Type::pred) != (a.type == Type::pred)) bad("predicate mixed with a number");
        if (t != Type::pred && size_of(a.type) < want) bad("register narrower than the type");
        return a.row;
      case Operand::sink:
        return 0;
      case Operand::imm: {
        u64 v = a.bits;
        if (is_float(t) || t == Type::b32 || t == Type::b64) {
          if (a.num == Operand::f64bits && want == 4)
            v = std::bit_cast<u32>(static_cast<float>(std::bit_cast<double>(v)));
          else if (a.num == Operand::f32bits && want == 8)
            v = std::bit_cast<u64>(static_cast<double>(std::bit_cast<float>(static_cast<u32>(v))));
          else if (a.num == Operand::decimal)
            v = want == 8   ? std::bit_cast<u64>(a.dec)
                : want == 4 ? std::bit_cast<u32>(static_cast<float>(a.dec))
                            : double_to_half(a.dec);
        }
        if (t == Type::pred) return constant(v ? 0xffffffffu : 0, 0);
        if (want < 8 && want > 0) v &= (u64(1) << (8 * want)) - 1;
        if (want == 1 && is_signed(t)) v = static_cast<u16>(static_cast<s16>(static_cast<s8>(v)));
        return constant(v, want);
      }
      case Operand::symbol:
        return symbol_row(a.name, a.offset, want);
      default:
        bad("operand kind");
    }
  }
  u32 dest(const Operand& a, u8* size) override {
    if (a.k == Operand::sink) {
      if (size) *size = 8;
      return 0;
    }
    if (a.k != Operand::reg || a.special != Special::none) bad("destination is no register");
    if (size) *size = static_cast<u8>(size_of(a.type));
    return a.row;
  }
  void address(const Operand& a, Instruction& ins) override {
    if (a.k != Operand::address || a.sub.empty()) bad("expected an address");
    const Operand& base = a.sub[0];
    ins.imm = base.offset;
    if (base.k == Operand::reg) {
      ins.a = base.row;
      ins.as = static_cast<u8>(size_of(base.type));
    } else if (base.k == Operand::symbol) {
      Operand s = base;
      s.offset = 0;
      ins.a = source(s, Type::b64, &ins.as);
    } else if (base.k == Operand::imm) {
      ins.a = constant(base.bits, 8);
      ins.as = 8;
      ins.imm = 0;
    } else
      bad("address base");
  }

  // ---- operands ----
  Operand number() {
    Operand a;
    a.k = Operand::imm;
    bool neg = false;
    while (p < end && (*p == '-' || *p == '+' || *p == ' ')) {
      if (*p == '-') neg = !neg;
      ++p;
    }
    if (p + 1 < end && *p == '0' && (p[1] == 'f' || p[1] == 'F')) {
      a.num = Operand::f32bits;
      p += 2;
      char* e;
      a.bits = std::strtoull(p, &e, 16);
      if (e - p != 8) bad("0f constant");
      p = e;
      if (neg) a.bits ^= 0x80000000u;
      return a;
    }
    if (p + 1 < end && *p == '0' && (p[1] == 'd' || p[1] == 'D')) {
      a.num = Operand::f64bits;
      p += 2;
      char* e;
      a.bits = std::strtoull(p, &e, 16);
      if (e - p != 16) bad("0d constant");
      p = e;
      if (neg) a.bits ^= 1ull << 63;
      return a;
    }
    char* e = nullptr;
    const char* q = p;
    while (q < end && ((*q >= '0' && *q <= '9') || *q == '.')) ++q;
    bool dec = false;
    for (const char* r = p; r < q; ++r) dec |= *r == '.';
    if (dec) {
      a.num = Operand::decimal;
      a.dec = std::strtod(p, &e);
      if (neg) a.dec = -a.dec;
      p = e;
      return a;
    }
    a.bits = std::strtoull(p, &e, 0);
    if (e == p) bad("expected a number");
    p = e;
    if (p < end && *p == 'U') ++p;
    if (neg) a.bits = 0 - a.bits;
    return a;
  }
  Operand name_arg() {
    Operand a;
    std::string n(ident());
    if (n.empty())
      bad(std::string("operand at \"") + std::string(p, std::min<std::size_t>(30, static_cast<std::size_t>(end - p))) + "\"");
    if (n == "_") {
      a.k = Operand::sink;
      return a;
    }
    if (n[0] == '%' && p < end && *p == '.') {
      n += *p++;
      while (p < end && ident_char(*p)) n += *p++;
    }
    if (find_reg(n, a.row, a.type)) {
      a.k = Operand::reg;
      return a;
    }
    if (n[0] == '%') {
      a.special = special_of(n);
      a.k = Operand::reg;
      a.type = Type::u32_;
      if (a.special != Special::none) return a;
      if (n == "%clock" || n == "%clock64") {
        a.clock = true;
        a.clock_kind = 0;
        return a;
      }
      if (n == "%clock_hi") {
        a.clock = true;
        a.clock_kind = 1;
        return a;
      }
      if (n == "%globaltimer" || n == "%globaltimer_lo") {
        a.clock = true;
        a.clock_kind = 2;
        return a;
      }
      if (n == "%globaltimer_hi") {
        a.clock = true;
        a.clock_kind = 3;
        return a;
      }
      throw DecodeError("unknown register " + n);
    }
    if (n == "WARP_SZ") {
      a.k = Operand::imm;
      a.bits = 32;
      return a;
    }
    a.name = n;
    a.k = local_symbols.count(n) || mod->symbols.count(n) ? Operand::symbol : Operand::label;
    if (a.k == Operand::symbol && at('+')) {
      ++p;
      a.offset = static_cast<s64>(integer());
    }
    return a;
  }
  Operand operand() {
    skip();
    Operand a;
    if (take('{')) {
      a.k = Operand::vec;
      do a.sub.push_back(operand());
      while (take(','));
      expect('}');
      return a;
    }
    if (take('[')) {
      a.k = Operand::address;
      do {
        Operand s = operand();
        skip();
        while (p < end && (*p == '+' || *p == '-')) {
          bool neg = *p == '-';
          ++p;
          s64 v = static_cast<s64>(integer());
          s.offset += neg ? -v : v;
          skip();
        }
        a.sub.push_back(std::move(s));
      } while (take(','));
      expect(']');
      return a;
    }
    if (take('!')) {
      a = name_arg();
      a.is_not = true;
      return a;
    }
    if ((*p >= '0' && *p <= '9') || *p == '-' || *p == '+') return number();
    a = name_arg();
    if (take('|')) a.second.push_back(name_arg());
    return a;
  }

  // ---- variables ----
  struct Variable {
    std::string name;
    Type type;
    u32 align;
    u64 bytes;
    bool unsized = false;
  };
  Variable variable() {  // after the state space: .align n .type name[dims]
    Variable v{"", Type::none, 0, 0};
    int vec = 1;
    for (;;) {
      skip();
      std::string_view w = ident();
      if (w == ".align")
        v.align = static_cast<u32>(integer());
      else if (w == ".v2")
        vec = 2;
      else if (w == ".v4")
        vec = 4;
      else if (w == ".ptr" || w == ".global" || w == ".const" || w == ".shared" || w == ".local" || w == ".attribute") {
        if (w == ".attribute") skip_to(')');
      } else if (w.size() && w[0] == '.') {
        v.type = type_of(w.substr(1));
        if (v.type == Type::none) bad("variable type " + std::string(w));
      } else {
        v.name = std::string(w);
        break;
      }
    }
    u64 n = 1;
    while (take('[')) {
      if (at(']'))
        v.unsized = true;
      else
        n *= integer();
      expect(']');
    }
    u64 element = static_cast<u64>(size_of(v.type)) * static_cast<u64>(vec);
    v.bytes = v.unsized ? 0 : n * element;
    if (!v.align) v.align = static_cast<u32>(element ? element : 1);
    return v;
  }
  struct Fix {
    u8* at;
    std::string name;
    s64 offset;
  };
  std::vector<Fix> fixes;
  void init_value(u8*& at, u8* limit, Type t) {
    if (take('{')) {
      do init_value(at, limit, t);
      while (take(','));
      expect('}');
      return;
    }
    skip();
    int s = size_of(t);
    if (at + s > limit) bad("initialiser too long");
    u64 v = 0;
    if ((*p >= '0' && *p <= '9') || *p == '-') {
      Operand a = number();
      v = a.bits;
      if (a.num == Operand::decimal) v = s == 8 ? std::bit_cast<u64>(a.dec) : std::bit_cast<u32>(static_cast<float>(a.dec));
      if (a.num == Operand::f64bits && s == 4) v = std::bit_cast<u32>(static_cast<float>(std::bit_cast<double>(v)));
    } else {
      std::string_view n = ident();
      s64 off = 0;
      bool paren = false;
      if (n == "generic") {
        expect('(');
        n = ident();
        paren = true;
      }
      if (paren) expect(')');
      if (take('+')) off = static_cast<s64>(integer());
      fixes.push_back({at, std::string(n), off});
    }
    std::memcpy(at, &v, static_cast<std::size_t>(s));
    at += s;
  }
  void global_variable(bool external) {
    Variable v = variable();
    Symbol s;
    s.where = Symbol::global;
    s.align = v.align;
    if (at('=')) {
      ++p;
      if (v.unsized) bad("unsized with initialiser");
    }
    s.bytes = v.bytes;
    auto store = std::make_unique<u8[]>(v.bytes + 256);
    u64 base = (reinterpret_cast<u64>(store.get()) + 255) / 256 * 256 - reinterpret_cast<u64>(store.get());
    u8* at_ = store.get() + base;
    std::memset(store.get(), 0, v.bytes + 256);
    s.offset = reinterpret_cast<u64>(at_);
    if (!at(';')) {
      u8* cursor = at_;
      init_value(cursor, at_ + v.bytes, v.type);
    }
    expect(';');
    (void)external;
    if (!mod->symbols.count(v.name)) {
      if (v.bytes) allow_range(at_, v.bytes, true);
      mod->symbols[v.name] = s;
      mod->storage.push_back(std::move(store));
    }
  }
  void shared_variable(std::unordered_map<std::string, Symbol>& where, bool external) {
    do {
      Variable v = variable();
      Symbol s;
      s.where = Symbol::shared;
      s.align = v.align;
      s.bytes = v.bytes;
      s.dynamic = v.unsized || (external && v.bytes == 0);
      where[v.name] = s;
    } while (take(','));
    expect(';');
  }

  // ---- functions ----
  void entry(bool is_entry) {
    auto f = std::make_unique<Function>();
    fn = f.get();
    Body& body = f->body;
    body.module = mod;
    body.locs.push_back({});
    loc = 0;
    local_symbols.clear();
    constants.clear();
    special_rows.clear();
    shared_offsets.clear();
    for (auto& x : free_rows) x.clear();
    reg_bytes = 256;
    pred_left = 0;
    shared_end = 0;
    scopes.clear();
    scopes.emplace_back();
    if (!is_entry) bad(".func is not supported");
    body.info.name = std::string(ident());
    if (take('(')) {
      if (!at(')')) do {
          skip();
          std::string_view w = ident();
          if (w != ".param") bad("expected .param");
          Variable v = variable();
          body.param_bytes = (body.param_bytes + v.align - 1) / v.align * v.align;
          Symbol s;
          s.where = Symbol::param;
          s.offset = body.param_bytes;
          s.bytes = v.bytes;
          s.align = v.align;
          local_symbols[v.name] = s;
          body.info.param_offsets.push_back(body.param_bytes);
          body.info.param_sizes.push_back(v.bytes);
          body.param_bytes += v.bytes;
        } while (take(','));
      expect(')');
    }
    for (;;) {
      skip();
      if (*p == '{') break;
      if (*p == ';') {
        ++p;
        scopes.clear();
        return;
      }  // a declaration only
      std::string_view w = ident();
      auto three = [&](u64 v[3]) {
        v[0] = integer();
        v[1] = v[2] = 1;
        for (int k = 1; k < 3 && take(','); ++k) v[k] = integer();
      };
      u64 v[3];
      if (w == ".maxntid") {
        three(v);
        body.info.max_threads = static_cast<int>(v[0] * v[1] * v[2]);
      } else if (w == ".reqntid") {
        three(v);
        body.info.max_threads = static_cast<int>(v[0] * v[1] * v[2]);
      } else if (w == ".reqnctapercluster") {
        three(v);
        for (int k = 0; k < 3; ++k) body.info.required_cluster[k] = static_cast<int>(v[k]);
      } else if (w == ".maxnreg")
        body.info.registers_hint = static_cast<int>(integer());
      else if (w == ".minnctapersm" || w == ".maxnctapersm" || w == ".maxclusterrank")
        integer();
      else if (w == ".explicitcluster" || w == ".blocksareclusters" || w == ".noreturn") {
      } else if (w == ".pragma")
        skip_to(';');
      else
        bad("directive " + std::string(w));
    }
    expect('{');
    statements();
    // fall off the end: ret
    Instruction ret;
    ret.kind = Kind::exit;
    ret.line = line;
    body.code.push_back(ret);
    scopes.emplace(scopes.begin());
    close_scope();
    scopes.clear();
    body.reg_bytes = (reg_bytes + 63) / 64 * 64;
    auto patch = [&](u32& r) {
      if (r & image_flag) r = body.reg_bytes + (r & ~image_flag);
    };
    for (Instruction& i : body.code) {
      patch(i.d);
      patch(i.a);
      patch(i.b);
      patch(i.c);
      patch(i.e);
      patch(i.pred);
    }
    for (u32& r : body.lists) patch(r);
    body.static_shared = shared_end;
    body.info.static_shared = shared_end;
    body.info.local_bytes = body.local_bytes = (body.local_bytes + 15) / 16 * 16;
    mod->by_name[body.info.name] = fn;
    mod->functions.push_back(std::move(f));
  }

  void statements() {
    Body& body = fn->body;
    std::size_t depth = scopes.size();
    for (;;) {
      skip();
      if (p >= end) bad("end of text within a function");
      if (*p == '{') {
        ++p;
        scopes.emplace_back();
        continue;
      }
      if (*p == '}') {
        ++p;
        if (scopes.size() == depth) {
          close_scope();
          return;
        }
        close_scope();
        continue;
      }
      if (*p == ';') {
        ++p;
        continue;
      }
      if (*p == '.') {
        std::string_view w = ident();
        if (w == ".reg")
          declare_regs();
        else if (w == ".shared")
          shared_variable(local_symbols, false);
        else if (w == ".local") {
          Variable v = variable();
          expect(';');
          Symbol s;
          s.where = Symbol::local;
          s.bytes = v.bytes;
          s.align = v.align;
          body.local_bytes = (body.local_bytes + v.align - 1) / v.align * v.align;
          s.offset = body.local_bytes;
          body.local_bytes += v.bytes;
          local_symbols[v.name] = s;
        } else if (w == ".loc") {
          Loc l;
          l.file = static_cast<u32>(integer());
          l.line = static_cast<u32>(integer());
          while (p < end && *p != '\n') ++p;
          body.locs.push_back(l);
          loc = static_cast<u32>(body.locs.size() - 1);
        } else if (w == ".pragma")
          skip_to(';');
        else if (w == ".param")
          skip_to(';');  // of a call, which is unknown
        else
          bad("directive " + std::string(w));
        continue;
      }
      instruction();
    }
  }

  void instruction() {
    Body& body = fn->body;
    Instruction ins;
    ins.line = line;
    ins.loc = loc;
    if (take('@')) {
      ins.pred_not = take('!');
      Operand a = name_arg();
      if (a.k != Operand::reg || a.type != Type::pred) bad("guard is no predicate");
      ins.pred = a.row;
    } else {
      const char* save = p;
      std::string_view n = ident();
      skip();
      if (p < end && *p == ':' && !(p + 1 < end && p[1] == ':')) {
        ++p;
        scopes.back().labels[std::string(n)] = static_cast<u32>(body.code.size());
        return;
      }
      p = save;
    }
    ins.line = line;
    std::string_view w = word();
    if (w.empty())
      bad(std::string("statement at \"") + std::string(p, std::min<std::size_t>(40, static_cast<std::size_t>(end - p))) + "\"");
    Mnemonic op;
    op.text = std::string(w);
    std::string_view rest = op.text;
    for (std::size_t k = 0; k <= rest.size();) {
      std::size_t e = rest.find('.', k);
      if (e == std::string_view::npos) e = rest.size();
      op.parts.push_back(rest.substr(k, e - k));
      k = e + 1;
    }
    const char* start = p;
    u32 start_line = line;
    bool known = false;
    std::string why;
    std::vector<Operand> args;
    try {
      if (!at(';')) do
          args.push_back(operand());
        while (take(','));
      expect(';');
      known = decode(op, args, ins);
    } catch (const std::runtime_error& e) {
      why = std::string(" (") + e.what() + ")";
      p = start;
      line = start_line;
      skip_to(';');
    }
    if (!known) {
      ins = Instruction{.pred = ins.pred, .pred_not = ins.pred_not, .line = ins.line, .loc = ins.loc};
      ins.fn = [](Warp& w_, const Instruction& i, u32) {
        fault(Fault::Kind::unsupported, w_, i, -1,
              "instruction that the model does not know: " + w_.body->module->unknown[static_cast<std::size_t>(i.imm)]);
      };
      mod->unknown.push_back(op.text + why + ", line " + std::to_string(ins.line));
      ins.imm = static_cast<s64>(mod->unknown.size() - 1);
    }
    body.code.push_back(ins);
  }

  bool decode(const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
    std::string_view o = op.parts[0];
    if (o == "bra") {
      if (args.size() != 1 || args[0].k != Operand::label) return false;
      ins.kind = Kind::bra;
      scopes.back().open.emplace_back(static_cast<u32>(fn->body.code.size()), args[0].name);
      return true;
    }
    if (o == "ret" || o == "exit") {
      ins.kind = Kind::exit;
      return true;
    }
    Decoder* decoder = find_decoder(op.text);
    return decoder && decoder(*this, op, args, ins);
  }

  void module() {
    for (;;) {
      skip();
      if (p >= end) break;
      if (*p == '}' || *p == ';') {
        ++p;
        continue;
      }
      std::string_view w = ident();
      if (w == ".version" || w == ".target") {
        while (p < end && *p != '\n') ++p;
      } else if (w == ".address_size")
        integer();
      else if (w == ".file") {
        u32 n = static_cast<u32>(integer());
        skip();
        if (*p != '"') bad(".file");
        const char* s = ++p;
        while (p < end && *p != '"') ++p;
        mod->files[n] = std::string(s, static_cast<std::size_t>(p - s));
        while (p < end && *p != '\n') ++p;
      } else if (w == ".visible" || w == ".weak" || w == ".common")
        continue;
      else if (w == ".extern") {
        std::string_view x = ident();
        if (x == ".shared")
          shared_variable(mod->symbols, true);
        else if (x == ".global" || x == ".const")
          global_variable(true);
        else if (x == ".func")
          skip_to(';');
        else
          bad(".extern " + std::string(x));
      } else if (w == ".shared")
        shared_variable(mod->symbols, false);
      else if (w == ".global" || w == ".const")
        global_variable(false);
      else if (w == ".entry")
        entry(true);
      else if (w == ".section") {
        skip_to('{');
        int depth = 1;
        while (p < end && depth) {
          if (*p == '{')
            ++depth;
          else if (*p == '}')
            --depth;
          else if (*p == '\n')
            ++line;
          ++p;
        }
      } else if (w == ".pragma")
        skip_to(';');
      else
        bad("directive " + std::string(w));
    }
    for (const Fix& f : fixes) {
      auto it = mod->symbols.find(f.name);
      if (it == mod->symbols.end()) throw std::runtime_error("PTX: initialiser names unknown " + f.name);
      u64 v = it->second.offset + static_cast<u64>(f.offset);
      std::memcpy(f.at, &v, 8);
    }
  }
};
}  // namespace

Module::Module(const std::string& ptx) : impl(std::make_unique<Impl>()) {
  const std::size_t entry = ptx.find(".entry ");
  const std::string kernel = entry == std::string::npos ? "" : ptx.substr(entry + 7, ptx.find('(', entry) - entry - 7);
  const std::string text = edited(ptx, kernel);
  Parser parser(text, impl.get());
  parser.module();
}
Module::~Module() {
  for (auto& [name, s] : impl->symbols)
    if (s.where == Symbol::global && s.bytes) forbid_range(reinterpret_cast<void*>(s.offset));
}
const Function* Module::find(const std::string& mangled) const {
  auto it = impl->by_name.find(mangled);
  return it == impl->by_name.end() ? nullptr : it->second;
}
void* Module::global(const std::string& mangled, std::size_t* bytes) const {
  auto it = impl->symbols.find(mangled);
  if (it == impl->symbols.end() || it->second.where != Symbol::global) return nullptr;
  if (bytes) *bytes = it->second.bytes;
  return reinterpret_cast<void*>(it->second.offset);
}
std::vector<std::string> Module::functions() const {
  std::vector<std::string> r;
  for (auto& f : impl->functions) r.push_back(f->body.info.name);
  return r;
}
const std::vector<std::string>& Module::unknown() const { return impl->unknown; }
const FunctionInfo& info(const Function* f) { return f->body.info; }
}  // namespace gpu_model
