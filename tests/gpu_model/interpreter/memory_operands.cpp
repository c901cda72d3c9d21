// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "memory_operands.hpp"

namespace gpu_model {

Space space_of(const Mnemonic& op) {
  if (op.has("global")) return Space::global;
  if (op.has("shared") || op.has("shared::cta")) return Space::shared;
  if (op.has("shared::cluster")) return Space::cluster;
  if (op.has("local")) return Space::local;
  if (op.has("param") || op.has("param::entry")) return Space::param;
  if (op.has("const")) return Space::constant;
  return Space::generic;
}

void second_address(Builder& b, const Operand& operand, Instruction& ins) {
  Instruction first;
  b.address(operand, first);
  ins.b = first.a;
  ins.bs = first.as;
  ins.imm2 = first.imm;
}

void third_address(Builder& b, const Operand& operand, Instruction& ins) {
  Instruction first;
  b.address(operand, first);
  ins.c = first.a;
  ins.cs = first.as;
  ins.imm3 = first.imm;
}

}  // namespace gpu_model
