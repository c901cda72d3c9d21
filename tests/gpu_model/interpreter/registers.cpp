// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "registers.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace gpu_model {

// 0: predicates, 1: 2 bytes per lane, 2: 4 bytes, 3: 8 bytes.
std::size_t Registers::row_class(Type type) {
  return type == Type::pred ? 0 : static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(size_of(type))));
}

u32 Registers::new_row(Type type) {
  std::vector<u32>& free = free_rows_[row_class(type)];
  if (!free.empty()) {
    const u32 row = free.back();
    free.pop_back();
    return row;
  }
  if (type == Type::pred) {
    if (predicates_left_ == 0) {
      next_predicate_ = bytes_;
      predicates_left_ = 16;
      bytes_ += predicates_left_ * 4;
    }
    --predicates_left_;
    next_predicate_ += 4;
    return next_predicate_ - 4;
  }
  const u32 row = bytes_;
  bytes_ += static_cast<u32>(size_of(type)) * 32;
  return row;
}

void Registers::close_scope() {
  for (const auto& [name, declaration] : scopes_.back())
    for (const u32 row : declaration.rows)
      if (row) free_rows_[row_class(declaration.type)].push_back(row);
  scopes_.pop_back();
}

void Registers::declare(const std::string& name, Type type, std::optional<u32> count) {
  scopes_.back()[count ? name + '<' : name] = {type, std::vector<u32>(count.value_or(1), 0)};
}

std::optional<Registers::Register> Registers::find(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const bool numbered = digits > 0 && digits < name.size();
  const std::string base = name.substr(0, digits) + '<';
  const std::size_t number = numbered ? std::strtoul(name.c_str() + digits, nullptr, 10) : 0;
  const auto use = [this](Declaration& declaration, std::size_t k) {
    u32& row = declaration.rows[k];
    if (!row) row = new_row(declaration.type);
    return Register{row, declaration.type};
  };
  for (std::size_t k = scopes_.size(); k-- > 0;) {
    Scope& scope = scopes_[k];
    if (const auto single = scope.find(name); single != scope.end()) return use(single->second, 0);
    if (!numbered) continue;
    if (const auto many = scope.find(base); many != scope.end() && number < many->second.rows.size())
      return use(many->second, number);
  }
  return std::nullopt;
}

std::string Labels::close_scope(std::vector<Instruction>& code) {
  const Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (const auto& [instruction, label] : scope.branches) {
    if (const auto found = scope.positions.find(label); found != scope.positions.end())
      code[instruction].imm = static_cast<s64>(found->second);
    else if (scopes_.empty())
      return label;
    else
      scopes_.back().branches.emplace_back(instruction, label);
  }
  return "";
}

}  // namespace gpu_model
