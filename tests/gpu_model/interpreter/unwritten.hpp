// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "instruction.hpp"

namespace gpu_model {

/// An instruction's reference to a row of the register file.
struct RowUse {
  std::size_t instruction = 0;
  u32 row = 0, bytes = 0;
  bool writes = false;  // in all lanes that run the instruction; otherwise it reads
};

/// The rows that some path through the code reads before it has written them, in order, neighbours as one. `uses` are in the
/// order of the code, an instruction's reads as well as its writes; an instruction under a guard may leave a row unwritten.
std::vector<Body::Rows> read_before_written(const std::vector<Instruction>& code, const std::vector<RowUse>& uses);

}  // namespace gpu_model
