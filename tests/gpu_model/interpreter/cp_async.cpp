// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// cp.async (without bulk): copies of one lane, completed by groups.
#include "addresses.hpp"
#include "lanes.hpp"
#include "memory_operands.hpp"

namespace gpu_model {
namespace {

void perform(Warp& w, const Instruction& i, const CpAsync& copy) {
  u8* to = shared_pointer(w, i, copy.lane, copy.destination, copy.bytes);
  if (copy.source_bytes) std::memcpy(to, host_pointer(copy.source), copy.source_bytes);
  std::memset(to + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
  ++w.launch->effects;
}

bool at_once(Launch& launch) {
  return launch.async_mode == Completion::early || (launch.async_mode == Completion::random && (random_next(launch.seed) & 1));
}

/// a: destination, b: source, c: source size (0: none), msize: cp-size.
void cp_async(Warp& w, const Instruction& i, u32 mask) {
  u64 destinations[32], sources[32];
  gather(w, i.a, i.as, i.imm, destinations);
  gather(w, i.b, i.bs, i.imm2, sources);
  const u32 bytes = i.msize;
  for (const u32 lane : Lanes(mask)) {
    const u64 source_bytes = i.c ? w.scalar(i.c, i.cs, lane) : bytes;
    if (source_bytes > bytes) fault(Fault::Kind::illegal_instruction, w, i, lane, "cp.async: source size above cp-size");
    if (destinations[lane] % bytes) fault_misaligned(w, i, lane, destinations[lane], bytes);
    if (sources[lane] % bytes && source_bytes) fault_misaligned(w, i, lane, sources[lane], bytes);
    shared_access(w, i, lane, static_cast<u32>(destinations[lane]), bytes, true);
    if (source_bytes) check_global(w, i, lane, sources[lane], source_bytes, false);
    w.launch->counters->global_load_bytes += source_bytes;
    const CpAsync copy{.lane = lane,
                       .group = w.copy_groups[lane],
                       .destination = static_cast<u32>(destinations[lane]),
                       .source = sources[lane],
                       .bytes = static_cast<u8>(bytes),
                       .source_bytes = static_cast<u8>(source_bytes)};
    if (at_once(*w.launch))
      perform(w, i, copy);
    else
      w.copies.push_back(copy);
  }
}

void cp_async_commit_group(Warp& w, const Instruction&, u32 mask) {
  for (const u32 lane : Lanes(mask)) ++w.copy_groups[lane];
}

/// Performs the copies of the lanes in `mask` that `due` says.
template <class Due>
void perform_copies(Warp& w, const Instruction& i, u32 mask, Due due) {
  std::vector<CpAsync> left;
  for (const CpAsync& copy : w.copies)
    if ((mask >> copy.lane & 1) && due(copy))
      perform(w, i, copy);
    else
      left.push_back(copy);
  w.copies.swap(left);
}
/// imm: commit groups that may stay in flight.
void cp_async_wait_group(Warp& w, const Instruction& i, u32 mask) {
  perform_copies(w, i, mask, [&](const CpAsync& copy) { return copy.group + u64(i.imm) < w.copy_groups[copy.lane]; });
}
void cp_async_wait_all(Warp& w, const Instruction& i, u32 mask) {
  perform_copies(w, i, mask, [](const CpAsync&) { return true; });
}

}  // namespace

bool decode_cp_async(Builder& b, const Mnemonic& op, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() < 3 || !op.has("global")) return false;
  b.address(args[0], ins);
  second_address(b, args[1], ins);
  ins.msize = static_cast<u8>(args[2].bits);
  if (ins.msize != 4 && ins.msize != 8 && ins.msize != 16) return false;
  if (op.has("cg") && ins.msize != 16) return false;
  // What follows cp-size: [source size | ignore-src predicate] [cache policy]
  const std::size_t policies = op.has("L2::cache_hint") ? 1 : 0;
  if (args.size() > 3 + policies) {
    if (args[3].k == Operand::reg && args[3].type == Type::pred) return false;
    ins.c = b.source(args[3], Type::b32, &ins.cs);
  }
  ins.fn = cp_async;
  return true;
}

bool decode_cp_async_commit_group(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  ins.fn = cp_async_commit_group;
  return true;
}

bool decode_cp_async_wait_group(Builder&, const Mnemonic&, std::vector<Operand>& args, Instruction& ins) {
  if (args.size() != 1) return false;
  ins.imm = static_cast<s64>(args[0].bits);
  ins.fn = cp_async_wait_group;
  return true;
}

bool decode_cp_async_wait_all(Builder&, const Mnemonic&, std::vector<Operand>&, Instruction& ins) {
  ins.fn = cp_async_wait_all;
  return true;
}

}  // namespace gpu_model
