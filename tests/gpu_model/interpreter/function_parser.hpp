// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decoder.hpp"
#include "registers.hpp"
#include "scanner.hpp"
#include "unwritten.hpp"

namespace gpu_model {

/// Reads one .entry into decoded instructions.
class FunctionParser final : public Builder {
 public:
  FunctionParser(Scanner& scanner, Module::Impl& module);
  /// Reads on after ".entry". nullptr for a declaration without a body.
  std::unique_ptr<Function> read();

  u32 source(const Operand&, Type as, u8* size) override;
  u32 dest(const Operand&, u8* size) override;
  u32 constant(u64 bits, int size) override;
  void address(const Operand&, Instruction&) override;
  void branch(const Operand& label) override;

 private:
  void read_parameters();
  void read_performance_directives();
  void read_statements();
  void read_directive();
  void read_registers();
  void read_local_variable();
  void read_source_location();
  void read_instruction();
  Operand read_operand();
  Operand read_address();
  Operand read_name();
  std::vector<Operand> read_operands();
  void close_scope();
  void finish();

  // Until the kernel has been read, a row of the image is its offset there with this bit set.
  static constexpr u32 in_image = 0x80000000u;
  u32 final_row(u32 row) const { return row & in_image ? body_.reg_bytes + (row & ~in_image) : row; }
  u32 new_image_row(std::size_t bytes);
  void note_use(const Operand& reg, bool writes);
  u32 special_register(Special);
  u32 symbol_address(const std::string& name, s64 offset, int size);

  Scanner& scanner_;
  Module::Impl& module_;
  std::unique_ptr<Function> function_;
  Body& body_;
  Registers registers_;
  Labels labels_;
  std::vector<RowUse> uses_;                      // of all registers so far
  std::map<std::pair<u64, int>, u32> constants_;  // by bits and size
  std::map<Special, u32> special_rows_;
  std::unordered_map<std::string, Symbol> symbols_;  // of this function
  std::unordered_map<std::string, u64> shared_offsets_;
  u64 shared_end_ = 0;
  u32 loc_ = 0;
};

}  // namespace gpu_model
