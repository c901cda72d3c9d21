// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/vector_loops.hpp"

#include "kernels/cpu/instruction_sets.hpp"

namespace roofmark::cpu {
namespace {

constexpr std::size_t kLine = 64;

#define ROOFMARK_LOOPS "kernels/cpu/vector_loops.inc"
#include "kernels/cpu/instruction_sets.inc"

}  // namespace

const std::vector<VectorLoops>& vector_loops() {
  static const std::vector<VectorLoops> found = [] {
    std::vector<VectorLoops> all;
    for (const std::string_view instructions : instruction_sets()) all.push_back(table_for(instructions));
    return all;
  }();
  return found;
}

}  // namespace roofmark::cpu
