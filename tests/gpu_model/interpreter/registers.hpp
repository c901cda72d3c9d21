// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "instruction.hpp"

namespace gpu_model {

/// The registers of one function, by scope, and their rows in the register file. A register gets its row at its first use; a
/// closed scope's rows are used again.
class Registers {
 public:
  struct Register {
    u32 row;
    Type type;
  };

  Registers() { open_scope(); }
  void open_scope() { scopes_.emplace_back(); }
  void close_scope();
  std::size_t depth() const { return scopes_.size(); }
  /// `count` declares name0 ... name<count-1>, as ".reg .b32 %r<count>" does.
  void declare(const std::string& name, Type type, std::optional<u32> count);
  std::optional<Register> find(const std::string& name);
  /// Size of the register file. A multiple of 64 bytes, which is the granularity of wgmma's checks.
  u32 bytes() const { return (bytes_ + 63) / 64 * 64; }

 private:
  struct Declaration {
    Type type = Type::none;
    std::vector<u32> rows;  // 0: none yet
  };
  using Scope = std::unordered_map<std::string, Declaration>;  // numbered registers under "%r<"

  static std::size_t row_class(Type type);
  u32 new_row(Type type);

  std::vector<Scope> scopes_;
  std::vector<u32> free_rows_[4];  // by row_class
  u32 bytes_ = 256;                // row 0 is the sink, wide enough for 8 bytes per lane
  u32 next_predicate_ = 0, predicates_left_ = 0;
};

/// The labels of one function, by scope, and the branches to them.
class Labels {
 public:
  Labels() { open_scope(); }
  void open_scope() { scopes_.emplace_back(); }
  void define(const std::string& label, std::size_t position) { scopes_.back().positions[label] = position; }
  void branch(const std::string& label, std::size_t instruction) { scopes_.back().branches.emplace_back(instruction, label); }
  /// Gives the branches to the scope's labels their targets and hands the others to the enclosing scope. Returns a label that
  /// no scope has, or "".
  std::string close_scope(std::vector<Instruction>& code);

 private:
  struct Scope {
    std::unordered_map<std::string, std::size_t> positions;
    std::vector<std::pair<std::size_t, std::string>> branches;
  };
  std::vector<Scope> scopes_;
};

}  // namespace gpu_model
