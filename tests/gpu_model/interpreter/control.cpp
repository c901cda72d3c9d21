// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Branches, barriers, fences. The scheduler does most of the work, by the instruction's kind.
#include "decoder.hpp"
#include "lanes.hpp"

namespace gpu_model {
namespace {

void run_nothing(Warp&, const Instruction&, u32) {}
void run_fence_proxy_async(Warp& w, const Instruction&, u32) { ++w.proxy_epoch; }
void run_nanosleep(Warp& w, const Instruction&, u32) {
  w.yield = true;
  w.spun = true;
  w.waits_for = "nanosleep";
}
void run_trap(Warp& w, const Instruction& i, u32 mask) {
  fault(Fault::Kind::trap, w, i, static_cast<int>(first_lane(mask)), "trap");
}

}  // namespace

bool decode_bra(Builder& b, const Mnemonic&, std::vector<Operand>& operands, Instruction& ins) {
  if (operands.size() != 1) return false;
  ins.kind = Kind::bra;
  b.branch(operands[0]);
  return true;
}
bool decode_exit(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  ins.kind = Kind::exit;
  return true;
}
bool decode_nothing(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  ins.fn = run_nothing;
  return true;
}
bool decode_trap(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  ins.fn = run_trap;
  return true;
}
bool decode_nanosleep(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  ins.fn = run_nanosleep;
  return true;
}
// The model does not limit registers.
bool decode_setmaxnreg(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  ins.kind = Kind::aligned;
  ins.fn = run_nothing;
  return true;
}

// a is the barrier, b the number of threads (0: all); aux is 1 for bar.arrive.
bool decode_bar(Builder& b, const Mnemonic& op, std::vector<Operand>& operands, Instruction& ins) {
  const bool arrive = op.has("arrive");
  if ((!arrive && !op.has("sync")) || operands.empty()) return false;
  ins.kind = Kind::bar;
  ins.n = op.parts[0] == "bar" || op.has("aligned");
  ins.aux = arrive;
  ins.a = b.source(operands[0], Type::b32);
  if (operands.size() > 1) ins.b = b.source(operands[1], Type::b32);
  ins.fn = run_nothing;
  return true;
}
bool decode_bar_warp(Builder& b, const Mnemonic&, std::vector<Operand>& operands, Instruction& ins) {
  if (operands.size() != 1) return false;
  ins.kind = Kind::sync;
  ins.e = b.source(operands[0], Type::b32);
  ins.fn = run_nothing;
  return true;
}
// aux is 1 for barrier.cluster.wait.
bool decode_barrier_cluster(Builder&, const Mnemonic& op, std::vector<Operand>&, Instruction& ins) {
  ins.kind = Kind::cluster;
  ins.aux = op.has("wait");
  ins.n = op.has("aligned");
  ins.fn = run_nothing;
  return op.has("wait") || op.has("arrive");
}
bool decode_fence_proxy_async(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  ins.fn = run_fence_proxy_async;
  return true;
}

}  // namespace gpu_model
