// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// What the decoders of memory instructions share.
#pragma once
#include "decoder.hpp"

namespace gpu_model {

/// The state space that an opcode names; generic where it names none.
Space space_of(const Mnemonic&);

/// A second "[base + offset]" into b, bs, imm2, and a third one into c, cs, imm3. Builder::address() serves the first.
void second_address(Builder&, const Operand&, Instruction&);
void third_address(Builder&, const Operand&, Instruction&);

}  // namespace gpu_model
