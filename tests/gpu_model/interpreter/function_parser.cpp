// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Statements of a kernel. Grammar: PTX ISA, "Syntax" and "Directives".
#include "function_parser.hpp"

#include <algorithm>

#include "machine.hpp"
#include "variables.hpp"

namespace gpu_model {
namespace {

void run_unknown(Warp& w, const Instruction& i, u32) {
  fault(Fault::Kind::unsupported, w, i, -1,
        "instruction that the model does not know: " + w.body->module->unknown[static_cast<std::size_t>(i.imm)]);
}

}  // namespace

FunctionParser::FunctionParser(Scanner& scanner, Module::Impl& module)
    : scanner_(scanner), module_(module), function_(std::make_unique<Function>()), body_(function_->body) {
  fn = function_.get();
  body_.module = &module;
  body_.locs.emplace_back();
}

std::unique_ptr<Function> FunctionParser::read() {
  body_.info.name = scanner_.identifier();
  read_parameters();
  read_performance_directives();
  if (scanner_.take(';')) return nullptr;
  scanner_.expect('{');
  read_statements();
  finish();
  return std::move(function_);
}

void FunctionParser::read_parameters() {
  if (!scanner_.take('(') || scanner_.take(')')) return;
  do {
    if (scanner_.identifier() != ".param") scanner_.fail("expected .param");
    const Variable v = read_variable(scanner_);
    const u64 offset = align_up(body_.param_bytes, v.align);
    symbols_[v.name] = {.where = Symbol::param, .offset = offset, .bytes = v.bytes, .align = v.align};
    body_.info.param_offsets.push_back(offset);
    body_.info.param_sizes.push_back(v.bytes);
    body_.param_bytes = offset + v.bytes;
  } while (scanner_.take(','));
  scanner_.expect(')');
}

void FunctionParser::read_performance_directives() {
  FunctionInfo& info = body_.info;
  while (scanner_.peek() != '{' && scanner_.peek() != ';') {
    const std::string_view word = scanner_.identifier();
    if (word == ".explicitcluster" || word == ".blocksareclusters" || word == ".noreturn") continue;
    if (word == ".pragma") {
      scanner_.skip_past(';');
      continue;
    }
    if (!word.starts_with(".max") && !word.starts_with(".min") && !word.starts_with(".req"))
      scanner_.fail("directive " + std::string(word));
    int values[3] = {1, 1, 1};
    int count = 0;
    do values[count++] = static_cast<int>(scanner_.integer());
    while (count < 3 && scanner_.take(','));
    if (word == ".maxntid" || word == ".reqntid")
      info.max_threads = values[0] * values[1] * values[2];
    else if (word == ".reqnctapercluster")
      std::copy(values, values + 3, info.required_cluster);
    else if (word == ".maxnreg")
      info.registers_hint = values[0];
    else if (word != ".minnctapersm" && word != ".maxnctapersm" && word != ".maxclusterrank")
      scanner_.fail("directive " + std::string(word));
  }
}

void FunctionParser::read_statements() {
  for (;;) {
    const char next = scanner_.peek();
    if (next == '\0') scanner_.fail("the text ends within a kernel");
    if (scanner_.take(';')) continue;
    if (scanner_.take('{')) {
      registers_.open_scope();
      labels_.open_scope();
    } else if (scanner_.take('}')) {
      close_scope();
      if (registers_.depth() == 0) return;
    } else if (next == '.') {
      read_directive();
    } else {
      read_instruction();
    }
  }
}

void FunctionParser::close_scope() {
  registers_.close_scope();
  const std::string missing = labels_.close_scope(body_.code);
  if (!missing.empty()) scanner_.fail("no label " + missing);
}

void FunctionParser::read_directive() {
  const std::string_view word = scanner_.identifier();
  if (word == ".reg")
    read_registers();
  else if (word == ".shared")
    read_shared_variables(scanner_, symbols_, false);
  else if (word == ".local")
    read_local_variable();
  else if (word == ".loc")
    read_source_location();
  else if (word == ".pragma" || word == ".param")  // .param: of a call, which the model lacks
    scanner_.skip_past(';');
  else
    scanner_.fail("directive " + std::string(word));
}

void FunctionParser::read_registers() {
  const std::string_view word = scanner_.identifier();
  Type type = type_of(word.substr(1));
  if (type == Type::none || type == Type::b128) scanner_.fail("register type " + std::string(word));
  if (size_of(type) == 1) type = Type::b16;
  do {
    const std::string name(scanner_.identifier());
    std::optional<u32> count;
    if (scanner_.take('<')) {
      count = static_cast<u32>(scanner_.integer());
      scanner_.expect('>');
    }
    registers_.declare(name, type, count);
  } while (scanner_.take(','));
  scanner_.expect(';');
}

void FunctionParser::read_local_variable() {
  const Variable v = read_variable(scanner_);
  scanner_.expect(';');
  const u64 offset = align_up(body_.local_bytes, v.align);
  symbols_[v.name] = {.where = Symbol::local, .offset = offset, .bytes = v.bytes, .align = v.align};
  body_.local_bytes = offset + v.bytes;
}

void FunctionParser::read_source_location() {
  const u32 file = static_cast<u32>(scanner_.integer());
  const u32 line = static_cast<u32>(scanner_.integer());
  scanner_.skip_line();
  loc_ = static_cast<u32>(body_.locs.size());
  body_.locs.push_back({file, line});
}

void FunctionParser::read_instruction() {
  Instruction ins;
  if (scanner_.take('@')) {
    ins.pred_not = scanner_.take('!');
    const Operand guard = read_name();
    if (guard.k != Operand::reg || guard.type != Type::pred) scanner_.fail("the guard is no predicate");
    ins.pred = guard.row;
    note_use(guard, false);
  } else if (std::string label; scanner_.take_label(label)) {
    labels_.define(label, body_.code.size());
    return;
  }
  scanner_.peek();
  ins.line = scanner_.line();
  ins.loc = loc_;
  const Mnemonic op(scanner_.dotted_word());
  if (op.text.empty()) scanner_.fail("expected a statement at " + scanner_.following());
  const Instruction undecoded = ins;
  const std::size_t first_use = uses_.size();
  const Scanner::Place operands_start = scanner_.place();
  try {
    std::vector<Operand> operands = read_operands();
    decode(*this, op, operands, ins);
  } catch (const std::runtime_error& error) {
    scanner_.rewind(operands_start);
    scanner_.skip_past(';');
    ins = undecoded;
    ins.fn = run_unknown;
    ins.imm = static_cast<s64>(module_.unknown.size());
    module_.unknown.push_back(std::string(op.text) + " (" + error.what() + "), line " + std::to_string(ins.line));
  }
  // An accumulator is read, and is written later.
  if (ins.is_wgmma)
    for (std::size_t k = first_use; k < uses_.size(); ++k) uses_[k].writes = false;
  body_.code.push_back(ins);
}

void FunctionParser::finish() {
  Instruction end;
  end.kind = Kind::exit;
  end.line = scanner_.line();
  body_.code.push_back(end);
  body_.reg_bytes = registers_.bytes();
  body_.unwritten = read_before_written(body_.code, uses_);
  for (Instruction& i : body_.code)
    for (u32* row : {&i.d, &i.a, &i.b, &i.c, &i.e, &i.pred}) *row = final_row(*row);
  for (u32& row : body_.lists) row = final_row(row);
  body_.static_shared = body_.info.static_shared = shared_end_;
  body_.info.local_bytes = body_.local_bytes = align_up(body_.local_bytes, 16);
}

}  // namespace gpu_model
