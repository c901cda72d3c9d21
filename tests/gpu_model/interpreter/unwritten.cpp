// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "unwritten.hpp"

#include <algorithm>
#include <map>

namespace gpu_model {
namespace {

/// Rows by number, one bit each.
using RowSet = std::vector<u64>;

bool contains(const RowSet& set, u32 number) { return set[number / 64] >> number % 64 & 1; }
void erase(RowSet& set, u32 number) { set[number / 64] &= ~(u64(1) << number % 64); }
/// True where `into` grows.
bool insert_all(RowSet& into, const RowSet& set) {
  u64 added = 0;
  for (std::size_t k = 0; k < set.size(); ++k) {
    added |= set[k] & ~into[k];
    into[k] |= set[k];
  }
  return added != 0;
}

/// Forward through the code's basic blocks: which rows may be unwritten where a block starts, until nothing changes.
class Unwritten {
 public:
  Unwritten(const std::vector<Instruction>& code, const std::vector<RowUse>& uses) : code_(code), uses_(uses) {
    for (const RowUse& use : uses) numbers_.try_emplace(use.row, static_cast<u32>(numbers_.size()));
    starts_.emplace(0, RowSet((numbers_.size() + 63) / 64, 0));
    for (std::size_t i = 0; i < code.size(); ++i)
      if (code[i].kind == Kind::bra) starts_[static_cast<std::size_t>(code[i].imm)] = starts_[i + 1] = starts_.at(0);
    starts_.at(0).assign(starts_.at(0).size(), ~u64(0));
  }

  std::vector<RowUse> reads() {
    std::vector<RowUse> found;
    std::map<std::size_t, bool> changed = {{0, true}};
    while (!changed.empty()) {
      const std::size_t start = changed.begin()->first;
      changed.erase(changed.begin());
      RowSet unwritten = starts_.at(start);
      const std::size_t end = follow(start, unwritten, found);
      for (const std::size_t next : successors(end))
        if (insert_all(starts_.at(next), unwritten)) changed[next] = true;
    }
    return found;
  }

 private:
  /// To the block's last instruction, which it returns.
  std::size_t follow(std::size_t start, RowSet& unwritten, std::vector<RowUse>& found) const {
    auto use = std::lower_bound(uses_.begin(), uses_.end(), start,
                                [](const RowUse& of, std::size_t instruction) { return of.instruction < instruction; });
    for (std::size_t i = start;; ++i) {
      const auto first = use;
      for (; use != uses_.end() && use->instruction == i; ++use)
        if (!use->writes && contains(unwritten, numbers_.at(use->row))) found.push_back(*use);
      for (auto each = first; each != use; ++each)
        if (each->writes && !code_[i].pred) erase(unwritten, numbers_.at(each->row));
      if (ends_block(i)) return i;
    }
  }
  bool ends_block(std::size_t i) const {
    return i + 1 == code_.size() || code_[i].kind == Kind::bra || code_[i].kind == Kind::exit || starts_.contains(i + 1);
  }
  std::vector<std::size_t> successors(std::size_t end) const {
    const Instruction& last = code_[end];
    std::vector<std::size_t> next;
    if (last.kind == Kind::bra) next.push_back(static_cast<std::size_t>(last.imm));
    const bool leaves = last.kind == Kind::bra || last.kind == Kind::exit;
    if ((!leaves || last.pred) && end + 1 < code_.size()) next.push_back(end + 1);
    return next;
  }

  const std::vector<Instruction>& code_;
  const std::vector<RowUse>& uses_;
  std::map<u32, u32> numbers_;            // by row
  std::map<std::size_t, RowSet> starts_;  // of the blocks, by their first instructions
};

}  // namespace

std::vector<Body::Rows> read_before_written(const std::vector<Instruction>& code, const std::vector<RowUse>& uses) {
  std::map<u32, u32> bytes;  // by row
  for (const RowUse& use : Unwritten(code, uses).reads()) bytes[use.row] = use.bytes;
  std::vector<Body::Rows> rows;
  for (const auto& [row, size] : bytes) {
    if (!rows.empty() && rows.back().first + rows.back().bytes == row)
      rows.back().bytes += size;
    else
      rows.push_back({row, size});
  }
  return rows;
}

}  // namespace gpu_model
