// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decoder.hpp"

namespace gpu_model {
namespace {

// Every PTX opcode that the model knows. An instruction without a row, or with a modifier that its row lacks, is reported when
// its module is loaded and faults when it is reached. To add one: add its row, write its decoder and its lane function, and add
// a kernel to the interpreter's tests whose result is known.
// clang-format off
constexpr Opcode opcodes[] = {
    {"abs", decode_neg_abs, "ftz"},
    {"activemask", decode_activemask, ""},
    {"add", decode_binary, "rn rz rm rp ftz sat"},
    {"and", decode_logic, ""},
    {"applypriority", decode_memory},
    {"atom", decode_memory},
    {"bar", decode_bar, "cta sync arrive"},
    {"bar.warp", decode_bar_warp, "warp sync"},
    {"barrier", decode_bar, "cta sync arrive aligned"},
    {"barrier.cluster", decode_barrier_cluster, "cluster arrive wait release relaxed acquire aligned"},
    {"bfe", decode_bfe, ""},
    {"bfi", decode_bfi, ""},
    {"bfind", decode_bfind, "shiftamt"},
    {"bra", decode_bra, "uni"},
    {"brev", decode_brev, ""},
    {"brkpt", decode_trap, ""},
    {"clz", decode_clz, ""},
    {"cos", decode_special_function, "approx ftz"},
    {"cp.async", decode_memory},
    {"cp.async.bulk", decode_memory},
    {"createpolicy", decode_memory},
    {"cvt", decode_cvt, "rn rz rm rp rna rni rzi rmi rpi ftz sat satfinite relu"},
    {"cvta", decode_memory},
    {"discard", decode_memory},
    {"div", decode_binary, "approx full rn rz rm rp ftz"},
    {"elect", decode_elect, "sync"},
    {"ex2", decode_special_function, "approx ftz"},
    {"exit", decode_exit, ""},
    {"fence", decode_nothing},
    {"fence.proxy.async", decode_fence_proxy_async},
    {"fence.proxy.async::generic", decode_fence_proxy_async},
    {"fma", decode_mad, "rn rz rm rp ftz sat relu"},
    {"griddepcontrol", decode_nothing},
    {"isspacep", decode_memory},
    {"ld", decode_memory},
    {"ldmatrix", decode_mma},
    {"ldu", decode_memory},
    {"lg2", decode_special_function, "approx ftz"},
    {"lop3", decode_lop3, ""},
    {"mad", decode_mad, "lo hi wide rn rz rm rp ftz sat"},
    {"mapa", decode_memory},
    {"match", decode_match, "sync any all"},
    {"max", decode_min_max, "ftz NaN"},
    {"mbarrier", decode_memory},
    {"membar", decode_nothing},
    {"membar.proxy.async", decode_fence_proxy_async},
    {"min", decode_min_max, "ftz NaN"},
    {"mma", decode_mma},
    {"mov", decode_mov, ""},
    {"movmatrix", decode_mma},
    {"mul", decode_mul, "lo hi wide rn rz rm rp ftz sat"},
    {"nanosleep", decode_nanosleep, ""},
    {"neg", decode_neg_abs, "ftz"},
    {"not", decode_not, ""},
    {"or", decode_logic, ""},
    {"pmevent", decode_nothing},
    {"popc", decode_popc, ""},
    {"prefetch", decode_memory},
    {"prefetchu", decode_memory},
    {"prmt", decode_prmt, ""},
    {"rcp", decode_special_function, "approx rn rz rm rp ftz"},
    {"red", decode_memory},
    {"redux", decode_redux, "sync add min max and or xor"},
    {"rem", decode_binary, ""},
    {"ret", decode_exit, "uni"},
    {"rsqrt", decode_special_function, "approx ftz"},
    {"selp", decode_selp, ""},
    {"setmaxnreg", decode_setmaxnreg, "inc dec sync aligned"},
    {"setp", decode_setp, "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor"},
    {"shf", decode_shf, "l r wrap clamp"},
    {"shfl", decode_shfl, "sync up down bfly idx"},
    {"shl", decode_shl, ""},
    {"shr", decode_shr, ""},
    {"sin", decode_special_function, "approx ftz"},
    {"sqrt", decode_special_function, "approx rn rz rm rp ftz"},
    {"st", decode_memory},
    {"st.async", decode_memory},
    {"stmatrix", decode_mma},
    {"sub", decode_binary, "rn rz rm rp ftz sat"},
    {"tanh", decode_special_function, "approx"},
    {"trap", decode_trap, ""},
    {"vote", decode_vote, "sync any all uni ballot"},
    {"wgmma", decode_mma},
    {"xor", decode_logic, ""},
};
// clang-format on

const Opcode* find_opcode(std::string_view text) {
  const Opcode* longest = nullptr;
  for (const Opcode& opcode : opcodes) {
    const bool begins = text.starts_with(opcode.name) && (text.size() == opcode.name.size() || text[opcode.name.size()] == '.');
    if (begins && (!longest || opcode.name.size() > longest->name.size())) longest = &opcode;
  }
  return longest;
}

bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

void decode(Builder& builder, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const Opcode* opcode = find_opcode(op.text);
  if (!opcode) throw DecodeError("the table of opcodes has no row for it");
  if (opcode->modifiers != Opcode::any)
    for (std::size_t k = 1; k < op.parts.size(); ++k)
      if (type_of(op.parts[k]) == Type::none && !lists(opcode->modifiers, op.parts[k]))
        throw DecodeError("its row in the table of opcodes lacks ." + std::string(op.parts[k]));
  if (!opcode->decode(builder, op, operands, ins)) throw DecodeError("its decoder has no such form");
}

}  // namespace gpu_model
