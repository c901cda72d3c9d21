// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Every PTX opcode that the model knows.
#include "decoder.hpp"

namespace gpu_model {
namespace {

// clang-format off
constexpr Opcode opcodes[] = {
    {"abs", decode_alu},
    {"activemask", decode_warp},
    {"add", decode_alu},
    {"and", decode_alu},
    {"applypriority", decode_memory},
    {"atom", decode_memory},
    {"bar", decode_warp},
    {"barrier", decode_warp},
    {"bfe", decode_alu},
    {"bfi", decode_alu},
    {"bfind", decode_alu},
    {"brev", decode_alu},
    {"brkpt", decode_warp},
    {"clz", decode_alu},
    {"cos", decode_alu},
    {"cp.async", decode_memory},
    {"cp.async.bulk", decode_memory},
    {"createpolicy", decode_memory},
    {"cvt", decode_alu},
    {"cvta", decode_memory},
    {"discard", decode_memory},
    {"div", decode_alu},
    {"elect", decode_warp},
    {"ex2", decode_alu},
    {"fence", decode_warp},
    {"fma", decode_alu},
    {"griddepcontrol", decode_warp},
    {"isspacep", decode_memory},
    {"ld", decode_memory},
    {"ldmatrix", decode_mma},
    {"ldu", decode_memory},
    {"lg2", decode_alu},
    {"lop3", decode_alu},
    {"mad", decode_alu},
    {"mapa", decode_memory},
    {"match", decode_warp},
    {"max", decode_alu},
    {"mbarrier", decode_memory},
    {"membar", decode_warp},
    {"min", decode_alu},
    {"mma", decode_mma},
    {"mov", decode_alu},
    {"movmatrix", decode_mma},
    {"mul", decode_alu},
    {"nanosleep", decode_warp},
    {"neg", decode_alu},
    {"not", decode_alu},
    {"or", decode_alu},
    {"pmevent", decode_warp},
    {"popc", decode_alu},
    {"prefetch", decode_memory},
    {"prefetchu", decode_memory},
    {"prmt", decode_alu},
    {"rcp", decode_alu},
    {"red", decode_memory},
    {"redux", decode_warp},
    {"rem", decode_alu},
    {"rsqrt", decode_alu},
    {"selp", decode_alu},
    {"setmaxnreg", decode_warp},
    {"setp", decode_alu},
    {"shf", decode_alu},
    {"shfl", decode_warp},
    {"shl", decode_alu},
    {"shr", decode_alu},
    {"sin", decode_alu},
    {"sqrt", decode_alu},
    {"st", decode_memory},
    {"st.async", decode_memory},
    {"stmatrix", decode_mma},
    {"sub", decode_alu},
    {"tanh", decode_alu},
    {"trap", decode_warp},
    {"vote", decode_warp},
    {"wgmma", decode_mma},
    {"xor", decode_alu},
};
// clang-format on

}  // namespace

Decoder* find_decoder(std::string_view text) {
  const Opcode* best = nullptr;
  for (const Opcode& opcode : opcodes) {
    const bool begins = text.starts_with(opcode.name) && (text.size() == opcode.name.size() || text[opcode.name.size()] == '.');
    if (begins && (!best || opcode.name.size() > best->name.size())) best = &opcode;
  }
  return best ? best->decode : nullptr;
}
}  // namespace gpu_model
