// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// A PTX text at module scope.
#include "edit.hpp"
#include "function_parser.hpp"
#include "variables.hpp"

namespace gpu_model {
namespace {

class ModuleParser {
 public:
  ModuleParser(const std::string& text, Module::Impl& module)
      : scanner_(text), module_(module), global_variables_(scanner_, module) {}

  void read() {
    while (scanner_.peek() != '\0')
      if (!scanner_.take(';')) read_directive();
    global_variables_.resolve_addresses();
  }

 private:
  void read_directive() {
    const std::string_view word = scanner_.identifier();
    if (word == ".version" || word == ".target")
      scanner_.skip_line();
    else if (word == ".address_size")
      scanner_.integer();
    else if (word == ".visible" || word == ".weak" || word == ".common")
      return;
    else if (word == ".file")
      read_file();
    else if (word == ".extern")
      read_external();
    else if (word == ".shared")
      read_shared_variables(scanner_, module_.symbols, false);
    else if (word == ".global" || word == ".const")
      global_variables_.read();
    else if (word == ".entry")
      read_entry();
    else if (word == ".section")
      scanner_.skip_braces();
    else if (word == ".pragma")
      scanner_.skip_past(';');
    else if (word == ".func")
      scanner_.fail("device functions (.func) are not modelled");
    else
      scanner_.fail("directive " + std::string(word) + " at " + scanner_.following());
  }

  void read_file() {
    const u32 number = static_cast<u32>(scanner_.integer());
    module_.files[number] = scanner_.quoted();
    scanner_.skip_line();
  }

  void read_external() {
    const std::string_view word = scanner_.identifier();
    if (word == ".shared")
      read_shared_variables(scanner_, module_.symbols, true);
    else if (word == ".global" || word == ".const")
      global_variables_.read();
    else if (word == ".func")
      scanner_.skip_past(';');
    else
      scanner_.fail(".extern " + std::string(word));
  }

  void read_entry() {
    std::unique_ptr<Function> function = FunctionParser(scanner_, module_).read();
    if (!function) return;
    module_.by_name[function->body.info.name] = function.get();
    module_.functions.push_back(std::move(function));
  }

  Scanner scanner_;
  Module::Impl& module_;
  GlobalVariables global_variables_;
};

/// Edits each entry by its own name; what is before the first is edited with it.
std::string edited_entries(const std::string& ptx) {
  constexpr std::string_view directive = ".entry ";
  std::string text;
  for (std::size_t start = 0; start < ptx.size();) {
    const std::size_t at = ptx.find(directive, start);
    if (at == std::string::npos) return text + edited(ptx.substr(start), "");
    const std::size_t name = at + directive.size(), next = ptx.find(directive, name);
    const std::size_t end = next == std::string::npos ? ptx.size() : ptx.rfind('\n', next) + 1;
    text += edited(ptx.substr(start, end - start), ptx.substr(name, ptx.find('(', name) - name));
    start = end;
  }
  return text;
}

}  // namespace

Module::Module(const std::string& ptx) : impl(std::make_unique<Impl>()) {
  const std::string text = edited_entries(ptx);
  ModuleParser(text, *impl).read();
}
Module::~Module() {
  for (const auto& [name, symbol] : impl->symbols)
    if (symbol.where == Symbol::global && symbol.bytes) forbid_range(symbol.host);
}
const Function* Module::find(const std::string& name) const {
  const auto found = impl->by_name.find(name);
  return found == impl->by_name.end() ? nullptr : found->second;
}
void* Module::global(const std::string& name, std::size_t* bytes) const {
  const auto found = impl->symbols.find(name);
  if (found == impl->symbols.end() || found->second.where != Symbol::global) return nullptr;
  if (bytes) *bytes = found->second.bytes;
  return found->second.host;
}
std::vector<std::string> Module::functions() const {
  std::vector<std::string> names;
  names.reserve(impl->functions.size());
  for (const auto& function : impl->functions) names.push_back(function->body.info.name);
  return names;
}
const std::vector<std::string>& Module::unknown() const { return impl->unknown; }
const FunctionInfo& info(const Function* function) { return function->body.info; }

}  // namespace gpu_model
