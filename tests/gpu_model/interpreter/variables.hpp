// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "decoder.hpp"
#include "scanner.hpp"

namespace gpu_model {

/// A declaration after its state space: .align 16 .b8 name[8][4].
struct Variable {
  std::string name;
  Type type = Type::none;
  u32 align = 0;
  u64 bytes = 0;
  bool unsized = false;  // name[]
};
Variable read_variable(Scanner&);
/// Shared variables up to the semicolon.
void read_shared_variables(Scanner&, std::unordered_map<std::string, Symbol>& symbols, bool external);

/// A number with its sign.
Operand read_number(Scanner&);
/// An immediate as `type` holds it. Floats are rounded to nearest.
u64 immediate_bits(const Operand&, Type type);

/// The .global and .const variables of a module, with their initial values.
class GlobalVariables {
 public:
  GlobalVariables(Scanner& scanner, Module::Impl& module) : scanner_(scanner), module_(module) {}
  /// Reads a declaration after ".global" or ".const".
  void read();
  /// Fills in the initial values that are addresses of other variables. Throws if one is unknown.
  void resolve_addresses();

 private:
  struct Address {
    u8* at;
    std::string name;
    s64 offset;
  };
  void read_initial_value(u8*& at, const u8* end, Type type);

  Scanner& scanner_;
  Module::Impl& module_;
  std::vector<Address> addresses_;
};

}  // namespace gpu_model
