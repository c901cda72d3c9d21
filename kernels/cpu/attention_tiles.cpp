// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention_tiles.hpp"

#include "kernels/cpu/instruction_sets.hpp"

namespace roofmark::cpu {
namespace {

#define ROOFMARK_LOOPS "kernels/cpu/attention_tiles.inc"
#include "kernels/cpu/instruction_sets.inc"

}  // namespace

const std::vector<AttentionTiles>& attention_tiles() {
  static const std::vector<AttentionTiles> found = [] {
    std::vector<AttentionTiles> all;
    for (const std::string_view instructions : instruction_sets()) all.push_back(table_for(instructions));
    return all;
  }();
  return found;
}

}  // namespace roofmark::cpu
